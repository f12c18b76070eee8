//! PBKDF2 (RFC 8018 §5.2) in the five spellings of `name$iterations$salt$hash`, which differ in the hash function
//! and in how salt and hash are encoded.
//!
//! The length of the stored hash is the length derived, so digests of truncated or stretched keys verify as they
//! were made.

use std::time::Duration;

use ::pbkdf2::pbkdf2_hmac;
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use crate::encoding::{base64, hex, number, same};
use crate::error::DigestError;

/// The iterations of one block; OWASP's advice for SHA-1, the highest, is 1 300 000.
const MAX_ITERATIONS: u32 = 2_000_000;
/// Shorter keys than 128 bits can be hit by chance; nobody exports them.
const MIN_HASH_BYTES: usize = 16;

#[derive(Clone)]
pub(crate) struct Pbkdf2 {
    function: Function,
    iterations: u32,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Function {
    Sha1,
    Sha256,
    Sha512,
}

impl Pbkdf2 {
    /// `pbkdf2_sha1$iterations$salt$hex` or the same with `$length` after it. The salt is hexadecimal where it can
    /// be read so, and raw otherwise. The length is 32 when not given, but a hash of another length says by itself
    /// how long it is.
    pub(crate) fn sha1(digest: &str) -> Result<Self, DigestError> {
        let fields: Vec<_> = digest.split('$').collect();
        let (iterations, salt, hash, length) = match fields[..] {
            ["pbkdf2_sha1", iterations, salt, hash] => (iterations, salt, hash, None),
            ["pbkdf2_sha1", iterations, salt, hash, length] => {
                (iterations, salt, hash, Some(number(length)?))
            }
            _ => return Err(DigestError::Malformed),
        };
        let hash = hex(hash)?;
        if length.is_some_and(|length| usize::try_from(length) != Ok(hash.len())) {
            return Err(DigestError::Malformed);
        }
        let salt = hex(salt).unwrap_or_else(|_| salt.into());
        Self::bounded(Function::Sha1, iterations, salt, hash)
    }

    /// Salt and hash in base64.
    pub(crate) fn sha256(digest: &str) -> Result<Self, DigestError> {
        let (iterations, salt, hash) = split(digest, "pbkdf2_sha256$")?;
        Self::bounded(Function::Sha256, iterations, base64(salt)?, base64(hash)?)
    }

    /// Salt raw, hash in base64.
    pub(crate) fn sha256_django(digest: &str) -> Result<Self, DigestError> {
        let (iterations, salt, hash) = split(digest, "pbkdf2_sha256$")?;
        Self::bounded(Function::Sha256, iterations, salt.into(), base64(hash)?)
    }

    /// Salt raw, hash in hexadecimal.
    pub(crate) fn sha512(digest: &str) -> Result<Self, DigestError> {
        let (iterations, salt, hash) = split(digest, "pbkdf2_sha512$")?;
        Self::bounded(Function::Sha512, iterations, salt.into(), hex(hash)?)
    }

    /// Salt and hash in hexadecimal.
    pub(crate) fn sha512_hex(digest: &str) -> Result<Self, DigestError> {
        let (iterations, salt, hash) = split(digest, "pbkdf2_sha512_hex$")?;
        Self::bounded(Function::Sha512, iterations, hex(salt)?, hex(hash)?)
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(410) * self.iterations
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let derive = match self.function {
            Function::Sha1 => pbkdf2_hmac::<Sha1>,
            Function::Sha256 => pbkdf2_hmac::<Sha256>,
            Function::Sha512 => pbkdf2_hmac::<Sha512>,
        };
        let mut output = vec![0; self.hash.len()];
        derive(password, &self.salt, self.iterations, &mut output);
        same(&output, &self.hash)
    }

    fn bounded(
        function: Function,
        iterations: &str,
        salt: Vec<u8>,
        hash: Vec<u8>,
    ) -> Result<Self, DigestError> {
        let iterations = number(iterations)?;
        if iterations == 0 || salt.is_empty() || hash.len() < MIN_HASH_BYTES {
            return Err(DigestError::Malformed);
        }
        let blocks = hash.len().div_ceil(function.output_bytes());
        if iterations > MAX_ITERATIONS
            || blocks.saturating_mul(iterations as usize) > function.max_total_iterations()
        {
            return Err(DigestError::TooCostly);
        }
        Ok(Self { function, iterations, salt, hash })
    }
}

impl Function {
    const fn output_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// A key longer than the hash function's output repeats the iterations for each block, so the product of both is
    /// bounded too: to about a second, where SHA-512 is slower because processors lack instructions for it.
    const fn max_total_iterations(self) -> usize {
        match self {
            Self::Sha1 | Self::Sha256 => 4_000_000,
            Self::Sha512 => 2_000_000,
        }
    }
}

/// Splits `name$iterations$salt$hash`. A raw salt may contain `$`, the other fields may not.
fn split<'a>(digest: &'a str, name: &str) -> Result<(&'a str, &'a str, &'a str), DigestError> {
    let fields = digest.strip_prefix(name).and_then(|rest| rest.split_once('$'));
    fields
        .and_then(|(iterations, rest)| rest.rsplit_once('$').map(|(salt, hash)| (iterations, salt, hash)))
        .ok_or(DigestError::Malformed)
}
