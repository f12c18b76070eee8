//! A password digest that has been read, found well-formed, and found affordable.
//!
//! Digests arrive from whoever may call the import API and are verified much later, while a person waits at the
//! sign-in form. A digest that would cost a minute or four gigabytes is therefore refused when it arrives: once a
//! [`Digest`] exists, verifying it is bounded. Each format states its own bounds; this file only knows which format
//! belongs to which hasher.

use std::fmt;
use std::time::Duration;

use crate::error::DigestError;
use crate::formats::argon2::Argon2;
use crate::formats::bcrypt::Bcrypt;
use crate::formats::pbkdf2::Pbkdf2;
use crate::formats::phpass::Phpass;
use crate::formats::plain::Plain;
use crate::formats::scrypt::{Firebase, Werkzeug};
use crate::formats::symfony::Symfony;
use crate::hasher::Hasher;
use crate::policy::MAX_BYTES;

/// The longest digest text accepted. The longest honest one, Firebase's with its signer key, has about 230 bytes.
pub const MAX_DIGEST_BYTES: usize = 1024;

/// A parsed, bounded digest. `Debug` prints the hasher only.
#[derive(Clone)]
pub struct Digest {
    hasher: Hasher,
    form: Form,
}

#[derive(Clone)]
enum Form {
    Argon2(Argon2),
    Bcrypt(Bcrypt),
    Firebase(Firebase),
    Pbkdf2(Pbkdf2),
    Phpass(Phpass),
    Plain(Plain),
    Symfony(Symfony),
    Werkzeug(Werkzeug),
}

impl Digest {
    /// Reads a digest as `hasher` writes it.
    pub fn parse(hasher: Hasher, digest: &str) -> Result<Self, DigestError> {
        // No format writes control characters, and a database may be unable to store a NUL inside a text.
        if digest.len() > MAX_DIGEST_BYTES || digest.chars().any(char::is_control) {
            return Err(DigestError::Malformed);
        }
        let form = match hasher {
            Hasher::Argon2i => Form::Argon2(Argon2::i(digest)?),
            Hasher::Argon2id => Form::Argon2(Argon2::id(digest)?),
            Hasher::Bcrypt => Form::Bcrypt(Bcrypt::plain(digest)?),
            Hasher::BcryptPeppered => Form::Bcrypt(Bcrypt::peppered(digest)?),
            Hasher::BcryptSha256Django => Form::Bcrypt(Bcrypt::sha256_django(digest)?),
            Hasher::LdapSsha => Form::Plain(Plain::ldap_ssha(digest)?),
            Hasher::Md5 => Form::Plain(Plain::md5(digest)?),
            Hasher::Md5Phpass => Form::Phpass(Phpass::over_md5(digest)?),
            Hasher::Md5Salted => Form::Plain(Plain::md5_salted(digest)?),
            Hasher::Pbkdf2Sha1 => Form::Pbkdf2(Pbkdf2::sha1(digest)?),
            Hasher::Pbkdf2Sha256 => Form::Pbkdf2(Pbkdf2::sha256(digest)?),
            Hasher::Pbkdf2Sha256Django => Form::Pbkdf2(Pbkdf2::sha256_django(digest)?),
            Hasher::Pbkdf2Sha512 => Form::Pbkdf2(Pbkdf2::sha512(digest)?),
            Hasher::Pbkdf2Sha512Hex => Form::Pbkdf2(Pbkdf2::sha512_hex(digest)?),
            Hasher::Phpass => Form::Phpass(Phpass::plain(digest)?),
            Hasher::ScryptFirebase => Form::Firebase(Firebase::parse(digest)?),
            Hasher::ScryptWerkzeug => Form::Werkzeug(Werkzeug::parse(digest)?),
            Hasher::Sha256 => Form::Plain(Plain::sha256(digest)?),
            Hasher::Sha256Salted => Form::Plain(Plain::sha256_salted(digest)?),
            Hasher::Sha512Symfony => Form::Symfony(Symfony::parse(digest)?),
        };
        Ok(Self { hasher, form })
    }

    /// Whether the digest was made from this password. The final comparison takes constant time; a password over
    /// [`MAX_BYTES`] matches nothing and is not hashed at all.
    pub fn verify(&self, password: &str) -> bool {
        let password = password.as_bytes();
        if password.len() > MAX_BYTES {
            return false;
        }
        match &self.form {
            Form::Argon2(digest) => digest.verify(password),
            Form::Bcrypt(digest) => digest.verify(password),
            Form::Firebase(digest) => digest.verify(password),
            Form::Pbkdf2(digest) => digest.verify(password),
            Form::Phpass(digest) => digest.verify(password),
            Form::Plain(digest) => digest.verify(password),
            Form::Symfony(digest) => digest.verify(password),
            Form::Werkzeug(digest) => digest.verify(password),
        }
    }

    /// About how long [`verify`](Self::verify) takes on one core of a server.
    pub fn time(&self) -> Duration {
        match &self.form {
            Form::Argon2(digest) => digest.time(),
            Form::Bcrypt(digest) => digest.time(),
            Form::Firebase(digest) => digest.time(),
            Form::Pbkdf2(digest) => digest.time(),
            Form::Phpass(digest) => digest.time(),
            Form::Plain(_) => Duration::ZERO,
            Form::Symfony(digest) => digest.time(),
            Form::Werkzeug(digest) => digest.time(),
        }
    }

    /// Whether the digest should be replaced by [`hash`](crate::hash) of the password at the next successful
    /// [`verify`](Self::verify): true for everything weaker than, or other than, what `hash` makes today.
    pub fn needs_upgrade(&self) -> bool {
        match &self.form {
            Form::Argon2(digest) => !digest.is_current(),
            _ => true,
        }
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({}, …)", self.hasher.as_str())
    }
}
