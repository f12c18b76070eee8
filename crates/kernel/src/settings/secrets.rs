//! Secrets inside of a settings document: passwords and tokens of the services messages leave through.
//!
//! They lie there sealed, so that whoever reads the document, a backup or a log of changes learns nothing;
//! and plain text cannot be kept by mistake, because it does not parse.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::kinds::InstanceId;
use latchkey_base::secret::Secret;
use latchkey_base::{Error, Result};
use latchkey_jose::seal::MasterKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a secret that is set is shown as. Written, it leaves the secret as it is.
pub const SHOWN: &str = "(set)";
const PREFIX: &str = "sealed:";

/// A sealed secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct SealedSetting(String);

impl SealedSetting {
    /// Seals a secret for one setting of one instance; it opens nowhere else.
    pub fn seal(master: &MasterKey, instance: &InstanceId, path: &str, plain: &str) -> Result<SealedSetting> {
        let sealed = master.seal(&context(instance, path), plain.as_bytes()).map_err(Error::internal)?;
        Ok(SealedSetting(format!("{PREFIX}{}", STANDARD.encode(sealed))))
    }

    /// The secret itself.
    pub fn open(&self, master: &MasterKey, instance: &InstanceId, path: &str) -> Result<Secret> {
        let text = self.0.strip_prefix(PREFIX).unwrap_or_default();
        let sealed = STANDARD.decode(text).map_err(Error::internal)?;
        let plain = master.open(&context(instance, path), &sealed).map_err(Error::internal)?;
        String::from_utf8(plain).map(Secret::new).map_err(Error::internal)
    }

    /// The text in the document.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SealedSetting {
    type Error = &'static str;

    fn try_from(text: String) -> Result<SealedSetting, &'static str> {
        match text.starts_with(PREFIX) {
            true => Ok(SealedSetting(text)),
            false => Err("a secret is kept sealed only"),
        }
    }
}

fn context(instance: &InstanceId, path: &str) -> String {
    format!("setting:{instance}:{path}")
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;

    use super::*;

    #[test]
    fn a_secret_opens_only_where_it_belongs() {
        let master = MasterKey::from_bytes([3; 32]);
        let id = |seed| InstanceId::new(Time::from_ms(1_767_225_600_000), &SeededRng::new(seed));
        let sealed = SealedSetting::seal(&master, &id(1), "a.b", "hunter2").unwrap();
        assert!(!sealed.as_str().contains("hunter2"));
        assert_eq!(sealed.open(&master, &id(1), "a.b").unwrap().expose(), "hunter2");
        assert!(sealed.open(&master, &id(1), "a.c").is_err());
        assert!(sealed.open(&master, &id(2), "a.b").is_err());
    }

    #[test]
    fn plain_text_is_not_taken() {
        assert!(serde_json::from_str::<SealedSetting>("\"hunter2\"").is_err());
        assert!(serde_json::from_str::<SealedSetting>("\"sealed:AQ==\"").is_ok());
    }
}
