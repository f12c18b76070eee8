//! Why digests are refused.

/// Why a digest is refused at import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The text is not a digest of the hasher named with it.
    #[error("the digest does not have the form its hasher writes")]
    Malformed,
    /// The text is well-formed, but checking a password against it would take too much time or memory.
    #[error("the digest's cost parameters are too high")]
    TooCostly,
}
