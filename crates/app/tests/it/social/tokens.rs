//! Tokens of providers, as backends get them.

use latchkey_testkit::{FakeProvider, TestServer};
use serde_json::{Value, json};

use super::{BACK, client};

/// A server whose development instance knows a provider of its own, with somebody who signed up there.
async fn server() -> (TestServer, FakeProvider, Value) {
    let t = TestServer::start().await;
    let provider = FakeProvider::start(&t).await;
    let mut settings = latchkey_kernel::settings::Settings::default();
    settings.social.insert("custom_fake".into(), provider.custom(&t, &t.tenant, "custom_fake"));
    t.set_settings(settings).await;
    let mut browser = t.browser();
    let fields = json!({"strategy": "oauth_custom_fake", "redirect_url": BACK});
    let attempt = browser.post("/v1/client/sign_ups", fields).await.ok()["response"].take();
    let proof = &attempt["verifications"]["external_account"];
    let returned = provider.visit(proof["external_verification_redirect_url"].as_str().unwrap());
    let answer = browser.open(&super::path(&returned)).await;
    assert_eq!(answer.status, 303, "{:#}", answer.json);
    let user = client(&mut browser).await["sessions"][0]["user"].take();
    assert_eq!(user["external_accounts"][0]["provider"], "oauth_custom_fake");
    (t, provider, user)
}

fn list(user: &Value) -> String {
    format!("/v1/users/{}/oauth_access_tokens/oauth_custom_fake", user["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_token_is_given_sealed_kept_and_renewed_when_it_is_over() {
    let (t, provider, user) = server().await;
    let first = t.get(&list(&user)).await.ok()[0].take();
    assert_eq!(
        (&first["object"], &first["provider"], &first["external_account_id"]),
        (&json!("oauth_access_token"), &json!("oauth_custom_fake"), &user["external_accounts"][0]["id"])
    );
    let token = first["token"].as_str().unwrap();
    assert!(t.everything().await.iter().all(|row| !row.contains(token)), "a token lies in the database");
    assert_eq!(t.get(&list(&user)).await.ok()[0]["token"], token);
    let asked = provider.count("/token");
    t.clock.advance_ms(2 * 3_600_000);
    let renewed = t.get(&list(&user)).await.ok()[0].take();
    assert_ne!(renewed["token"], token);
    assert_eq!(provider.count("/token"), asked + 1);
    assert_eq!(t.get(&format!("{}?paginated=true", list(&user))).await.ok()["total_count"], 1);
}

#[tokio::test]
async fn whoever_forgets_the_tokens_keeps_the_account() {
    let (t, provider, user) = server().await;
    let mut browser = t.browser();
    let fields = json!({"strategy": "oauth_custom_fake", "redirect_url": BACK});
    let attempt = browser.post("/v1/client/sign_ins", fields).await.ok()["response"].take();
    let proof = &attempt["first_factor_verification"];
    let returned = provider.visit(proof["external_verification_redirect_url"].as_str().unwrap());
    browser.open(&super::path(&returned)).await;
    let account = user["external_accounts"][0]["id"].as_str().unwrap();
    let shown = browser.delete(&format!("/v1/me/external_accounts/{account}/tokens")).await.ok();
    assert_eq!(shown["response"]["external_accounts"][0]["id"], account);
    t.get(&list(&user)).await.is_error(422, "oauth_missing_access_token");
    let nobody = t.call(Some(&t.other), "GET", &list(&user), None).await;
    assert_eq!(nobody.status, 404);
}

/// A token that the provider gave to an app is the whole proof: nobody is sent anywhere.
#[tokio::test]
async fn an_id_token_signs_up_in_and_connects() {
    let (t, provider, user) = server().await;
    let with =
        |claims: Value| json!({"strategy": "oauth_token_custom_fake", "token": provider.id_token(&claims)});
    let known = with(json!({"sub": "ada-at-provider", "email": "ada@example.com"}));
    let mut browser = t.browser();
    let done = browser.post("/v1/client/sign_ins", known.clone()).await.ok()["response"].take();
    assert_eq!(
        (&done["status"], &done["first_factor_verification"]["status"]),
        (&json!("complete"), &json!("verified"))
    );
    assert!(done["first_factor_verification"]["expire_at"].is_i64());
    assert_eq!(client(&mut browser).await["sessions"][0]["user"]["id"], user["id"]);
    let new = with(json!({"sub": "grace", "email": "grace@example.com", "email_verified": true}));
    let mut browser = t.browser();
    let unknown = browser.post("/v1/client/sign_ins", new.clone()).await.ok()["response"].take();
    assert_eq!(unknown["first_factor_verification"]["status"], "transferable");
    let done = browser.post("/v1/client/sign_ups", new).await.ok()["response"].take();
    assert_eq!(
        (&done["status"], &done["verifications"]["external_account"]["status"]),
        (&json!("complete"), &json!("verified"))
    );
    let mut browser = t.browser();
    let exists = browser.post("/v1/client/sign_ups", known).await.ok()["response"].take();
    let proof = &exists["verifications"]["external_account"];
    assert_eq!(
        (&proof["status"], &proof["error"]["code"]),
        (&json!("transferable"), &json!("external_account_exists"))
    );
    let missing = json!({"strategy": "oauth_token_custom_fake"});
    t.browser().post("/v1/client/sign_ins", missing).await.is_problem(422, "form_param_missing", "token");
    t.user(json!({"email_address": ["bob@example.com"], "password": crate::sign_ins::PASSWORD})).await;
    let mut browser = t.browser();
    let fields = json!({"identifier": "bob@example.com", "password": crate::sign_ins::PASSWORD});
    browser.post("/v1/client/sign_ins", fields).await.ok();
    let own = with(json!({"sub": "bob"}));
    let account = browser.post("/v1/me/external_accounts", own).await.ok()["response"].take();
    assert_eq!(
        (&account["provider_user_id"], &account["verification"]["status"]),
        (&json!("bob"), &json!("verified"))
    );
}
