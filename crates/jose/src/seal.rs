//! Secrets at rest: signing keys, TOTP secrets and client secrets as they lie in the database.
//!
//! One master key, which is not in the database, encrypts them with AES-256-GCM. Each value is bound to a
//! context that names the row it belongs to, so that a value moved to another row does not open. This
//! module must not know where the master key or the sealed values are kept.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::digest;
use crate::error::JoseError;

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;
/// The first byte of every sealed value, so that another scheme can follow without guessing.
const VERSION: u8 = 1;

/// The key that seals all others. It is wiped from memory when dropped and does not print itself.
pub struct MasterKey(Zeroizing<[u8; KEY_BYTES]>);

impl MasterKey {
    /// Takes the key as it is; it must be random, not a password.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> MasterKey {
        MasterKey(Zeroizing::new(bytes))
    }

    /// Makes a new key from the library's own randomness.
    pub fn generate() -> MasterKey {
        MasterKey::from_bytes(digest::random())
    }

    /// Reads 32 bytes of standard base64, as `openssl rand -base64 32` prints them. Space around them is
    /// ignored, because files end in a newline.
    pub fn from_base64(text: &str) -> Result<MasterKey, JoseError> {
        // One byte more than a key: what 44 characters could hold, were the last not padding.
        let mut decoded = Zeroizing::new([0; KEY_BYTES + 1]);
        let length =
            STANDARD.decode_slice(text.trim(), decoded.as_mut_slice()).map_err(|_| JoseError::InvalidKey)?;
        let bytes = decoded.get(..length).and_then(|bytes| <[u8; KEY_BYTES]>::try_from(bytes).ok());
        bytes.map(MasterKey::from_bytes).ok_or(JoseError::InvalidKey)
    }

    /// The key as [`MasterKey::from_base64`] reads it.
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(self.0.as_slice()))
    }

    /// Encrypts `plain` for `context`, for example `signing_key:ins_…`.
    ///
    /// The result is a version byte, a random nonce of 12 bytes, and the ciphertext with its tag of 16.
    /// Random nonces are safe for some four billion values under one key (NIST SP 800-38D, section 8.3).
    pub fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, JoseError> {
        let mut ciphertext = plain.to_vec();
        let nonce = self
            .cipher()?
            .seal_in_place_append_tag(Aad::from(context.as_bytes()), &mut ciphertext)
            .map_err(|_| JoseError::Crypto)?;
        Ok([&[VERSION], nonce.as_ref().as_slice(), &ciphertext].concat())
    }

    /// Decrypts what [`MasterKey::seal`] made for the same `context`.
    pub fn open(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>, JoseError> {
        let (nonce, ciphertext) = match sealed.split_first() {
            Some((&VERSION, rest)) => rest.split_first_chunk::<NONCE_BYTES>().ok_or(JoseError::Unsealable)?,
            _ => return Err(JoseError::Unsealable),
        };
        let mut plain = ciphertext.to_vec();
        let length = self
            .cipher()?
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(context.as_bytes()), &mut plain)
            .map_err(|_| JoseError::Unsealable)?
            .len();
        plain.truncate(length);
        Ok(plain)
    }

    /// A key of its own for `context`, always the same one.
    pub fn derive(&self, context: &str) -> [u8; KEY_BYTES] {
        digest::hmac_sha256(self.0.as_slice(), format!("derive:{context}").as_bytes())
    }

    fn cipher(&self) -> Result<RandomizedNonceKey, JoseError> {
        RandomizedNonceKey::new(&AES_256_GCM, self.0.as_slice()).map_err(|_| JoseError::Crypto)
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MasterKey(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: &str = "signing_key:ins_1";

    #[test]
    fn what_is_sealed_opens_again() {
        let key = MasterKey::generate();
        for plain in [&b""[..], b"x", &[7; 5000]] {
            let sealed = key.seal(CONTEXT, plain).unwrap();
            assert_eq!((sealed[0], sealed.len()), (VERSION, 1 + NONCE_BYTES + plain.len() + 16));
            assert_eq!(key.open(CONTEXT, &sealed).unwrap(), plain);
        }
    }

    #[test]
    fn keys_are_derived_by_context() {
        let key = MasterKey::from_bytes([1; KEY_BYTES]);
        assert_eq!(key.derive("a"), key.derive("a"));
        assert_ne!(key.derive("a"), key.derive("b"));
        assert_ne!(key.derive("a"), MasterKey::from_bytes([2; KEY_BYTES]).derive("a"));
    }

    #[test]
    fn sealing_twice_gives_different_values() {
        let key = MasterKey::generate();
        assert_ne!(key.seal(CONTEXT, b"secret"), key.seal(CONTEXT, b"secret"));
    }

    #[test]
    fn another_key_or_context_does_not_open() {
        let key = MasterKey::generate();
        let sealed = key.seal(CONTEXT, b"secret").unwrap();
        assert_eq!(key.open("signing_key:ins_2", &sealed), Err(JoseError::Unsealable));
        assert_eq!(key.open("", &sealed), Err(JoseError::Unsealable));
        assert_eq!(MasterKey::generate().open(CONTEXT, &sealed), Err(JoseError::Unsealable));
    }

    #[test]
    fn every_changed_bit_and_every_missing_byte_is_noticed() {
        let key = MasterKey::generate();
        let sealed = key.seal(CONTEXT, b"secret").unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1 << (at % 8);
            assert_eq!(key.open(CONTEXT, &changed), Err(JoseError::Unsealable));
            assert_eq!(key.open(CONTEXT, &sealed[..at]), Err(JoseError::Unsealable));
        }
        assert_eq!(key.open(CONTEXT, &[sealed.as_slice(), b"x"].concat()), Err(JoseError::Unsealable));
    }

    #[test]
    fn values_sealed_by_earlier_releases_open() {
        let key = MasterKey::from_bytes([0x42; 32]);
        let sealed = STANDARD.decode("AQABAgMEBQYHCAkKC3a78q/UWCSaTdtUK6RAa5nm4Lw+fMU=").unwrap();
        assert_eq!(key.open(CONTEXT, &sealed).unwrap(), b"secret");
    }

    #[test]
    fn a_master_key_is_thirty_two_bytes_of_base64() {
        let key = MasterKey::generate();
        let text = key.to_base64();
        assert_eq!(MasterKey::from_base64(&format!(" {}\n", *text)).unwrap().0, key.0);
        for length in [0, 1, 16, 31, 33, 34, 64] {
            let text = STANDARD.encode(vec![1; length]);
            assert_eq!(MasterKey::from_base64(&text).unwrap_err(), JoseError::InvalidKey);
        }
        for text in ["not base64", "=", &"A".repeat(1000)] {
            assert_eq!(MasterKey::from_base64(text).unwrap_err(), JoseError::InvalidKey);
        }
    }

    #[test]
    fn a_master_key_does_not_show_itself() {
        assert_eq!(format!("{:?}", MasterKey::from_bytes([1; 32])), "MasterKey(redacted)");
    }
}
