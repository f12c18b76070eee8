//! Passwords: setting, importing, checking, upgrading and removing them.

use latchkey_kernel::environment::Environment::Development;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{PasswordSettings, Settings};
use latchkey_passwords::Hasher;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

const PASSWORD: &str = "vexed-quilt-27";
const PHRASE: &str = "correct horse";

/// A digest of every hasher, as other systems write it.
const DIGESTS: &[(&str, &str, &str)] = &[
    (
        "argon2i",
        "$argon2i$v=19$m=256,t=3,p=1$c29tZXNhbHQ$m4kQ1C9tEbF+RXNJalYADjSjW/afjpscqjN+51aT6WY",
        PHRASE,
    ),
    (
        "argon2id",
        "$argon2id$v=19$m=512,t=2,p=4$MDEyMzQ1Njc4OWFiY2RlZg$XzFEwhIJyF2HCP/fppEzPthSmuuD5Z9jY74/kAJMe0g",
        PHRASE,
    ),
    ("bcrypt", "$2a$04$dZ8gzOufd7pFwqq.3m2ED.utxLVvbWbOgbHUhEV5qtQHMQFbXPuWa", PHRASE),
    ("bcrypt", "$2b$04$rpUYJbWmKpfA6CELVgRFluNsNA/YsTAujDCm/FUJCyKHf4VajAhSq", PHRASE),
    ("bcrypt", "$2y$05$I2qL4/6p/JEJTNppxyYeHe38h6jkZRLm.5bu69CEpnOroHYz4URha", "pässwörd-日本"),
    (
        "bcrypt_sha256_django",
        "bcrypt_sha256$$2b$04$Dqe48jYP2ABGt0KXm.uRiu0EQ3PvUmZk5QEzc0YNfx0Bgc.UKQPg6",
        PHRASE,
    ),
    (
        "bcrypt_peppered",
        "$2b$04$e1jGvLRsVKTQO9QzhqiYCO1yViK8Ss6KmRU4RqK211TRcj9v3BYxW$s3cr3t-pepper$x",
        PHRASE,
    ),
    ("md5", "3cb4e732631f47e6eb961f34554b7cde", PHRASE),
    ("md5_salted", "pepper$52f36768c11844771e5f7ff576e2dba2", PHRASE),
    ("sha256", "4104d36f8da2c254349f85836793ebe029e0c957063a34c91c2e9203187b5631", PHRASE),
    ("sha256_salted", "NaCl$cc0c19e7e854dad3a1ac59d270a830024c7d2efa248ea80d0a27223f30bbf504", PHRASE),
    ("ldap_ssha", "{SSHA}S5GruBUVkZIDHugKxIaMJ3ajSKFiDGGM", PHRASE),
    ("phpass", "$P$5guVIQFE7cxbpe0uJMKJYArYbd/mkj1", PHRASE),
    ("md5_phpass", "$P$6q26jYUMwG323AN1YTmA1oufXsEE1s/", PHRASE),
    (
        "pbkdf2_sha1",
        "pbkdf2_sha1$1000$rawsalt!$035cf498765bf0554c553b93278e46cc1d6b53ba18ef541beb1eb88f039897c3",
        PHRASE,
    ),
    (
        "pbkdf2_sha256",
        "pbkdf2_sha256$1200$YmluYXJ5AP9zYWx0$oI1SYqpYJbumzgD+8jVnFHoFTXY5crIZ3mywO4Mvs88=",
        PHRASE,
    ),
    (
        "pbkdf2_sha256_django",
        "pbkdf2_sha256$1500$seasalt$iT/LSoYhMCtxwN3t0lRVVhpkew79R8HdHnXEtuRBllM=",
        PHRASE,
    ),
    (
        "pbkdf2_sha512",
        "pbkdf2_sha512$800$deadbeef$4b17bf35b99bf3d2c5bc330f3ec9febfd575999a9793f1232690bc9be21f74cc\
         5c418bb67529f140c9786f7f329e8921f3341c62b40506c21634604e655e2f94",
        PHRASE,
    ),
    (
        "pbkdf2_sha512_hex",
        "pbkdf2_sha512_hex$800$deadbeef$0b617abfbff92d19e58e3f59f4464ce9deb232267c04a95ec1df2d492c70c889\
         d327de4098bb85a667ea9937b24a5e747fe7f611ca9d1b8d4e1f846c632105f2",
        PHRASE,
    ),
    (
        "scrypt_firebase",
        "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==$42xEC+ixf3L2lw==$\
         jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$Bw==$8$14",
        "user1password",
    ),
    (
        "scrypt_werkzeug",
        "scrypt:1024:8:1$dOXzIfxwZbs4NJLO$5616bdaebd61eb2ab4a4ec53e493e7c991068d40cc8461fb33dcf7409d485358\
         7e539e275fe8fb0cb7d569fef24df57e62a6e837e225b8f22cecd02ac2f6d270",
        PHRASE,
    ),
    (
        "sha512_symfony",
        "sha512_symfony$5000$abcdefghijk$8pG5nAGlm33iM6PPyYawfq/PzAjdR9RcbZ4HKuMwr0KOiv03hp92VefjKLxH0t4I\
         4a+pXTmEr6kpW3lzR+aaRQ==",
        PHRASE,
    ),
];

fn id(user: &Value) -> &str {
    user["id"].as_str().unwrap()
}

async fn verify(t: &TestServer, user: &str, password: &str) -> latchkey_testkit::Answer {
    t.post(&format!("/v1/users/{user}/verify_password"), json!({"password": password})).await
}

/// Digest and hasher as stored.
async fn stored(t: &TestServer, user: &str) -> Option<(String, String)> {
    let mut tx = t.db().read().await.unwrap();
    let sql = "SELECT password_digest, password_hasher FROM credentials WHERE user_id = $1";
    let read = |row: &latchkey_db::Row<'_>| Ok(row.maybe_text(0)?.zip(row.maybe_text(1)?));
    tx.maybe(&[sql], &[user.into()], read).await.unwrap().flatten()
}

#[tokio::test]
async fn only_the_right_password_is_verified() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l", "password": PASSWORD})).await;
    assert_eq!(user["password_enabled"], true);
    assert_eq!(verify(&t, id(&user), PASSWORD).await.ok(), json!({"verified": true}));
    for wrong in ["", "vexed-quilt-28", "Vexed-quilt-27", "vexed-quilt-27 "] {
        verify(&t, id(&user), wrong).await.is_problem(422, "incorrect_password", "password");
    }
    let nobody = "user_000000000000000000000000000";
    verify(&t, nobody, PASSWORD).await.is_error(404, "resource_not_found");
    let path = format!("/v1/users/{}/verify_password", id(&user));
    t.post(&path, json!({})).await.is_problem(422, "form_param_missing", "password");
    t.post(&path, json!({"password": PASSWORD, "extra": 1})).await.is_problem(
        422,
        "form_param_unknown",
        "extra",
    );
}

#[tokio::test]
async fn a_user_without_password_has_none_to_verify() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l", "totp_secret": "JBSWY3DPEHPK3PXP"})).await;
    verify(&t, id(&user), PASSWORD).await.is_error(400, "no_password_set");
}

#[tokio::test]
async fn a_new_password_replaces_the_old_one() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l", "password": PASSWORD})).await;
    t.clock.advance_ms(1000);
    let path = format!("/v1/users/{}", id(&user));
    let changed = t.patch(&path, json!({"password": "orchid-mambo-91"})).await.ok();
    assert_eq!(changed["password_last_updated_at"].as_i64(), user["created_at"].as_i64().map(|ms| ms + 1000));
    verify(&t, id(&user), "orchid-mambo-91").await.ok();
    verify(&t, id(&user), PASSWORD).await.is_error(422, "incorrect_password");
}

#[tokio::test]
async fn each_rule_of_the_policy_has_its_code() {
    let t = TestServer::start().await;
    type Policy = fn(&mut PasswordSettings);
    let default: Policy = |_| ();
    let bytes = "x".repeat(4097);
    let cases: [(Policy, &str, &str); 13] = [
        (default, "short-7", "form_password_length_too_short"),
        (default, "", "form_password_length_too_short"),
        (default, &bytes[..73], "form_password_length_too_long"),
        (|p| p.max_length = 10_000, &bytes, "form_password_size_in_bytes_exceeded"),
        (default, "PassWord123", "form_password_pwned"),
        (default, "ADA@example.com", "form_password_matches_identifier"),
        (default, "Ada_Lovelace", "form_password_matches_identifier"),
        (|p| p.min_length = 20, PASSWORD, "form_password_length_too_short"),
        (|p| p.require_uppercase = true, PASSWORD, "form_password_no_uppercase"),
        (|p| p.require_lowercase = true, "VEXED-QUILT-27", "form_password_no_lowercase"),
        (|p| p.require_numbers = true, "vexed-quilt", "form_password_no_number"),
        (|p| p.require_special_char = true, "vexed9quilt", "form_password_no_special_char"),
        (
            |p| {
                p.require_special_char = true;
                p.allowed_special_characters = "!".to_owned();
            },
            PASSWORD,
            "form_password_no_special_char",
        ),
    ];
    for (policy, password, code) in cases {
        let mut settings = Settings::default();
        policy(&mut settings.password);
        let tenant = t.new_tenant(Development, settings).await;
        let body =
            json!({"email_address": ["ada@example.com"], "username": "ada_lovelace", "password": password});
        t.call(Some(&tenant), "POST", "/v1/users", Some(body)).await.is_problem(422, code, "password");
        let body = json!({"email_address": ["ada@example.com"], "username": "ada_lovelace"});
        let user = t.call(Some(&tenant), "POST", "/v1/users", Some(body)).await.ok();
        let path = format!("/v1/users/{}", id(&user));
        let change = t.call(Some(&tenant), "PATCH", &path, Some(json!({"password": password}))).await;
        change.is_problem(422, code, "password");
        verify_none(&t, id(&user)).await;
    }
}

async fn verify_none(t: &TestServer, user: &str) {
    assert_eq!(stored(t, user).await, None);
}

#[tokio::test]
async fn a_password_differs_from_the_username_it_comes_with() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l"})).await;
    let path = format!("/v1/users/{}", id(&user));
    let answer = t.patch(&path, json!({"username": "vexed-quilt", "password": "Vexed-Quilt"})).await;
    answer.is_problem(422, "form_password_matches_identifier", "password");
}

#[tokio::test]
async fn everything_wrong_with_a_password_is_said_at_once() {
    let mut settings = Settings::default();
    settings.password.require_uppercase = true;
    settings.password.require_numbers = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let answer = t.post("/v1/users", json!({"username": "ada_l", "password": "short"})).await;
    let codes: Vec<&str> = answer.problems().iter().map(|(code, _)| *code).collect();
    assert_eq!(
        codes,
        ["form_password_length_too_short", "form_password_no_uppercase", "form_password_no_number"]
    );
}

#[tokio::test]
async fn guessable_passwords_are_refused_with_advice_where_strength_is_asked_for() {
    let mut settings = Settings::default();
    settings.password.min_zxcvbn_strength = 3;
    settings.password.allow_breached = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let answer = t.post("/v1/users", json!({"username": "ada_l", "password": "abcdefgh1"})).await;
    answer.is_problem(422, "form_password_not_strong_enough", "password");
    let suggestions = answer.json["errors"][0]["meta"]["zxcvbn"]["suggestions"].as_array().unwrap();
    assert!(!suggestions.is_empty());
    for suggestion in suggestions {
        assert!(!suggestion["code"].as_str().unwrap().is_empty(), "{suggestion}");
        assert!(!suggestion["message"].as_str().unwrap().is_empty(), "{suggestion}");
    }
    t.user(json!({"username": "ada_l", "password": "vexed-quilt-mambo-27-orchid"})).await;
}

#[tokio::test]
async fn leaked_passwords_are_accepted_where_the_instance_allows_them() {
    let mut settings = Settings::default();
    settings.password.allow_breached = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    t.user(json!({"username": "ada_l", "password": "password123"})).await;
}

#[tokio::test]
async fn skipping_the_checks_accepts_any_password_that_can_be_hashed() {
    let mut settings = Settings::default();
    settings.password.require_uppercase = true;
    settings.password.min_zxcvbn_strength = 4;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    for (name, password) in
        [("short", "1"), ("leaked", "password"), ("own_name", "own_name"), ("long", &"y".repeat(4096))]
    {
        let body =
            json!({"username": format!("user_{name}"), "password": password, "skip_password_checks": true});
        let user = t.user(body).await;
        verify(&t, id(&user), password).await.ok();
        let path = format!("/v1/users/{}", id(&user));
        assert_eq!(t.patch(&path, json!({"password": password})).await.status, 422, "{name}");
        t.patch(&path, json!({"password": password, "skip_password_checks": true})).await.ok();
    }
    for (password, code) in [
        (String::new(), "form_password_length_too_short"),
        ("y".repeat(4097), "form_password_size_in_bytes_exceeded"),
    ] {
        let body = json!({"username": "nobody", "password": password, "skip_password_checks": true});
        t.post("/v1/users", body).await.is_problem(422, code, "password");
    }
}

#[tokio::test]
async fn every_hasher_is_imported_verified_and_upgraded() {
    let t = TestServer::start().await;
    for hasher in Hasher::ALL {
        assert!(DIGESTS.iter().any(|(name, _, _)| *name == hasher.as_str()), "{hasher:?} has no digest here");
    }
    for (number, (hasher, digest, password)) in DIGESTS.iter().enumerate() {
        let body = json!({
            "username": format!("imported_{number}"), "password_digest": digest, "password_hasher": hasher
        });
        let user = t.user(body).await;
        assert_eq!(user["password_enabled"], true, "{hasher}");
        let imported = Some(((*digest).to_owned(), (*hasher).to_owned()));
        assert_eq!(stored(&t, id(&user)).await, imported, "{hasher}");
        verify(&t, id(&user), "something else").await.is_error(422, "incorrect_password");
        assert_eq!(stored(&t, id(&user)).await, imported, "{hasher}: a wrong password upgrades nothing");
        verify(&t, id(&user), password).await.ok();
        let (upgraded, by) = stored(&t, id(&user)).await.unwrap();
        assert!(
            by == "argon2id" && upgraded.starts_with("$argon2id$v=19$") && upgraded != *digest,
            "{hasher}: {by}"
        );
        verify(&t, id(&user), password).await.ok();
        verify(&t, id(&user), "something else").await.is_error(422, "incorrect_password");
        assert_eq!(stored(&t, id(&user)).await, Some((upgraded, by)), "{hasher}: upgraded once");
        assert_eq!(t.shown(id(&user)).await, user, "{hasher}: an upgrade is not a change of the user");
    }
}

#[tokio::test]
async fn digests_are_imported_by_updates_too() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l", "password": PASSWORD})).await;
    let path = format!("/v1/users/{}", id(&user));
    let body = json!({"password_digest": "3cb4e732631f47e6eb961f34554b7cde", "password_hasher": "md5"});
    t.patch(&path, body).await.ok();
    verify(&t, id(&user), PHRASE).await.ok();
    verify(&t, id(&user), PASSWORD).await.is_error(422, "incorrect_password");
}

#[tokio::test]
async fn our_own_digests_stay_as_they_are() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l", "password": PASSWORD})).await;
    let before = stored(&t, id(&user)).await;
    assert_eq!(before.as_ref().unwrap().1, "argon2id");
    verify(&t, id(&user), PASSWORD).await.ok();
    assert_eq!(stored(&t, id(&user)).await, before);
}

#[tokio::test]
async fn digest_and_hasher_go_together_and_not_with_a_password() {
    let t = TestServer::start().await;
    let digest = "3cb4e732631f47e6eb961f34554b7cde";
    let user = t.user(json!({"username": "charles"})).await;
    let path = format!("/v1/users/{}", id(&user));
    let cases = [
        (json!({"password_digest": digest}), "form_conditional_param_missing", "password_hasher"),
        (json!({"password_hasher": "md5"}), "form_conditional_param_missing", "password_digest"),
        (json!({"skip_password_checks": true}), "form_conditional_param_missing", "skip_password_checks"),
        (
            json!({"password": PASSWORD, "password_hasher": "md5"}),
            "form_conditional_param_missing",
            "password_digest",
        ),
        (
            json!({"password": PASSWORD, "password_digest": digest, "password_hasher": "md5"}),
            "form_conditional_param_disallowed",
            "password_digest",
        ),
        (
            json!({"password_digest": digest, "password_hasher": "rot13"}),
            "form_param_value_invalid",
            "password_hasher",
        ),
        (
            json!({"password_digest": digest, "password_hasher": "bcrypt"}),
            "form_password_digest_invalid_code",
            "password_digest",
        ),
        (
            json!({"password_digest": "", "password_hasher": "md5"}),
            "form_password_digest_invalid_code",
            "password_digest",
        ),
        (
            json!({"password_digest": "$2b$31$rpUYJbWmKpfA6CELVgRFluNsNA/YsTAujDCm/FUJCyKHf4VajAhSq", "password_hasher": "bcrypt"}),
            "form_password_digest_invalid_code",
            "password_digest",
        ),
    ];
    for (mut body, code, param) in cases {
        t.patch(&path, body.clone()).await.is_problem(422, code, param);
        body["username"] = json!("ada_l");
        t.post("/v1/users", body).await.is_problem(422, code, param);
    }
}

#[tokio::test]
async fn removed_password_no_longer_works() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l", "password": PASSWORD})).await;
    let path = format!("/v1/users/{}/remove_password", id(&user));
    let removed = t.post(&path, json!({"sign_out_of_other_sessions": true})).await.ok();
    assert_eq!(
        (&removed["password_enabled"], &removed["password_last_updated_at"]),
        (&json!(false), &Value::Null)
    );
    verify(&t, id(&user), PASSWORD).await.is_error(400, "no_password_set");
    assert_eq!(stored(&t, id(&user)).await, None);
    // Again, with nothing to remove: the user is returned unchanged, and nothing happens.
    t.clock.advance_ms(1000);
    let events = t.events().await.len();
    assert_eq!(t.post(&path, json!({})).await.ok(), removed);
    assert_eq!(t.events().await.len(), events);
    t.post(&path, json!({"other": true})).await.is_problem(400, "form_param_unknown", "other");
}

#[tokio::test]
async fn only_a_password_can_be_compromised() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l", "password": PASSWORD})).await;
    let set = format!("/v1/users/{}/password/set_compromised", id(&user));
    let unset = format!("/v1/users/{}/password/unset_compromised", id(&user));
    for path in [&set, &set, &unset, &unset] {
        let answer = t.post(path, json!({})).await.ok();
        assert_eq!((&answer["id"], &answer["password_enabled"]), (&user["id"], &json!(true)));
    }
    t.post(&set, json!({"revoke_all_sessions": true})).await.ok();
    t.post(&set, json!({"revoke_all_sessions": null})).await.ok();
    t.post(&set, json!({"other": 1})).await.is_problem(422, "form_param_unknown", "other");
    let without = t.user(json!({"username": "charles"})).await;
    for action in ["set_compromised", "unset_compromised"] {
        let path = format!("/v1/users/{}/password/{action}", id(&without));
        t.post(&path, json!({})).await.is_error(400, "no_password_set");
    }
}

#[tokio::test]
async fn a_new_password_is_not_compromised() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l", "password": PASSWORD})).await;
    t.post(&format!("/v1/users/{}/password/set_compromised", id(&user)), json!({})).await.ok();
    let compromised = |document: String| {
        serde_json::from_str::<Value>(&document).unwrap()["password"]["compromised"] == true
    };
    assert!(compromised(document(&t, id(&user)).await));
    t.patch(&format!("/v1/users/{}", id(&user)), json!({"password": "orchid-mambo-91"})).await.ok();
    assert!(!compromised(document(&t, id(&user)).await));
}

async fn document(t: &TestServer, user: &str) -> String {
    let mut tx = t.db().read().await.unwrap();
    let sql = "SELECT document FROM users WHERE id = $1";
    tx.maybe(&[sql], &[user.into()], |row| row.text(0)).await.unwrap().unwrap()
}
