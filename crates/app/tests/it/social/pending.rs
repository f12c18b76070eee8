//! Accounts that somebody begins to connect: nobody but the session that began goes on with them.

use latchkey_kernel::settings::Settings;
use latchkey_presence::sessions::rules::Entry;
use latchkey_testkit::{Answer, FakeProvider, TestServer};
use serde_json::{Value, json};

use super::{ADA, BACK, back, begin, client, page, start, through, visit};
use crate::me::support::{Me, enter, me, sign_in};
use crate::sign_ins::PASSWORD;

const PATH: &str = "/v1/me/external_accounts";

async fn connect(me: &mut Me<'_>) -> Answer {
    me.post(PATH, json!({"strategy": "oauth_mock", "redirect_url": BACK})).await
}

async fn reauthorize(me: &mut Me<'_>, account: &Value) -> Answer {
    let path = format!("{PATH}/{}/reauthorize", account["id"].as_str().unwrap());
    me.patch(&path, json!({"redirect_url": BACK})).await
}

/// What an account of the current user is connected to, if anything.
async fn connected(me: &mut Me<'_>) -> Value {
    me.shown().await["external_accounts"][0]["provider_user_id"].take()
}

/// Somebody gave up; a thief of their session comes later.
#[tokio::test]
async fn what_was_given_up_is_gone_on_with_after_a_recent_proof_only() {
    let t = start().await;
    let mut me = me(&t).await;
    let wanted = connect(&mut me).await.ok()["response"].take();
    me.wait_for_reverification();
    for refused in [connect(&mut me).await, reauthorize(&mut me, &wanted).await] {
        refused.is_error(403, "session_reverification_required");
    }
    // What was begun in time ends in time, too.
    me.browser
        .open(&visit(&mut t.browser(), &page(&wanted), ADA).await)
        .await
        .is_error(400, "oauth_callback_invalid");
    assert_eq!(connected(&mut me).await, "");
}

/// Whoever may look at an account as its user does not get a way in that stays.
#[tokio::test]
async fn an_actor_begins_nothing_and_goes_on_with_nothing() {
    let t = start().await;
    let mut owner = me(&t).await;
    let wanted = connect(&mut owner).await.ok()["response"].take();
    let actor = json!({"sub": "user_support"}).as_object().cloned();
    let mut actor = enter(&t, &owner.user, Entry { actor, ..Entry::default() }).await;
    for refused in [connect(&mut actor).await, reauthorize(&mut actor, &wanted).await] {
        refused.is_error(403, "session_reverification_required");
    }
    actor
        .browser
        .open(&visit(&mut t.browser(), &page(&wanted), ADA).await)
        .await
        .is_error(400, "oauth_callback_invalid");
    assert_eq!(connected(&mut owner).await, "");
}

/// A thief of one session follows what the owner began in another one.
#[tokio::test]
async fn another_session_of_the_same_user_does_not_bring_an_account_of_its_own() {
    let t = start().await;
    let mut owner = me(&t).await;
    let mut thief = sign_in(&t, &owner.user).await;
    let wanted = connect(&mut owner).await.ok()["response"].take();
    let theirs = visit(&mut t.browser(), &page(&wanted), "email_address=eve@example.com&id=666").await;
    thief.browser.open(&theirs).await.is_error(400, "oauth_callback_invalid");
    assert_eq!(connected(&mut owner).await, "");
    // The owner goes on all the same.
    assert_eq!(through(&mut owner.browser, &wanted, ADA).await, BACK);
    assert_eq!(connected(&mut owner).await, "42");
    // So it is with more that is asked for.
    let more = reauthorize(&mut owner, &wanted).await.ok()["response"].take();
    let theirs = visit(&mut t.browser(), &page(&more), ADA).await;
    thief.browser.open(&theirs).await.is_error(400, "oauth_callback_invalid");
    assert_eq!(back(&mut owner.browser, &theirs).await, BACK);
}

/// The same in production, where browsers are known by their cookies.
#[tokio::test]
async fn only_the_session_that_began_connects_an_account_in_production() {
    let t = TestServer::start().await;
    let provider = FakeProvider::start(&t).await;
    let mut settings = Settings::default();
    let mut own = provider.custom(&t, &t.other, "custom_fake");
    own.allow_private_addresses = true;
    settings.social.insert("custom_fake".into(), own);
    t.set_settings_of(&t.other, settings).await;
    let fields = json!({"email_address": ["ada@example.com"], "password": PASSWORD});
    t.call(Some(&t.other), "POST", "/v1/users", Some(fields)).await.ok();
    let home = format!("https://{}/back", t.other.frontend_api.trim_start_matches("clerk."));
    let (mut owner, mut thief) = (t.browser_at(&t.other), t.browser_at(&t.other));
    for browser in [&mut owner, &mut thief] {
        browser.origin = None;
        let fields = json!({"identifier": "ada@example.com", "password": PASSWORD});
        browser.post("/v1/client/sign_ins", fields).await.ok();
    }
    let fields = json!({"strategy": "oauth_custom_fake", "redirect_url": home});
    let wanted = owner.post(PATH, fields).await.ok()["response"].take();
    let url = wanted["verification"]["external_verification_redirect_url"].as_str().unwrap();
    let returned = provider.visit(url);
    let callback = &returned[returned.find("/v1/").unwrap()..];
    let asked = provider.count("/token");
    for browser in [&mut thief, &mut t.browser_at(&t.other)] {
        browser.open(callback).await.is_error(400, "oauth_callback_invalid");
    }
    assert_eq!(provider.count("/token"), asked);
    assert_eq!(back(&mut owner, callback).await, home);
    let user = client(&mut owner).await["sessions"][0]["user"].take();
    assert_eq!(user["external_accounts"][0]["verification"]["status"], "verified");
}

/// Where the browser has to go holds a secret. It stands in the answer to the request that began, and nowhere else.
#[tokio::test]
async fn where_to_prove_an_account_is_told_to_whoever_began_alone() {
    let t = start().await;
    let mut owner = me(&t).await;
    for is_more in [false, true] {
        let begun = match is_more {
            false => connect(&mut owner).await.ok(),
            true => {
                let account = owner.shown().await["external_accounts"][0].take();
                reauthorize(&mut owner, &account).await.ok()
            }
        };
        let url = begun["response"]["verification"]["external_verification_redirect_url"].as_str().unwrap();
        let secret = url.split(['&', '?']).find_map(|pair| pair.strip_prefix("state=")).unwrap();
        let secret = secret.rsplit('.').next().unwrap();
        let user = format!("/v1/users/{}", owner.user);
        let seen = [
            begun["client"].clone(),
            owner.get("/v1/me").await.ok(),
            owner.get("/v1/client").await.ok(),
            owner.patch("/v1/me", json!({"first_name": format!("Ada {is_more}")})).await.ok(),
            t.get(&user).await.ok(),
            t.get("/v1/users").await.ok(),
            t.patch(&user, json!({"last_name": format!("Lovelace {is_more}")})).await.ok(),
        ];
        for (number, shown) in seen.iter().enumerate() {
            let text = shown.to_string();
            assert!(text.contains("external_accounts") && !text.contains(secret), "{number} {text}");
        }
        let events = t.events().await;
        assert!(events.iter().all(|event| !event.data.to_string().contains(secret)));
        through(&mut owner.browser, &begun["response"], ADA).await;
        assert_eq!(connected(&mut owner).await, "42");
    }
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    through(&mut browser, &attempt, ADA).await;
    assert_eq!(client(&mut browser).await["sessions"][0]["user"]["id"], owner.user.as_str());
}
