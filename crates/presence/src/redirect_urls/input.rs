//! What the operations on redirect URLs take. Open, as published.

use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `CreateRedirectURL`.
#[derive(Deserialize, JsonSchema)]
pub struct CreateRedirectUrl {
    /// The full URL, such as `https://app.example.com/callback` or, for a native app, `myapp://callback`. Browsers are
    /// sent to exactly this URL.
    pub url: String,
}
