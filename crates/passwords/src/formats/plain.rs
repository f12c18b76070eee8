//! One round of a fast hash: bare and salted MD5 and SHA-256, and LDAP's salted SHA-1.
//!
//! These protect nobody once they leak; they are read so that their owners can sign in once and be upgraded.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use crate::encoding::{base64, hex_array, same};
use crate::error::DigestError;

#[derive(Clone)]
pub(crate) struct Plain {
    hash: Hash,
    salt: Vec<u8>,
}

#[derive(Clone)]
enum Hash {
    Md5([u8; 16]),
    Sha1([u8; 20]),
    Sha256([u8; 32]),
}

impl Plain {
    pub(crate) fn md5(digest: &str) -> Result<Self, DigestError> {
        Ok(Self { hash: Hash::Md5(hex_array(digest)?), salt: Vec::new() })
    }

    pub(crate) fn sha256(digest: &str) -> Result<Self, DigestError> {
        Ok(Self { hash: Hash::Sha256(hex_array(digest)?), salt: Vec::new() })
    }

    pub(crate) fn md5_salted(digest: &str) -> Result<Self, DigestError> {
        let (salt, hash) = salted(digest)?;
        Ok(Self { hash: Hash::Md5(hex_array(hash)?), salt })
    }

    pub(crate) fn sha256_salted(digest: &str) -> Result<Self, DigestError> {
        let (salt, hash) = salted(digest)?;
        Ok(Self { hash: Hash::Sha256(hex_array(hash)?), salt })
    }

    /// `{SSHA}` and base64 of the hash followed by the salt; the scheme's case does not matter (RFC 2307 §5.3).
    pub(crate) fn ldap_ssha(digest: &str) -> Result<Self, DigestError> {
        match digest.split_at_checked("{SSHA}".len()) {
            Some((scheme, body)) if scheme.eq_ignore_ascii_case("{SSHA}") => {
                let body = base64(body)?;
                let (hash, salt) = body.split_first_chunk().ok_or(DigestError::Malformed)?;
                if salt.is_empty() {
                    return Err(DigestError::Malformed);
                }
                Ok(Self { hash: Hash::Sha1(*hash), salt: salt.into() })
            }
            _ => Err(DigestError::Malformed),
        }
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let (before, after) = ([&self.salt, password].concat(), [password, &self.salt].concat());
        // The documentation of the salted forms does not say on which side of the password the salt stands, and
        // both are in use. Trying both costs a microsecond and gains a guesser nothing. LDAP's salt stands after.
        match &self.hash {
            Hash::Md5(hash) => same(&Md5::digest(before), hash) | same(&Md5::digest(after), hash),
            Hash::Sha1(hash) => same(&Sha1::digest(after), hash),
            Hash::Sha256(hash) => same(&Sha256::digest(before), hash) | same(&Sha256::digest(after), hash),
        }
    }
}

/// Splits `salt$hash`; the salt may contain `$`.
fn salted(digest: &str) -> Result<(Vec<u8>, &str), DigestError> {
    match digest.rsplit_once('$') {
        Some((salt, hash)) if !salt.is_empty() => Ok((salt.into(), hash)),
        _ => Err(DigestError::Malformed),
    }
}
