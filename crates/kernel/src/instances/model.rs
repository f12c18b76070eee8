//! What an instance is.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, SecretKeyId};

use crate::environment::Environment;
use crate::settings::Settings;

/// One tenant.
pub struct Instance {
    /// Its id, also the `kid` of its first signing key.
    pub id: InstanceId,
    pub environment: Environment,
    /// The host, and the port unless it is the usual one, at which browsers reach its Frontend API. It is
    /// in the publishable key, and tells the instance of a request.
    pub frontend_api: String,
    pub settings: Settings,
    /// Counts changes of the settings.
    pub settings_revision: i64,
    pub created_at: Time,
}

impl Instance {
    pub fn is_development(&self) -> bool {
        self.environment == Environment::Development
    }
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

/// A secret key as operators see it. The key itself is not kept.
pub struct SecretKeyState {
    pub id: SecretKeyId,
    /// How it begins and ends.
    pub hint: String,
    pub created_at: Time,
    /// Its SHA-256, by which it is looked up.
    pub digest: Vec<u8>,
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
