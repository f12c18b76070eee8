//! What strangers try, by the names of the attacks.

use futures_util::future::join_all;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Browser, FakeProvider, Reaction, TestServer};
use serde_json::json;

use super::{
    ADA, BACK, Before, DONE, UNSURE, back, begin, client, page, path, prepared, signed_up, start, through,
    visit, with_mock,
};
use crate::me::support::sign_in;
use crate::passkeys::authenticator::Authenticator;
use crate::sign_ins::{EMAIL, PASSWORD, identified, server, shown, step};

/// The answer of a provider is good once, however many bring it.
#[tokio::test]
async fn a_callback_that_is_replayed_signs_in_once() {
    let t = start().await;
    let user = signed_up(&t, ADA).await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    let callback = visit(&mut browser, &page(&attempt), ADA).await;
    let all = join_all((0..64).map(|_| {
        let (mut copy, callback) = (twin(&t, &browser), callback.clone());
        async move { copy.open(&callback).await }
    }))
    .await;
    let sent: Vec<_> = all.iter().filter(|answer| answer.status == 303).collect();
    assert_eq!((sent.len(), sent[0].header("location")), (1, DONE));
    for refused in all.iter().filter(|answer| answer.status != 303) {
        refused.is_error(400, "oauth_callback_invalid");
    }
    let sessions =
        t.get(&format!("/v1/sessions?user_id={}&status=active", user["id"].as_str().unwrap())).await.ok();
    // That of the sign-up, and one.
    assert_eq!(sessions.as_array().unwrap().len(), 2);
}

/// Somebody types the address of another person and comes back with an account of their own, whether that has a user here
/// or not. The answer, and what becomes of the attempt, are the same whether somebody has that address or nobody. With an
/// account of that very address they may go on.
#[tokio::test]
async fn where_nobody_learns_who_has_an_account_ones_own_account_elsewhere_does_not_tell() {
    let t = server(|settings| {
        with_mock(settings);
        settings.attack_protection.enumeration_protection = true;
    })
    .await;
    signed_up(&t, "email_address=eve@example.com&id=666").await;
    t.user(json!({"email_address": [EMAIL], "password": PASSWORD})).await;
    for person in ["email_address=eve@example.com&id=666", "email_address=new@example.com&id=667"] {
        let mut seen = Vec::new();
        for address in [EMAIL, "nobody@example.com"] {
            let after = returned_with(&t, address, person).await;
            let proof = &after["first_factor_verification"];
            let error = proof["error"]["code"].clone();
            seen.push((after["status"].clone(), proof["status"].clone(), proof["attempts"].clone(), error));
        }
        assert_eq!(seen[0], seen[1], "{person}");
        assert_ne!(seen[0].1, "transferable");
    }
    let after = returned_with(&t, "nobody@example.com", "email_address=Nobody@example.com&id=668").await;
    assert_eq!(after["first_factor_verification"]["status"], "transferable");
}

/// The attempt to sign in as somebody after an account came back.
async fn returned_with(t: &TestServer, address: &str, person: &str) -> serde_json::Value {
    let mut browser = t.browser();
    let id = identified(&mut browser, address).await;
    let asked = json!({"strategy": "oauth_mock", "redirect_url": BACK, "action_complete_redirect_url": DONE});
    let prepared = shown(step(&mut browser, &id, "prepare_first_factor", asked).await);
    through(&mut browser, &prepared, person).await;
    shown(browser.get(&format!("/v1/client/sign_ins/{id}")).await)
}

/// A browser with the same cookies.
fn twin<'a>(t: &'a TestServer, browser: &Browser<'_>) -> Browser<'a> {
    let mut twin = t.browser();
    twin.cookies = browser.cookies.clone();
    twin.dev_browser = browser.dev_browser.clone();
    twin
}

#[tokio::test]
async fn a_second_attempt_ends_the_first() {
    let t = start().await;
    signed_up(&t, ADA).await;
    for what in ["sign_ins", "sign_ups"] {
        let mut browser = t.browser();
        let first = begin(&mut browser, what).await;
        let callback = visit(&mut browser, &page(&first), ADA).await;
        begin(&mut browser, what).await;
        browser.open(&callback).await.is_error(400, "oauth_callback_invalid");
        assert_eq!(client(&mut browser).await["sessions"], json!([]));
    }
}

#[tokio::test]
async fn answers_nobody_waits_for_lead_nowhere() {
    let t = start().await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    let id = attempt["id"].as_str().unwrap();
    let guessed = format!("/v1/oauth_callback?code=x&state={id}.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    for path in
        ["/v1/oauth_callback", "/v1/oauth_callback?state=x", "/v1/oauth_callback?state=a.b&code=c", &guessed]
    {
        let answer = browser.open(path).await;
        answer.is_error(400, "oauth_callback_invalid");
        assert_eq!(answer.header("location"), "");
    }
    // Too late is as good as never.
    let callback = visit(&mut browser, &page(&attempt), ADA).await;
    t.clock.advance_ms(10 * 60_000 + 1);
    browser.open(&callback).await.is_error(400, "oauth_callback_invalid");
    // People see a page, programs the words.
    browser.headers = vec![("accept", "text/html")];
    let page = browser.open("/v1/oauth_callback?state=x").await;
    assert_eq!(page.status, 400);
    assert!(page.header("content-type").starts_with("text/html"));
}

/// A5: a stranger signed up with somebody's address and waits for them to come.
#[tokio::test]
async fn a5_whoever_proves_the_address_gets_the_account_without_the_stranger() {
    let t = prepared(Before::Unproven).await;
    let mut stranger = t.browser();
    let fields = json!({"identifier": EMAIL, "password": PASSWORD});
    stranger.post("/v1/client/sign_ins", fields.clone()).await.ok();
    assert_eq!(client(&mut stranger).await["sessions"].as_array().unwrap().len(), 1);
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &attempt, ADA).await, BACK);
    assert_eq!(client(&mut stranger).await["sessions"], json!([]));
    let refused = t.browser().post("/v1/client/sign_ins", fields).await;
    assert_eq!(refused.code(), "form_password_compromised");
    let sign_in = client(&mut browser).await["sign_in"].take();
    assert_eq!(sign_in["status"], "needs_new_password");
    let path = format!("/v1/client/sign_ins/{}/reset_password", sign_in["id"].as_str().unwrap());
    let same = browser.post(&path, json!({"password": PASSWORD})).await;
    assert_eq!(same.status, 422, "{:#}", same.json);
    let done = browser.post(&path, json!({"password": "Another-horse-battery-43"})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    let user = client(&mut browser).await["sessions"][0]["user"].take();
    assert_eq!(user["email_addresses"][0]["verification"]["strategy"], "from_oauth_mock");
    assert_eq!(user["external_accounts"][0]["provider_user_id"], "42");
}

/// The same for whoever begins with signing up: looking whom the account proves changes nothing yet.
#[tokio::test]
async fn a5_the_stranger_is_gone_after_a_transfer_too() {
    let t = prepared(Before::Unproven).await;
    let mut stranger = t.browser();
    stranger.post("/v1/client/sign_ins", json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ups").await;
    assert_eq!(through(&mut browser, &attempt, ADA).await, BACK);
    assert_eq!(client(&mut stranger).await["sessions"].as_array().unwrap().len(), 1);
    let moved = browser.post("/v1/client/sign_ins", json!({"transfer": true})).await.ok();
    assert_eq!(moved["response"]["status"], "needs_new_password");
    assert_eq!(client(&mut stranger).await["sessions"], json!([]));
}

/// The stranger has made other ways in meanwhile: none of them leads into the account of whoever has the address, which is a
/// new one then.
#[tokio::test]
async fn a5_the_stranger_has_no_other_way_in() {
    let t = server(|settings| {
        with_mock(settings);
        let attributes = &mut settings.attributes;
        attributes.email_address.verify_at_sign_up = false;
        attributes.passkey.enabled = true;
        attributes.phone_number.enabled = true;
    })
    .await;
    let mut stranger = t.browser();
    let fields = json!({"email_address": EMAIL, "password": PASSWORD});
    let made = stranger.post("/v1/client/sign_ups", fields.clone()).await.ok();
    let user = made["response"]["created_user_id"].as_str().unwrap().to_owned();
    let phone = json!({"user_id": user, "phone_number": "+15555550100", "verified": true});
    t.post("/v1/phone_numbers", phone).await.ok();
    let other = json!({"user_id": user, "email_address": "stranger@example.com", "verified": true});
    t.post("/v1/email_addresses", other).await.ok();
    let mut me = sign_in(&t, &user).await;
    let mut device = Authenticator::new();
    me.register(&mut device).await;
    let own = me
        .post("/v1/me/external_accounts", json!({"strategy": "oauth_mock", "redirect_url": BACK}))
        .await
        .ok();
    through(&mut me.browser, &own["response"], "email_address=stranger@example.com&id=666").await;
    let secret = json!({"totp_secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"});
    t.patch(&format!("/v1/users/{user}"), secret).await.ok();
    // An attempt of the stranger stands before its second factor.
    let mut waiting = t.browser();
    let fields = json!({"identifier": EMAIL, "password": PASSWORD});
    let attempt = waiting.post("/v1/client/sign_ins", fields.clone()).await.ok()["response"].take();
    assert_eq!(attempt["status"], "needs_second_factor");

    let mut browser = t.browser();
    let begun = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &begun, ADA).await, BACK);
    let done = browser.post("/v1/client/sign_ups", json!({"transfer": true})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    let owner = done["client"]["sessions"][0]["user"].clone();
    assert_ne!(owner["id"], user.as_str());
    assert_eq!(owner["email_addresses"][0]["email_address"], EMAIL);
    assert_eq!(owner["external_accounts"][0]["provider_user_id"], "42");
    // What the stranger has leads to what the stranger has made, which the address does not name any more.
    let seen = client(&mut stranger).await["sessions"][0]["user"].take();
    assert_eq!((&seen["id"], seen["email_addresses"].as_array().unwrap().len()), (&json!(user), 1));
    let again = t.browser().post("/v1/client/sign_ins", fields).await;
    assert_ne!(again.json["response"]["status"], "complete", "{:#}", again.json);
    let path = format!("/v1/client/sign_ins/{}/attempt_second_factor", attempt["id"].as_str().unwrap());
    let refused = waiting.post(&path, json!({"strategy": "totp", "code": "123456"})).await;
    assert_ne!(refused.status, 200, "{:#}", refused.json);
    let mut elsewhere = t.browser();
    let begun = begin(&mut elsewhere, "sign_ins").await;
    through(&mut elsewhere, &begun, "email_address=stranger@example.com&id=666").await;
    assert_ne!(client(&mut elsewhere).await["sessions"][0]["user"]["id"], owner["id"]);
    let entered = crate::passkeys::sign_in(&mut t.browser(), &mut device).await.ok();
    assert_eq!(entered["client"]["sessions"][0]["user"]["id"], user.as_str());
}

/// Of an account of which nothing was proven nothing stays that the stranger has put there.
#[tokio::test]
async fn a5_nothing_that_a_stranger_gave_stays_on_the_account() {
    let t = prepared(Before::Unproven).await;
    let found = t.get("/v1/users").await.ok()[0].clone();
    let user = found["id"].as_str().unwrap();
    for (path, name, value) in [
        ("/v1/phone_numbers", "phone_number", "+15555550100"),
        ("/v1/email_addresses", "email_address", "stranger@example.com"),
    ] {
        t.post(path, json!({"user_id": user, name: value, "verified": false})).await.ok();
    }
    let mut browser = t.browser();
    let begun = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &begun, ADA).await, BACK);
    let left = t.get(&format!("/v1/users/{user}")).await.ok();
    let count = |name: &str| left[name].as_array().unwrap().len();
    assert_eq!(["email_addresses", "phone_numbers"].map(count), [1, 0], "{left:#}");
    assert_eq!(left["email_addresses"][0]["verification"]["status"], "verified");
}

/// A6: an address that somebody has derived from one that is not theirs any more.
#[tokio::test]
async fn a6_subaddresses_are_refused_where_the_provider_blocks_them() {
    let t = server(|settings| {
        with_mock(settings);
        if let Some(mock) = settings.social.get_mut("mock") {
            mock.block_email_subaddresses = Some(true);
        }
    })
    .await;
    for address in ["ada%2Bx@example.com", "ada%3Dx@example.com", "ada%23x@example.com"] {
        for what in ["sign_ins", "sign_ups"] {
            let mut browser = t.browser();
            let attempt = begin(&mut browser, what).await;
            assert_eq!(through(&mut browser, &attempt, &format!("email_address={address}")).await, BACK);
            let shown = client(&mut browser).await;
            let proof = match what {
                "sign_ins" => &shown["sign_in"]["first_factor_verification"],
                _ => &shown["sign_up"]["verifications"]["external_account"],
            };
            assert_eq!(
                (&proof["status"], &proof["error"]["code"]),
                (&json!("failed"), &json!("not_allowed_access")),
                "{address}"
            );
        }
    }
}

/// A2 and A1 on development instances: the session is opened on the client that began, and the browser that came back
/// gets nothing of it.
#[tokio::test]
async fn a2_a_browser_that_did_not_begin_gets_no_client_of_somebody_else() {
    let t = start().await;
    signed_up(&t, ADA).await;
    let mut attacker = t.browser();
    let attempt = begin(&mut attacker, "sign_ins").await;
    let callback = visit(&mut attacker, &page(&attempt), ADA).await;
    let mut victim = t.browser();
    let before = victim.cookies.clone();
    back(&mut victim, &callback).await;
    assert_eq!(victim.cookies.get("__client"), before.get("__client"));
    assert!(client(&mut victim).await.is_null());
}

/// Where there are cookies, only the browser that began brings the answer, whatever it says it is.
#[tokio::test]
async fn a1_an_answer_in_another_browser_counts_for_nobody_in_production() {
    let t = TestServer::start().await;
    let provider = FakeProvider::start(&t).await;
    let mut settings = Settings::default();
    let mut own = provider.custom(&t, &t.other, "custom_fake");
    own.allow_private_addresses = true;
    settings.social.insert("custom_fake".into(), own);
    t.set_settings_of(&t.other, settings).await;
    let home = format!("https://{}/back", t.other.frontend_api.trim_start_matches("clerk."));
    for (what, proof) in [
        ("sign_ins", "/first_factor_verification"),
        ("sign_ins?_is_native=1", "/first_factor_verification"),
        ("sign_ups", "/verifications/external_account"),
        ("sign_ups?_is_native=1", "/verifications/external_account"),
    ] {
        let mut attacker = t.browser_at(&t.other);
        attacker.origin = None;
        let fields = json!({"strategy": "oauth_custom_fake", "redirect_url": home});
        let answer = attacker.post(&format!("/v1/client/{what}"), fields).await;
        let token = answer.header("authorization").to_owned();
        let attempt = answer.ok()["response"].take();
        let url = attempt.pointer(&format!("{proof}/external_verification_redirect_url")).unwrap();
        let returned = provider.visit(url.as_str().unwrap());
        let callback = &returned[returned.find("/v1/").unwrap()..];
        let asked = provider.count("/token");
        let mut victim = t.browser_at(&t.other);
        victim.open(callback).await.is_error(400, "oauth_callback_invalid");
        assert_eq!(provider.count("/token"), asked, "{what}");
        // The one that began is answered.
        if token.is_empty() {
            assert!(back(&mut attacker, callback).await.starts_with(&home), "{what}");
        }
    }
}

/// A31: whatever a provider answers, the error stands on the attempt, and nothing else changes.
#[tokio::test]
async fn a31_what_a_broken_provider_says_stands_on_the_attempt() {
    let t = TestServer::start().await;
    let provider = FakeProvider::start(&t).await;
    let mut settings = Settings::default();
    settings.social.insert("custom_fake".into(), provider.custom(&t, &t.tenant, "custom_fake"));
    t.set_settings(settings).await;
    let elsewhere = format!("{}/token", provider.url());
    for (what, proof) in [
        ("sign_ins", "/sign_in/first_factor_verification"),
        ("sign_ups", "/sign_up/verifications/external_account"),
    ] {
        for (path_there, expected) in
            [("/token", "oauth_token_exchange_error"), ("/userinfo", "oauth_fetch_user_error")]
        {
            for reaction in [
                Reaction::Redirect(307, elsewhere.clone()),
                Reaction::Endless(200),
                Reaction::Answer(200, b"null".to_vec()),
                Reaction::status(500),
                Reaction::Close,
                Reaction::Nonsense,
            ] {
                let mut browser = t.browser();
                let fields = json!({"strategy": "oauth_custom_fake", "redirect_url": BACK});
                let begun = browser.post(&format!("/v1/client/{what}"), fields).await.ok();
                let url = begun["response"].to_string();
                let url = url.split('"').find(|text| text.starts_with(provider.url())).unwrap().to_owned();
                let returned = provider.visit(&url);
                provider.react(path_there, reaction);
                assert_eq!(back(&mut browser, &path(&returned)).await, BACK);
                provider.behave(path_there);
                let shown = client(&mut browser).await;
                let proof = shown.pointer(proof).unwrap();
                assert_eq!(
                    (&proof["status"], &proof["error"]["code"]),
                    (&json!("failed"), &json!(expected)),
                    "{what} {path_there}"
                );
                assert_eq!(shown["sessions"], json!([]));
            }
        }
    }
    assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], 0);
}

/// A transferred proof is used up: whoever still knows the attempt gets nothing for it.
#[tokio::test]
async fn what_was_proven_for_signing_up_does_not_sign_in_later() {
    let t = start().await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    through(&mut browser, &attempt, ADA).await;
    let path = format!("/v1/client/sign_ins/{}/attempt_first_factor", attempt["id"].as_str().unwrap());
    let again = json!({"strategy": "oauth_mock"});
    browser.post(&path, again.clone()).await.is_error(400, "verification_already_verified");
    let done = browser.post("/v1/client/sign_ups", json!({"transfer": true})).await.ok();
    let session = done["response"]["created_session_id"].as_str().unwrap();
    browser.delete(&format!("/v1/client/sessions/{session}")).await;
    browser.post(&format!("/v1/client/sessions/{session}/end"), json!({})).await;
    let refused = browser.post(&path, again).await;
    assert!([400, 404].contains(&refused.status), "{:#}", refused.json);
    assert_eq!(client(&mut browser).await["sessions"], json!([]));
}

#[tokio::test]
async fn what_was_proven_is_transferred_soon_or_not_at_all() {
    let t = prepared(Before::Address).await;
    for (what, other, person) in
        [("sign_ins", "sign_ups", "email_address=new@example.com"), ("sign_ups", "sign_ins", ADA)]
    {
        let mut browser = t.browser();
        let attempt = begin(&mut browser, what).await;
        through(&mut browser, &attempt, person).await;
        t.clock.advance_ms(10 * 60_000 + 1);
        let late = browser.post(&format!("/v1/client/{other}"), json!({"transfer": true})).await;
        late.is_error(400, "account_transfer_invalid");
    }
}

/// Two clients, one account: what waits for another proof finds that somebody else has connected it since.
#[tokio::test]
async fn an_account_that_somebody_else_connected_meanwhile_is_theirs() {
    let t = prepared(Before::Address).await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    through(&mut browser, &attempt, UNSURE).await;
    t.user(json!({"email_address": ["bob@example.com"], "password": PASSWORD})).await;
    let mut bob = t.browser();
    let fields = json!({"identifier": "bob@example.com", "password": PASSWORD});
    bob.post("/v1/client/sign_ins", fields).await.ok();
    let account = bob
        .post("/v1/me/external_accounts", json!({"strategy": "oauth_mock", "redirect_url": BACK}))
        .await
        .ok();
    through(&mut bob, &account["response"], UNSURE).await;
    let path = format!("/v1/client/sign_ins/{}/attempt_first_factor", attempt["id"].as_str().unwrap());
    let refused = browser.post(&path, json!({"strategy": "password", "password": PASSWORD})).await;
    refused.is_error(400, "oauth_identification_claimed");
    assert_eq!(client(&mut browser).await["sessions"], json!([]));
}

/// Apple answers with a form: it changes nothing, and leads to the same with a query.
#[tokio::test]
async fn a_form_of_a_provider_becomes_a_query() {
    let t = start().await;
    signed_up(&t, ADA).await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    let callback = visit(&mut browser, &page(&attempt), ADA).await;
    let fields: serde_json::Map<String, serde_json::Value> = callback
        .split_once('?')
        .unwrap()
        .1
        .split('&')
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap();
            (name.to_owned(), json!(value.replace("%3D", "=").replace("%3d", "=")))
        })
        .collect();
    browser.origin = Some("https://appleid.apple.com".into());
    let before = t.everything().await;
    let answer = browser.post("/v1/oauth_callback", fields.into()).await;
    assert_eq!(answer.status, 303, "{:#}", answer.json);
    assert_eq!(answer.header("access-control-allow-origin"), "");
    assert_eq!(t.everything().await, before);
    let there = path(answer.header("location"));
    assert_eq!(back(&mut browser, &there).await, DONE);
}
