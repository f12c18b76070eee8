//! Public keys as JSON, by RFC 7517.
//!
//! Only what this server publishes and reads: RSA keys for RS256 signatures. A private key has no place
//! in these types, so none can be published by mistake.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A public RSA key. Numbers are big-endian, in base64url without padding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Jwk {
    /// What the key is for: `sig`.
    #[serde(rename = "use")]
    pub use_: String,
    /// The family of the key: `RSA`.
    pub kty: String,
    /// The name by which a token's header refers to the key.
    pub kid: String,
    /// The only algorithm the key may be used with: `RS256`.
    pub alg: String,
    /// The modulus.
    pub n: String,
    /// The public exponent.
    pub e: String,
}

/// A set of public keys, as served from `/.well-known/jwks.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Jwks {
    /// The keys, in no particular order.
    pub keys: Vec<Jwk>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_under_their_registered_names() {
        let key = Jwk {
            use_: "sig".into(),
            kty: "RSA".into(),
            kid: "ins_1".into(),
            alg: "RS256".into(),
            n: "AQ".into(),
            e: "AQAB".into(),
        };
        let set = Jwks { keys: vec![key] };
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(
            json,
            r#"{"keys":[{"use":"sig","kty":"RSA","kid":"ins_1","alg":"RS256","n":"AQ","e":"AQAB"}]}"#
        );
        assert_eq!(serde_json::from_str::<Jwks>(&json).unwrap(), set);
    }

    #[test]
    fn a_key_without_algorithm_is_not_read() {
        let json = r#"{"use":"sig","kty":"RSA","kid":"ins_1","n":"AQ","e":"AQAB"}"#;
        assert!(serde_json::from_str::<Jwk>(json).is_err());
    }

    #[test]
    fn the_schema_names_the_fields_as_json_does() {
        let schema = serde_json::to_value(schemars::schema_for!(Jwk)).unwrap();
        assert!(schema["properties"]["use"].is_object() && schema["properties"]["use_"].is_null());
    }
}
