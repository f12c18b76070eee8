//! Passwords, digests and codes made to exhaust the server, to be confused with others, or to be guessed
//! by how long it takes.

use latchkey_testkit::TestServer;
use serde_json::json;

/// bcrypt, cost 4, of 72 times `a`.
const BCRYPT_72: &str = "$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe";

/// Digests that would take days or gigabytes to check.
const COSTLY: [(&str, &str); 8] = [
    ("bcrypt", "$2b$31$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"),
    ("bcrypt", "$2y$15$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"),
    ("bcrypt_sha256_django", "bcrypt_sha256$$2b$31$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"),
    ("argon2id", "$argon2id$v=19$m=4194304,t=3,p=1$c29tZXNhbHQ$m4kQ1C9tEbF+RXNJalYADjSjW/afjpscqjN+51aT6WY"),
    (
        "argon2i",
        "$argon2i$v=19$m=65536,t=4294967295,p=1$c29tZXNhbHQ$m4kQ1C9tEbF+RXNJalYADjSjW/afjpscqjN+51aT6WY",
    ),
    ("pbkdf2_sha256_django", "pbkdf2_sha256$4294967295$salt$m4kQ1C9tEbF+RXNJalYADjSjW/afjpscqjN+51aT6WY="),
    (
        "scrypt_werkzeug",
        "scrypt:1073741824:8:1$salt$00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    ),
    ("phpass", "$P$W12345678abcdefghijklmnopqrstuv"),
];

#[tokio::test]
async fn digest_that_costs_too_much_to_check_is_refused_when_it_arrives() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}", t.person(&t.tenant, 1).await.user);
    let before = t.everything().await;
    for (hasher, digest) in COSTLY {
        let given = json!({"password_digest": digest, "password_hasher": hasher});
        let mut new = given.clone();
        new["username"] = json!("somebody");
        for answer in [t.post("/v1/users", new).await, t.patch(&path, given).await] {
            answer.is_error(422, "form_password_digest_invalid_code");
            assert_eq!(answer.param(), "password_digest");
        }
    }
    let costly = json!({"backup_codes": [COSTLY[0].1]});
    t.patch(&path, costly).await.is_error(422, "form_param_format_invalid");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn enormous_password_is_refused_and_never_hashed() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    let verify = format!("/v1/users/{}/verify_password", person.user);
    let megabyte = "x".repeat(1 << 20);
    t.post("/v1/users", json!({"username": "somebody", "password": megabyte}))
        .await
        .is_error(413, "request_body_too_large");
    t.post(&verify, json!({"password": megabyte})).await.is_error(413, "request_body_too_large");
    let large = "x".repeat(200_000);
    let checked = t.post("/v1/users", json!({"username": "somebody", "password": large})).await;
    checked.is_error(422, "form_password_length_too_long");
    let unchecked = json!({"username": "somebody", "password": large, "skip_password_checks": true});
    t.post("/v1/users", unchecked).await.is_error(422, "form_password_size_in_bytes_exceeded");
    t.post(&verify, json!({"password": large})).await.is_error(422, "incorrect_password");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_byte_of_a_long_password_counts() {
    let t = TestServer::start().await;
    let body = json!({"username": "somebody", "password": "é".repeat(72)});
    let id = t.post("/v1/users", body).await.ok()["id"].as_str().unwrap().to_owned();
    let verify = format!("/v1/users/{id}/verify_password");
    for wrong in ["é".repeat(71), "é".repeat(73), format!("{}e", "é".repeat(71)), "é".repeat(36)] {
        t.post(&verify, json!({"password": wrong})).await.is_error(422, "incorrect_password");
    }
    t.post(&verify, json!({"password": "é".repeat(72)})).await.ok();
}

#[tokio::test]
async fn imported_bcrypt_digest_stops_ignoring_what_follows_72_bytes_once_it_is_upgraded() {
    let t = TestServer::start().await;
    let body = json!({"username": "somebody", "password_digest": BCRYPT_72, "password_hasher": "bcrypt"});
    let id = t.post("/v1/users", body).await.ok()["id"].as_str().unwrap().to_owned();
    let verify = format!("/v1/users/{id}/verify_password");
    let password = |tail: &str| json!({"password": format!("{}{tail}", "a".repeat(72))});
    t.post(&verify, json!({"password": "a".repeat(71)})).await.is_error(422, "incorrect_password");
    // bcrypt never saw more than 72 bytes, so whatever follows them is taken at its word once.
    t.post(&verify, password("tail")).await.ok();
    t.post(&verify, password("other")).await.is_error(422, "incorrect_password");
    t.post(&verify, password("tail")).await.ok();
}

#[tokio::test]
async fn nul_does_not_cut_a_password_short() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    let nul = format!("{}\u{0}anything", person.password);
    let verify = format!("/v1/users/{}/verify_password", person.user);
    t.post(&verify, json!({"password": nul})).await.is_error(422, "form_param_value_invalid");
    let path = format!("/v1/users/{}", person.user);
    t.patch(&path, json!({"password": nul})).await.is_error(422, "form_param_value_invalid");
    let digest = json!({"password_digest": format!("{BCRYPT_72}\u{0}"), "password_hasher": "bcrypt"});
    t.patch(&path, digest).await.is_error(422, "form_param_value_invalid");
    let code = json!({"code": format!("{}\u{0}", person.backup_code)});
    t.post(&format!("/v1/users/{}/verify_totp", person.user), code)
        .await
        .is_error(422, "form_param_value_invalid");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn password_of_an_unknown_user_and_of_one_elsewhere_look_alike() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let nobody = format!("user_{}", "0".repeat(27));
    let mut bodies = Vec::new();
    for id in [&nobody, &person.user] {
        let body = json!({"password": person.password});
        let path = format!("/v1/users/{id}/verify_password");
        let answer = t.call(Some(&t.other), "POST", &path, Some(body)).await;
        answer.is_error(404, "resource_not_found");
        bodies.push(answer.json["errors"].to_string().replace(id, "ID"));
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn key_that_is_almost_right_looks_like_any_other_wrong_one() {
    let t = TestServer::start().await;
    let key = &t.tenant.key;
    let mut bodies = Vec::new();
    for wrong in ["x".repeat(key.len()), format!("{}_", &key[..key.len() - 1]), "sk_test_x".to_owned()] {
        let tenant = latchkey_testkit::Tenant { key: wrong, ..t.tenant.clone() };
        let answer = t.call(Some(&tenant), "GET", "/v1/users", None).await;
        answer.is_error(401, "clerk_key_invalid");
        bodies.push(answer.json["errors"].to_string());
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

/// How long a comparison takes cannot be measured reliably here; what it is made of can be read.
#[test]
fn secrets_are_compared_in_constant_time_or_by_digest() {
    let read =
        |path: &str| std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    // A secret key is looked up by its digest: how much of a guess is right does not show.
    let auth = read("../kernel/src/auth.rs");
    assert!(
        auth.contains("sha256(bearer(parts)?.as_bytes())") && auth.contains("find_by_key(&mut tx, &digest)")
    );
    assert!(!read("../kernel/src/instances/store.rs").contains("WHERE k.key"));
    // Codes and backup codes.
    for file in ["../people/src/identifications/codes.rs", "../people/src/users/factors.rs"] {
        assert!(read(file).contains("constant_time_eq("), "{file}");
    }
    // A secret has no `==`, and nobody takes it out to use one.
    assert!(!read("../base/src/secret.rs").contains("PartialEq"));
    for (path, text) in crate::architecture::product() {
        assert!(!text.contains("expose() =="), "{}", path.display());
        assert!(!text.contains("== secret"), "{}", path.display());
    }
}
