//! Sessions: a user signed in on a client, until they sign out, the time is over, or somebody ends it.

pub mod activity;
pub mod backend;
pub mod closing;
pub mod ending;
pub mod frontend;
pub mod input;
pub mod model;
pub mod present;
pub mod refresh;
pub mod renewals;
pub mod rules;
pub mod store;
pub mod templated;
pub mod tokens;
pub mod view;

use latchkey_base::Result;
use serde_json::{Map, Value};

use super::jwt_templates::shortcodes::render;
use super::users::model::User;
use crate::settings::Settings;

/// The claims the application adds to every session token, with the values of this session in them.
/// Pictures are served below `api_url`.
pub fn custom_claims(
    settings: &Settings,
    session: &model::Session,
    user: &User,
    api_url: &str,
) -> Result<Map<String, Value>> {
    let claims = &settings.session.token_claims;
    match claims.is_empty() {
        true => Ok(Map::new()),
        false => render(claims, &templated::scope_of(session, user, api_url)),
    }
}
