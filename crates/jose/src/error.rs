//! The one error of this crate.
//!
//! It says what was refused and never why in detail: the difference between a bad tag and a bad length
//! helps an attacker and nobody else. It must not carry key material, tokens or library errors.

/// What went wrong with a key, a token or a sealed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JoseError {
    /// The key cannot be parsed, or is not of the kind this server uses.
    #[error("the key is not usable")]
    InvalidKey,
    /// The cryptographic library failed at something that does not depend on input.
    #[error("the cryptographic operation failed")]
    Crypto,
    /// The header or the claims cannot be written as JSON.
    #[error("the header or the claims cannot be written as JSON")]
    Unserialisable,
    /// Not three parts of base64url, not JSON objects inside, or a critical extension is asked for.
    #[error("the token is malformed")]
    MalformedToken,
    /// The header names another algorithm than RS256, or none.
    #[error("the token is not signed with RS256")]
    UnsupportedAlgorithm,
    /// The header names no key, or a key that is not among the given ones.
    #[error("the token is signed with an unknown key")]
    UnknownKey,
    /// The signature was not made over this token by this key.
    #[error("the signature does not match")]
    BadSignature,
    /// The sealed value is damaged, or was sealed with another key or for another context.
    #[error("the sealed value cannot be opened")]
    Unsealable,
}
