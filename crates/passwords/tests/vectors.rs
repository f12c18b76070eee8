//! Known answers: digests made by other implementations (the reference argon2 and bcrypt libraries, passlib, Django,
//! Werkzeug, OpenSSL's PBKDF2 and scrypt, and the example Firebase publishes with its algorithm), verified here.

use latchkey_passwords::{Digest, Hasher};

const ASCII: &str = "correct horse";
const UNICODE: &str = "pässwörd-日本";

const VECTORS: &[(Hasher, &str, &str)] = &[
    (
        Hasher::Argon2i,
        "$argon2i$v=19$m=256,t=3,p=1$c29tZXNhbHQ$m4kQ1C9tEbF+RXNJalYADjSjW/afjpscqjN+51aT6WY",
        ASCII,
    ),
    (Hasher::Argon2i, "$argon2i$v=16$m=64,t=2,p=2$c29tZXNhbHQ$fAW5DfmxJBT/T1N4fQRq8LtqJSGG8HwN", UNICODE),
    (Hasher::Argon2i, "$argon2i$m=64,t=2,p=2$c29tZXNhbHQ$fAW5DfmxJBT/T1N4fQRq8LtqJSGG8HwN", UNICODE),
    (
        Hasher::Argon2id,
        "$argon2id$v=19$m=512,t=2,p=4$MDEyMzQ1Njc4OWFiY2RlZg$XzFEwhIJyF2HCP/fppEzPthSmuuD5Z9jY74/kAJMe0g",
        ASCII,
    ),
    (
        Hasher::Argon2id,
        "$argon2id$v=19$m=19456,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$J5CDyMuy9/gys1BMasRWd6/YDFraIzW5PSH0ykvskA0",
        UNICODE,
    ),
    (Hasher::Bcrypt, "$2a$04$dZ8gzOufd7pFwqq.3m2ED.utxLVvbWbOgbHUhEV5qtQHMQFbXPuWa", ASCII),
    (Hasher::Bcrypt, "$2b$04$rpUYJbWmKpfA6CELVgRFluNsNA/YsTAujDCm/FUJCyKHf4VajAhSq", ASCII),
    (Hasher::Bcrypt, "$2y$05$I2qL4/6p/JEJTNppxyYeHe38h6jkZRLm.5bu69CEpnOroHYz4URha", UNICODE),
    (Hasher::Bcrypt, "$2b$04$/XBYgDTVwObh7wGkgcK6MOCfuBMo3mVQkoELKxOGi7gpqmrkNKKyC", ""),
    (
        Hasher::BcryptSha256Django,
        "bcrypt_sha256$$2b$04$Dqe48jYP2ABGt0KXm.uRiu0EQ3PvUmZk5QEzc0YNfx0Bgc.UKQPg6",
        ASCII,
    ),
    (
        Hasher::BcryptPeppered,
        "$2b$04$e1jGvLRsVKTQO9QzhqiYCO1yViK8Ss6KmRU4RqK211TRcj9v3BYxW$s3cr3t-pepper$x",
        ASCII,
    ),
    (Hasher::Md5, "3cb4e732631f47e6eb961f34554b7cde", ASCII),
    (Hasher::Md5, "AD7140629AC0A5B53D0D00367A705342", UNICODE),
    // The salt before the password, then after it and with the separator inside.
    (Hasher::Md5Salted, "pepper$52f36768c11844771e5f7ff576e2dba2", ASCII),
    (Hasher::Md5Salted, "pep$per$264eaec790062a8a45330f139b407430", ASCII),
    (Hasher::Sha256, "4104d36f8da2c254349f85836793ebe029e0c957063a34c91c2e9203187b5631", ASCII),
    (Hasher::Sha256Salted, "NaCl$cc0c19e7e854dad3a1ac59d270a830024c7d2efa248ea80d0a27223f30bbf504", ASCII),
    (Hasher::Sha256Salted, "NaCl$0fe1c16c475eaa854e5efa358bae1fcad93e6ad8c672154830f8a13f012bdd98", UNICODE),
    (Hasher::LdapSsha, "{SSHA}S5GruBUVkZIDHugKxIaMJ3ajSKFiDGGM", ASCII),
    (Hasher::LdapSsha, "{ssha}qBJKOGu2MC0htDns7wYxOpIVyEGpVQphLCXkHAMgJKTUeg8h", UNICODE),
    (Hasher::Phpass, "$P$5guVIQFE7cxbpe0uJMKJYArYbd/mkj1", ASCII),
    (Hasher::Phpass, "$P$BSCMdOIOnXi1giCJLjzNcemECjEEMm.", UNICODE),
    (Hasher::Phpass, "$H$6FU7pTtf4q9oFwcRg1CTSq8f6UKcuY0", ASCII),
    (Hasher::Md5Phpass, "$P$6q26jYUMwG323AN1YTmA1oufXsEE1s/", ASCII),
    (
        Hasher::Pbkdf2Sha1,
        "pbkdf2_sha1$1000$rawsalt!$035cf498765bf0554c553b93278e46cc1d6b53ba18ef541beb1eb88f039897c3",
        ASCII,
    ),
    (
        Hasher::Pbkdf2Sha1,
        "pbkdf2_sha1$1000$0a1b2c3d4e5f$5a1135cd25a939111dc428bcbc6b3989a312fd5a8bc478c0bf15ae86cc3d84d4",
        ASCII,
    ),
    (Hasher::Pbkdf2Sha1, "pbkdf2_sha1$500$0a1b2c3d4e5f$92f439688385306d9173ddcd6be52697e6bdfae4$20", UNICODE),
    (
        Hasher::Pbkdf2Sha1,
        "pbkdf2_sha1$500$rawsalt!$e2f88c4ea086018996f11f692926f6dfe7f454d14f2a14f84024239da150332c\
         2d876594936b6b9ddd6015e0d15a0e5d314b8e14db9705d33cfcaf7497894a89$64",
        ASCII,
    ),
    (
        Hasher::Pbkdf2Sha256,
        "pbkdf2_sha256$1200$YmluYXJ5AP9zYWx0$oI1SYqpYJbumzgD+8jVnFHoFTXY5crIZ3mywO4Mvs88=",
        ASCII,
    ),
    (
        Hasher::Pbkdf2Sha256,
        "pbkdf2_sha256$1$YmluYXJ5AP9zYWx0$vMIXKyehcfWUDqyU8KxvrEMqbLQU92P1B/5Xoy0cNrpCCQgcAg9LT7PowuLkJiaeuqdQ\
         w7dsPytDDEye2EslOQ",
        UNICODE,
    ),
    (
        Hasher::Pbkdf2Sha256Django,
        "pbkdf2_sha256$1500$seasalt$iT/LSoYhMCtxwN3t0lRVVhpkew79R8HdHnXEtuRBllM=",
        ASCII,
    ),
    // The same salt text, once raw and once hexadecimal.
    (
        Hasher::Pbkdf2Sha512,
        "pbkdf2_sha512$800$deadbeef$4b17bf35b99bf3d2c5bc330f3ec9febfd575999a9793f1232690bc9be21f74cc\
         5c418bb67529f140c9786f7f329e8921f3341c62b40506c21634604e655e2f94",
        ASCII,
    ),
    (
        Hasher::Pbkdf2Sha512Hex,
        "pbkdf2_sha512_hex$800$deadbeef$0b617abfbff92d19e58e3f59f4464ce9deb232267c04a95ec1df2d492c70c889\
         d327de4098bb85a667ea9937b24a5e747fe7f611ca9d1b8d4e1f846c632105f2",
        ASCII,
    ),
    (
        Hasher::ScryptFirebase,
        "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==$42xEC+ixf3L2lw==$\
         jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$Bw==$8$14",
        "user1password",
    ),
    (
        Hasher::ScryptWerkzeug,
        "scrypt:1024:8:1$dOXzIfxwZbs4NJLO$5616bdaebd61eb2ab4a4ec53e493e7c991068d40cc8461fb33dcf7409d485358\
         7e539e275fe8fb0cb7d569fef24df57e62a6e837e225b8f22cecd02ac2f6d270",
        ASCII,
    ),
    (
        Hasher::ScryptWerkzeug,
        "$scrypt:256:4:3$JJi6arA49oThXMPo$b8bd57cdb89986c5d5e02fef4fc0345a9cd2b07c2770a80dc43d02b33c5b6a70\
         9f8eecb4e3ca154487b62c1d9c90d9b548ff86b744e3c951251c083ed85e4491",
        UNICODE,
    ),
    (
        Hasher::ScryptWerkzeug,
        "scrypt:512:8:1$werk$EEPciAmdanW4JuPWAOldk/OYbOSFSAdIPTidL9FUPgsib2og9xdH7yUa4ClggLL7T0FCSEntNS4nW7SWzqjJ9w==",
        ASCII,
    ),
    (
        Hasher::Sha512Symfony,
        "sha512_symfony$5000$abcdefghijk$8pG5nAGlm33iM6PPyYawfq/PzAjdR9RcbZ4HKuMwr0KOiv03hp92VefjKLxH0t4I\
         4a+pXTmEr6kpW3lzR+aaRQ==",
        ASCII,
    ),
    (
        Hasher::Sha512Symfony,
        "sha512_symfony$1$$KfET3UN2TOl2nrOSZTP4pSEdAFVtBCcYumiltFO3v4oiINZhT4d6lQat90UW8CTrxHJyBmhY4qKw7EK4iy6sKQ==",
        UNICODE,
    ),
];

#[test]
fn every_hasher_has_a_vector() {
    for hasher in Hasher::ALL {
        assert!(VECTORS.iter().any(|vector| vector.0 == hasher), "{hasher:?}");
    }
}

#[test]
fn every_vector_verifies_with_its_password() {
    for &(hasher, digest, password) in VECTORS {
        assert!(Digest::parse(hasher, digest).unwrap().verify(password), "{hasher:?} {digest}");
    }
}

#[test]
fn no_vector_verifies_with_another_password() {
    for &(hasher, digest, password) in VECTORS {
        assert!(
            !Digest::parse(hasher, digest).unwrap().verify(&format!("{password}!")),
            "{hasher:?} {digest}"
        );
    }
}

#[test]
fn no_vector_verifies_once_a_character_of_its_hash_is_changed() {
    for &(hasher, digest, password) in VECTORS {
        let changed = with_other_hash(hasher, digest);
        assert!(!Digest::parse(hasher, &changed).unwrap().verify(password), "{hasher:?} {changed}");
    }
}

#[test]
fn every_imported_digest_needs_an_upgrade() {
    for &(hasher, digest, _) in VECTORS {
        assert!(Digest::parse(hasher, digest).unwrap().needs_upgrade(), "{hasher:?} {digest}");
    }
}

#[test]
fn a_password_over_four_kibibytes_matches_nothing() {
    for &(hasher, digest, _) in VECTORS {
        assert!(!Digest::parse(hasher, digest).unwrap().verify(&"a".repeat(1 << 20)), "{hasher:?}");
    }
    // Bcrypt alone would ignore what follows the 72nd byte.
    let of_72_a =
        Digest::parse(Hasher::Bcrypt, "$2b$04$CcV8gdZHAAXBk5KU7Cq3VOGXb20QD.Mr528D4fpZeYcUMouMd9vva")
            .unwrap();
    assert!(of_72_a.verify(&"a".repeat(4096)));
    assert!(!of_72_a.verify(&"a".repeat(4097)));
}

#[test]
fn django_hashes_a_long_password_whole_before_bcrypt() {
    let digest = "bcrypt_sha256$$2b$04$ca588wqzSO6/CvvpEft3IOJsS45ZNgn4SY37P.XUPOFtmjXet1Yw6";
    let digest = Digest::parse(Hasher::BcryptSha256Django, digest).unwrap();
    assert!(digest.verify(&UNICODE.repeat(20)));
    assert!(!digest.verify(&UNICODE.repeat(19)));
}

#[test]
fn debug_shows_the_hasher_and_nothing_of_the_digest() {
    for &(hasher, digest, _) in VECTORS {
        assert_eq!(
            format!("{:?}", Digest::parse(hasher, digest).unwrap()),
            format!("Digest({}, …)", hasher.as_str())
        );
    }
}

/// Replaces a character in the middle of the part of a digest that holds the hash, keeping the digest well-formed.
fn with_other_hash(hasher: Hasher, digest: &str) -> String {
    let position = match hasher {
        Hasher::ScryptFirebase => 10,
        Hasher::BcryptPeppered => 50,
        Hasher::LdapSsha => 12,
        Hasher::Pbkdf2Sha1 => digest.len() - 10,
        _ => digest.len() - 8,
    };
    let other = if digest.as_bytes()[position] == b'5' { "6" } else { "5" };
    format!("{}{other}{}", &digest[..position], &digest[position + 1..])
}
