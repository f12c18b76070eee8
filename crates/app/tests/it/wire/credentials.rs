//! Who is calling: the Authorization header, and what is wrong with a bad one.

use latchkey_testkit::{Answer, TestServer};

use super::{bearer, send};

async fn with_authorization(t: &TestServer, headers: &[&str]) -> Answer {
    let headers: Vec<_> = headers.iter().map(|value| ("authorization", *value)).collect();
    send(t, "GET", "/v1/users/count", &headers, "").await
}

#[tokio::test]
async fn request_without_credentials_could_not_be_authenticated() {
    let t = TestServer::start().await;
    with_authorization(&t, &[]).await.is_error(401, "could_not_authenticate_request");
}

#[tokio::test]
async fn authorization_header_that_is_not_bearer_and_a_key_has_a_wrong_format() {
    let t = TestServer::start().await;
    let (key, good) = (&t.tenant.key, bearer(&t));
    let bad = [
        "Basic x".to_owned(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer    ".to_owned(),
        String::new(),
        key.clone(),
        format!("Bearer{key}"),
        format!("Bearer {key} {key}"),
        format!("Bearer {}\u{a0}{}", &key[..20], &key[20..]),
        format!("Bearer {} {}", &key[..20], &key[20..]),
        format!("Bearer {}\t{}", &key[..20], &key[20..]),
        format!("Digest {key}"),
        format!("{good}, {good}"),
        format!("Bearer\t{key}"),
    ];
    for header in bad {
        let answer = with_authorization(&t, &[&header]).await;
        assert_eq!(
            (answer.status, answer.code()),
            (401, "authorization_header_format_invalid"),
            "{header:?}"
        );
    }
    let twice = with_authorization(&t, &[&good, &good]).await;
    twice.is_error(401, "authorization_header_format_invalid");
}

#[tokio::test]
async fn key_that_is_not_exactly_right_is_invalid() {
    let t = TestServer::start().await;
    let key = &t.tenant.key;
    let bad = [
        "sk_test_unknown".to_owned(),
        "x".to_owned(),
        key[..key.len() - 1].to_owned(),
        format!("{key}x"),
        key.to_uppercase(),
        key.replace("sk_test_", "sk_live_"),
        "x".repeat(8000),
    ];
    for key in bad {
        let answer = with_authorization(&t, &[&format!("Bearer {key}")]).await;
        assert_eq!((answer.status, answer.code()), (401, "clerk_key_invalid"), "{key}");
    }
}

#[tokio::test]
async fn scheme_is_read_in_any_case_and_spaces_around_the_key_are_ignored() {
    let t = TestServer::start().await;
    let key = &t.tenant.key;
    for header in [
        format!("Bearer {key}"),
        format!("bearer {key}"),
        format!("BEARER {key}"),
        format!("Bearer   {key}"),
        format!("Bearer {key}  "),
    ] {
        assert_eq!(with_authorization(&t, &[&header]).await.status, 200, "{header}");
    }
}
