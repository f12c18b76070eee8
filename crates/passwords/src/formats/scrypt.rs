//! Scrypt (RFC 7914) as Werkzeug writes it, `scrypt:N:r:p$salt$hash`, and as Firebase does, where scrypt's output is
//! not the hash but the key under which the project's signer key is encrypted to give the hash.

use std::time::Duration;

use ::scrypt::{Params, scrypt};
use aes::Aes256;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit as _, StreamCipher as _};

use crate::encoding::{base64, hex, number, same};
use crate::error::DigestError;

/// Time grows with N·r·p and memory with N·r, each unit being a block of 128 bytes. 128 MiB take about half a
/// second; Werkzeug's default is 32 MiB and Firebase's 16.
const MAX_WORK_BYTES: u64 = 128 * 1024 * 1024;
/// Firebase's hash is the encrypted signer key, so it is as long: 64 bytes. A short one could be hit by chance, and
/// an empty one would match every password.
const MIN_SIGNER_KEY_BYTES: usize = 16;
/// What both derive.
const OUTPUT_BYTES: usize = 64;

#[derive(Clone)]
pub(crate) struct Werkzeug {
    params: Params,
    salt: String,
    hash: Vec<u8>,
}

impl Werkzeug {
    /// Clerk's documentation shows a `$` in front and calls the hash base64, while Werkzeug exports neither; all of
    /// these are accepted. The two encodings of 64 bytes differ in length, so there is nothing to guess.
    pub(crate) fn parse(digest: &str) -> Result<Self, DigestError> {
        let fields: Vec<_> = digest.strip_prefix('$').unwrap_or(digest).split('$').collect();
        let [method, salt, hash] = fields[..] else { return Err(DigestError::Malformed) };
        let method: Vec<_> = method.split(':').collect();
        let ["scrypt", n, r, p] = method[..] else { return Err(DigestError::Malformed) };
        let hash = if hash.len() == 2 * OUTPUT_BYTES { hex(hash)? } else { base64(hash)? };
        let n = number(n)?;
        if salt.is_empty() || hash.len() != OUTPUT_BYTES || !n.is_power_of_two() {
            return Err(DigestError::Malformed);
        }
        let params = bounded(n.ilog2(), number(r)?, number(p)?)?;
        Ok(Self { params, salt: salt.to_owned(), hash })
    }

    pub(crate) fn time(&self) -> Duration {
        time(&self.params)
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let mut output = [0; OUTPUT_BYTES];
        scrypt(password, self.salt.as_bytes(), &self.params, &mut output).is_ok() && same(&output, &self.hash)
    }
}

#[derive(Clone)]
pub(crate) struct Firebase {
    params: Params,
    /// The user's salt followed by the project's separator.
    salt: Vec<u8>,
    signer_key: Vec<u8>,
    hash: Vec<u8>,
}

impl Firebase {
    /// `hash$salt$signer key$salt separator$rounds$memory cost`, the first four in base64.
    pub(crate) fn parse(digest: &str) -> Result<Self, DigestError> {
        let fields: Vec<_> = digest.split('$').collect();
        let [hash, salt, signer_key, separator, rounds, memory_cost] = fields[..] else {
            return Err(DigestError::Malformed);
        };
        let (hash, signer_key) = (base64(hash)?, base64(signer_key)?);
        if signer_key.len() < MIN_SIGNER_KEY_BYTES || hash.len() != signer_key.len() {
            return Err(DigestError::Malformed);
        }
        let mut salt = base64(salt)?;
        if salt.is_empty() {
            return Err(DigestError::Malformed);
        }
        salt.extend(base64(separator)?);
        let params = bounded(number(memory_cost)?, number(rounds)?, 1)?;
        Ok(Self { params, salt, signer_key, hash })
    }

    pub(crate) fn time(&self) -> Duration {
        time(&self.params)
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let mut derived = [0; OUTPUT_BYTES];
        if scrypt(password, &self.salt, &self.params, &mut derived).is_err() {
            return false;
        }
        // The first half of the output is an AES-256 key, used in counter mode from zero; the rest is unused.
        let Ok(mut cipher) = Ctr128BE::<Aes256>::new_from_slices(&derived[..32], &[0; 16]) else {
            return false;
        };
        let mut output = self.signer_key.clone();
        cipher.apply_keystream(&mut output);
        same(&output, &self.hash)
    }
}

/// 128 MiB take half a second, as above.
fn time(params: &Params) -> Duration {
    let blocks = (1_u64 << params.log_n()) * u64::from(params.r()) * u64::from(params.p());
    Duration::from_nanos(500 * blocks)
}

/// Scrypt parameters that are possible (RFC 7914 §2) and affordable.
fn bounded(log2_n: u32, r: u32, p: u32) -> Result<Params, DigestError> {
    if log2_n == 0 || r == 0 || p == 0 {
        return Err(DigestError::Malformed);
    }
    let work = 1_u64.checked_shl(log2_n).and_then(|n| {
        n.checked_mul(r.into()).and_then(|blocks| blocks.checked_mul(p.into())?.checked_mul(128))
    });
    match (work, u8::try_from(log2_n)) {
        (Some(..=MAX_WORK_BYTES), Ok(log2_n)) => {
            Params::new(log2_n, r, p).map_err(|_| DigestError::Malformed)
        }
        _ => Err(DigestError::TooCostly),
    }
}
