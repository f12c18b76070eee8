//! Tokens of providers, as backends get them.

use std::time::Duration;

use latchkey_testkit::{Browser, FakeProvider, Reaction, TestServer, until};
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

/// Signs in by whoever the provider says it is.
async fn signed_in<'a>(t: &'a TestServer, provider: &FakeProvider) -> Browser<'a> {
    let mut browser = t.browser();
    let fields = json!({"strategy": "oauth_custom_fake", "redirect_url": BACK});
    let attempt = browser.post("/v1/client/sign_ins", fields).await.ok()["response"].take();
    let proof = &attempt["first_factor_verification"];
    let returned = provider.visit(proof["external_verification_redirect_url"].as_str().unwrap());
    let answer = browser.open(&super::path(&returned)).await;
    assert_eq!(answer.status, 303, "{:#}", answer.json);
    assert_eq!(client(&mut browser).await["sessions"].as_array().unwrap().len(), 1);
    browser
}

/// The account as backends see it, and how often they were told that the user has changed.
async fn account(t: &TestServer, user: &Value) -> (Value, usize) {
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    let account = t.get(&path).await.ok()["external_accounts"][0].take();
    (account, t.events().await.iter().filter(|event| event.kind == "user.updated").count())
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

/// Google gives what renews a token only when somebody agrees anew.
#[tokio::test]
async fn a_sign_in_that_brings_no_refresh_token_keeps_the_one_that_is_there() {
    let (t, provider, user) = server().await;
    let first = t.get(&list(&user)).await.ok()[0]["token"].take();
    provider.withhold("refresh_token");
    signed_in(&t, &provider).await;
    let second = t.get(&list(&user)).await.ok()[0]["token"].take();
    assert_ne!(second, first, "the newer token counts");
    t.clock.advance_ms(2 * 3_600_000);
    let renewed = t.get(&list(&user)).await.ok()[0]["token"].take();
    assert!(renewed != first && renewed != second, "{renewed}");
    // Renewing brought no other either.
    t.clock.advance_ms(2 * 3_600_000);
    assert_ne!(t.get(&list(&user)).await.ok()[0]["token"], renewed);
}

/// The same for whoever approves of more.
#[tokio::test]
async fn approving_of_more_keeps_the_refresh_token_too() {
    let (t, provider, user) = server().await;
    provider.withhold("refresh_token");
    let mut browser = signed_in(&t, &provider).await;
    let account = user["external_accounts"][0]["id"].as_str().unwrap();
    let fields = json!({"redirect_url": BACK, "additional_scope": ["calendar"]});
    let asked = browser.patch(&format!("/v1/me/external_accounts/{account}/reauthorize"), fields).await.ok();
    let url = &asked["response"]["verification"]["external_verification_redirect_url"];
    let returned = provider.visit(url.as_str().unwrap());
    assert_eq!(browser.open(&super::path(&returned)).await.status, 303);
    let approved = t.get(&list(&user)).await.ok()[0].take();
    assert_eq!(approved["scopes"], json!(["openid", "profile", "email", "calendar"]));
    t.clock.advance_ms(2 * 3_600_000);
    assert_ne!(t.get(&list(&user)).await.ok()[0]["token"], approved["token"]);
}

#[tokio::test]
async fn what_is_not_told_again_stays() {
    let (t, provider, user) = server().await;
    let (before, events) = account(&t, &user).await;
    assert_eq!(
        (&before["approved_scopes"], &before["first_name"], &before["username"]),
        (&json!("openid profile email"), &json!("Ada"), &json!("ada"))
    );
    // An ID token alone says little, and approves of nothing.
    let token = provider
        .id_token(&json!({"sub": "ada-at-provider", "email": "ada@example.com", "email_verified": true}));
    for token in [token, provider.id_token(&json!({"sub": "ada-at-provider"}))] {
        let fields = json!({"strategy": "oauth_token_custom_fake", "token": token});
        let done = t.browser().post("/v1/client/sign_ins", fields).await.ok()["response"].take();
        assert_eq!(done["status"], "complete");
        assert_eq!(account(&t, &user).await, (before.clone(), events));
    }
    assert_eq!(t.get(&list(&user)).await.ok()[0]["scopes"], json!(["openid", "profile", "email"]));
    // Apple tells names once.
    let mut person = json!({"sub": "ada-at-provider", "email": "ada@example.com", "email_verified": true,
        "preferred_username": "ada", "picture": "https://provider.example/ada.png"});
    provider.be(person.clone());
    signed_in(&t, &provider).await;
    assert_eq!(account(&t, &user).await, (before, events));
    // Names belong together: half of an old one is not put behind a new one.
    person["given_name"] = json!("Augusta");
    provider.be(person);
    signed_in(&t, &provider).await;
    let (renamed, later) = account(&t, &user).await;
    assert_eq!((&renamed["first_name"], &renamed["last_name"]), (&json!("Augusta"), &json!("")));
    assert_eq!(later, events + 1);
}

#[tokio::test]
async fn a_provider_is_named_with_its_prefix_or_without() {
    let (t, _provider, user) = server().await;
    let path = list(&user);
    let short = path.replace("oauth_custom_fake", "custom_fake");
    assert_ne!(path, short);
    let named = t.get(&path).await.ok();
    assert_eq!(named.as_array().unwrap().len(), 1);
    assert_eq!(t.get(&short).await.ok(), named);
    t.get(&path.replace("oauth_custom_fake", "oauth_"))
        .await
        .is_error(404, "oauth_token_provider_not_enabled");
}

/// Whoever forgets the tokens, or disconnects the account, while the provider is asked.
#[tokio::test]
async fn what_is_forgotten_while_it_is_renewed_does_not_come_back() {
    for disconnects in [false, true] {
        let (t, provider, user) = server().await;
        // The tokens are over. An ID token signs in without bringing others.
        t.clock.advance_ms(2 * 3_600_000);
        let mut browser = t.browser();
        let token = provider.id_token(&json!({"sub": "ada-at-provider"}));
        let fields = json!({"strategy": "oauth_token_custom_fake", "token": token});
        browser.post("/v1/client/sign_ins", fields).await.ok();
        let answer = json!({"access_token": "at-late", "refresh_token": "rt-late", "expires_in": 3600});
        provider.react("/token", Reaction::Slow(Duration::from_secs(2), answer.to_string().into_bytes()));
        let asked = provider.count("/token");
        let id = user["external_accounts"][0]["id"].as_str().unwrap();
        let what = if disconnects { "" } else { "/tokens" };
        let path = list(&user);
        let forget = async {
            until(|| provider.count("/token") > asked).await;
            browser.delete(&format!("/v1/me/external_accounts/{id}{what}")).await.ok();
        };
        let (read, ()) = tokio::join!(t.get(&path), forget);
        read.is_error(422, "oauth_missing_access_token");
        let rows = t.everything().await;
        assert!(rows.iter().all(|row| !row.contains("external_account_tokens")), "{disconnects}");
        match disconnects {
            true => assert_eq!(t.get(&path).await.ok(), json!([])),
            false => t.get(&path).await.is_error(422, "oauth_missing_access_token"),
        };
    }
}

#[tokio::test]
async fn whoever_forgets_the_tokens_keeps_the_account() {
    let (t, provider, user) = server().await;
    let mut browser = signed_in(&t, &provider).await;
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
    let mut own = with(json!({"sub": "bob"}));
    own["code"] = json!("an-authorization-code");
    let alone = json!({"strategy": "oauth_token_custom_fake", "code": "an-authorization-code"});
    let refused = browser.post("/v1/me/external_accounts", alone).await;
    refused.is_problem(422, "form_param_value_invalid", "code");
    // Apps send both.
    let account = browser.post("/v1/me/external_accounts", own).await.ok()["response"].take();
    assert_eq!(
        (&account["provider_user_id"], &account["verification"]["status"]),
        (&json!("bob"), &json!("verified"))
    );
}
