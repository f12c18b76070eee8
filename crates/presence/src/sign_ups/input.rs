//! What the backend operations take.

use latchkey_base::patch::Patch;
use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `UpdateSignUp`. Open, as published.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateSignUp {
    /// The id of the person in another system; it becomes the user's. Null takes it away.
    pub external_id: Patch<String>,
    /// A mark of the application's own.
    pub custom_action: Option<bool>,
}
