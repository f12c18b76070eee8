//! The settings of an instance: one typed document, with defaults for whatever it leaves out.
//!
//! A document is identified by its instance and revision, both read with every request's
//! authentication, so the cache of parsed documents can never serve an old one.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use latchkey_base::kinds::InstanceId;
use latchkey_passwords::Policy;
use serde::{Deserialize, Serialize};

/// Everything that can be set for an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What a user may or must have.
    pub attributes: Attributes,
    /// What a password must be like.
    pub password: PasswordSettings,
    /// Lengths of usernames.
    pub username: UsernameSettings,
    /// Locking users after failed sign-ins.
    pub lockout: Lockout,
    /// What users may do by themselves unless told otherwise.
    pub actions: Actions,
    /// Whether test addresses, numbers and codes work; by default on development instances only.
    pub test_mode: Option<bool>,
    /// Whether users must have accepted the terms.
    pub legal_consent_required: bool,
}

/// Which attributes are in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Attributes {
    /// E-mail addresses.
    pub email_address: Attribute,
    /// Phone numbers.
    pub phone_number: Attribute,
    /// Usernames.
    pub username: Attribute,
    /// Wallets.
    pub web3_wallet: Attribute,
    /// Passwords.
    pub password: Attribute,
    /// Codes from an authenticator app.
    pub authenticator_app: Attribute,
    /// Backup codes.
    pub backup_code: Attribute,
}

impl Default for Attributes {
    fn default() -> Attributes {
        let optional = Attribute { enabled: true, required: false };
        Attributes {
            email_address: optional,
            phone_number: optional,
            username: optional,
            web3_wallet: optional,
            password: optional,
            authenticator_app: optional,
            backup_code: optional,
        }
    }
}

/// Whether one attribute is in use, and whether every user must have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// Users may have it.
    pub enabled: bool,
    /// Users must have it.
    pub required: bool,
}

/// What a password must be like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PasswordSettings {
    /// Fewest characters.
    pub min_length: usize,
    /// Most characters.
    pub max_length: usize,
    /// An upper-case letter is required.
    pub require_uppercase: bool,
    /// A lower-case letter is required.
    pub require_lowercase: bool,
    /// A digit is required.
    pub require_numbers: bool,
    /// A special character is required.
    pub require_special_char: bool,
    /// Which characters count as special; empty means all that are neither letter nor digit.
    pub allowed_special_characters: String,
    /// Least strength, 0 to 4; 0 asks for none.
    pub min_zxcvbn_strength: u8,
    /// Whether leaked passwords are accepted.
    pub allow_breached: bool,
}

impl Default for PasswordSettings {
    fn default() -> PasswordSettings {
        PasswordSettings {
            min_length: 8,
            max_length: 72,
            require_uppercase: false,
            require_lowercase: false,
            require_numbers: false,
            require_special_char: false,
            allowed_special_characters: String::new(),
            min_zxcvbn_strength: 0,
            allow_breached: false,
        }
    }
}

impl PasswordSettings {
    /// The same as the password checker takes it.
    pub fn policy(&self) -> Policy {
        Policy {
            min_length: self.min_length,
            max_length: self.max_length,
            require_uppercase: self.require_uppercase,
            require_lowercase: self.require_lowercase,
            require_numbers: self.require_numbers,
            require_special: self.require_special_char,
            allowed_special_characters: self.allowed_special_characters.clone(),
            min_zxcvbn_score: self.min_zxcvbn_strength,
            refuse_breached: !self.allow_breached,
        }
    }
}

/// Lengths of usernames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsernameSettings {
    /// Fewest characters.
    pub min_length: usize,
    /// Most characters.
    pub max_length: usize,
}

impl Default for UsernameSettings {
    fn default() -> UsernameSettings {
        UsernameSettings { min_length: 4, max_length: 64 }
    }
}

/// Locking users after failed sign-ins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lockout {
    /// Whether users are locked at all.
    pub enabled: bool,
    /// Failed attempts until a user is locked.
    pub max_attempts: i64,
    /// How long a lock lasts; `None` until somebody unlocks.
    pub duration_minutes: Option<i64>,
}

impl Default for Lockout {
    fn default() -> Lockout {
        Lockout { enabled: true, max_attempts: 10, duration_minutes: Some(60) }
    }
}

/// What users may do by themselves unless told otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Actions {
    /// Delete their account.
    pub delete_self: bool,
    /// Create organizations.
    pub create_organization: bool,
    /// How many; `None` is no limit of their own.
    pub create_organizations_limit: Option<i64>,
}

impl Default for Actions {
    fn default() -> Actions {
        Actions { delete_self: true, create_organization: true, create_organizations_limit: None }
    }
}

/// Parsed settings by instance and revision.
#[derive(Default)]
pub struct SettingsCache(RwLock<HashMap<InstanceId, (i64, Arc<Settings>)>>);

/// Instances whose settings are kept parsed.
const KEPT: usize = 10_000;

impl SettingsCache {
    /// The settings of that very revision, if they are here.
    pub fn get(&self, instance: &InstanceId, revision: i64) -> Option<Arc<Settings>> {
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        cached.get(instance).filter(|(cached, _)| *cached == revision).map(|(_, settings)| settings.clone())
    }

    /// Keeps parsed settings.
    pub fn put(&self, instance: InstanceId, revision: i64, settings: Arc<Settings>) {
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= KEPT {
            cached.clear();
        }
        cached.insert(instance, (revision, settings));
    }
}
