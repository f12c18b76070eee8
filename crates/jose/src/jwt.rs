//! JSON Web Tokens in compact form, signed with RS256 (RFC 7515, RFC 7519).
//!
//! Written by hand because it is short, and because a library that offers every algorithm offers every
//! confusion of them. The algorithm here is a constant: the header may only agree with it. This module
//! must not know claims or time; whoever calls [`verify`] checks expiry, issuer and audience.

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde_json::Value;

use crate::error::JoseError;
use crate::jwk::Jwk;
use crate::rsa::SigningKey;

/// A token whose signature was checked. Both parts are JSON objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The protected header.
    pub header: Value,
    /// The claims. They are authentic, which does not make them current.
    pub claims: Value,
}

/// Signs `claims`. The header is the caller's, who must put `"alg": "RS256"` and the key's `kid` into it.
pub fn sign(key: &SigningKey, header: &impl Serialize, claims: &impl Serialize) -> Result<String, JoseError> {
    compact(header, claims, |message| key.sign_rs256(message))
}

/// The compact form: header, claims, and what `signed` makes of both.
pub(crate) fn compact(
    header: &impl Serialize,
    claims: &impl Serialize,
    signed: impl FnOnce(&[u8]) -> Result<Vec<u8>, JoseError>,
) -> Result<String, JoseError> {
    let mut token = part(header)?;
    token.push('.');
    token.push_str(&part(claims)?);
    let signature = signed(token.as_bytes())?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(token)
}

/// Checks that one of `keys` signed `token`, and returns what it says.
pub fn verify(keys: &[Jwk], token: &str) -> Result<Verified, JoseError> {
    let (signed, signature) = token.rsplit_once('.').ok_or(JoseError::MalformedToken)?;
    let (header, claims) = signed.split_once('.').ok_or(JoseError::MalformedToken)?;
    if claims.contains('.') {
        return Err(JoseError::MalformedToken);
    }
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| JoseError::MalformedToken)?;
    let header = object(header)?;
    let key = named_key(keys, &header)?;
    check_signature(key, signed.as_bytes(), &signature)?;
    Ok(Verified { header, claims: object(claims)? })
}

/// Reads the header as RFC 7515 asks: the algorithm by exact name, and no critical extension, because
/// this server knows none (section 4.1.11).
fn named_key<'a>(keys: &'a [Jwk], header: &Value) -> Result<&'a Jwk, JoseError> {
    if header.get("alg").and_then(Value::as_str) != Some("RS256") {
        return Err(JoseError::UnsupportedAlgorithm);
    }
    if header.get("crit").is_some() {
        return Err(JoseError::MalformedToken);
    }
    let kid = header.get("kid").and_then(Value::as_str).ok_or(JoseError::UnknownKey)?;
    keys.iter().find(|key| key.kid == kid).ok_or(JoseError::UnknownKey)
}

fn check_signature(key: &Jwk, message: &[u8], signature: &[u8]) -> Result<(), JoseError> {
    if key.kty != "RSA" || key.alg != "RS256" || key.use_ != "sig" {
        return Err(JoseError::InvalidKey);
    }
    let number = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| JoseError::InvalidKey);
    RsaPublicKeyComponents { n: number(&key.n)?, e: number(&key.e)? }
        .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
        .map_err(|_| JoseError::BadSignature)
}

fn part(value: &impl Serialize) -> Result<String, JoseError> {
    let json = serde_json::to_vec(value).map_err(|_| JoseError::Unserialisable)?;
    Ok(URL_SAFE_NO_PAD.encode(json))
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
    use crate::digest::hmac_sha256;
    use crate::rfc7515;

    fn keys() -> Vec<Jwk> {
        vec![rfc7515::key().public_jwk("ins_0"), rfc7515::key().public_jwk("ins_1")]
    }

    fn token(header: Value, claims: Value) -> String {
        sign(&rfc7515::key(), &header, &claims).unwrap()
    }

    fn refusal(token: &str) -> JoseError {
        verify(&keys(), token).unwrap_err()
    }

    #[test]
    fn a_token_is_the_one_openssl_makes() {
        let header = json!({"alg": "RS256", "kid": "ins_1", "typ": "JWT"});
        let claims = json!({"exp": 1_300_819_380, "iss": "joe"});
        assert_eq!(token(header.clone(), claims.clone()), rfc7515::TOKEN);
        assert_eq!(verify(&keys(), rfc7515::TOKEN), Ok(Verified { header, claims }));
    }

    #[test]
    fn only_rs256_is_accepted() {
        let claims = json!({"sub": "user_1"});
        for alg in ["none", "nOnE", "None", "", "HS256", "rs256", "RS256 ", "RS512", "PS256", "ES256"] {
            let token = token(json!({"alg": alg, "kid": "ins_1"}), claims.clone());
            assert_eq!(refusal(&token), JoseError::UnsupportedAlgorithm);
            let unsigned = format!("{}.", token.rsplit_once('.').unwrap().0);
            assert_eq!(refusal(&unsigned), JoseError::UnsupportedAlgorithm);
        }
        for header in
            [json!({"kid": "ins_1"}), json!({"alg": null, "kid": "ins_1"}), json!({"alg": ["RS256"]})]
        {
            assert_eq!(refusal(&token(header, claims.clone())), JoseError::UnsupportedAlgorithm);
        }
    }

    #[test]
    fn the_public_key_is_no_shared_secret() {
        let pem = rfc7515::key().public_pem();
        for secret in [pem.as_bytes(), pem.trim().as_bytes(), rfc7515::MODULUS.as_bytes()] {
            for alg in ["HS256", "RS256"] {
                let signed = format!(
                    "{}.{}",
                    part(&json!({"alg": alg, "kid": "ins_1"})).unwrap(),
                    part(&json!({"sub": "user_1"})).unwrap()
                );
                let mac = URL_SAFE_NO_PAD.encode(hmac_sha256(secret, signed.as_bytes()));
                assert!(verify(&keys(), &format!("{signed}.{mac}")).is_err());
            }
        }
    }

    #[test]
    fn a_changed_token_is_refused() {
        let parts: Vec<&str> = rfc7515::TOKEN.split('.').collect();
        let other = part(&json!({"exp": 9_999_999_999_u64, "iss": "joe"})).unwrap();
        assert_eq!(refusal(&[parts[0], &other, parts[2]].join(".")), JoseError::BadSignature);
        let other = part(&json!({"alg": "RS256", "kid": "ins_0", "typ": "JWT"})).unwrap();
        assert_eq!(refusal(&[&other, parts[1], parts[2]].join(".")), JoseError::BadSignature);
        let mut signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        signature[100] ^= 1;
        let other = URL_SAFE_NO_PAD.encode(&signature);
        assert_eq!(refusal(&[parts[0], parts[1], &other].join(".")), JoseError::BadSignature);
        assert_eq!(refusal(&[parts[0], parts[1], ""].join(".")), JoseError::BadSignature);
    }

    #[test]
    fn a_signature_has_one_spelling() {
        for changed in ["=", "\n", " ", "A", "/"] {
            assert!(verify(&keys(), &format!("{}{changed}", rfc7515::TOKEN)).is_err());
        }
        // The last letter carries four bits that belong to no byte; they must be zero.
        assert_eq!(refusal(&rfc7515::TOKEN.replace("OaLg", "OaLh")), JoseError::MalformedToken);
        assert_eq!(refusal(&format!(" {}", rfc7515::TOKEN)), JoseError::MalformedToken);
    }

    #[test]
    fn the_key_must_be_known_and_must_fit() {
        let claims = json!({"sub": "user_1"});
        for header in [json!({"alg": "RS256", "kid": "ins_2"}), json!({"alg": "RS256"})] {
            assert_eq!(refusal(&token(header, claims.clone())), JoseError::UnknownKey);
        }
        let other = [SigningKey::generate().unwrap().public_jwk("ins_1")];
        assert_eq!(verify(&other, rfc7515::TOKEN), Err(JoseError::BadSignature));
        assert_eq!(verify(&[], rfc7515::TOKEN), Err(JoseError::UnknownKey));

        let jwk = rfc7515::key().public_jwk("ins_1");
        for unfit in [
            Jwk { alg: "HS256".into(), ..jwk.clone() },
            Jwk { kty: "oct".into(), ..jwk.clone() },
            Jwk { use_: "enc".into(), ..jwk.clone() },
            Jwk { n: "not base64".into(), ..jwk.clone() },
        ] {
            assert_eq!(verify(&[unfit], rfc7515::TOKEN), Err(JoseError::InvalidKey));
        }
        for unfit in [Jwk { e: "AQ".into(), ..jwk.clone() }, Jwk { n: String::new(), ..jwk.clone() }] {
            assert_eq!(verify(&[unfit], rfc7515::TOKEN), Err(JoseError::BadSignature));
        }
    }

    #[test]
    fn critical_extensions_and_other_shapes_are_refused() {
        let header = json!({"alg": "RS256", "kid": "ins_1", "crit": ["b64"], "b64": false});
        assert_eq!(refusal(&token(header, json!({}))), JoseError::MalformedToken);
        let header = json!({"alg": "RS256", "kid": "ins_1"});
        for claims in [json!([1]), json!("text"), json!(null)] {
            assert_eq!(refusal(&token(header.clone(), claims)), JoseError::MalformedToken);
        }
        assert_eq!(refusal(&format!("{}.a.b", rfc7515::TOKEN)), JoseError::MalformedToken);
        let jwe = part(&json!({"alg": "RSA-OAEP", "enc": "A256GCM"})).unwrap();
        assert_eq!(refusal(&format!("{jwe}.a.b.c.d")), JoseError::MalformedToken);
    }

    #[test]
    fn garbage_never_panics() {
        let keys = keys();
        for garbage in
            ["", ".", "..", "...", "a.b.c", "é.é.é", "e30.e30.e30", "\0.\0.\0", "....................."]
        {
            assert!(verify(&keys, garbage).is_err());
        }
        for length in 0..rfc7515::TOKEN.len() {
            assert!(verify(&keys, &rfc7515::TOKEN[..length]).is_err());
            assert!(verify(&keys, &rfc7515::TOKEN[length + 1..]).is_err());
        }
        let deep = URL_SAFE_NO_PAD.encode("{\"a\":".repeat(100_000));
        assert_eq!(verify(&keys, &format!("{deep}.e30.AA")), Err(JoseError::MalformedToken));
    }
}
