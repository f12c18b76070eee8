//! Argon2 in the PHC string form, `$argon2id$v=19$m=…,t=…,p=…$salt$hash` (RFC 9106), and our own digests, which are
//! argon2id in exactly that form.
//!
//! The string is read by hand rather than with the `password-hash` crate: we need to see the costs before anything
//! is allocated, and the crate's limits on salt and output length refuse digests other systems do export.

use std::time::Duration;

use ::argon2::{Algorithm, Argon2 as Engine, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::encoding::{base64, number, same};
use crate::error::DigestError;

/// Our own parameters: the first choice for argon2id in OWASP's password storage guidance, 19 MiB and two passes.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const HASH_BYTES: usize = 32;
const SALT_BYTES: usize = 16;

/// The most memory one verification may hold. A few sign-ins at once must not exhaust a small server.
const MAX_MEMORY_KIB: u32 = 256 * 1024;
const MAX_PASSES: u32 = 10;
const MAX_LANES: u32 = 8;
/// Time grows with memory times passes; one GiB-pass takes about a second of one core. Lanes run one after another
/// here, and the memory is shared between them, so they add nothing.
const MAX_MEMORY_PASSES_KIB: u32 = 1024 * 1024;
/// Shorter outputs than 128 bits can be hit by chance; nobody exports them.
const MIN_HASH_BYTES: usize = 16;
/// RFC 9106 §3.1 asks for at least 8 bytes of salt, and the engine refuses less.
const MIN_SALT_BYTES: usize = 8;

/// Makes the digest stored for a new password: argon2id at the current parameters. Callers refuse passwords over
/// [`MAX_BYTES`](crate::MAX_BYTES) first, because [`Digest::verify`](crate::Digest::verify) never accepts them.
///
/// # Panics
///
/// When 19 MiB cannot be allocated.
pub fn hash(password: &str, salt: [u8; SALT_BYTES]) -> String {
    let mut output = [0; HASH_BYTES];
    #[expect(
        clippy::expect_used,
        reason = "the parameters and lengths are constants within the engine's limits; only an allocation can fail"
    )]
    Params::new(MEMORY_KIB, PASSES, LANES, Some(HASH_BYTES))
        .and_then(|params| {
            Engine::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into(
                password.as_bytes(),
                &salt,
                &mut output,
            )
        })
        .expect("argon2id with constant parameters");
    format!(
        "$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${}${}",
        STANDARD_NO_PAD.encode(salt),
        STANDARD_NO_PAD.encode(output)
    )
}

#[derive(Clone)]
pub(crate) struct Argon2 {
    algorithm: Algorithm,
    version: Version,
    params: Params,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl Argon2 {
    pub(crate) fn i(digest: &str) -> Result<Self, DigestError> {
        Self::parse(Algorithm::Argon2i, digest.strip_prefix("$argon2i$"))
    }

    pub(crate) fn id(digest: &str) -> Result<Self, DigestError> {
        Self::parse(Algorithm::Argon2id, digest.strip_prefix("$argon2id$"))
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let engine = Engine::new(self.algorithm, self.version, self.params.clone());
        let mut output = vec![0; self.hash.len()];
        engine.hash_password_into(password, &self.salt, &mut output).is_ok() && same(&output, &self.hash)
    }

    pub(crate) fn time(&self) -> Duration {
        // A GiB-pass takes a second, as above.
        Duration::from_micros(u64::from(self.params.m_cost()) * u64::from(self.params.t_cost()))
    }

    /// Whether the digest is at least as strong as what [`hash`] makes, in every single parameter.
    pub(crate) fn is_current(&self) -> bool {
        self.algorithm == Algorithm::Argon2id
            && self.version == Version::V0x13
            && self.params.m_cost() >= MEMORY_KIB
            && self.params.t_cost() >= PASSES
            && self.salt.len() >= SALT_BYTES
            && self.hash.len() >= HASH_BYTES
    }

    fn parse(algorithm: Algorithm, fields: Option<&str>) -> Result<Self, DigestError> {
        let fields: Vec<_> = fields.ok_or(DigestError::Malformed)?.split('$').collect();
        // Strings from before version 19 existed carry no version field and mean version 16.
        let (version, costs, salt, hash) = match fields[..] {
            ["v=19", costs, salt, hash] => (Version::V0x13, costs, salt, hash),
            ["v=16", costs, salt, hash] | [costs, salt, hash] => (Version::V0x10, costs, salt, hash),
            _ => return Err(DigestError::Malformed),
        };
        let (salt, hash) = (base64(salt)?, base64(hash)?);
        if salt.len() < MIN_SALT_BYTES || hash.len() < MIN_HASH_BYTES {
            return Err(DigestError::Malformed);
        }
        let params = costs_of(costs, hash.len())?;
        Ok(Self { algorithm, version, params, salt, hash })
    }
}

/// Reads `m=…,t=…,p=…`, in that order as the PHC format requires. A `keyid` or `data` would need a secret we lack.
fn costs_of(text: &str, hash_bytes: usize) -> Result<Params, DigestError> {
    let named = |field: &str, name| field.strip_prefix(name).ok_or(DigestError::Malformed).and_then(number);
    let fields: Vec<_> = text.split(',').collect();
    let [memory, passes, lanes] = fields[..] else { return Err(DigestError::Malformed) };
    let (memory, passes, lanes) = (named(memory, "m=")?, named(passes, "t=")?, named(lanes, "p=")?);
    if memory > MAX_MEMORY_KIB
        || passes > MAX_PASSES
        || lanes > MAX_LANES
        || memory.saturating_mul(passes) > MAX_MEMORY_PASSES_KIB
    {
        return Err(DigestError::TooCostly);
    }
    Params::new(memory, passes, lanes, Some(hash_bytes)).map_err(|_| DigestError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::hash;
    use crate::{Digest, Hasher};

    fn salt() -> [u8; 16] {
        std::array::from_fn(|i| i as u8)
    }

    #[test]
    fn hash_writes_what_the_reference_implementation_writes() {
        assert_eq!(
            hash("correct horse", salt()),
            "$argon2id$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$0AuQxA+RjPiJeA19Op7DwrFxnfh9xeTU2T6mFj2wThc"
        );
    }

    #[test]
    fn our_own_digest_verifies_and_needs_no_upgrade() {
        let digest = Digest::parse(Hasher::Argon2id, &hash("correct horse", salt())).unwrap();
        assert!(digest.verify("correct horse"));
        assert!(!digest.verify("correct hors"));
        assert!(!digest.needs_upgrade());
    }

    #[test]
    fn stronger_argon2id_is_kept_and_anything_weaker_is_upgraded() {
        let ours = hash("correct horse", salt());
        let needs = |from: &str, to: &str| {
            Digest::parse(Hasher::Argon2id, &ours.replace(from, to)).unwrap().needs_upgrade()
        };
        assert!(!needs("m=19456", "m=65536"));
        assert!(!needs("t=2", "t=3"));
        assert!(!needs("p=1", "p=4"));
        assert!(needs("m=19456", "m=19455"));
        assert!(needs("t=2", "t=1"));
        assert!(needs("v=19$", "v=16$"));
        assert!(needs("v=19$", ""));
        assert!(needs("AAECAwQFBgcICQoLDA0ODw", "c29tZXNhbHQ"));
    }

    #[test]
    fn argon2i_is_upgraded_whatever_its_parameters() {
        let ours = hash("correct horse", salt()).replace("argon2id", "argon2i");
        assert!(Digest::parse(Hasher::Argon2i, &ours).unwrap().needs_upgrade());
    }
}
