//! `/v1/me/web3_wallets`

use latchkey_kernel::limits::RateLimits;
use latchkey_testkit::{Answer, TestServer, TestWallet};
use serde_json::{Value, json};

use super::{METAMASK, SOLANA, holder, text, wallet_server, with_wallets};
use crate::me::support::{Me, me, sign_in};

const PATH: &str = "/v1/me/web3_wallets";

/// Adds a wallet, unproven; its id.
async fn add(me: &mut Me<'_>, wallet: &TestWallet) -> String {
    let added = me.post(PATH, json!({"web3_wallet": wallet.address})).await.ok();
    added["response"]["id"].as_str().unwrap().to_owned()
}

/// Asks for the text to sign.
async fn ask(me: &mut Me<'_>, id: &str, strategy: &str) -> String {
    let path = format!("{PATH}/{id}/prepare_verification");
    let asked = me.post(&path, json!({"strategy": strategy})).await.ok();
    text(&asked["response"]["verification"])
}

async fn attempt(me: &mut Me<'_>, id: &str, signature: &str) -> Answer {
    me.post(&format!("{PATH}/{id}/attempt_verification"), json!({"signature": signature})).await
}

/// Adds a wallet and proves it.
async fn add_proven(me: &mut Me<'_>, wallet: &TestWallet, strategy: &str) -> String {
    let id = add(me, wallet).await;
    let message = ask(me, &id, strategy).await;
    attempt(me, &id, &wallet.sign(&message)).await.ok();
    id
}

#[tokio::test]
async fn a_wallet_is_added_proven_made_primary_and_removed() {
    let t = wallet_server().await;
    let mut me = me(&t).await;
    let before = t.events().await.len();
    let (first, second) = (TestWallet::ethereum(1), TestWallet::solana(2));
    let added = me.post(PATH, json!({"web3_wallet": format!("0x{}", first.address[2..].to_uppercase())}));
    let added = added.await.ok()["response"].clone();
    assert_eq!(
        (&added["object"], &added["web3_wallet"], &added["verification"]),
        (&json!("web3_wallet"), &json!(first.address), &Value::Null)
    );
    let id = added["id"].as_str().unwrap().to_owned();
    assert_eq!(me.shown().await["primary_web3_wallet_id"], Value::Null);
    let message = ask(&mut me, &id, METAMASK).await;
    let proven = attempt(&mut me, &id, &first.sign(&message)).await.ok()["response"].clone();
    let verification = &proven["verification"];
    assert_eq!(
        (&verification["status"], &verification["strategy"], &verification["attempts"]),
        (&json!("verified"), &json!(METAMASK), &json!(1))
    );
    assert!(verification.get("message").is_none());
    let other = add_proven(&mut me, &second, SOLANA).await;
    assert_eq!(me.shown().await["primary_web3_wallet_id"], id.as_str());
    assert_eq!(me.get(PATH).await.ok().as_array().unwrap().len(), 2);
    let patched = me.patch("/v1/me", json!({"primary_web3_wallet_id": other})).await.ok();
    assert_eq!(patched["response"]["primary_web3_wallet_id"], other.as_str());
    assert_eq!(me.get(&format!("{PATH}/{other}")).await.ok()["response"]["web3_wallet"], second.address);
    let gone = me.delete(&format!("{PATH}/{other}")).await.ok();
    assert_eq!(gone["response"], json!({"object": "web3_wallet", "id": other, "deleted": true}));
    let shown = me.shown().await;
    assert_eq!((&shown["primary_web3_wallet_id"], &shown["web3_wallets"][0]["id"]), (&json!(id), &json!(id)));
    // Adding two, proving two, the primary one, removing one.
    assert_eq!(me.events_after(before).await, ["user.updated"; 6]);
    // It signs in from now on.
    let mut browser = t.browser();
    let (attempt, message) = super::asked(&mut browser, &first.address, METAMASK).await;
    let done = super::show(&mut browser, &attempt, METAMASK, &first.sign(&message)).await.ok();
    assert_eq!(done["client"]["sessions"][0]["user"]["id"], me.user.as_str());
}

/// The text to sign is for whoever asked for it.
#[tokio::test]
async fn the_text_to_sign_is_told_to_whoever_asked_alone() {
    let t = wallet_server().await;
    let mut me = me(&t).await;
    let id = add(&mut me, &TestWallet::ethereum(1)).await;
    let message = ask(&mut me, &id, METAMASK).await;
    let nonce = message.split_once("\nNonce: ").unwrap().1.split_once('\n').unwrap().0;
    let seen = [
        me.get(PATH).await.ok(),
        me.get(&format!("{PATH}/{id}")).await.ok(),
        me.get("/v1/client").await.ok(),
        me.patch("/v1/me", json!({"first_name": "Ada"})).await.ok(),
        t.get(&format!("/v1/users/{}", me.user)).await.ok(),
    ];
    for shown in seen {
        let text = shown.to_string();
        assert!(text.contains(METAMASK) && !text.contains(nonce), "{text}");
    }
    assert!(t.events().await.iter().all(|event| !event.data.to_string().contains(nonce)));
}

#[tokio::test]
async fn what_is_no_wallet_or_taken_or_off_is_refused() {
    let t = wallet_server().await;
    let taken = TestWallet::ethereum(1);
    holder(&t, &taken).await;
    let mut me = me(&t).await;
    for (value, code) in [
        ("0x12", "form_param_format_invalid"),
        ("ada@example.com", "form_param_format_invalid"),
        (taken.address.as_str(), "form_identifier_exists"),
    ] {
        me.post(PATH, json!({"web3_wallet": value})).await.is_problem(422, code, "web3_wallet");
    }
    me.post(PATH, json!({})).await.is_problem(422, "form_param_missing", "web3_wallet");
    me.post(PATH, json!({"web3_wallet": ""})).await.is_problem(422, "form_param_nil", "web3_wallet");
    let own = TestWallet::ethereum(2);
    add(&mut me, &own).await;
    me.post(PATH, json!({"web3_wallet": own.address})).await.is_problem(
        422,
        "form_identifier_exists",
        "web3_wallet",
    );
    let t = TestServer::start().await;
    let mut me = crate::me::support::me(&t).await;
    me.post(PATH, json!({"web3_wallet": own.address})).await.is_problem(
        422,
        "form_param_unknown",
        "web3_wallet",
    );
}

#[tokio::test]
async fn wrong_and_replayed_signatures_prove_nothing() {
    let t = wallet_server().await;
    let mut me = me(&t).await;
    let (wallet, thief) = (TestWallet::ethereum(1), TestWallet::ethereum(2));
    let id = add(&mut me, &wallet).await;
    attempt(&mut me, &id, "0x00").await.is_error(400, "verification_not_sent");
    let message = ask(&mut me, &id, METAMASK).await;
    for code in ["form_incorrect_signature", "form_incorrect_signature", "verification_failed"] {
        assert_eq!(attempt(&mut me, &id, &thief.sign(&message)).await.code(), code);
    }
    assert_eq!(attempt(&mut me, &id, &wallet.sign(&message)).await.code(), "verification_failed");
    let old = message;
    let message = ask(&mut me, &id, METAMASK).await;
    attempt(&mut me, &id, &wallet.sign(&old)).await.is_error(422, "form_incorrect_signature");
    t.clock.advance_ms(10 * 60_000);
    attempt(&mut me, &id, &wallet.sign(&message)).await.is_error(400, "verification_expired");
    // An unproven wallet is nobody's: not a way in, not the primary one.
    super::begin(&mut t.browser(), json!({"identifier": wallet.address}))
        .await
        .is_error(422, "form_identifier_not_found");
    for (strategy, code) in [
        (SOLANA, "verification_strategy_invalid"),
        ("email_code", "verification_strategy_invalid"),
        ("web3_doge_signature", "verification_strategy_invalid"),
        ("", "verification_strategy_invalid"),
    ] {
        let path = format!("{PATH}/{id}/prepare_verification");
        me.post(&path, json!({"strategy": strategy})).await.is_problem(400, code, "strategy");
    }
    let message = ask(&mut me, &id, METAMASK).await;
    attempt(&mut me, &id, &wallet.sign(&message)).await.ok();
    attempt(&mut me, &id, &wallet.sign(&message)).await.is_error(400, "verification_already_verified");
    let path = format!("{PATH}/{id}/prepare_verification");
    me.post(&path, json!({"strategy": METAMASK})).await.is_error(400, "verification_already_verified");
}

#[tokio::test]
async fn a_wallet_of_somebody_else_is_not_there() {
    let t = wallet_server().await;
    let wallet = TestWallet::ethereum(1);
    let other = holder(&t, &wallet).await;
    let id = other["web3_wallets"][0]["id"].as_str().unwrap();
    let mut me = me(&t).await;
    me.get(&format!("{PATH}/{id}")).await.is_error(404, "resource_not_found");
    me.delete(&format!("{PATH}/{id}")).await.is_error(404, "resource_not_found");
    attempt(&mut me, id, "0x00").await.is_error(404, "resource_not_found");
    let path = format!("{PATH}/{id}/prepare_verification");
    me.post(&path, json!({"strategy": METAMASK})).await.is_error(404, "resource_not_found");
    let refused = me.patch("/v1/me", json!({"primary_web3_wallet_id": id})).await;
    refused.is_problem(422, "form_resource_not_found", "primary_web3_wallet_id");
    // Two may say that a wallet is theirs; it is whose signature comes first.
    let contested = TestWallet::solana(3);
    let mine = add(&mut me, &contested).await;
    let mut they = sign_in(&t, other["id"].as_str().unwrap()).await;
    let theirs = add(&mut they, &contested).await;
    let message = ask(&mut me, &mine, SOLANA).await;
    let theirs_message = ask(&mut they, &theirs, SOLANA).await;
    attempt(&mut they, &theirs, &contested.sign(&message)).await.is_error(422, "form_incorrect_signature");
    attempt(&mut they, &theirs, &contested.sign(&theirs_message)).await.ok();
    attempt(&mut me, &mine, &contested.sign(&message)).await.is_problem(
        400,
        "identification_claimed",
        "web3_wallet",
    );
}

#[tokio::test]
async fn wallets_change_only_after_a_recent_proof() {
    let t = wallet_server().await;
    let mut me = me(&t).await;
    let id = add_proven(&mut me, &TestWallet::ethereum(1), METAMASK).await;
    let other = add_proven(&mut me, &TestWallet::ethereum(2), METAMASK).await;
    me.wait_for_reverification();
    let wanted = json!({"web3_wallet": TestWallet::ethereum(3).address});
    for answer in [
        me.post(PATH, wanted).await,
        me.delete(&format!("{PATH}/{id}")).await,
        me.patch("/v1/me", json!({"primary_web3_wallet_id": other})).await,
    ] {
        answer.is_error(403, "session_reverification_required");
    }
    assert_eq!(me.shown().await["web3_wallets"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_last_wallet_of_somebody_without_anything_else_stays() {
    let t = wallet_server().await;
    let wallet = TestWallet::ethereum(1);
    let user = holder(&t, &wallet).await;
    let mut me = sign_in(&t, user["id"].as_str().unwrap()).await;
    let id = user["web3_wallets"][0]["id"].as_str().unwrap();
    me.delete(&format!("{PATH}/{id}")).await.is_error(400, "identification_deletion_failed");
    add(&mut me, &TestWallet::ethereum(2)).await;
    me.delete(&format!("{PATH}/{id}")).await.is_error(400, "identification_deletion_failed");
    add_proven(&mut me, &TestWallet::ethereum(3), METAMASK).await;
    me.delete(&format!("{PATH}/{id}")).await.ok();
    // A wallet is enough to give up the password.
    let body = json!({"web3_wallet": [TestWallet::solana(4).address], "username": "ada_l",
        "password": crate::sign_ins::PASSWORD});
    let named = t.user(body).await;
    let mut me = sign_in(&t, named["id"].as_str().unwrap()).await;
    let given = json!({"current_password": crate::sign_ins::PASSWORD});
    me.post("/v1/me/remove_password", given).await.ok();
}

#[tokio::test]
async fn there_are_bounds_to_unproven_and_immutable_wallets() {
    let t = wallet_server().await;
    let mut somebody = me(&t).await;
    let mut refused = None;
    for number in 1..=30 {
        let answer = somebody.post(PATH, json!({"web3_wallet": TestWallet::ethereum(number).address})).await;
        if answer.status != 200 {
            refused = Some(answer);
            break;
        }
    }
    refused.unwrap().is_error(400, "too_many_unverified_identifications");
    let t = crate::sign_ins::server(|settings| {
        with_wallets(settings);
        settings.attributes.web3_wallet.immutable = true;
    })
    .await;
    const CODE: &str = "immutable_attribute_modification_not_allowed";
    let mut somebody = me(&t).await;
    let id = add_proven(&mut somebody, &TestWallet::ethereum(1), METAMASK).await;
    somebody.delete(&format!("{PATH}/{id}")).await.is_problem(403, CODE, "web3_wallet");
    let wanted = json!({"web3_wallet": TestWallet::ethereum(2).address});
    somebody.post(PATH, wanted).await.is_problem(403, CODE, "web3_wallet");
}

#[tokio::test]
async fn texts_and_signatures_are_limited() {
    let mut settings = latchkey_kernel::settings::Settings::default();
    with_wallets(&mut settings);
    let t = TestServer::start_with(RateLimits::default(), settings).await;
    let mut me = me(&t).await;
    let id = add(&mut me, &TestWallet::ethereum(1)).await;
    let mut statuses = Vec::new();
    for _ in 0..12 {
        let path = format!("{PATH}/{id}/prepare_verification");
        statuses.push(me.post(&path, json!({"strategy": METAMASK})).await.status);
    }
    assert_eq!((statuses[0], statuses[11]), (200, 429), "{statuses:?}");
}
