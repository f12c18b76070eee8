//! Answers that do not tell who has an account, and going on to sign up.

use latchkey_kernel::limits::IMPORTED_DIGEST;
use latchkey_kernel::settings::Settings;
use latchkey_people::users::credentials;
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{EMAIL, PASSWORD, ada, begin, code, server, shown, step};

const NOBODY: &str = "eve@example.com";

fn protected(settings: &mut Settings) {
    settings.attack_protection.enumeration_protection = true;
    settings.lockout.max_attempts = 4;
}

/// What an answer tells, without what is random in it.
fn told(answer: &Answer) -> (u16, String) {
    let mut json = answer.json.clone();
    if let Some(object) = json.as_object_mut() {
        object.remove("clerk_trace_id");
    }
    let ids = |word: &str| ["client_", "sia_"].iter().any(|prefix| word.starts_with(prefix));
    let words: Vec<String> = json
        .to_string()
        .split('"')
        .map(|word| if ids(word) { "id".to_owned() } else { word.to_owned() })
        .collect();
    (answer.status, words.join("\"").replace(NOBODY, EMAIL))
}

/// Does the same as somebody and as nobody, and compares the answers.
async fn alike<'a>(
    somebody: &mut Browser<'a>,
    nobody: &mut Browser<'a>,
    path: [&str; 2],
    fields: impl Fn(&str) -> Value,
) -> Answer {
    let one = somebody.post(path[0], fields(EMAIL)).await;
    let other = nobody.post(path[1], fields(NOBODY)).await;
    assert_eq!(told(&one), told(&other));
    one
}

#[tokio::test]
async fn answers_are_the_same_for_those_who_have_no_account() {
    let t = server(protected).await;
    ada(&t).await;
    let (mut somebody, mut nobody) = (t.browser(), t.browser());
    let create = ["/v1/client/sign_ins"; 2];
    let begun = alike(&mut somebody, &mut nobody, create, |to| json!({"identifier": to})).await.ok();
    let expected = json!([
        {"strategy": "password"},
        {"strategy": "email_code", "safe_identifier": EMAIL},
        {"strategy": "reset_password_email_code", "safe_identifier": EMAIL},
    ]);
    assert_eq!(begun["response"]["supported_first_factors"], expected);
    assert_eq!(begun["response"]["user_data"], Value::Null);
    let wrong = |to: &str| json!({"identifier": to, "password": "wrong-password"});
    let refused = alike(&mut somebody, &mut nobody, create, wrong).await;
    refused.is_problem(422, "form_password_or_identifier_incorrect", "password");
    for strategy in ["email_code", "reset_password_email_code"] {
        let fields = |to: &str| json!({"identifier": to, "strategy": strategy});
        alike(&mut somebody, &mut nobody, create, fields).await.ok();
    }
    // Nothing is sent to those who have no account.
    assert!(t.inbox().await.iter().all(|message| message["to"] == EMAIL));
}

async fn paths<'a>(
    somebody: &mut Browser<'a>,
    nobody: &mut Browser<'a>,
    name: &str,
    fields: Value,
) -> [String; 2] {
    let mut paths = Vec::new();
    for (browser, identifier) in [(somebody, EMAIL), (nobody, NOBODY)] {
        let mut fields = fields.clone();
        fields["identifier"] = json!(identifier);
        let id = shown(begin(browser, fields).await)["id"].as_str().unwrap().to_owned();
        paths.push(format!("/v1/client/sign_ins/{id}/{name}"));
    }
    paths.try_into().unwrap()
}

#[tokio::test]
async fn wrong_codes_and_passwords_are_told_alike_until_the_end() {
    let t = server(protected).await;
    ada(&t).await;
    let (mut somebody, mut nobody) = (t.browser(), t.browser());
    let attempt = "attempt_first_factor";
    let paths = paths(&mut somebody, &mut nobody, attempt, json!({"strategy": "email_code"})).await;
    let paths = [paths[0].as_str(), paths[1].as_str()];
    let wrong = super::other_than(&code(&t).await);
    // Three failures spend the code, the fourth locks the account; both know nothing of it.
    for expected in
        ["form_code_incorrect", "form_code_incorrect", "verification_failed", "verification_failed"]
    {
        let fields = |_: &str| json!({"strategy": "email_code", "code": wrong});
        assert_eq!(alike(&mut somebody, &mut nobody, paths, fields).await.code(), expected);
    }
    for _ in 0..4 {
        let fields = |_: &str| json!({"strategy": "password", "password": "wrong-password"});
        let answer = alike(&mut somebody, &mut nobody, paths, fields).await;
        answer.is_error(422, "form_password_or_identifier_incorrect");
    }
    let right = |_: &str| json!({"strategy": "password", "password": PASSWORD});
    let answer = alike(&mut somebody, &mut nobody, paths, right).await;
    answer.is_error(422, "form_password_or_identifier_incorrect");
}

#[tokio::test]
async fn whoever_has_an_account_signs_in_all_the_same() {
    let t = server(protected).await;
    ada(&t).await;
    let fields = json!({"identifier": EMAIL, "password": PASSWORD});
    let sign_in = shown(begin(&mut t.browser(), fields).await);
    assert_eq!(
        (&sign_in["status"], &sign_in["user_data"]["first_name"]),
        (&json!("complete"), &json!("Ada"))
    );
    let mut browser = t.browser();
    let fields = json!({"identifier": EMAIL, "strategy": "email_code"});
    let id = shown(begin(&mut browser, fields).await)["id"].as_str().unwrap().to_owned();
    let fields = json!({"strategy": "email_code", "code": code(&t).await});
    assert_eq!(shown(step(&mut browser, &id, "attempt_first_factor", fields).await)["status"], "complete");
}

#[tokio::test]
async fn the_code_of_test_addresses_opens_nothing_for_nobody() {
    let t = server(protected).await;
    let mut browser = t.browser();
    let fields = json!({"identifier": "eve+clerk_test@example.com", "strategy": "email_code"});
    let id = shown(begin(&mut browser, fields).await)["id"].as_str().unwrap().to_owned();
    let fields = json!({"strategy": "email_code", "code": "424242"});
    step(&mut browser, &id, "attempt_first_factor", fields).await.is_error(422, "form_code_incorrect");
}

#[tokio::test]
async fn banned_users_look_like_nobody() {
    let t = server(protected).await;
    let id = ada(&t).await["id"].as_str().unwrap().to_owned();
    t.post(&format!("/v1/users/{id}/ban"), json!({})).await.ok();
    let (mut somebody, mut nobody) = (t.browser(), t.browser());
    let create = ["/v1/client/sign_ins"; 2];
    for fields in [json!({}), json!({"password": PASSWORD}), json!({"strategy": "email_code"})] {
        let named = |to: &str| {
            let mut fields = fields.clone();
            fields["identifier"] = json!(to);
            fields
        };
        alike(&mut somebody, &mut nobody, create, named).await;
    }
    assert_eq!(t.inbox().await.len(), 0);
}

#[tokio::test]
async fn names_and_pictures_may_stay_hidden() {
    let t = server(|settings| settings.attack_protection.pii = true).await;
    ada(&t).await;
    let sign_in = shown(begin(&mut t.browser(), json!({"identifier": EMAIL})).await);
    assert_eq!(sign_in["user_data"], Value::Null);
    let fields = json!({"identifier": EMAIL, "password": PASSWORD});
    assert_eq!(shown(begin(&mut t.browser(), fields).await)["user_data"], Value::Null);
}

#[tokio::test]
async fn whoever_has_no_account_may_go_on_and_sign_up() {
    for protection in [false, true] {
        let t = server(|settings| settings.attack_protection.enumeration_protection = protection).await;
        let mut browser = t.browser();
        let fields = json!({"identifier": NOBODY, "sign_up_if_missing": true});
        let sign_in = shown(begin(&mut browser, fields).await);
        assert_eq!(sign_in["status"], "needs_first_factor");
        let id = sign_in["id"].as_str().unwrap();
        step(&mut browser, id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
        let right = code(&t).await;
        let wrong = json!({"strategy": "email_code", "code": super::other_than(&right)});
        step(&mut browser, id, "attempt_first_factor", wrong).await.is_error(422, "form_code_incorrect");
        let fields = json!({"strategy": "email_code", "code": right});
        let answer = step(&mut browser, id, "attempt_first_factor", fields.clone()).await;
        answer.is_error(404, "sign_up_if_missing_transfer");
        let sign_in = &answer.json["meta"]["client"]["sign_in"];
        assert_eq!(sign_in["first_factor_verification"]["status"], "transferable");
        let again = step(&mut browser, id, "attempt_first_factor", fields).await;
        again.is_error(400, "verification_already_verified");
    }
}

#[tokio::test]
async fn nobody_goes_on_to_sign_up_where_that_is_closed() {
    let t =
        server(|settings| settings.sign_up.mode = latchkey_kernel::settings::SignUpMode::Restricted).await;
    let fields = json!({"identifier": NOBODY, "sign_up_if_missing": true});
    begin(&mut t.browser(), fields).await.is_error(422, "form_identifier_not_found");
}

#[tokio::test]
async fn whoever_has_an_account_does_not_sign_up_by_mistake() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let fields = json!({"identifier": EMAIL, "strategy": "email_code", "sign_up_if_missing": true});
    let id = shown(begin(&mut browser, fields).await)["id"].as_str().unwrap().to_owned();
    let fields = json!({"strategy": "email_code", "code": code(&t).await});
    assert_eq!(shown(step(&mut browser, &id, "attempt_first_factor", fields).await)["status"], "complete");
}

#[tokio::test]
async fn the_kind_of_a_digest_does_not_decide_when_the_answer_leaves() {
    let t = server(protected).await;
    ada(&t).await;
    let has_imported = async || {
        let mut tx = t.db().read().await.unwrap();
        credentials::has_imported(&mut tx, &t.tenant.id).await.unwrap()
    };
    assert!(!has_imported().await, "what is made here is no import");
    let md5 = json!({"email_address": ["md5@example.com"], "password_hasher": "md5",
        "password_digest": "5f4dcc3b5aa765d61d8327deb882cf99"});
    t.user(md5).await;
    t.user(json!({"email_address": ["none@example.com"]})).await;
    assert!(has_imported().await);
    for identifier in [EMAIL, "md5@example.com", "none@example.com", NOBODY] {
        let began = Instant::now();
        let wrong = json!({"identifier": identifier, "password": "wrong-password-1"});
        begin(&mut t.browser(), wrong).await.is_error(422, "form_password_or_identifier_incorrect");
        assert!(began.elapsed() >= IMPORTED_DIGEST, "{identifier}");
    }
}

/// bcrypt at cost 14 takes four times what is usual: so does everything else then, before it was ever compared.
#[tokio::test]
async fn a_slow_digest_slows_all_answers_alike() {
    let t = server(protected).await;
    let slow = json!({"email_address": ["slow@example.com"], "password_hasher": "bcrypt",
        "password_digest": "$2b$14$abcdefghijklmnopqrstuuJ8Eo0Yd1dQ2m0o3n2m1l0k9j8h7g6f5"});
    t.user(slow).await;
    let began = Instant::now();
    let wrong = json!({"identifier": NOBODY, "password": "wrong-password-1"});
    begin(&mut t.browser(), wrong).await.is_error(422, "form_password_or_identifier_incorrect");
    assert!(began.elapsed() >= 4 * IMPORTED_DIGEST, "{:?}", began.elapsed());
}
