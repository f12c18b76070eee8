//! No input panics and nothing accepted is expensive: random texts, and real digests with random damage.

use latchkey_passwords::{Digest, Hasher, MAX_BYTES, Policy, check, is_breached};
use proptest::prelude::*;
use proptest::sample::select;

const WELL_FORMED: [&str; 14] = [
    "$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$XzFEwhIJyF2HCP/fppEzPthSmuuD5Z9jY74/kAJMe0g",
    "$argon2i$m=64,t=2,p=2$c29tZXNhbHQ$fAW5DfmxJBT/T1N4fQRq8LtqJSGG8HwN",
    "$2b$04$rpUYJbWmKpfA6CELVgRFluNsNA/YsTAujDCm/FUJCyKHf4VajAhSq",
    "bcrypt_sha256$$2b$04$Dqe48jYP2ABGt0KXm.uRiu0EQ3PvUmZk5QEzc0YNfx0Bgc.UKQPg6",
    "$2b$04$e1jGvLRsVKTQO9QzhqiYCO1yViK8Ss6KmRU4RqK211TRcj9v3BYxW$pepper",
    "pepper$52f36768c11844771e5f7ff576e2dba2",
    "{SSHA}S5GruBUVkZIDHugKxIaMJ3ajSKFiDGGM",
    "$P$5guVIQFE7cxbpe0uJMKJYArYbd/mkj1",
    "pbkdf2_sha1$1$0a1b2c3d4e5f$92f439688385306d9173ddcd6be52697e6bdfae4$20",
    "pbkdf2_sha256$1$YmluYXJ5AP9zYWx0$oI1SYqpYJbumzgD+8jVnFHoFTXY5crIZ3mywO4Mvs88=",
    "pbkdf2_sha512_hex$1$deadbeef$00112233445566778899aabbccddeeff",
    "lSrfV15cpx95/sZS2W9c9A==$42xEC+ixf3L2lw==$jxspr8Ki0RYycVU8zykbdA==$Bw==$8$4",
    "scrypt:16:8:1$werk$EEPciAmdanW4JuPWAOldk/OYbOSFSAdIPTidL9FUPgsib2og9xdH7yUa4ClggLL7T0FCSEntNS4nW7SWzqjJ9w==",
    "sha512_symfony$1$salt$KfET3UN2TOl2nrOSZTP4pSEdAFVtBCcYumiltFO3v4oiINZhT4d6lQat90UW8CTrxHJyBmhY4qKw7EK4iy6sKQ==",
];

/// A well-formed digest with one of its characters, or a place between two, replaced by something else.
fn damaged() -> impl Strategy<Value = String> {
    let piece = prop_oneof![".{0,3}", "[0-9]{1,25}", "[$:,={}+-]"];
    (select(&WELL_FORMED), any::<prop::sample::Index>(), 0..2_usize, piece).prop_map(
        |(digest, at, removed, piece)| {
            let at = at.index(digest.len());
            format!("{}{piece}{}", &digest[..at], &digest[at + removed..])
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_any_text_as_any_digest_never_panics(text in any::<String>()) {
        for hasher in Hasher::ALL {
            let _ = Digest::parse(hasher, &text);
        }
    }

    #[test]
    fn parsing_a_damaged_digest_never_panics(text in damaged()) {
        for hasher in Hasher::ALL {
            let _ = Digest::parse(hasher, &text);
        }
    }

    #[test]
    fn looking_up_any_password_never_panics(password in any::<String>()) {
        is_breached(&password);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn verifying_any_password_never_panics(password in any::<String>()) {
        for (digest, hasher) in WELL_FORMED.iter().flat_map(|digest| Hasher::ALL.map(|hasher| (digest, hasher))) {
            if let Ok(digest) = Digest::parse(hasher, digest) {
                prop_assert!(!digest.verify(&password));
            }
        }
    }

    #[test]
    fn checking_any_password_against_the_strictest_policy_never_panics(
        password in any::<String>(),
        identifier in any::<String>(),
    ) {
        let policy = Policy { min_zxcvbn_score: 4, max_length: MAX_BYTES, ..Policy::default() };
        check(&policy, &password, &[&identifier]);
    }
}
