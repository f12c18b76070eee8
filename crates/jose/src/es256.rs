//! Signatures of devices: ECDSA on P-256 with SHA-256, by RFC 7518, section 3.4.
//!
//! Only public keys, and only what devices show: a key as JSON, and signatures of 64 bytes. A key has one form here, so
//! that the same key is never taken for two.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ParsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::error::JoseError;

/// The length of a coordinate.
const COORDINATE_BYTES: usize = 32;

/// A public P-256 key: a point on the curve.
pub struct P256Key {
    parsed: ParsedPublicKey,
    point: [u8; 1 + 2 * COORDINATE_BYTES],
}

/// A key as JSON. What else could stand there (a private part, another use) is refused with it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct P256Jwk {
    kty: String,
    crv: String,
    x: String,
    y: String,
    alg: Option<String>,
}

impl P256Key {
    /// Reads a key from JSON: of this curve, on it, and in its only form.
    pub fn from_jwk(text: &str) -> Result<P256Key, JoseError> {
        let jwk: P256Jwk = serde_json::from_str(text).map_err(|_| JoseError::InvalidKey)?;
        let is_fit = jwk.kty == "EC" && jwk.crv == "P-256" && jwk.alg.is_none_or(|alg| alg == "ES256");
        match is_fit {
            true => P256Key::from_point(&[vec![4], coordinate(&jwk.x)?, coordinate(&jwk.y)?].concat()),
            false => Err(JoseError::InvalidKey),
        }
    }

    /// Reads a key from the text that `text` made of it.
    pub fn from_text(text: &str) -> Result<P256Key, JoseError> {
        let point = URL_SAFE_NO_PAD.decode(text).map_err(|_| JoseError::InvalidKey)?;
        P256Key::from_point(&point)
    }

    fn from_point(point: &[u8]) -> Result<P256Key, JoseError> {
        let point = point.try_into().map_err(|_| JoseError::InvalidKey)?;
        let parsed = ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        Ok(P256Key { parsed: parsed.map_err(|_| JoseError::InvalidKey)?, point })
    }

    /// The key as a short text. Equal keys have equal texts.
    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.point)
    }

    /// Checks a signature in base64url over a message.
    pub fn verify(&self, message: &[u8], signature: &str) -> Result<(), JoseError> {
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| JoseError::BadSignature)?;
        self.parsed.verify_sig(message, &signature).map_err(|_| JoseError::BadSignature)
    }
}

fn coordinate(text: &str) -> Result<Vec<u8>, JoseError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| JoseError::InvalidKey)?;
    match bytes.len() == COORDINATE_BYTES {
        true => Ok(bytes),
        false => Err(JoseError::InvalidKey),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7515, appendix A.3.
    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
    const MESSAGE: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const SIGNATURE: &str =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

    fn jwk(x: &str, y: &str, more: &str) -> String {
        format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}","y":"{y}"{more}}}"#)
    }

    #[test]
    fn the_example_of_the_standard_verifies() {
        let key = P256Key::from_jwk(&jwk(X, Y, r#","alg":"ES256""#)).unwrap();
        assert_eq!(key.verify(MESSAGE.as_bytes(), SIGNATURE), Ok(()));
        assert_eq!(P256Key::from_text(&key.text()).unwrap().verify(MESSAGE.as_bytes(), SIGNATURE), Ok(()));
        assert_eq!(key.verify(b"other", SIGNATURE), Err(JoseError::BadSignature));
        for bad in ["", "AAAA", "%", &format!("{SIGNATURE}=="), &URL_SAFE_NO_PAD.encode([0; 64])] {
            assert_eq!(key.verify(MESSAGE.as_bytes(), bad), Err(JoseError::BadSignature), "{bad}");
        }
    }

    #[test]
    fn other_curves_points_and_forms_are_refused() {
        let zero = URL_SAFE_NO_PAD.encode([0; 32]);
        let short = URL_SAFE_NO_PAD.encode([1; 31]);
        for bad in [
            jwk(X, X, ""),
            jwk(&zero, &zero, ""),
            jwk(&short, Y, ""),
            jwk(&format!("{X}="), Y, ""),
            jwk(X, Y, r#","d":"AAAA""#),
            jwk(X, Y, r#","alg":"ES384""#),
            jwk(X, Y, "").replace("P-256", "P-384"),
            jwk(X, Y, "").replace("P-256", "secp256k1"),
            jwk(X, Y, "").replace("EC", "OKP"),
            jwk(X, Y, &format!(r#","x":"{X}""#)),
            "{}".to_owned(),
            "[".repeat(1000),
        ] {
            assert!(P256Key::from_jwk(&bad).is_err(), "{bad}");
        }
    }
}
