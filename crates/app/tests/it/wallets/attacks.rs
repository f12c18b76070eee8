//! What people try who do not hold the wallet. A25: the signature of another site's text, a replayed one, one with a
//! malleable s, one for another chain.

use std::sync::Arc;

use latchkey_testkit::{TestServer, TestWallet};
use serde_json::json;
use tokio::task::JoinSet;

use super::{METAMASK, SIGN_UPS, SOLANA, asked, holder, show, sign_up, text, wallet_server};
use crate::sign_ins::{begin, shown, step};

/// A server, and somebody's wallet.
async fn victim() -> (TestServer, TestWallet) {
    let t = wallet_server().await;
    let wallet = TestWallet::ethereum(1);
    holder(&t, &wallet).await;
    (t, wallet)
}

/// Signatures that the victim made, but not over this text.
#[tokio::test]
async fn a25_a_signature_of_another_sites_text_is_refused() {
    let (t, wallet) = victim().await;
    let mut browser = t.browser();
    let elsewhere: [fn(&str) -> String; 9] = [
        |text| text.replace("localhost:3000", "evil.example"),
        |text| text.replace("URI: http://localhost:3000", "URI: http://evil.example"),
        |text| text.replace("Chain ID: 1", "Chain ID: 137"),
        |text| text.replace("Version: 1", "Version: 2"),
        |text| text.replace('\n', "\r\n"),
        |text| format!("{text}\n"),
        |text| text.to_lowercase(),
        |_| String::new(),
        |_| "hello".to_owned(),
    ];
    for other in elsewhere {
        let (id, message) = asked(&mut browser, &wallet.address, METAMASK).await;
        assert_ne!(other(&message), message);
        show(&mut browser, &id, METAMASK, &wallet.sign(&other(&message)))
            .await
            .is_error(422, "form_incorrect_signature");
    }
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
}

#[tokio::test]
async fn a25_a_replayed_signature_is_refused_everywhere() {
    let (t, wallet) = victim().await;
    let mut browser = t.browser();
    let (id, message) = asked(&mut browser, &wallet.address, METAMASK).await;
    let signature = wallet.sign(&message);
    assert_eq!(shown(show(&mut browser, &id, METAMASK, &signature).await)["status"], "complete");
    // In the same attempt it was used up.
    let again = show(&mut browser, &id, METAMASK, &signature).await;
    again.is_error(400, "verification_already_verified");
    // In another attempt it is over another text; the nonce of the first one cannot be asked for again.
    let mut thief = t.browser();
    let (id, other) = asked(&mut thief, &wallet.address, METAMASK).await;
    assert_ne!(message, other);
    show(&mut thief, &id, METAMASK, &signature).await.is_error(422, "form_incorrect_signature");
    // An older text of the same attempt is not good any more once there is a newer one.
    let prepared = step(&mut thief, &id, "prepare_first_factor", json!({"strategy": METAMASK})).await;
    assert_ne!(text(&shown(prepared)["first_factor_verification"]), other);
    show(&mut thief, &id, METAMASK, &wallet.sign(&other)).await.is_error(422, "form_incorrect_signature");
    // Nor does it sign up, nor in at another tenant.
    let tenant = t.new_tenant(latchkey_kernel::environment::Environment::Development, {
        let mut settings = latchkey_kernel::settings::Settings::default();
        super::with_wallets(&mut settings);
        settings
    });
    let tenant = tenant.await;
    let mut elsewhere = t.browser_at(&tenant);
    let made =
        elsewhere.post(SIGN_UPS, json!({"web3_wallet": wallet.address, "strategy": METAMASK})).await.ok();
    let path = format!("{SIGN_UPS}/{}/attempt_verification", made["response"]["id"].as_str().unwrap());
    elsewhere
        .post(&path, json!({"strategy": METAMASK, "signature": signature}))
        .await
        .is_error(422, "form_incorrect_signature");
}

#[tokio::test]
async fn a25_a_malleable_s_is_refused() {
    let (t, wallet) = victim().await;
    let mut browser = t.browser();
    let (id, message) = asked(&mut browser, &wallet.address, METAMASK).await;
    let signature = wallet.sign(&message);
    // s becomes the order of the curve less s, and v the other parity.
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let byte = |digits: &str, at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
    let (mut turned, mut borrow) = ([0_u8; 32], 0_i16);
    for at in (0..32).rev() {
        let left = i16::from(byte(order, at)) - i16::from(byte(&signature[66..130], at)) - borrow;
        borrow = i16::from(left < 0);
        turned[at] = u8::try_from(left.rem_euclid(256)).unwrap();
    }
    let s: String = turned.iter().map(|byte| format!("{byte:02x}")).collect();
    for v in ["1b", "1c", "00", "01"] {
        let twin = format!("{}{s}{v}", &signature[..66]);
        let answer = show(&mut browser, &id, METAMASK, &twin).await;
        assert!(["form_incorrect_signature", "verification_failed"].contains(&answer.code()), "{v}");
    }
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
}

#[tokio::test]
async fn a25_a_signature_of_another_chain_is_refused() {
    let t = wallet_server().await;
    let (ethereum, solana) = (TestWallet::ethereum(1), TestWallet::solana(1));
    t.user(json!({"web3_wallet": [ethereum.address, solana.address]})).await;
    let mut browser = t.browser();
    for (wallet, own, other) in [(&ethereum, METAMASK, SOLANA), (&solana, SOLANA, METAMASK)] {
        let (id, message) = asked(&mut browser, &wallet.address, own).await;
        step(&mut browser, &id, "prepare_first_factor", json!({"strategy": other}))
            .await
            .is_error(400, "strategy_for_user_invalid");
        let fitting = wallet.sign(&message);
        show(&mut browser, &id, other, &fitting).await.is_error(400, "strategy_for_user_invalid");
        for foreign in [ethereum.sign(&message), solana.sign(&message)].iter().filter(|it| **it != fitting) {
            show(&mut browser, &id, own, foreign).await.is_error(422, "form_incorrect_signature");
        }
    }
    // When signing up, the strategy must fit the wallet as well.
    let made = browser.post(SIGN_UPS, json!({"web3_wallet": TestWallet::solana(2).address})).await.ok();
    let path = format!("{SIGN_UPS}/{}/prepare_verification", made["response"]["id"].as_str().unwrap());
    browser.post(&path, json!({"strategy": METAMASK})).await.is_problem(
        400,
        "verification_strategy_invalid",
        "strategy",
    );
}

#[tokio::test]
async fn signatures_of_any_form_are_refused_and_counted() {
    let (t, wallet) = victim().await;
    let thief = TestWallet::ethereum(2);
    let mut browser = t.browser();
    let (_, message) = asked(&mut browser, &wallet.address, METAMASK).await;
    let good = wallet.sign(&message);
    let contract = format!("0x{}", "ab".repeat(3200));
    let long = "0x".to_owned() + &"1".repeat(100_000);
    for bad in [
        thief.sign(&message),
        good[..130].to_owned(),
        format!("{good}00"),
        good[2..].to_owned(),
        contract,
        long,
        "é".repeat(66),
        format!("0x{}1b", "0".repeat(128)),
        "null".to_owned(),
    ] {
        let (id, _) = asked(&mut browser, &wallet.address, METAMASK).await;
        show(&mut browser, &id, METAMASK, &bad).await.is_error(422, "form_incorrect_signature");
    }
    for fields in [json!({"strategy": METAMASK}), json!({"strategy": METAMASK, "signature": ""})] {
        let (id, _) = asked(&mut browser, &wallet.address, METAMASK).await;
        step(&mut browser, &id, "attempt_first_factor", fields).await.is_problem(
            422,
            "form_param_missing",
            "signature",
        );
    }
    // Before the text was asked for, nothing can be shown.
    let sign_in = shown(begin(&mut browser, json!({"identifier": wallet.address})).await);
    let early = show(&mut browser, sign_in["id"].as_str().unwrap(), METAMASK, &good).await;
    early.is_error(400, "verification_missing");
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
}

#[tokio::test]
async fn too_many_attempts_and_too_late_ones_end_the_proof() {
    let (t, wallet) = victim().await;
    let mut browser = t.browser();
    let (id, message) = asked(&mut browser, &wallet.address, METAMASK).await;
    let wrong = TestWallet::ethereum(2).sign(&message);
    for code in ["form_incorrect_signature", "form_incorrect_signature", "verification_failed"] {
        assert_eq!(show(&mut browser, &id, METAMASK, &wrong).await.code(), code);
    }
    // The right one comes too late, and a new text has to be asked for.
    assert_eq!(show(&mut browser, &id, METAMASK, &wallet.sign(&message)).await.code(), "verification_failed");
    let prepared =
        shown(step(&mut browser, &id, "prepare_first_factor", json!({"strategy": METAMASK})).await);
    let message = text(&prepared["first_factor_verification"]);
    t.clock.advance_ms(10 * 60_000);
    assert_eq!(
        show(&mut browser, &id, METAMASK, &wallet.sign(&message)).await.code(),
        "verification_expired"
    );
    // The same when signing up.
    let stranger = TestWallet::ethereum(3);
    let made =
        browser.post(SIGN_UPS, json!({"web3_wallet": stranger.address, "strategy": METAMASK})).await.ok();
    let path = format!("{SIGN_UPS}/{}/attempt_verification", made["response"]["id"].as_str().unwrap());
    let message = text(&made["response"]["verifications"]["web3_wallet"]);
    for code in ["form_incorrect_signature", "form_incorrect_signature", "verification_failed"] {
        let fields = json!({"strategy": METAMASK, "signature": wallet.sign(&message)});
        assert_eq!(browser.post(&path, fields).await.code(), code);
    }
    let fields = json!({"strategy": METAMASK, "signature": stranger.sign(&message)});
    assert_eq!(browser.post(&path, fields).await.code(), "verification_failed");
}

#[tokio::test]
async fn wrong_signatures_lock_the_account_like_wrong_codes() {
    let (t, wallet) = victim().await;
    let users = t.get("/v1/users").await.ok();
    let path = format!("/v1/users/{}", users[0]["id"].as_str().unwrap());
    let mut browser = t.browser();
    for number in 1..=100 {
        let (id, _) = asked(&mut browser, &wallet.address, METAMASK).await;
        show(&mut browser, &id, METAMASK, "0x00").await;
        if [1, 99, 100].contains(&number) {
            assert_eq!(t.get(&path).await.ok()["locked"], json!(number == 100));
        }
    }
    begin(&mut browser, json!({"identifier": wallet.address})).await.is_error(403, "user_locked");
}

#[tokio::test]
async fn a_wallet_of_somebody_else_cannot_be_signed_up_with() {
    let (t, wallet) = victim().await;
    let answer = t.browser().post(SIGN_UPS, json!({"web3_wallet": wallet.address})).await;
    answer.is_problem(422, "form_identifier_exists", "web3_wallet");
    // A name that is the address of a wallet leads to nobody but the holder of the wallet.
    let unclaimed = TestWallet::ethereum(5);
    t.user(json!({"username": unclaimed.address, "password": crate::sign_ins::PASSWORD})).await;
    begin(&mut t.browser(), json!({"identifier": unclaimed.address})).await.is_problem(
        422,
        "form_identifier_not_found",
        "identifier",
    );
    assert_eq!(sign_up(&mut t.browser(), &unclaimed, METAMASK).await.ok()["response"]["status"], "complete");
    // What is no address is named as such.
    for bad in ["0x12", "0xzz", &"1".repeat(100_000), "ada@example.com"] {
        t.browser().post(SIGN_UPS, json!({"web3_wallet": bad})).await.is_problem(
            422,
            "form_param_format_invalid",
            "web3_wallet",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_signature_shown_64_times_at_once_makes_one_session() {
    let (t, wallet) = victim().await;
    let t = Arc::new(t);
    let mut browser = t.browser();
    let (id, message) = asked(&mut browser, &wallet.address, METAMASK).await;
    let signature = wallet.sign(&message);
    let cookies = browser.cookies.clone();
    let mut tasks = JoinSet::new();
    for _ in 0..64 {
        let (t, id, signature, cookies) = (t.clone(), id.clone(), signature.clone(), cookies.clone());
        tasks.spawn(async move {
            let mut browser = t.browser();
            browser.cookies = cookies;
            show(&mut browser, &id, METAMASK, &signature).await.status
        });
    }
    let statuses = tasks.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| *status < 500), "{statuses:?}");
    let user = t.get("/v1/users").await.ok()[0]["id"].as_str().unwrap().to_owned();
    let sessions = t.get(&format!("/v1/sessions?user_id={user}")).await.ok();
    let count = sessions.as_array().or_else(|| sessions["data"].as_array()).map(Vec::len);
    assert_eq!(count, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_wallet_signed_up_with_16_times_at_once_makes_one_user() {
    let t = Arc::new(wallet_server().await);
    let wallet = TestWallet::solana(1);
    let mut tasks = JoinSet::new();
    let mut ready = Vec::new();
    for _ in 0..16 {
        let mut browser = t.browser();
        let fields = json!({"web3_wallet": wallet.address, "strategy": SOLANA});
        let made = browser.post(SIGN_UPS, fields).await.ok()["response"].take();
        let signature = wallet.sign(&text(&made["verifications"]["web3_wallet"]));
        let path = format!("{SIGN_UPS}/{}/attempt_verification", made["id"].as_str().unwrap());
        ready.push((browser.cookies, path, signature));
    }
    for (cookies, path, signature) in ready {
        let t = t.clone();
        tasks.spawn(async move {
            let mut browser = t.browser();
            browser.cookies = cookies;
            browser.post(&path, json!({"strategy": SOLANA, "signature": signature})).await
        });
    }
    let answers = tasks.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.is_error(422, "form_identifier_exists");
    }
}
