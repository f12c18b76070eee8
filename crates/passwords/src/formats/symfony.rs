//! `sha512_symfony$iterations$salt$hash`: Symfony's old `MessageDigestPasswordEncoder` with SHA-512 and base64.
//!
//! The password and `{salt}` are merged and hashed; each further iteration hashes the previous output followed by
//! the merged text again. Without a salt the merged text is the password alone.

use std::time::Duration;

use sha2::{Digest as _, Sha512};

use crate::encoding::{base64, number, same};
use crate::error::DigestError;

/// Symfony's default is 5000. Every iteration hashes the whole password, so this many take about a second for a
/// password of 4 KiB.
const MAX_ITERATIONS: u32 = 100_000;

#[derive(Clone)]
pub(crate) struct Symfony {
    iterations: u32,
    salt: String,
    hash: [u8; 64],
}

impl Symfony {
    /// The salt may contain `$`, the other fields may not.
    pub(crate) fn parse(digest: &str) -> Result<Self, DigestError> {
        let (iterations, rest) = digest
            .strip_prefix("sha512_symfony$")
            .and_then(|rest| rest.split_once('$'))
            .ok_or(DigestError::Malformed)?;
        let (salt, hash) = rest.rsplit_once('$').ok_or(DigestError::Malformed)?;
        let hash = base64(hash)?.try_into().map_err(|_| DigestError::Malformed)?;
        match number(iterations)? {
            0 => Err(DigestError::Malformed),
            iterations @ 1..=MAX_ITERATIONS => Ok(Self { iterations, salt: salt.to_owned(), hash }),
            _ => Err(DigestError::TooCostly),
        }
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(600) * self.iterations
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let merged = match self.salt.as_bytes() {
            [] => password.to_vec(),
            salt => [password, b"{", salt, b"}"].concat(),
        };
        let output = (1..self.iterations).fold(Sha512::digest(&merged), |hash, _| {
            Sha512::new_with_prefix(hash).chain_update(&merged).finalize()
        });
        same(&output, &self.hash)
    }
}
