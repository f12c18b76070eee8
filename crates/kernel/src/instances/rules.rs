//! How an instance comes to be, and how its signing keys follow each other.

use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::Rng;
use latchkey_base::{Error, Result, Time};
use latchkey_jose::rsa::SigningKey;
use latchkey_jose::seal::MasterKey;

use super::model::{Instance, SigningKeyState, StoredKey};
use crate::environment::Environment;
use crate::settings::Settings;

/// A new instance with default settings.
pub fn create(environment: Environment, frontend_api: String, now: Time, rng: &dyn Rng) -> Instance {
    Instance {
        id: InstanceId::new(now, rng),
        environment,
        frontend_api,
        settings: Settings::default(),
        settings_revision: 1,
        created_at: now,
    }
}

/// A host that leads every browser to its own machine, and tells one instance from the others.
pub fn local_host(id: &InstanceId, port: Option<u16>) -> String {
    let id = id.as_str();
    let name = id[id.len() - 8..].to_lowercase();
    match port {
        Some(port) => format!("{name}.localhost:{port}"),
        None => format!("{name}.localhost"),
    }
}

/// A new signing key. Its id is that of its instance for the first one, and one of its own for the
/// others. Making it takes a noticeable part of a second.
pub fn signing_key(kid: &InstanceId, master: &MasterKey) -> Result<StoredKey> {
    let key = SigningKey::generate().map_err(Error::internal)?;
    stored_key(&key, kid, master)
}

/// When a new signing key takes over.
#[derive(Debug, PartialEq, Eq)]
pub struct Rotation {
    /// When the new key is made; later than all others, because the newest signs.
    pub created_at: Time,
    /// When the new key begins to sign.
    pub active_from: Time,
    /// When tokens of the earlier keys are no longer good.
    pub others_until: Time,
}

/// Plans the change to a new signing key: it is published now, signs after `publish_ahead_ms`, and the
/// earlier ones stay published for `overlap_ms` longer, for the tokens they have signed.
pub fn rotate(keys: &[SigningKeyState], publish_ahead_ms: i64, overlap_ms: i64, now: Time) -> Rotation {
    let newest = keys.iter().map(|key| key.created_at).max();
    let active_from = now.plus_ms(publish_ahead_ms);
    Rotation {
        created_at: newest.map_or(now, |newest| now.max(newest.plus_ms(1))),
        active_from,
        others_until: active_from.plus_ms(overlap_ms),
    }
}

/// A signing key in the form it is stored in.
pub fn stored_key(key: &SigningKey, kid: &InstanceId, master: &MasterKey) -> Result<StoredKey> {
    let kid = kid.as_str().to_owned();
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

/// Opens and parses a signing key.
pub fn open_key(master: &MasterKey, kid: &str, sealed: &[u8]) -> Result<SigningKey> {
    let private = master.open(&seal_context(kid), sealed).map_err(Error::internal)?;
    SigningKey::from_pkcs8(&private).map_err(Error::internal)
}

fn seal_context(kid: &str) -> String {
    format!("signing_key:{kid}")
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;
    use crate::hosts::checked;

    #[test]
    fn a_host_of_this_machine_is_one_that_browsers_accept() {
        let id = InstanceId::new(Time::from_ms(0), &SeededRng::new(1));
        assert_eq!(checked(&local_host(&id, Some(3401))), Ok(local_host(&id, Some(3401))));
    }

    #[test]
    fn later_keys_are_newer_even_when_the_clock_stands_still() {
        let now = Time::from_ms(1000);
        let first = SigningKeyState { kid: "a".into(), created_at: now, active_from: now, not_after: None };
        let expected = Rotation {
            created_at: Time::from_ms(1001),
            active_from: Time::from_ms(1500),
            others_until: Time::from_ms(1800),
        };
        assert_eq!(rotate(&[first], 500, 300, now), expected);
    }
}
