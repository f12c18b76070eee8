//! Who may read an inbox: whoever holds a secret key of a development instance, or a pass.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Error, Result};
use latchkey_web::reply::Failure;

use super::rules;
use crate::AppState;
use crate::auth::{self, SecretKey};
use crate::resources::instances::model::Environment;

/// Proof that the caller may read the inbox of a development instance.
pub struct Reader {
    /// The tenant.
    pub instance: InstanceId,
}

impl FromRequestParts<AppState> for Reader {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Reader, Failure> {
        let key = match auth::bearer(parts)?.starts_with(rules::PASSES.prefix) {
            true => by_pass(parts, state).await?,
            false => SecretKey::from_request_parts(parts, state).await?,
        };
        match key.environment {
            Environment::Development => Ok(Reader { instance: key.instance }),
            Environment::Production => Err(Error::new(Code::RequestInvalidForEnvironment)
                .saying("Only development instances have an inbox.")
                .into()),
        }
    }
}

async fn by_pass(parts: &Parts, AppState(app): &AppState) -> Result<SecretKey> {
    let instance = rules::read_pass(&app.master, auth::bearer(parts)?, app.clock.now());
    let instance = instance.ok_or_else(|| Error::new(Code::ClerkKeyInvalid))?;
    auth::admit_to(app, parts, &instance).await
}
