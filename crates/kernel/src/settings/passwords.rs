//! What passwords and usernames must be like.

use latchkey_passwords::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a password must be like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PasswordSettings {
    /// Fewest characters of a password, 8 to 72: the browser scripts know no others.
    pub min_length: usize,
    /// Most characters of a password, 8 to 72: the browser scripts know no others.
    pub max_length: usize,
    /// An upper-case letter is required.
    pub require_uppercase: bool,
    /// A lower-case letter is required.
    pub require_lowercase: bool,
    /// A digit is required.
    pub require_numbers: bool,
    /// A special character is required.
    pub require_special_char: bool,
    /// Which characters count as special, each written once; empty means the punctuation of ASCII without the backslash.
    /// A backslash, `^` at the beginning and `-` between others are refused: the browser scripts misread them.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UsernameSettings {
    /// Fewest characters of a username, 4 to 64: the browser scripts know no others.
    pub min_length: usize,
    /// Most characters of a username, 4 to 64: the browser scripts know no others.
    pub max_length: usize,
}

impl Default for UsernameSettings {
    fn default() -> UsernameSettings {
        UsernameSettings { min_length: 4, max_length: 64 }
    }
}
