//! Tokens that somebody else signed: ID tokens of other providers, with keys as they publish them.
//!
//! A key decides by its family which algorithm it is used with; what a token's header says may only agree with it. So
//! no token can choose an algorithm that its key is not for. This module must not know claims or time: whoever verifies a
//! token checks expiry, issuer and audience.

use aws_lc_rs::constant_time;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::digest::hmac_sha256;
use crate::error::JoseError;

/// The most keys of a set that are looked at.
const KEYS: usize = 100;
/// The longest number of a key: 8192 bits and some room.
const NUMBER_CHARS: usize = 1500;
/// The longest name of a key.
const KID_CHARS: usize = 256;

/// Public keys of somebody else, as published (RFC 7517). Those that cannot be used here are left out.
#[derive(Debug, Clone, Default)]
pub struct ForeignKeys(Vec<ForeignKey>);

#[derive(Debug, Clone)]
struct ForeignKey {
    kid: Option<String>,
    material: PublicMaterial,
}

#[derive(Debug, Clone)]
enum PublicMaterial {
    /// Modulus and exponent, for RS256.
    Rsa(Vec<u8>, Vec<u8>),
    /// A point on the curve P-256, for ES256.
    P256(Vec<u8>),
    /// For EdDSA.
    Ed25519(Vec<u8>),
}

impl PublicMaterial {
    fn algorithm(&self) -> &'static str {
        match self {
            PublicMaterial::Rsa(..) => "RS256",
            PublicMaterial::P256(_) => "ES256",
            PublicMaterial::Ed25519(_) => "EdDSA",
        }
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), JoseError> {
        let verified = match self {
            PublicMaterial::Rsa(n, e) => RsaPublicKeyComponents { n: n.as_slice(), e: e.as_slice() }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            PublicMaterial::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            PublicMaterial::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
        };
        verified.map_err(|_| JoseError::BadSignature)
    }
}

impl ForeignKeys {
    /// The keys of a document; none when it is something else.
    pub fn read(document: &Value) -> ForeignKeys {
        let keys = document["keys"].as_array().into_iter().flatten().take(KEYS);
        ForeignKeys(keys.filter_map(ForeignKey::read).collect())
    }

    /// Whether there is a key of this name.
    pub fn has(&self, kid: &str) -> bool {
        self.0.iter().any(|key| key.kid.as_deref() == Some(kid))
    }

    /// The key that a token names; or the only one there is for its algorithm, if the token names none.
    fn find(&self, head: &TokenHead) -> Result<&ForeignKey, JoseError> {
        let fits = |key: &&ForeignKey| key.material.algorithm() == head.algorithm();
        let mut found = self.0.iter().filter(fits).filter(|key| match head.kid() {
            Some(kid) => key.kid.as_deref() == Some(kid),
            None => true,
        });
        match (found.next(), found.next()) {
            (Some(key), None) => Ok(key),
            (None, _) | (Some(_), Some(_)) => Err(JoseError::UnknownKey),
        }
    }
}

impl ForeignKey {
    fn read(key: &Value) -> Option<ForeignKey> {
        if key["use"].as_str().is_some_and(|use_| use_ != "sig") {
            return None;
        }
        let number = |name: &str| {
            let text = key[name].as_str().filter(|text| text.len() <= NUMBER_CHARS)?;
            URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
        };
        let material = match (key["kty"].as_str()?, key["crv"].as_str()) {
            ("RSA", _) => PublicMaterial::Rsa(number("n")?, number("e")?),
            ("EC", Some("P-256")) => {
                PublicMaterial::P256([vec![4], padded(number("x")?)?, padded(number("y")?)?].concat())
            }
            ("OKP", Some("Ed25519")) => PublicMaterial::Ed25519(number("x")?),
            _ => return None,
        };
        let is_meant = key["alg"].as_str().is_none_or(|alg| alg == material.algorithm());
        let kid = key["kid"].as_str().map(str::to_owned);
        let is_short = kid.as_ref().is_none_or(|kid| kid.len() <= KID_CHARS);
        (is_meant && is_short).then_some(ForeignKey { kid, material })
    }
}

/// A coordinate with all its bytes: some leave out zeros at the beginning.
fn padded(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let missing = 32_usize.checked_sub(bytes.len())?;
    Some([vec![0; missing], bytes].concat())
}

/// The header of a token, before anybody has checked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHead {
    algorithm: String,
    kid: Option<String>,
}

impl TokenHead {
    /// Reads it; a critical extension is refused, because none is known here (RFC 7515, section 4.1.11).
    pub fn read(token: &str) -> Result<TokenHead, JoseError> {
        let (header, _) = token.split_once('.').ok_or(JoseError::MalformedToken)?;
        let header = object(header)?;
        if header.get("crit").is_some() {
            return Err(JoseError::MalformedToken);
        }
        let algorithm = header["alg"].as_str().ok_or(JoseError::UnsupportedAlgorithm)?.to_owned();
        Ok(TokenHead { algorithm, kid: header["kid"].as_str().map(str::to_owned) })
    }

    /// The algorithm it says it is signed with.
    pub fn algorithm(&self) -> &str {
        &self.algorithm
    }

    /// The name of the key it says it is signed with.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }
}

/// The claims of a token that one of the keys signed.
pub fn verify(keys: &ForeignKeys, token: &str) -> Result<Value, JoseError> {
    let head = TokenHead::read(token)?;
    let key = keys.find(&head)?;
    let (message, claims, signature) = parts(token)?;
    key.material.verify(message.as_bytes(), &signature)?;
    object(claims)
}

/// The claims of a token that is signed with a secret which both sides know (HS256).
pub fn verify_shared(secret: &[u8], token: &str) -> Result<Value, JoseError> {
    if TokenHead::read(token)?.algorithm() != "HS256" || secret.is_empty() {
        return Err(JoseError::UnsupportedAlgorithm);
    }
    let (message, claims, signature) = parts(token)?;
    let expected = hmac_sha256(secret, message.as_bytes());
    constant_time::verify_slices_are_equal(&expected, &signature).map_err(|_| JoseError::BadSignature)?;
    object(claims)
}

/// What is signed, the claims in it, and the signature.
fn parts(token: &str) -> Result<(&str, &str, Vec<u8>), JoseError> {
    let (message, signature) = token.rsplit_once('.').ok_or(JoseError::MalformedToken)?;
    let (_, claims) = message.split_once('.').ok_or(JoseError::MalformedToken)?;
    if claims.contains('.') {
        return Err(JoseError::MalformedToken);
    }
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| JoseError::MalformedToken)?;
    Ok((message, claims, signature))
}

fn object(part: &str) -> Result<Value, JoseError> {
    let json = URL_SAFE_NO_PAD.decode(part).map_err(|_| JoseError::MalformedToken)?;
    match serde_json::from_slice(&json) {
        Ok(value @ Value::Object(_)) => Ok(value),
        _ => Err(JoseError::MalformedToken),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::custom::{self, Algorithm, CustomKey};
    use crate::rfc7515;

    /// The example of RFC 7515, appendix A.3.
    const ES256: &str = concat!(
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19",
        "yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    );

    fn p256() -> Value {
        json!({"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})
    }

    /// The key of RFC 8037, appendix A.
    fn ed25519() -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})
    }

    fn keys(keys: Vec<Value>) -> ForeignKeys {
        ForeignKeys::read(&json!({ "keys": keys }))
    }

    fn rsa(kid: &str) -> Value {
        serde_json::to_value(rfc7515::key().public_jwk(kid)).unwrap()
    }

    #[test]
    fn every_family_of_keys_verifies_with_its_own_algorithm() {
        assert_eq!(verify(&keys(vec![rsa("ins_1")]), rfc7515::TOKEN).unwrap()["iss"], "joe");
        assert_eq!(verify(&keys(vec![p256()]), ES256).unwrap()["iss"], "joe");
        let start = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        let der = base64::engine::general_purpose::STANDARD.encode([&start[..], &seed].concat());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{der}\n-----END PRIVATE KEY-----\n");
        let key = CustomKey::parse(Algorithm::EdDsa, &pem).unwrap();
        let token = custom::token(&key, &json!({"alg": "EdDSA"}), &json!({"iss": "joe"})).unwrap();
        assert_eq!(verify(&keys(vec![ed25519()]), &token).unwrap()["iss"], "joe");
    }

    #[test]
    fn a_token_cannot_choose_another_algorithm_than_its_key_has() {
        let all = keys(vec![rsa("ins_1"), p256(), ed25519()]);
        let claims = json!({"sub": "1"});
        for alg in ["none", "None", "", "HS256", "RS512", "PS256", "ES256", "EdDSA", "ES256K"] {
            let header = json!({"alg": alg, "kid": "ins_1"});
            let token = crate::jwt::sign(&rfc7515::key(), &header, &claims).unwrap();
            assert!(verify(&all, &token).is_err(), "{alg}");
            let unsigned = format!("{}.", token.rsplit_once('.').unwrap().0);
            assert!(verify(&all, &unsigned).is_err(), "{alg}");
        }
        // The public key as a shared secret.
        let modulus = rsa("ins_1")["n"].as_str().unwrap().to_owned();
        let key = CustomKey::parse(Algorithm::Hs256, &modulus).unwrap();
        let token = custom::token(&key, &json!({"alg": "HS256", "kid": "ins_1"}), &claims).unwrap();
        assert!(verify(&all, &token).is_err());
    }

    #[test]
    fn the_key_is_the_one_that_is_named_or_the_only_one() {
        let header = |kid: Option<&str>| json!({"alg": "RS256", "kid": kid});
        let token = |kid| crate::jwt::sign(&rfc7515::key(), &header(kid), &json!({"sub": "1"})).unwrap();
        let two = keys(vec![rsa("a"), rsa("b")]);
        assert!(verify(&two, &token(Some("b"))).is_ok());
        assert_eq!(verify(&two, &token(None)), Err(JoseError::UnknownKey));
        assert!(verify(&keys(vec![rsa("a"), p256()]), &token(None)).is_ok());
        for kid in ["c", "../a", "a\u{0}", "'; DROP TABLE keys; --", ""] {
            assert_eq!(verify(&two, &token(Some(kid))), Err(JoseError::UnknownKey), "{kid}");
        }
        assert_eq!(verify(&ForeignKeys::default(), &token(None)), Err(JoseError::UnknownKey));
    }

    #[test]
    fn keys_that_cannot_be_used_are_left_out() {
        let mut wrong = rsa("a");
        wrong["use"] = json!("enc");
        let mut other = rsa("a");
        other["alg"] = json!("RS512");
        for useless in [
            wrong,
            other,
            json!({"kty": "oct", "k": "AAAA", "kid": "a"}),
            json!({"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}),
            json!({"kty": "RSA", "kid": "a", "n": "not base64!", "e": "AQAB"}),
            json!({"kty": "EC", "crv": "P-256", "x": URL_SAFE_NO_PAD.encode([1; 40]), "y": "AA"}),
            json!({"kty": "RSA", "kid": "a", "n": "A".repeat(4000), "e": "AQAB"}),
            json!({"kty": "RSA", "kid": "a".repeat(300), "n": "AQAB", "e": "AQAB"}),
            json!(null),
            json!([]),
        ] {
            assert!(keys(vec![useless.clone()]).0.is_empty(), "{useless}");
        }
        for document in [json!(null), json!({"keys": 7}), json!([])] {
            assert!(ForeignKeys::read(&document).0.is_empty());
        }
        assert_eq!(keys(vec![rsa("a"); 500]).0.len(), KEYS);
    }

    #[test]
    fn a_shared_secret_signs_only_what_it_signs() {
        let secret = "0123456789abcdef0123456789abcdef";
        let key = CustomKey::parse(Algorithm::Hs256, secret).unwrap();
        let token = custom::token(&key, &json!({"alg": "HS256"}), &json!({"sub": "1"})).unwrap();
        assert_eq!(verify_shared(secret.as_bytes(), &token).unwrap()["sub"], "1");
        assert!(verify_shared(b"another", &token).is_err());
        assert!(verify_shared(b"", &token).is_err());
        assert!(verify_shared(secret.as_bytes(), rfc7515::TOKEN).is_err());
    }

    #[test]
    fn garbage_never_panics() {
        let keys = keys(vec![rsa("ins_1"), p256()]);
        for garbage in ["", ".", "..", "...", "a.b.c", "é.é.é", "e30.e30.e30", "\0.\0.\0"] {
            assert!(verify(&keys, garbage).is_err());
            assert!(verify_shared(b"x", garbage).is_err());
        }
        for length in 0..ES256.len() {
            assert!(verify(&keys, &ES256[..length]).is_err());
        }
    }
}
