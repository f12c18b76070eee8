//! What is refused at import: digests that are not of their hasher's form, and digests nobody can afford to verify.

use latchkey_passwords::{Digest, DigestError, Hasher, MAX_DIGEST_BYTES};

const BCRYPT_TAIL: &str = "dZ8gzOufd7pFwqq.3m2ED.utxLVvbWbOgbHUhEV5qtQHMQFbXPuWa";
const SALT: &str = "MDEyMzQ1Njc4OWFiY2RlZg";
const HASH: &str = "XzFEwhIJyF2HCP/fppEzPthSmuuD5Z9jY74/kAJMe0g";
const HEX16: &str = "00112233445566778899aabbccddeeff";
const B64_64: &str =
    "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==";

fn outcome(hasher: Hasher, digest: &str) -> Result<(), DigestError> {
    Digest::parse(hasher, digest).map(drop)
}

#[track_caller]
fn accepted(hasher: Hasher, digest: &str) {
    assert_eq!(outcome(hasher, digest), Ok(()), "{hasher:?} {digest}");
}

#[track_caller]
fn malformed(hasher: Hasher, digest: &str) {
    assert_eq!(outcome(hasher, digest), Err(DigestError::Malformed), "{hasher:?} {digest}");
}

#[track_caller]
fn too_costly(hasher: Hasher, digest: &str) {
    assert_eq!(outcome(hasher, digest), Err(DigestError::TooCostly), "{hasher:?} {digest}");
}

fn argon2id(costs: &str) -> String {
    format!("$argon2id$v=19${costs}${SALT}${HASH}")
}

fn firebase(costs: &str) -> String {
    format!("{B64_64}$42xEC+ixf3L2lw==${B64_64}$Bw==${costs}")
}

fn werkzeug(costs: &str) -> String {
    format!("scrypt:{costs}$salt${}", HEX16.repeat(4))
}

#[test]
fn nothing_is_a_digest_of_every_hasher() {
    for hasher in Hasher::ALL {
        for text in ["", "$", "$$$$$$", "password", "\0", "日本", "$2b$", "0", &"$".repeat(1024)] {
            malformed(hasher, text);
        }
    }
}

#[test]
fn digests_over_the_length_limit_are_malformed() {
    let hash = "52f36768c11844771e5f7ff576e2dba2";
    let salt = "s".repeat(MAX_DIGEST_BYTES - hash.len() - 1);
    accepted(Hasher::Md5Salted, &format!("{salt}${hash}"));
    malformed(Hasher::Md5Salted, &format!("s{salt}${hash}"));
}

#[test]
fn control_characters_are_malformed_even_in_a_raw_salt() {
    for salt in ["a\0b", "a\nb", "a\u{85}b"] {
        malformed(Hasher::Md5Salted, &format!("{salt}$52f36768c11844771e5f7ff576e2dba2"));
    }
}

#[test]
fn argon2_with_four_gib_is_refused() {
    too_costly(Hasher::Argon2id, &argon2id("m=4194304,t=1,p=1"));
    too_costly(Hasher::Argon2i, &argon2id("m=4194304,t=1,p=1").replace("argon2id", "argon2i"));
}

#[test]
fn argon2_is_bounded_in_memory_passes_lanes_and_their_product() {
    for costs in ["m=262144,t=4,p=1", "m=65536,t=10,p=4", "m=19456,t=2,p=8"] {
        accepted(Hasher::Argon2id, &argon2id(costs));
    }
    for costs in
        ["m=262145,t=1,p=1", "m=64,t=11,p=1", "m=1024,t=1,p=9", "m=262144,t=5,p=1", "m=9999999999,t=1,p=1"]
    {
        too_costly(Hasher::Argon2id, &argon2id(costs));
    }
}

#[test]
fn argon2_with_impossible_or_unknown_parameters_is_malformed() {
    for costs in ["m=7,t=1,p=1", "m=63,t=1,p=8", "m=64,t=0,p=1", "m=64,t=1,p=0", "t=1,m=64,p=1", "m=64,t=1"] {
        malformed(Hasher::Argon2id, &argon2id(costs));
    }
    for costs in ["m=64,t=1,p=1,keyid=AA", "m=+64,t=1,p=1", "m=,t=1,p=1", "m=64,t=1,p=1,"] {
        malformed(Hasher::Argon2id, &argon2id(costs));
    }
    let digest = argon2id("m=64,t=1,p=1");
    malformed(Hasher::Argon2id, &digest.replace("v=19", "v=18"));
    malformed(Hasher::Argon2id, &digest.replace("argon2id", "argon2d"));
    malformed(Hasher::Argon2i, &digest);
    malformed(Hasher::Argon2id, &digest.replace(SALT, "c2FsdA"));
    malformed(Hasher::Argon2id, &digest.replace(HASH, "c2FsdA"));
    malformed(Hasher::Argon2id, &digest.replace(HASH, ""));
    malformed(Hasher::Argon2id, &format!("{digest}$"));
}

#[test]
fn bcrypt_with_cost_31_is_refused() {
    for cost in [15, 31, 99] {
        too_costly(Hasher::Bcrypt, &format!("$2b${cost}${BCRYPT_TAIL}"));
        too_costly(Hasher::BcryptPeppered, &format!("$2b${cost}${BCRYPT_TAIL}$pepper"));
        too_costly(Hasher::BcryptSha256Django, &format!("bcrypt_sha256$$2b${cost}${BCRYPT_TAIL}"));
    }
    accepted(Hasher::Bcrypt, &format!("$2b$14${BCRYPT_TAIL}"));
}

#[test]
fn bcrypt_of_another_form_is_malformed() {
    for start in
        ["$2b$03$", "$2b$00$", "$2b$4$", "$2b$004$", "$2x$04$", "$2$04$", "2b$04$", "$2b$+4$", "$2b$0a$"]
    {
        malformed(Hasher::Bcrypt, &format!("{start}{BCRYPT_TAIL}"));
    }
    malformed(Hasher::Bcrypt, &format!("$2b$04${}", &BCRYPT_TAIL[1..]));
    malformed(Hasher::Bcrypt, &format!("$2b$04${BCRYPT_TAIL}a"));
    malformed(Hasher::Bcrypt, &format!("$2b$04${}", BCRYPT_TAIL.replace('.', "+")));
    malformed(Hasher::Bcrypt, &format!("$2b$04$é{}", &BCRYPT_TAIL[2..]));
    malformed(Hasher::BcryptSha256Django, &format!("$2b$04${BCRYPT_TAIL}"));
    malformed(Hasher::BcryptSha256Django, &format!("bcrypt_sha256$2b$04${BCRYPT_TAIL}"));
}

#[test]
fn bcrypt_without_its_pepper_is_malformed() {
    malformed(Hasher::BcryptPeppered, &format!("$2b$04${BCRYPT_TAIL}"));
    malformed(Hasher::BcryptPeppered, &format!("$2b$04${BCRYPT_TAIL}$"));
    malformed(Hasher::BcryptPeppered, &format!("$2b$04${BCRYPT_TAIL}pepper"));
}

#[test]
fn plain_hashes_of_another_length_or_alphabet_are_malformed() {
    malformed(Hasher::Md5, &HEX16[1..]);
    malformed(Hasher::Md5, &format!("{HEX16}00"));
    malformed(Hasher::Md5, &HEX16.replace('f', "g"));
    malformed(Hasher::Sha256, HEX16);
    malformed(Hasher::Md5Salted, HEX16);
    malformed(Hasher::Md5Salted, &format!("${HEX16}"));
    malformed(Hasher::Md5Salted, &format!("{HEX16}$salt"));
    malformed(Hasher::Sha256Salted, &format!("salt${HEX16}"));
}

#[test]
fn ldap_without_scheme_or_salt_is_malformed() {
    malformed(Hasher::LdapSsha, "S5GruBUVkZIDHugKxIaMJ3ajSKFiDGGM");
    malformed(Hasher::LdapSsha, "{SHA}S5GruBUVkZIDHugKxIaMJ3ajSKE=");
    malformed(Hasher::LdapSsha, "{SSHA}S5GruBUVkZIDHugKxIaMJ3ajSKE=");
    malformed(Hasher::LdapSsha, "{SSHA}S5GruBUVkZID");
    malformed(Hasher::LdapSsha, "{SSHA}!");
}

#[test]
fn phpass_over_twenty_doublings_is_refused() {
    for hasher in [Hasher::Phpass, Hasher::Md5Phpass] {
        accepted(hasher, "$P$IguVIQFE7cxbpe0uJMKJYArYbd/mkj1");
        too_costly(hasher, "$P$JguVIQFE7cxbpe0uJMKJYArYbd/mkj1");
        too_costly(hasher, "$P$zguVIQFE7cxbpe0uJMKJYArYbd/mkj1");
    }
}

#[test]
fn phpass_of_another_form_is_malformed() {
    for hasher in [Hasher::Phpass, Hasher::Md5Phpass] {
        malformed(hasher, "$P$4guVIQFE7cxbpe0uJMKJYArYbd/mkj1");
        malformed(hasher, "$P$5guVIQFE7cxbpe0uJMKJYArYbd/mkj");
        malformed(hasher, "$P$5guVIQFE7cxbpe0uJMKJYArYbd/mkj1.");
        malformed(hasher, "$P$5guVIQFE7cxbpe0uJMKJYArYbd+mkj1");
        malformed(hasher, "$S$5guVIQFE7cxbpe0uJMKJYArYbd/mkj1");
        malformed(hasher, "$P$");
    }
}

#[test]
fn pbkdf2_over_two_million_iterations_is_refused() {
    let forms = [
        (Hasher::Pbkdf2Sha1, "pbkdf2_sha1$N$salt$00112233445566778899aabbccddeeff"),
        (Hasher::Pbkdf2Sha256, "pbkdf2_sha256$N$c2FsdA==$XzFEwhIJyF2HCP/fppEzPthSmuuD5Z9jY74/kAJMe0g="),
        (Hasher::Pbkdf2Sha256Django, "pbkdf2_sha256$N$salt$XzFEwhIJyF2HCP/fppEzPthSmuuD5Z9jY74/kAJMe0g="),
        (Hasher::Pbkdf2Sha512, "pbkdf2_sha512$N$salt$00112233445566778899aabbccddeeff"),
        (Hasher::Pbkdf2Sha512Hex, "pbkdf2_sha512_hex$N$5a17$00112233445566778899aabbccddeeff"),
    ];
    for (hasher, form) in forms {
        accepted(hasher, &form.replace('N', "2000000"));
        for iterations in ["2000001", "4294967295", "99999999999999999999999"] {
            too_costly(hasher, &form.replace('N', iterations));
        }
        for iterations in ["0", "", "-1", "1.5", "1e3", " 1"] {
            malformed(hasher, &form.replace('N', iterations));
        }
    }
}

#[test]
fn pbkdf2_with_many_blocks_is_refused_before_two_million_iterations() {
    let digest = |iterations: u32| format!("pbkdf2_sha1${iterations}$salt${}", HEX16.repeat(4));
    accepted(Hasher::Pbkdf2Sha1, &digest(1_000_000));
    too_costly(Hasher::Pbkdf2Sha1, &digest(1_000_001));
    let digest = |iterations: u32| format!("pbkdf2_sha512${iterations}$salt${}", HEX16.repeat(8));
    accepted(Hasher::Pbkdf2Sha512, &digest(1_000_000));
    too_costly(Hasher::Pbkdf2Sha512, &digest(1_000_001));
}

#[test]
fn pbkdf2_of_another_form_is_malformed() {
    malformed(Hasher::Pbkdf2Sha1, &format!("pbkdf2_sha256$1$salt${HEX16}"));
    malformed(Hasher::Pbkdf2Sha1, &format!("pbkdf2_sha1$1$salt${HEX16}$32"));
    malformed(Hasher::Pbkdf2Sha1, &format!("pbkdf2_sha1$1$salt${HEX16}$"));
    malformed(Hasher::Pbkdf2Sha1, &format!("pbkdf2_sha1$1$salt${HEX16}$16$1"));
    malformed(Hasher::Pbkdf2Sha1, &format!("pbkdf2_sha1$1$${HEX16}"));
    malformed(Hasher::Pbkdf2Sha1, "pbkdf2_sha1$1$salt$0011");
    malformed(Hasher::Pbkdf2Sha1, "pbkdf2_sha1$1$salt$");
    malformed(Hasher::Pbkdf2Sha256, &format!("pbkdf2_sha256$1$not base64${HASH}"));
    malformed(Hasher::Pbkdf2Sha256, "pbkdf2_sha256$1$c2FsdA==$c2FsdA==");
    malformed(Hasher::Pbkdf2Sha256Django, &format!("pbkdf2_sha256$1$${HASH}"));
    malformed(Hasher::Pbkdf2Sha512, &format!("pbkdf2_sha512$1$salt${HASH}"));
    malformed(Hasher::Pbkdf2Sha512Hex, &format!("pbkdf2_sha512_hex$1$salt${HEX16}"));
    malformed(Hasher::Pbkdf2Sha512Hex, &format!("pbkdf2_sha512$1$5a17${HEX16}"));
}

#[test]
fn scrypt_over_128_mib_is_refused() {
    for costs in ["131072:8:1", "16384:8:8", "1048576:1:1", "2:8:65536"] {
        accepted(Hasher::ScryptWerkzeug, &werkzeug(costs));
    }
    for costs in
        ["262144:8:1", "131072:8:2", "131072:9:1", "2147483648:4294967295:4294967295", "2:99999999999:1"]
    {
        too_costly(Hasher::ScryptWerkzeug, &werkzeug(costs));
    }
    accepted(Hasher::ScryptFirebase, &firebase("8$17"));
    for costs in ["8$18", "9$17", "1$63", "1$64", "1$255", "1$256", "1$4294967295", "4294967295$1"] {
        too_costly(Hasher::ScryptFirebase, &firebase(costs));
    }
}

#[test]
fn scrypt_of_another_form_is_malformed() {
    for costs in ["0:8:1", "1:8:1", "1000:8:1", "1024:0:1", "1024:8:0", "1024:8", "1024:8:1:1", "1024::1"] {
        malformed(Hasher::ScryptWerkzeug, &werkzeug(costs));
    }
    malformed(Hasher::ScryptWerkzeug, &werkzeug("1024:8:1").replace("scrypt", "pbkdf2"));
    malformed(Hasher::ScryptWerkzeug, &werkzeug("1024:8:1").replace("$salt$", "$$"));
    malformed(Hasher::ScryptWerkzeug, &format!("scrypt:1024:8:1$salt${HEX16}"));
    for costs in ["0$14", "8$0", "8", "8$", "$14", "8$14$1", "a$14"] {
        malformed(Hasher::ScryptFirebase, &firebase(costs));
    }
    malformed(Hasher::ScryptFirebase, "$42xEC+ixf3L2lw==$$Bw==$8$14");
    malformed(Hasher::ScryptFirebase, &format!("AAAA$42xEC+ixf3L2lw==${B64_64}$Bw==$8$14"));
    malformed(Hasher::ScryptFirebase, &format!("{B64_64}$${B64_64}$Bw==$8$14"));
}

#[test]
fn symfony_over_a_hundred_thousand_iterations_is_refused() {
    let digest = |iterations: &str| format!("sha512_symfony${iterations}$salt${B64_64}");
    accepted(Hasher::Sha512Symfony, &digest("100000"));
    too_costly(Hasher::Sha512Symfony, &digest("100001"));
    too_costly(Hasher::Sha512Symfony, &digest("4294967296"));
}

#[test]
fn symfony_of_another_form_is_malformed() {
    malformed(Hasher::Sha512Symfony, &format!("sha512_symfony$0$salt${B64_64}"));
    malformed(Hasher::Sha512Symfony, &format!("sha512_symfony$$salt${B64_64}"));
    malformed(Hasher::Sha512Symfony, &format!("sha512_symfony$1${B64_64}"));
    malformed(Hasher::Sha512Symfony, &format!("sha512$1$salt${B64_64}"));
    malformed(Hasher::Sha512Symfony, "sha512_symfony$1$salt$AAAA");
}
