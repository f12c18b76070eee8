//! Keys that an application brings along, for tokens which somebody else verifies.
//!
//! Whoever receives such a token decides how it must be signed, so here, and only here, the algorithm is a
//! choice. It is made when the key is read and never taken from a token: this module signs and cannot
//! verify. It must not know where keys are kept.

use std::fmt;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::error::JoseError;
use crate::jwt;

/// Moduli a key may have, in bytes: 2048 bits are the least that is safe, and a signature with more than
/// 4096 takes so long that requests would queue behind it.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=512;
/// Longest document with such a key; one of 4096 bits has 2400. Checking a longer key takes longer, so its length
/// alone has to refuse it.
const RSA_DER_BYTES: usize = 3000;

/// How a token can be signed (RFC 7518, section 3.1, and RFC 8037).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the registered names")]
pub enum Algorithm {
    Hs256,
    Hs384,
    Hs512,
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    Es512,
    EdDsa,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 13] = [
        Algorithm::Hs256,
        Algorithm::Hs384,
        Algorithm::Hs512,
        Algorithm::Rs256,
        Algorithm::Rs384,
        Algorithm::Rs512,
        Algorithm::Ps256,
        Algorithm::Ps384,
        Algorithm::Ps512,
        Algorithm::Es256,
        Algorithm::Es384,
        Algorithm::Es512,
        Algorithm::EdDsa,
    ];

    /// The algorithm of that name, written exactly so.
    pub fn parse(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// The name in a token's header.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Hs256 => "HS256",
            Algorithm::Hs384 => "HS384",
            Algorithm::Hs512 => "HS512",
            Algorithm::Rs256 => "RS256",
            Algorithm::Rs384 => "RS384",
            Algorithm::Rs512 => "RS512",
            Algorithm::Ps256 => "PS256",
            Algorithm::Ps384 => "PS384",
            Algorithm::Ps512 => "PS512",
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::Es512 => "ES512",
            Algorithm::EdDsa => "EdDSA",
        }
    }

    /// What key it takes, to complete "the key must be …".
    pub fn key(self) -> &'static str {
        match self {
            Algorithm::Hs256 => "a secret of at least 32 bytes, and not a PEM document",
            Algorithm::Hs384 => "a secret of at least 48 bytes, and not a PEM document",
            Algorithm::Hs512 => "a secret of at least 64 bytes, and not a PEM document",
            Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::Ps256
            | Algorithm::Ps384
            | Algorithm::Ps512 => {
                "an RSA private key of 2048 to 4096 bits with two primes of one size in PEM, not encrypted"
            }
            Algorithm::Es256 => "a private key on the curve P-256 in PEM, not encrypted",
            Algorithm::Es384 => "a private key on the curve P-384 in PEM, not encrypted",
            Algorithm::Es512 => "a private key on the curve P-521 in PEM, not encrypted",
            Algorithm::EdDsa => "an Ed25519 private key in PEM, not encrypted",
        }
    }
}

/// A key and the one algorithm it is used with, parsed and ready to sign.
pub struct CustomKey {
    algorithm: Algorithm,
    material: Material,
}

enum Material {
    Hmac(Box<hmac::Key>),
    Rsa { pair: RsaKeyPair, encoding: &'static dyn RsaEncoding, is_usual: bool },
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl CustomKey {
    /// Reads a key that somebody brings: for HMAC the text itself is the secret, otherwise it is a PEM document with an
    /// unencrypted private key (PKCS#8, or the older forms of RSA and EC).
    pub fn parse(algorithm: Algorithm, text: &str) -> Result<CustomKey, JoseError> {
        match CustomKey::open(algorithm, text)? {
            CustomKey { material: Material::Rsa { is_usual: false, .. }, .. } => Err(JoseError::InvalidKey),
            key => Ok(key),
        }
    }

    /// Reads a key that was brought before, also one that would be refused today.
    pub fn open(algorithm: Algorithm, text: &str) -> Result<CustomKey, JoseError> {
        let material = match algorithm {
            Algorithm::Hs256 => secret(text, hmac::HMAC_SHA256)?,
            Algorithm::Hs384 => secret(text, hmac::HMAC_SHA384)?,
            Algorithm::Hs512 => secret(text, hmac::HMAC_SHA512)?,
            Algorithm::Rs256 => rsa(text, &RSA_PKCS1_SHA256)?,
            Algorithm::Rs384 => rsa(text, &RSA_PKCS1_SHA384)?,
            Algorithm::Rs512 => rsa(text, &RSA_PKCS1_SHA512)?,
            Algorithm::Ps256 => rsa(text, &RSA_PSS_SHA256)?,
            Algorithm::Ps384 => rsa(text, &RSA_PSS_SHA384)?,
            Algorithm::Ps512 => rsa(text, &RSA_PSS_SHA512)?,
            Algorithm::Es256 => ecdsa(text, &ECDSA_P256_SHA256_FIXED_SIGNING)?,
            Algorithm::Es384 => ecdsa(text, &ECDSA_P384_SHA384_FIXED_SIGNING)?,
            Algorithm::Es512 => ecdsa(text, &ECDSA_P521_SHA512_FIXED_SIGNING)?,
            Algorithm::EdDsa => ed25519(text)?,
        };
        Ok(CustomKey { algorithm, material })
    }

    /// What it signs with.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Whether a signature takes milliseconds, so that requests must not queue behind it: with RSA, 2 for 3072 bits
    /// and 5 for 4096. With 2048 bits, and with every other key, it takes less than one.
    pub fn is_slow(&self) -> bool {
        match &self.material {
            Material::Rsa { pair, is_usual, .. } => {
                !is_usual || pair.public_modulus_len() > *RSA_BYTES.start()
            }
            _ => false,
        }
    }

    /// How many bytes its signatures have.
    pub fn signature_bytes(&self) -> usize {
        match (&self.material, self.algorithm) {
            (Material::Rsa { pair, .. }, _) => pair.public_modulus_len(),
            (_, Algorithm::Hs256) => 32,
            (_, Algorithm::Hs384) => 48,
            (_, Algorithm::Es384) => 96,
            (_, Algorithm::Es512) => 132,
            _ => 64,
        }
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, JoseError> {
        let random = SystemRandom::new();
        match &self.material {
            Material::Hmac(key) => Ok(hmac::sign(key, message).as_ref().to_vec()),
            Material::Rsa { pair, encoding, .. } => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(*encoding, &random, message, &mut signature).map_err(|_| JoseError::Crypto)?;
                Ok(signature)
            }
            Material::Ecdsa(pair) => {
                let signature = pair.sign(&random, message).map_err(|_| JoseError::Crypto)?;
                Ok(signature.as_ref().to_vec())
            }
            Material::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

impl fmt::Debug for CustomKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CustomKey({}, redacted)", self.algorithm.name())
    }
}

/// Signs `claims`. The header is the caller's, who must put the name of the key's algorithm into it.
pub fn token(key: &CustomKey, header: &impl Serialize, claims: &impl Serialize) -> Result<String, JoseError> {
    jwt::compact(header, claims, |message| key.sign(message))
}

/// A secret must be as long as the hash (RFC 7518, section 3.2): tokens are public, so a shorter one can
/// be guessed at leisure. A PEM document is somebody's public key, given by mistake: whoever has it could
/// then sign, too.
fn secret(text: &str, algorithm: hmac::Algorithm) -> Result<Material, JoseError> {
    let is_long_enough = text.len() >= algorithm.digest_algorithm().output_len();
    match is_long_enough && !text.contains("-----BEGIN") {
        true => Ok(Material::Hmac(Box::new(hmac::Key::new(algorithm, text.as_bytes())))),
        false => Err(JoseError::InvalidKey),
    }
}

fn rsa(text: &str, encoding: &'static dyn RsaEncoding) -> Result<Material, JoseError> {
    let (label, der) = private_key(text)?;
    if der.len() > RSA_DER_BYTES {
        return Err(JoseError::InvalidKey);
    }
    let (pair, key) = match label {
        "" => (RsaKeyPair::from_pkcs8(&der), wrapped(&der)),
        "RSA " => (RsaKeyPair::from_der(&der), Some(&der[..])),
        _ => return Err(JoseError::InvalidKey),
    };
    let pair = pair.map_err(|_| JoseError::InvalidKey)?;
    let is_usual = key.and_then(primes).is_some_and(|(p, q)| words(p) == words(q));
    match RSA_BYTES.contains(&pair.public_modulus_len()) {
        true => Ok(Material::Rsa { pair, encoding, is_usual }),
        false => Err(JoseError::InvalidKey),
    }
}

/// The key in a PKCS#8 document: behind its version and the algorithm, in an octet string.
fn wrapped(der: &[u8]) -> Option<&[u8]> {
    let (_version, rest) = element(element(der)?.0)?;
    let (_algorithm, rest) = element(rest)?;
    Some(element(rest)?.0)
}

/// The primes of an RSA key (RFC 8017, appendix A.1.2): behind its version, modulus and two exponents.
fn primes(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = element(key)?.0;
    for _ in 0..4 {
        rest = element(rest)?.1;
    }
    let (p, rest) = element(rest)?;
    Some((p, element(rest)?.0))
}

/// How many words of 64 bits a number takes. Where the primes differ in it, the library signs without them, which takes
/// four times as long.
fn words(number: &[u8]) -> usize {
    number.strip_prefix(&[0]).unwrap_or(number).len().div_ceil(8)
}

/// The content of the first element of a DER document, and what follows the element.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let ([_tag, first], rest) = der.split_first_chunk()?;
    let (length, rest) = match first {
        ..=0x7f => (usize::from(*first), rest),
        0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
        0x82 => rest.split_first_chunk().map(|(length, rest)| (u16::from_be_bytes(*length).into(), rest))?,
        _ => return None,
    };
    rest.split_at_checked(length)
}

fn ecdsa(text: &str, algorithm: &'static EcdsaSigningAlgorithm) -> Result<Material, JoseError> {
    let (label, der) = private_key(text)?;
    if !["", "EC "].contains(&label) {
        return Err(JoseError::InvalidKey);
    }
    let pair = EcdsaKeyPair::from_private_key_der(algorithm, &der).map_err(|_| JoseError::InvalidKey)?;
    Ok(Material::Ecdsa(pair))
}

fn ed25519(text: &str) -> Result<Material, JoseError> {
    let (label, der) = private_key(text)?;
    if !label.is_empty() {
        return Err(JoseError::InvalidKey);
    }
    // OpenSSL writes no public half, which the stricter function asks for.
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|_| JoseError::InvalidKey)?;
    Ok(Material::Ed25519(pair))
}

/// The first private key of a PEM text (RFC 7468), and what its label says before `PRIVATE KEY`. Other
/// blocks may stand before it: `openssl ecparam -genkey` writes the curve first.
fn private_key(text: &str) -> Result<(&str, Zeroizing<Vec<u8>>), JoseError> {
    let found = || {
        let (before, after) = text.split_once("PRIVATE KEY-----")?;
        let (_, label) = before.rsplit_once("-----BEGIN ")?;
        let (body, _) = after.split_once("-----END ")?;
        let body: Zeroizing<Vec<u8>> =
            Zeroizing::new(body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect());
        Some((label, Zeroizing::new(STANDARD.decode(&*body).ok()?)))
    };
    found().ok_or(JoseError::InvalidKey)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{self, KeyPair as _, UnparsedPublicKey, VerificationAlgorithm};
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};

    use super::*;
    use crate::rfc7515;

    const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn pem(label: &str, der: &[u8]) -> String {
        let body = STANDARD.encode(der);
        let lines: Vec<&str> = body.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
        format!(
            "-----BEGIN {label}PRIVATE KEY-----\n{}\n-----END {label}PRIVATE KEY-----\n",
            lines.join("\n")
        )
    }

    fn rsa_pem() -> String {
        pem("", &rfc7515::key().to_pkcs8().unwrap())
    }

    fn decoded(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    /// The key of RFC 7515, appendix A.3: the curve's point, and the key as OpenSSL's `EC PRIVATE KEY`.
    fn p256() -> (Vec<u8>, String) {
        let private = decoded("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI");
        let mut point = vec![4];
        point.extend(decoded("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"));
        point.extend(decoded("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"));
        let curve = [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
        let der = [
            &[0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20][..],
            &private,
            &curve,
            &[0xa1, 0x44, 0x03, 0x42, 0x00],
            &point,
        ]
        .concat();
        (point, pem("EC ", &der))
    }

    /// The key of RFC 8037, appendix A.1, as OpenSSL writes it.
    fn ed25519_pem() -> String {
        let start = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        pem("", &[&start[..], &decoded("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")].concat())
    }

    fn signed(algorithm: Algorithm, key: &str, message: &str) -> Vec<u8> {
        let key = CustomKey::parse(algorithm, key).unwrap();
        let signature = key.sign(message.as_bytes()).unwrap();
        assert_eq!(signature.len(), key.signature_bytes(), "{key:?}");
        signature
    }

    fn refused(algorithm: Algorithm, key: &str) {
        let refusal = CustomKey::parse(algorithm, key).unwrap_err();
        assert_eq!(refusal, JoseError::InvalidKey, "{algorithm:?} {key}");
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::parse(algorithm.name()), Some(algorithm));
            assert_eq!(Algorithm::parse(&format!("{} ", algorithm.name())), None);
        }
        for other in ["none", "None", "", "hs256", "RS1", "ES256K"] {
            assert_eq!(Algorithm::parse(other), None);
        }
    }

    #[test]
    fn hmacs_are_those_python_makes() {
        for (algorithm, expected) in [
            (Algorithm::Hs256, "SOIEDVVeDBlipMPhrDxt6Em8A4LYtpjdr-hlUdpMq4A"),
            (Algorithm::Hs384, "u0hzf0s2dW-IMfvoTCO5fDHoJ75pnb3FA2z9JZRlojITZXmARixHGOH9eLmLERcw"),
            (
                Algorithm::Hs512,
                "wmtLKgAjcquuvy7xY8wC3FsN8wmY9fwtzFdkEebMarHGSb_0w9tnaMhoctLD4wu1dyHUMue_zwTdgV3ksi9A_g",
            ),
        ] {
            assert_eq!(signed(algorithm, SECRET, rfc7515::SIGNING_INPUT), decoded(expected));
        }
    }

    #[test]
    fn rsa_signatures_are_those_of_the_standard_and_of_openssl() {
        let pkcs8 = rfc7515::key().to_pkcs8().unwrap();
        // The older form is what the newer one wraps.
        for key in [rsa_pem(), pem("RSA ", &pkcs8[26..])] {
            for (algorithm, expected) in
                [(Algorithm::Rs256, rfc7515::SIGNATURE), (Algorithm::Rs384, RS384), (Algorithm::Rs512, RS512)]
            {
                assert_eq!(signed(algorithm, &key, rfc7515::SIGNING_INPUT), decoded(expected));
            }
        }
    }

    #[test]
    fn pss_signatures_verify() {
        let public = RsaKeyPair::from_pkcs8(&rfc7515::key().to_pkcs8().unwrap()).unwrap();
        for (algorithm, verifier) in [
            (Algorithm::Ps256, &signature::RSA_PSS_2048_8192_SHA256),
            (Algorithm::Ps384, &signature::RSA_PSS_2048_8192_SHA384),
            (Algorithm::Ps512, &signature::RSA_PSS_2048_8192_SHA512),
        ] {
            let signature = signed(algorithm, &rsa_pem(), "message");
            let public = UnparsedPublicKey::new(verifier, public.public_key().as_ref());
            assert!(
                public.verify(b"message", &signature).is_ok() && public.verify(b"other", &signature).is_err()
            );
        }
    }

    #[test]
    fn curves_sign_with_their_own_hash() {
        let verifies = |verifier: &'static dyn VerificationAlgorithm, point: &[u8], signature: &[u8]| {
            UnparsedPublicKey::new(verifier, point).verify(b"message", signature).is_ok()
        };
        let (point, key) = p256();
        let signature = signed(Algorithm::Es256, &key, "message");
        assert!(verifies(&signature::ECDSA_P256_SHA256_FIXED, &point, &signature));
        for (algorithm, curve, verifier) in [
            (Algorithm::Es256, &ECDSA_P256_SHA256_FIXED_SIGNING, &signature::ECDSA_P256_SHA256_FIXED),
            (Algorithm::Es384, &ECDSA_P384_SHA384_FIXED_SIGNING, &signature::ECDSA_P384_SHA384_FIXED),
            (Algorithm::Es512, &ECDSA_P521_SHA512_FIXED_SIGNING, &signature::ECDSA_P521_SHA512_FIXED),
        ] {
            let pair = EcdsaKeyPair::generate(curve).unwrap();
            let key = pem("", pair.to_pkcs8v1().unwrap().as_ref());
            let signature = signed(algorithm, &key, "message");
            assert!(verifies(verifier, pair.public_key().as_ref(), &signature));
            for other in
                [Algorithm::Es256, Algorithm::Es384, Algorithm::Es512, Algorithm::Rs256, Algorithm::EdDsa]
            {
                if other != algorithm {
                    refused(other, &key);
                }
            }
        }
    }

    #[test]
    fn ed25519_signatures_are_those_of_the_standard() {
        let signature = signed(
            Algorithm::EdDsa,
            &ed25519_pem(),
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
        );
        let expected =
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        assert_eq!(signature, decoded(expected));
    }

    #[test]
    fn a_token_says_what_it_was_given_and_carries_its_signature() {
        let key = CustomKey::parse(Algorithm::Hs256, SECRET).unwrap();
        let (header, claims) = (json!({"alg": "HS256"}), json!({"sub": "user_1"}));
        let token = token(&key, &header, &claims).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let read = |part: &str| serde_json::from_slice::<Value>(&decoded(part)).unwrap();
        assert_eq!((read(parts[0]), read(parts[1])), (header, claims));
        assert_eq!(decoded(parts[2]), key.sign(format!("{}.{}", parts[0], parts[1]).as_bytes()).unwrap());
    }

    #[test]
    fn secrets_are_as_long_as_their_hash_and_no_keys_of_somebody() {
        for (algorithm, least) in [(Algorithm::Hs256, 32), (Algorithm::Hs384, 48), (Algorithm::Hs512, 64)] {
            assert!(CustomKey::parse(algorithm, &SECRET[..least]).is_ok());
            refused(algorithm, &SECRET[..least - 1]);
            refused(algorithm, "");
            refused(algorithm, &rfc7515::key().public_pem());
            refused(algorithm, &format!("\n  {}", rsa_pem()));
        }
    }

    #[test]
    fn keys_of_another_kind_are_refused() {
        let rsa = rsa_pem();
        for algorithm in [Algorithm::Es256, Algorithm::Es384, Algorithm::Es512, Algorithm::EdDsa] {
            refused(algorithm, &rsa);
        }
        for algorithm in [Algorithm::Rs256, Algorithm::Ps512] {
            refused(algorithm, &p256().1);
            refused(algorithm, &ed25519_pem());
            refused(algorithm, &rfc7515::key().public_pem());
            refused(algorithm, SECRET);
            refused(algorithm, &rsa.replace("BEGIN PRIVATE", "BEGIN ENCRYPTED PRIVATE"));
            refused(algorithm, &rsa[..rsa.len() / 2]);
            refused(algorithm, "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----");
        }
    }

    #[test]
    fn other_blocks_and_space_around_a_key_do_no_harm() {
        let curve = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
        assert!(CustomKey::parse(Algorithm::Es256, &format!("{curve}{}", p256().1)).is_ok());
        let windows = rsa_pem().replace('\n', "\r\n");
        assert!(CustomKey::parse(Algorithm::Rs256, &format!("\n  {windows}  \n")).is_ok());
    }

    #[test]
    fn rsa_keys_are_bounded_and_long_ones_are_slow() {
        let generated = |size: KeySize| {
            let der: Pkcs8V1Der<'_> = RsaKeyPair::generate(size).unwrap().as_der().unwrap();
            pem("", der.as_ref())
        };
        let parsed = |algorithm: Algorithm, key: &str| CustomKey::parse(algorithm, key).unwrap();
        let longer = generated(KeySize::Rsa3072);
        assert!(parsed(Algorithm::Ps256, &longer).is_slow());
        assert_eq!(signed(Algorithm::Rs512, &longer, "message").len(), 384);
        assert!(!parsed(Algorithm::Rs512, &rsa_pem()).is_slow());
        assert!(!parsed(Algorithm::Es256, &p256().1).is_slow());
        assert!(!parsed(Algorithm::Hs512, SECRET).is_slow());
        // What is too long is not even looked at.
        let mut long = rfc7515::key().to_pkcs8().unwrap().to_vec();
        long.resize(RSA_DER_BYTES + 1, 0);
        refused(Algorithm::Rs256, &pem("", &long));
    }

    /// A key of 2048 bits whose primes have 1500 and 548; made with Python.
    #[test]
    fn rsa_keys_whose_primes_differ_in_size_are_refused() {
        let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{UNEVEN}\n-----END RSA PRIVATE KEY-----\n");
        let (_, der) = private_key(&key).unwrap();
        assert!(RsaKeyPair::from_der(&der).is_ok(), "the library would take it");
        for algorithm in [Algorithm::Rs256, Algorithm::Ps512] {
            refused(algorithm, &key);
            // Those from before still sign, out of the way of requests.
            let stored = CustomKey::open(algorithm, &key).unwrap();
            assert!(stored.is_slow() && stored.sign(b"message").is_ok());
        }
        let (_, ours) = private_key(&rsa_pem()).map(|(label, der)| (label.to_owned(), der)).unwrap();
        let (p, q) = primes(wrapped(&ours).unwrap()).unwrap();
        assert_eq!((words(p), words(q)), (16, 16));
    }

    #[test]
    fn a_key_does_not_show_itself() {
        let key = CustomKey::parse(Algorithm::Hs256, SECRET).unwrap();
        assert_eq!(format!("{key:?}"), "CustomKey(HS256, redacted)");
    }

    const UNEVEN: &str = concat!(
        "MIIE3QIBAAKCAQEAzk+uHFXtwXX7bzXMfVGcKTNyfAfcMIHCHmKiSSnS7H/5j7ppd3mc9GAMZEg7R9vf45pHyG5/RSflLf04",
        "TUO0Jq83fuXBvEGIVvPj2mgcQDvUvHGKRN/5+anWg0pKRZPk19OlvW0Prr0O1ZBh9Lgbe6e1jmBeA0TYYtdBbKgVowtbCLVg",
        "3ML0inmQayyh4H6LmPMxe0TSlYyDICCn+PwW4MjD0OyspviYX5EW/Pz3Ai2Xe9j4j9W5f6aQcOkg/wRycPPD6zSZws7jbGeU",
        "bdezR9riFmHx51RSA/MFTDlMGBOhwxGM7A+Vz75dS7ARe3Jl/g2iKZHU0wGblpkWcWtTewIDAQABAoIBAQCbTqI8FHeplh5U",
        "BoTMpf3PijoZonUgUt4Fr6yJNSHiBSiiCOtSFEuSLyfE6hcuLhfpp394I65NKg49Q4z5pQjdwjMdpN5ap2lobAEiKSbkm4vM",
        "UYagKAS0ViNdHmsMk0cfksDDJy4oJQGv7pmS4yM+5JvXeaC7Xa3HesMEiaDuMd8dYlYC/efpbg22rSRAwJfdQtNvXecM/roF",
        "ySxJQ+SgkySKHCYJ1br+6Crh2zo7T9a/k4YYWEuLZ+IqHR2uevm+PvUnf96kFs2ytsMyU7F1qOXaXnaMbVj1qu4Jxh6N0/Md",
        "5AKvq/jFUg7izJnKdr0lR5BG3FMsQpmsn3R10AI5AoG8D1WZBjM2vLt5Not+LknvlOCFbyAypy1lx9iQsaDW44lReDv84OVu",
        "NdobMN3mQ57cB963I0HvOz4mN3W1fx9N6EnpsmkOy1NjfwMzAXDTLw/79iPL5VsmzgQj4mzSQ/EiY+xQJScz7WXuIQgSi9kN",
        "G07kb5/LW0eIBhA+h6/rNMCWosWkfKRAq3g585IoeqS4PeL3HIO3jMXft3q86/ZmYpgUEufyxjZ0+IAfzXiaAKTvyUW3zhiX",
        "YyyYUAcCRQ10RNRaCAKkRePwG8dMMM6L93bNHcgOH8X/0ux4cGldLNALRFGNdKrfLAoJzX+MnhAH6NeBB9EZBinIzCI0p2IX",
        "SSOb7QKBvARoBGDTtpblCB+0Vb3XYRDWs4ELL4L6eJTElk90eEtJ2i9CjZfSVakD02xnVxN3QqLATL/E4omTgkfNeyncRPbK",
        "xmyN48JpY93LfYycbxLG9Q/1mVF+r9fjOKyHuKPtVoSAE0eZzEIbWCIFv86PwERolxu8PyMrmtqjMFStKFkwPhjn0iw+xpZ/",
        "JafoB9m2G3stDPUUpFm/Qlnm2wKy+xi5uor0O77ZRyNhLcJNNXOZ8Y1Ui0ydpGLLHblhAkUHtXoGrntugA+nthlEjWxdvKcT",
        "RB3vVeBww89oPO40APY/UmVX0RRrH6qNKea8UabzioSojj8bWRpF8M6+Pqs1sh/vLlUCgbwLfPVpwrItfnokHPymGQTi5Ro5",
        "mFhHBpE41hZsHpWgYXHlRZU8r9ou9OQ3WpgOgxzF4SUjQECCdB1DJrr30tDldqnbu4PZ9TRaNwWlqaNEUdIZQMdyVuLgxP4Y",
        "tux74fY8RALeKcXgdlzrRUVMm731dnKGOvnnx1k3dUckA+b/a/JFtJQkA03xkK+qRZH2BzbwZqOi8JljUsING4+z5yivUXbZ",
        "YCxrxSOuTVpP76VC3scB8a+lORheZiwfKA==",
    );
    const RS384: &str = concat!(
        "QMlqnIk4Jg6V4BsZGDb3PTKORZPw-eoUq-FsnjYifl08H95otuD2EHkUuDdfTGjEcJ6tgIehmwfchztWsgwuobaeMbRS44do",
        "IjGi4FaIHX4XlKcIlUxSnJPQ2O8bWZF6vkvQaPBXjzwLDGKUTkJwwP052sCL-ivRWakkNETy66m2ODQjg4mN6EJI2o6_hRsk",
        "lNEHPHjrTdOWnugAcEJ44e_fZ3cCFlP9009ITkx9ZgiVR8ViI-KBgCY90JDhxneWKNzWidZaTg6TcEUQo73V1H4WSbzUVa7a",
        "LTFVc5OTSX-kO6GNrlCSKHx-M_yPDowT9ovfNX_UXJzxxMWWwGaYCA",
    );
    const RS512: &str = concat!(
        "jVVNFquIjYtsXWDHTCFaq0UoNhuL2qq0KNQ3hx6V-dfxtc2obZ81vcL-mpmCxsnW5VzZtAuEM__uUpFTtoP65kGyVR8ebwUM",
        "hr_ra0JzpO4fS1SrHTu-f-GqPoN9LYXM_7pmT2dYbGw2-AqbLTutv-lBG04TQHbgJ3ISx14bjdACIRh8DGtQwvHQBpV_S-KM",
        "_yweOiqt5ff5GckMaaGqSuDTlVupVE46NfXiE3tjf3PnnztWuOJ-lNNtQ0ojc-jGX7DpreVDWFkh4WpnC_dPVlhTpq8F-mKS",
        "sOEBc4B7-J_bnR80VNx2sCEq3GH49TRs2js-J0VIef8hX7H-3aQt4g",
    );
}
