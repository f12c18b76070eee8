//! The private keys that sign tokens.
//!
//! Every key has 2048 bits and the exponent 65537, and nothing else is accepted: client libraries
//! recognise the public key by the fixed bytes around such a modulus. A parsed key is kept, because
//! parsing costs a third of a millisecond. This module must not know tokens, nor where keys are stored.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use crate::error::JoseError;
use crate::jwk::Jwk;

/// The `SubjectPublicKeyInfo` header that says "RSA, 270 bytes follow" (RFC 8017, appendix A.1).
const SPKI_START: [u8; 24] = [
    0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01,
    0x05, 0x00, 0x03, 0x82, 0x01, 0x0f, 0x00,
];
/// What stands before a modulus of 2048 bits in an `RSAPublicKey`. The last zero keeps it positive.
const MODULUS_START: [u8; 9] = [0x30, 0x82, 0x01, 0x0a, 0x02, 0x82, 0x01, 0x01, 0x00];
/// What stands behind it: the exponent 65537.
const EXPONENT: [u8; 5] = [0x02, 0x03, 0x01, 0x00, 0x01];
const MODULUS_BYTES: usize = 256;

/// A public key as PEM, in the one encoding from which clients cut the modulus by its fixed beginning and end.
fn pem_of(modulus: &[u8; MODULUS_BYTES]) -> String {
    let der = [&SPKI_START[..], &MODULUS_START, modulus, &EXPONENT].concat();
    let mut pem = String::from("-----BEGIN PUBLIC KEY-----\n");
    for (at, letter) in STANDARD.encode(der).chars().enumerate() {
        if at > 0 && at % 64 == 0 {
            pem.push('\n');
        }
        pem.push(letter);
    }
    pem.push_str("\n-----END PUBLIC KEY-----\n");
    pem
}

impl Jwk {
    /// The key as PEM, if it is one of this server.
    pub fn to_pem(&self) -> Option<String> {
        let modulus = URL_SAFE_NO_PAD.decode(&self.n).ok()?;
        Some(pem_of(modulus.as_slice().try_into().ok()?))
    }
}

/// An RSA-2048 key pair, parsed and ready to sign.
pub struct SigningKey {
    pair: KeyPair,
    modulus: [u8; MODULUS_BYTES],
}

impl SigningKey {
    /// Makes a new key from the library's own randomness. It takes tens of milliseconds and more.
    pub fn generate() -> Result<SigningKey, JoseError> {
        SigningKey::new(KeyPair::generate(KeySize::Rsa2048).map_err(|_| JoseError::Crypto)?)
    }

    /// Parses an unencrypted PKCS#8 document in DER.
    pub fn from_pkcs8(der: &[u8]) -> Result<SigningKey, JoseError> {
        SigningKey::new(KeyPair::from_pkcs8(der).map_err(|_| JoseError::InvalidKey)?)
    }

    /// The private key as PKCS#8 in DER. Seal it before it is stored.
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, JoseError> {
        let der: Pkcs8V1Der<'_> = self.pair.as_der().map_err(|_| JoseError::Crypto)?;
        Ok(Zeroizing::new(der.as_ref().to_vec()))
    }

    /// The public half, to be published under the name `kid`.
    pub fn public_jwk(&self, kid: &str) -> Jwk {
        Jwk {
            use_: "sig".to_owned(),
            kty: "RSA".to_owned(),
            kid: kid.to_owned(),
            alg: "RS256".to_owned(),
            n: URL_SAFE_NO_PAD.encode(self.modulus),
            e: "AQAB".to_owned(),
        }
    }

    /// The public half as PEM.
    pub fn public_pem(&self) -> String {
        pem_of(&self.modulus)
    }

    /// Signs with RSASSA-PKCS1-v1_5 and SHA-256. The same message gives the same signature.
    pub fn sign_rs256(&self, message: &[u8]) -> Result<Vec<u8>, JoseError> {
        let mut signature = vec![0; MODULUS_BYTES];
        self.pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
            .map_err(|_| JoseError::Crypto)?;
        Ok(signature)
    }

    /// Cuts the modulus out of the public key. DER has one encoding for a number, so a key that does not
    /// have these bytes around it is not one of ours.
    fn new(pair: KeyPair) -> Result<SigningKey, JoseError> {
        let modulus = pair
            .public_key()
            .as_ref()
            .strip_prefix(&MODULUS_START)
            .and_then(|rest| rest.strip_suffix(&EXPONENT))
            .and_then(|modulus| <[u8; MODULUS_BYTES]>::try_from(modulus).ok())
            .ok_or(JoseError::InvalidKey)?;
        Ok(SigningKey { pair, modulus })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningKey(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rfc7515;

    #[test]
    fn signatures_match_the_standards_example() {
        let signature = rfc7515::key().sign_rs256(rfc7515::SIGNING_INPUT.as_bytes()).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(signature), rfc7515::SIGNATURE);
    }

    #[test]
    fn the_public_jwk_matches_the_standards_example() {
        let jwk = rfc7515::key().public_jwk("ins_1");
        assert_eq!((jwk.n.as_str(), jwk.e.as_str()), (rfc7515::MODULUS, "AQAB"));
        assert_eq!((jwk.kid.as_str(), jwk.kty.as_str(), jwk.alg.as_str()), ("ins_1", "RSA", "RS256"));
    }

    #[test]
    fn a_generated_key_survives_storage() {
        let key = SigningKey::generate().unwrap();
        let stored = key.to_pkcs8().unwrap();
        let read = SigningKey::from_pkcs8(&stored).unwrap();
        assert_eq!(read.public_jwk("a"), key.public_jwk("a"));
        assert_eq!(read.sign_rs256(b"message").unwrap(), key.sign_rs256(b"message").unwrap());
        assert_ne!(SigningKey::generate().unwrap().public_pem(), key.public_pem());
    }

    #[test]
    fn clients_can_cut_the_modulus_out_of_the_pem() {
        for key in [rfc7515::key(), SigningKey::generate().unwrap()] {
            let pem = key.public_pem();
            assert!(pem.lines().all(|line| line.len() <= 64) && pem.ends_with("-----\n"));
            let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
            let modulus = body
                .strip_prefix("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA")
                .and_then(|rest| rest.strip_suffix("IDAQAB"))
                .unwrap();
            assert_eq!(modulus.replace('+', "-").replace('/', "_"), key.public_jwk("a").n);
        }
    }

    #[test]
    fn the_pem_is_what_openssl_writes() {
        assert_eq!(rfc7515::key().public_pem(), rfc7515::PUBLIC_PEM);
        assert_eq!(rfc7515::key().public_jwk("k").to_pem().as_deref(), Some(rfc7515::PUBLIC_PEM));
        let library = rfc7515::key().pair.public_key().as_der().unwrap();
        let body: String = rfc7515::PUBLIC_PEM.lines().filter(|line| !line.starts_with('-')).collect();
        assert_eq!(STANDARD.decode(body).unwrap(), library.as_ref());
    }

    #[test]
    fn other_keys_are_refused() {
        let larger = KeyPair::generate(KeySize::Rsa3072).unwrap();
        let der: Pkcs8V1Der<'_> = larger.as_der().unwrap();
        assert_eq!(SigningKey::from_pkcs8(der.as_ref()).unwrap_err(), JoseError::InvalidKey);
        let der = rfc7515::key().to_pkcs8().unwrap();
        for length in [0, 1, 40, der.len() - 1] {
            assert_eq!(SigningKey::from_pkcs8(&der[..length]).unwrap_err(), JoseError::InvalidKey);
        }
    }

    #[test]
    fn a_key_does_not_show_itself() {
        assert_eq!(format!("{:?}", rfc7515::key()), "SigningKey(redacted)");
    }
}
