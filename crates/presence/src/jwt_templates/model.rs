//! What a JWT template is.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, JwtTemplateId};
use latchkey_jose::custom::Algorithm;
use serde_json::{Map, Value};

/// Claims of the application's choice, and how tokens with them are made.
#[derive(Clone, Debug, PartialEq)]
pub struct JwtTemplate {
    pub instance: InstanceId,
    pub id: JwtTemplateId,
    /// How callers ask for it; unique in the instance.
    pub name: String,
    /// The claims, with shortcodes in their texts.
    pub claims: Map<String, Value>,
    pub lifetime_seconds: i64,
    /// How long before it was made a token is good already, for clocks that are late.
    pub allowed_clock_skew_seconds: i64,
    /// Whose key signs.
    pub signing: Signing,
    pub created_at: Time,
    pub updated_at: Time,
}

/// Whose key signs the tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum Signing {
    /// The instance's, with RS256.
    Instance,
    /// One the application brought.
    Custom {
        algorithm: Algorithm,
        /// The key, sealed with the master key.
        key_sealed: Vec<u8>,
    },
}

impl Signing {
    /// How tokens are signed.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Signing::Instance => Algorithm::Rs256,
            Signing::Custom { algorithm, .. } => *algorithm,
        }
    }

    /// Whether the application brought the key.
    pub fn is_custom(&self) -> bool {
        matches!(self, Signing::Custom { .. })
    }
}
