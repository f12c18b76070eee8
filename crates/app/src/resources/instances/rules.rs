//! How an instance comes to be.

use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::Rng;
use latchkey_base::{Error, Result, Time};
use latchkey_jose::rsa::SigningKey;
use latchkey_jose::seal::MasterKey;

use super::model::{Environment, Instance, StoredKey};
use crate::settings::Settings;

/// A new instance with default settings.
pub fn create(environment: Environment, now: Time, rng: &dyn Rng) -> Instance {
    Instance {
        id: InstanceId::new(now, rng),
        environment,
        settings: Settings::default(),
        settings_revision: 1,
        created_at: now,
    }
}

/// A new signing key for an instance. Making it takes a noticeable part of a second.
pub fn signing_key(instance: &InstanceId, master: &MasterKey) -> Result<StoredKey> {
    let key = SigningKey::generate().map_err(Error::internal)?;
    stored_key(&key, instance, master)
}

/// A signing key in the form it is stored in, under the id of its instance.
pub fn stored_key(key: &SigningKey, instance: &InstanceId, master: &MasterKey) -> Result<StoredKey> {
    let kid = instance.as_str().to_owned();
    let private = key.to_pkcs8().map_err(Error::internal)?;
    Ok(StoredKey {
        public_jwk: serde_json::to_string(&key.public_jwk(&kid)).map_err(Error::internal)?,
        private_sealed: master.seal(&seal_context(&kid), &private).map_err(Error::internal)?,
        kid,
    })
}

/// Whether this master key opens a signing key.
pub fn opens(master: &MasterKey, kid: &str, sealed: &[u8]) -> bool {
    master.open(&seal_context(kid), sealed).is_ok()
}

fn seal_context(kid: &str) -> String {
    format!("signing_key:{kid}")
}
