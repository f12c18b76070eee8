//! What an instance is.

use latchkey_base::Time;
use latchkey_base::kinds::InstanceId;

use crate::settings::Settings;

/// One tenant.
pub struct Instance {
    /// Its id, also the `kid` of its first signing key.
    pub id: InstanceId,
    /// Development or production.
    pub environment: Environment,
    /// The host, and the port unless it is the usual one, at which browsers reach its Frontend API. It is
    /// in the publishable key, and tells the instance of a request.
    pub frontend_api: String,
    /// Its settings.
    pub settings: Settings,
    /// Counts changes of the settings.
    pub settings_revision: i64,
    /// When it was made.
    pub created_at: Time,
}

/// A signing key ready to be stored: the private half is sealed.
pub struct StoredKey {
    /// Key id, as tokens name it.
    pub kid: String,
    /// The public half as JSON.
    pub public_jwk: String,
    /// The private half, sealed.
    pub private_sealed: Vec<u8>,
}

/// A signing key as operators see it.
pub struct SigningKeyState {
    /// Key id, as tokens name it.
    pub kid: String,
    /// When it was made. Of the keys that may sign, the newest does.
    pub created_at: Time,
    /// When it may begin to sign.
    pub active_from: Time,
    /// When it is no longer published; `None` while it is not replaced.
    pub not_after: Option<Time>,
}

/// What an instance is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// Trying things out: test identifiers, an inbox, lower limits.
    Development,
    /// The real thing.
    Production,
}

impl Environment {
    /// Reads `development` or `production`.
    pub fn parse(text: &str) -> Option<Environment> {
        [Environment::Development, Environment::Production]
            .into_iter()
            .find(|environment| environment.name() == text)
    }

    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Environment::Development => "development",
            Environment::Production => "production",
        }
    }

    /// The part of a key that tells the environment.
    pub fn key_part(self) -> &'static str {
        match self {
            Environment::Development => "test",
            Environment::Production => "live",
        }
    }
}
