//! Bcrypt, `$2b$10$` + 22 characters of salt + 31 of hash, and its two disguises: Django's, which hashes the
//! password with SHA-256 first, and Devise's, which appends a secret pepper to it.
//!
//! Bcrypt reads 72 bytes of password and no more; what follows is ignored, as every implementation that wrote these
//! digests ignored it. A NUL inside the password is hashed like any other byte, as current implementations do; old C
//! ones stopped there, which would make `a\0b` and `a\0c` the same password.

use std::time::Duration;

use ::bcrypt::bcrypt;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sha2::{Digest as _, Sha256};

use crate::encoding::{number, same, to_hex};
use crate::error::DigestError;

/// Below 4 the algorithm is undefined.
const MIN_COST: u32 = 4;
/// Each step doubles the time; 14 takes about a second, and 31 would take two days.
const MAX_COST: u32 = 14;
/// What bcrypt reads of a password.
const KEY_BYTES: usize = 72;
/// `$2b$10$` and 53 characters.
const TEXT_BYTES: usize = 60;

/// The last character of salt and hash has bits to spare, and not every exporter left them zero.
const ALPHABET: GeneralPurpose = GeneralPurpose::new(
    &alphabet::BCRYPT,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

#[derive(Clone)]
pub(crate) struct Bcrypt {
    cost: u32,
    salt: [u8; 16],
    hash: [u8; 23],
    input: Input,
}

/// What is done to the password before bcrypt sees it.
#[derive(Clone)]
enum Input {
    AsIs,
    Sha256Hex,
    Peppered(String),
}

impl Bcrypt {
    pub(crate) fn plain(digest: &str) -> Result<Self, DigestError> {
        Self::parse(digest, Input::AsIs)
    }

    /// `bcrypt_sha256$` and a bcrypt digest.
    pub(crate) fn sha256_django(digest: &str) -> Result<Self, DigestError> {
        let inner = digest.strip_prefix("bcrypt_sha256$").ok_or(DigestError::Malformed)?;
        Self::parse(inner, Input::Sha256Hex)
    }

    /// A bcrypt digest, `$` and the pepper, which may itself contain `$`.
    pub(crate) fn peppered(digest: &str) -> Result<Self, DigestError> {
        match digest.split_at_checked(TEXT_BYTES).map(|(inner, rest)| (inner, rest.strip_prefix('$'))) {
            Some((inner, Some(pepper))) if !pepper.is_empty() => {
                Self::parse(inner, Input::Peppered(pepper.to_owned()))
            }
            _ => Err(DigestError::Malformed),
        }
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let mut key = match &self.input {
            Input::AsIs => password.to_vec(),
            Input::Sha256Hex => to_hex(&Sha256::digest(password)).into_bytes(),
            Input::Peppered(pepper) => [password, pepper.as_bytes()].concat(),
        };
        // The key ends with the terminator C strings have, when there is room for it.
        key.push(0);
        key.truncate(KEY_BYTES);
        let output = bcrypt(self.cost, self.salt, &key);
        same(&output[..self.hash.len()], &self.hash)
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_micros(60) * (1 << self.cost)
    }

    fn parse(text: &str, input: Input) -> Result<Self, DigestError> {
        let fields: Vec<_> = text.split('$').collect();
        let ["", "2a" | "2b" | "2y", cost, tail] = fields[..] else {
            return Err(DigestError::Malformed);
        };
        if text.len() != TEXT_BYTES || cost.len() != 2 {
            return Err(DigestError::Malformed);
        }
        let (salt, hash) = tail.split_at_checked(22).ok_or(DigestError::Malformed)?;
        let cost = number(cost)?;
        let digest = Self { cost, salt: decode(salt)?, hash: decode(hash)?, input };
        match cost {
            ..MIN_COST => Err(DigestError::Malformed),
            MIN_COST..=MAX_COST => Ok(digest),
            _ => Err(DigestError::TooCostly),
        }
    }
}

fn decode<const N: usize>(text: &str) -> Result<[u8; N], DigestError> {
    ALPHABET.decode(text).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(DigestError::Malformed)
}

#[cfg(test)]
mod tests {
    use crate::{Digest, Hasher};

    fn verifies(digest: &str, password: &str) -> bool {
        Digest::parse(Hasher::Bcrypt, digest).unwrap().verify(password)
    }

    #[test]
    fn bytes_after_the_seventy_second_are_ignored() {
        let of_72_a = "$2b$04$CcV8gdZHAAXBk5KU7Cq3VOGXb20QD.Mr528D4fpZeYcUMouMd9vva";
        assert!(verifies(of_72_a, &"a".repeat(72)));
        assert!(verifies(of_72_a, &"a".repeat(73)));
        assert!(verifies(of_72_a, &"a".repeat(4096)));
        assert!(!verifies(of_72_a, &"a".repeat(71)));
        assert!(!verifies(of_72_a, &format!("{}b", "a".repeat(71))));
    }

    #[test]
    fn the_seventy_second_byte_still_counts() {
        let of_71_a = "$2b$04$gg5MQBM04R5ajB09g4gnruYvko1MMt6Nhx8BVnVY4D.rBcZswtekS";
        assert!(verifies(of_71_a, &"a".repeat(71)));
        assert!(!verifies(of_71_a, &"a".repeat(72)));
    }

    #[test]
    fn a_nul_byte_does_not_end_the_password() {
        let digest = "$2b$04$SdPiLLbHpx5iQa6hNLEPfOKwVok/z/R9AuJ0zV4dkd1JI0mflcVjq";
        assert!(verifies(digest, "pass\0word"));
        assert!(!verifies(digest, "pass"));
        assert!(!verifies(digest, "pass\0other"));
    }
}
