//! What an instance asks of a new password, and what is wrong with one.
//!
//! Every fault is reported, not only the first, so that a person can mend all of them at once. Texts and error codes
//! are the caller's business.

use crate::common::is_breached;
use crate::strength;

/// The longest password anything here looks at, in bytes. It stops a megabyte of password from being hashed, and no
/// setting may raise it.
pub const MAX_BYTES: usize = 4096;

/// What counts as special where the settings of an instance do not say: what the browser scripts take for it too.
pub const SPECIAL_CHARACTERS: &str = "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~";

/// The password settings of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The fewest characters.
    pub min_length: usize,
    /// The most characters. The default is bcrypt's limit, which the sign-up form also assumes.
    pub max_length: usize,
    /// Whether an upper-case letter is required, of any script.
    pub require_uppercase: bool,
    /// Whether a lower-case letter is required, of any script.
    pub require_lowercase: bool,
    /// Whether a digit is required.
    pub require_numbers: bool,
    /// Whether a special character is required.
    pub require_special: bool,
    /// What counts as special; when empty, [`SPECIAL_CHARACTERS`].
    pub allowed_special_characters: String,
    /// The lowest zxcvbn score, 1 to 4; 0 turns the estimate off.
    pub min_zxcvbn_score: u8,
    /// Whether passwords known from leaks are refused.
    pub refuse_breached: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            min_length: 8,
            max_length: 72,
            require_uppercase: false,
            require_lowercase: false,
            require_numbers: false,
            require_special: false,
            allowed_special_characters: String::new(),
            min_zxcvbn_score: 0,
            refuse_breached: true,
        }
    }
}

/// One thing wrong with a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weakness {
    /// Fewer than `min` characters.
    TooShort {
        /// The policy's lower limit.
        min: usize,
    },
    /// More than `max` characters.
    TooLong {
        /// The policy's upper limit.
        max: usize,
    },
    /// Few enough characters for the policy, but more than `max` bytes.
    TooManyBytes {
        /// [`MAX_BYTES`].
        max: usize,
    },
    /// No upper-case letter.
    NoUppercase,
    /// No lower-case letter.
    NoLowercase,
    /// No digit.
    NoNumber,
    /// No special character of those allowed.
    NoSpecialChar,
    /// Too easy to guess.
    NotStrongEnough {
        /// Codes of what would help, never empty; [`suggestion_message`](crate::suggestion_message) has their texts.
        suggestions: Vec<String>,
    },
    /// Known from leaks.
    Breached,
    /// The same as one of the account's own identifiers.
    MatchesIdentifier,
}

/// Everything that is wrong with the password, empty when it may be used. `identifiers` are the account's e-mail
/// addresses, phone numbers and usernames.
pub fn check(policy: &Policy, password: &str, identifiers: &[&str]) -> Vec<Weakness> {
    let length = password.chars().count();
    let mut found = Vec::new();
    if length < policy.min_length {
        found.push(Weakness::TooShort { min: policy.min_length });
    }
    if length > policy.max_length {
        found.push(Weakness::TooLong { max: policy.max_length });
    } else if password.len() > MAX_BYTES {
        found.push(Weakness::TooManyBytes { max: MAX_BYTES });
    }
    if password.len() > MAX_BYTES {
        return found;
    }
    found.extend(missing_characters(policy, password));
    let folded = password.to_lowercase();
    if identifiers.iter().any(|identifier| !identifier.is_empty() && identifier.to_lowercase() == folded) {
        found.push(Weakness::MatchesIdentifier);
    }
    if policy.refuse_breached && is_breached(password) {
        found.push(Weakness::Breached);
    }
    if policy.min_zxcvbn_score > 0
        && let Some(suggestions) = strength::suggestions(password, identifiers, policy.min_zxcvbn_score)
    {
        found.push(Weakness::NotStrongEnough { suggestions });
    }
    found
}

/// What counts as special, given what the settings of an instance say.
pub fn special_characters(allowed: &str) -> &str {
    match allowed {
        "" => SPECIAL_CHARACTERS,
        listed => listed,
    }
}

fn missing_characters(policy: &Policy, password: &str) -> impl Iterator<Item = Weakness> {
    let special = |c: char| special_characters(&policy.allowed_special_characters).contains(c);
    [
        (policy.require_uppercase && !password.contains(char::is_uppercase), Weakness::NoUppercase),
        (policy.require_lowercase && !password.contains(char::is_lowercase), Weakness::NoLowercase),
        (policy.require_numbers && !password.contains(char::is_numeric), Weakness::NoNumber),
        (policy.require_special && !password.contains(special), Weakness::NoSpecialChar),
    ]
    .into_iter()
    .filter_map(|(missing, weakness)| missing.then_some(weakness))
}
