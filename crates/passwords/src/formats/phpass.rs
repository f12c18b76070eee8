//! The portable hashes of phpass, `$P$` + 1 character of cost + 8 of salt + 22 of hash: iterated MD5, as WordPress
//! wrote them for fifteen years. phpBB wrote the same with `$H$`. `md5_phpass` is the result of wrapping an older
//! table of plain MD5 hashes: the password is the lower-case hexadecimal MD5 of the password.

use std::time::Duration;

use md5::{Digest as _, Md5};

use crate::encoding::{same, to_hex};
use crate::error::DigestError;

/// The alphabet of crypt(3). Unlike base64, the first character of a group holds the lowest six bits.
const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SALT_BYTES: usize = 8;
const HASH_CHARS: usize = 22;
const MD5_BYTES: usize = 16;

/// phpass itself writes nothing below 7.
const MIN_LOG2_ROUNDS: usize = 7;
/// A million rounds; WordPress used 13, which is eight thousand.
const MAX_LOG2_ROUNDS: usize = 20;
/// Each round hashes the whole password again, so the bound on rounds alone would let a 4 KiB password cost twelve
/// seconds. Half a GiB takes one and a half; a password that needs more does not match. That leaves 500 bytes of password
/// at the highest cost and all of 4096 at any cost in use.
const MAX_HASHED_BYTES: usize = 512 * 1024 * 1024;

#[derive(Clone)]
pub(crate) struct Phpass {
    log2_rounds: usize,
    salt: [u8; SALT_BYTES],
    hash: [u8; HASH_CHARS],
    over_md5: bool,
}

impl Phpass {
    pub(crate) fn plain(digest: &str) -> Result<Self, DigestError> {
        let body = digest.strip_prefix("$P$").or_else(|| digest.strip_prefix("$H$"));
        let body = body.ok_or(DigestError::Malformed)?.as_bytes();
        let value = |byte: &u8| ALPHABET.iter().position(|known| known == byte);
        if !body.iter().all(|byte| value(byte).is_some()) {
            return Err(DigestError::Malformed);
        }
        let (cost, body) = body.split_first().ok_or(DigestError::Malformed)?;
        let (salt, hash) = body.split_first_chunk().ok_or(DigestError::Malformed)?;
        let hash = hash.try_into().map_err(|_| DigestError::Malformed)?;
        match value(cost).unwrap_or_default() {
            ..MIN_LOG2_ROUNDS => Err(DigestError::Malformed),
            log2_rounds @ MIN_LOG2_ROUNDS..=MAX_LOG2_ROUNDS => {
                Ok(Self { log2_rounds, salt: *salt, hash, over_md5: false })
            }
            _ => Err(DigestError::TooCostly),
        }
    }

    pub(crate) fn over_md5(digest: &str) -> Result<Self, DigestError> {
        Ok(Self { over_md5: true, ..Self::plain(digest)? })
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(300) * (1 << self.log2_rounds)
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        if self.over_md5 {
            self.matches(to_hex(&Md5::digest(password)).as_bytes())
        } else {
            self.matches(password)
        }
    }

    fn matches(&self, input: &[u8]) -> bool {
        if (MD5_BYTES + input.len()) << self.log2_rounds > MAX_HASHED_BYTES {
            return false;
        }
        let first = Md5::new_with_prefix(self.salt).chain_update(input).finalize();
        let last = (0..1_u32 << self.log2_rounds)
            .fold(first, |hash, _| Md5::new_with_prefix(hash).chain_update(input).finalize());
        same(&encode(&last), &self.hash)
    }
}

/// Writes three bytes as four characters, little end first; the odd byte at the end becomes two characters.
fn encode(hash: &[u8]) -> Vec<u8> {
    hash.chunks(3)
        .flat_map(|chunk| {
            let bits = chunk.iter().rev().fold(0_usize, |bits, &byte| bits << 8 | usize::from(byte));
            (0..=chunk.len()).map(move |i| ALPHABET[bits >> (6 * i) & 63])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::{Digest, Hasher};

    #[test]
    fn a_long_password_at_the_highest_cost_is_refused_without_the_work() {
        // The cost character of 20 is `I`.
        let digest = Digest::parse(Hasher::Phpass, "$P$IguVIQFE7cxbpe0uJMKJYArYbd/mkj1").unwrap();
        assert!(!digest.verify(&"x".repeat(4096)));
    }
}
