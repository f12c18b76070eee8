//! Hashes, message authentication, random bytes and comparison.
//!
//! Thin on purpose: the rest of the server names these functions instead of the library, and gets plain
//! arrays. This module must not know what is hashed or compared.

use aws_lc_rs::{constant_time, digest, hmac, rand};

/// SHA-256.
pub fn sha256(data: &[u8]) -> [u8; 32] {
    array(digest::digest(&digest::SHA256, data).as_ref())
}

/// SHA-1, which browsers' scripts name cookies by; it protects nothing.
pub fn sha1(data: &[u8]) -> [u8; 20] {
    array(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, data).as_ref())
}

/// HMAC with SHA-256, for new uses.
pub fn hmac_sha256(key: &[u8], data: &[u8]) -> [u8; 32] {
    HmacSha256::new(key).of(&[data])
}

/// A key for HMACs with SHA-256 that is used more than once.
pub struct HmacSha256(hmac::Key);

impl HmacSha256 {
    /// Prepares a key.
    pub fn new(key: &[u8]) -> HmacSha256 {
        HmacSha256(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The HMAC of texts that follow each other.
    pub fn of(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.0);
        parts.iter().for_each(|part| context.update(part));
        array(context.sign().as_ref())
    }
}

/// HMAC with SHA-1, because authenticator apps know nothing else.
pub fn hmac_sha1(key: &[u8], data: &[u8]) -> [u8; 20] {
    array(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key), data).as_ref())
}

/// Bytes from the system's randomness, by way of the cryptographic library.
#[expect(
    clippy::expect_used,
    reason = "the library ends the process itself when the system has no randomness to give, and a server \
              that went on with guessable secrets would be worse than one that stops"
)]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).expect("the system gives randomness");
    bytes
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two secrets are equal, in a time that depends on their lengths only.
pub fn constant_time_eq(left: &[u8], right: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(left, right).is_ok()
}

/// The library's outputs carry their length at run time; each algorithm has exactly one.
fn array<const N: usize>(output: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(output);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256_matches_fips_180() {
        assert_eq!(hex(&sha256(b"abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn hmacs_match_rfc_2202_and_rfc_4231() {
        let data = b"what do ya want for nothing?";
        assert_eq!(hex(&hmac_sha1(b"Jefe", data)), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
        assert_eq!(
            hex(&hmac_sha256(b"Jefe", data)),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_ne!(hmac_sha256(b"", b""), hmac_sha256(b"x", b""));
        let (key, parts) = (HmacSha256::new(b"Jefe"), [&data[..4], b"", &data[4..]]);
        assert_eq!([key.of(&parts), key.of(&parts)], [hmac_sha256(b"Jefe", data); 2]);
    }

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random::<16>(), random::<16>());
        assert_eq!(random::<0>().len(), 0);
    }

    #[test]
    fn comparison_sees_length_and_content() {
        assert!(constant_time_eq(b"secret", b"secret"));
        assert!(!constant_time_eq(b"secret", b"secreT"));
        assert!(!constant_time_eq(b"secret", b"secre"));
        assert!(constant_time_eq(b"", b""));
    }
}
