//! A secret key of an instance that has organizations.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use latchkey_base::Result;
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_web::api::Operation;
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;

use super::orgs::rules::check_enabled;

/// Proof that the caller holds a secret key of an instance that has organizations. All others are refused.
pub struct OrganizationsKey(pub SecretKey);

impl FromRequestParts<AppState> for OrganizationsKey {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<OrganizationsKey, Failure> {
        let key = SecretKey::from_request_parts(parts, state).await?;
        check_enabled(&key.settings)?;
        Ok(OrganizationsKey(key))
    }
}

impl Argument for OrganizationsKey {
    fn describe(row: &mut Operation) {
        SecretKey::describe(row);
    }
}
