//! What the backend operations on sessions take.

use latchkey_base::secret::Secret;
use latchkey_kernel::wire::PageQuery;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::model::SessionStatus;

/// Query of `GetSessionList`.
#[derive(Deserialize, JsonSchema)]
pub struct ListSessions {
    /// Of this client.
    #[serde(default)]
    pub client_id: Option<String>,
    /// Of this user.
    #[serde(default)]
    pub user_id: Option<String>,
    /// In this status.
    #[serde(default)]
    pub status: Option<SessionStatus>,
    /// Which page of them.
    #[serde(flatten)]
    pub page: PageQuery,
}

/// Body of `createSession`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct CreateSession {
    /// Who is signed in.
    pub user_id: String,
    /// The organization the user works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub active_organization_id: Option<String>,
}

/// Body of `CreateSessionToken` and `CreateSessionTokenFromTemplate`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct CreateSessionToken {
    /// How long the token is good for, if not as long as others.
    #[serde(default)]
    #[schemars(range(min = 30, max = 315_360_000))]
    pub expires_in_seconds: Option<i64>,
}

/// Body of `VerifySession`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifySession {
    /// A token of the session.
    pub token: Secret,
}

/// Query of `RefreshSession`.
#[derive(Deserialize, JsonSchema)]
pub struct RefreshQuery {
    /// Whether cookies are also set under the names that tell instances apart.
    #[serde(default)]
    pub suffixed_cookies: bool,
}

/// Body of `RefreshSession`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshSession {
    /// The token that has expired.
    pub expired_token: Secret,
    /// The secret that came with the last handshake.
    pub refresh_token: Secret,
    /// The origin of the app that got the request.
    pub request_origin: String,
    /// The headers of that request; not used.
    #[serde(default)]
    pub request_headers: Option<Map<String, Value>>,
    /// Whether to answer a token or cookies.
    #[serde(default)]
    pub format: Option<Format>,
    /// Where that request came from; not used.
    #[serde(default)]
    pub request_originating_ip: Option<String>,
}

/// How a renewed token is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Format {
    /// By itself.
    #[default]
    Token,
    /// In cookies.
    Cookie,
}
