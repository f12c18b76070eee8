//! The claims that the application adds to session tokens.

use latchkey_base::Result;
use latchkey_db::Db;
use latchkey_kernel::settings::Settings;
use serde_json::{Map, Value};

use super::own_memberships::OwnMemberships;
use super::present::PresentSession;
use super::templated;
use crate::jwt_templates::shortcodes::render;

/// The claims the application adds to every session token, with the values of this session in them.
/// The memberships of the user are read if they are needed and not given. Pictures are served below `api_url`.
pub async fn custom_claims(
    db: &Db,
    settings: &Settings,
    present: &PresentSession,
    memberships: Option<&OwnMemberships>,
    api_url: &str,
) -> Result<Map<String, Value>> {
    let claims = &settings.session.token_claims;
    if claims.is_empty() {
        return Ok(Map::new());
    }
    let needs_roles = settings.organizations.enabled && templated::needs_roles(claims);
    let roles = match memberships {
        _ if !needs_roles => Map::new(),
        Some(memberships) => memberships.roles(&present.user.id)?,
        None => templated::roles(&mut db.read().await?, present).await?,
    };
    render(claims, &templated::scope_of(present, roles, api_url)?)
}
