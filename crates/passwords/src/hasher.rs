//! The names under which a digest may be imported: the values of `password_hasher` on the wire.
//!
//! `awscognito` is missing on purpose: its "digest" is an address at which somebody else checks the password, so it
//! cannot be verified without a network call. It is an unknown hasher here.

/// How a password digest was made, and therefore how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is its wire name; the format is described where it is parsed")]
pub enum Hasher {
    Argon2i,
    Argon2id,
    Bcrypt,
    BcryptPeppered,
    BcryptSha256Django,
    LdapSsha,
    Md5,
    Md5Phpass,
    Md5Salted,
    Pbkdf2Sha1,
    Pbkdf2Sha256,
    Pbkdf2Sha256Django,
    Pbkdf2Sha512,
    Pbkdf2Sha512Hex,
    Phpass,
    ScryptFirebase,
    ScryptWerkzeug,
    Sha256,
    Sha256Salted,
    Sha512Symfony,
}

impl Hasher {
    /// Every hasher, in the order of its wire name; what an error message lists as allowed.
    pub const ALL: [Self; 20] = [
        Self::Argon2i,
        Self::Argon2id,
        Self::Bcrypt,
        Self::BcryptPeppered,
        Self::BcryptSha256Django,
        Self::LdapSsha,
        Self::Md5,
        Self::Md5Phpass,
        Self::Md5Salted,
        Self::Pbkdf2Sha1,
        Self::Pbkdf2Sha256,
        Self::Pbkdf2Sha256Django,
        Self::Pbkdf2Sha512,
        Self::Pbkdf2Sha512Hex,
        Self::Phpass,
        Self::ScryptFirebase,
        Self::ScryptWerkzeug,
        Self::Sha256,
        Self::Sha256Salted,
        Self::Sha512Symfony,
    ];

    /// The hasher of this wire name; names are case-sensitive.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hasher| hasher.as_str() == name)
    }

    /// The wire name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Argon2i => "argon2i",
            Self::Argon2id => "argon2id",
            Self::Bcrypt => "bcrypt",
            Self::BcryptPeppered => "bcrypt_peppered",
            Self::BcryptSha256Django => "bcrypt_sha256_django",
            Self::LdapSsha => "ldap_ssha",
            Self::Md5 => "md5",
            Self::Md5Phpass => "md5_phpass",
            Self::Md5Salted => "md5_salted",
            Self::Pbkdf2Sha1 => "pbkdf2_sha1",
            Self::Pbkdf2Sha256 => "pbkdf2_sha256",
            Self::Pbkdf2Sha256Django => "pbkdf2_sha256_django",
            Self::Pbkdf2Sha512 => "pbkdf2_sha512",
            Self::Pbkdf2Sha512Hex => "pbkdf2_sha512_hex",
            Self::Phpass => "phpass",
            Self::ScryptFirebase => "scrypt_firebase",
            Self::ScryptWerkzeug => "scrypt_werkzeug",
            Self::Sha256 => "sha256",
            Self::Sha256Salted => "sha256_salted",
            Self::Sha512Symfony => "sha512_symfony",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Hasher;

    #[test]
    fn every_hasher_is_found_by_its_own_name() {
        for hasher in Hasher::ALL {
            assert_eq!(Hasher::parse(hasher.as_str()), Some(hasher));
        }
    }

    #[test]
    fn names_are_listed_once_and_in_order() {
        let names = Hasher::ALL.map(Hasher::as_str);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
    }

    #[test]
    fn unknown_and_miscased_names_are_no_hasher() {
        for name in ["", "awscognito", "Bcrypt", "bcrypt ", "argon2d", "scrypt"] {
            assert_eq!(Hasher::parse(name), None, "{name:?}");
        }
    }
}
