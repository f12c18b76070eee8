//! Wallets: signing up and in by signatures, and what keeps others from doing so.

mod attacks;
mod own;

use latchkey_kernel::settings::{Attribute, Settings};
use latchkey_kernel::strategy::Strategy;
use latchkey_testkit::{Answer, Browser, TestServer, TestWallet};
use serde_json::{Value, json};

use crate::sign_ins::{PASSWORD, begin, server, shown, step};

const METAMASK: &str = "web3_metamask_signature";
const SOLANA: &str = "web3_solana_signature";
const SIGN_UPS: &str = "/v1/client/sign_ups";

/// Wallets sign people in and up, in all ways; nothing else is asked for.
fn with_wallets(settings: &mut Settings) {
    let attributes = &mut settings.attributes;
    attributes.email_address.required_at_sign_up = false;
    attributes.password.required_at_sign_up = false;
    attributes.web3_wallet = Attribute {
        enabled: true,
        used_for_first_factor: true,
        first_factors: Strategy::WALLETS.to_vec(),
        verifications: Strategy::WALLETS.to_vec(),
        verify_at_sign_up: true,
        ..Attribute::default()
    };
    assert_eq!(settings.problems(), []);
}

async fn wallet_server() -> TestServer {
    server(with_wallets).await
}

/// Where nobody is to learn who has an account.
async fn guarded_server() -> TestServer {
    server(|settings| {
        with_wallets(settings);
        settings.attack_protection.enumeration_protection = true;
    })
    .await
}

/// Somebody with a wallet, known to the backend.
async fn holder(t: &TestServer, wallet: &TestWallet) -> Value {
    t.user(json!({"web3_wallet": [wallet.address]})).await
}

/// Begins to sign in with a wallet and asks for the text: the id of the attempt, and the text.
async fn asked(browser: &mut Browser<'_>, address: &str, strategy: &str) -> (String, String) {
    let sign_in = shown(begin(browser, json!({"identifier": address})).await);
    let id = sign_in["id"].as_str().unwrap().to_owned();
    let prepared = shown(step(browser, &id, "prepare_first_factor", json!({"strategy": strategy})).await);
    (id, text(&prepared["first_factor_verification"]))
}

/// The text of a verification, which is as it should be.
#[track_caller]
fn text(verification: &Value) -> String {
    assert_eq!(
        (&verification["object"], &verification["status"], &verification["attempts"]),
        (&json!("verification_web3"), &json!("unverified"), &json!(0))
    );
    let (nonce, text) = (verification["nonce"].as_str().unwrap(), verification["message"].as_str().unwrap());
    assert!(nonce.len() == 40 && text.contains(&format!("\nNonce: {nonce}\n")), "{text}");
    text.to_owned()
}

async fn show(browser: &mut Browser<'_>, id: &str, strategy: &str, signature: &str) -> Answer {
    let fields = json!({"strategy": strategy, "signature": signature});
    step(browser, id, "attempt_first_factor", fields).await
}

/// Signs up with a wallet, as browser scripts do; the last answer.
async fn sign_up(browser: &mut Browser<'_>, wallet: &TestWallet, strategy: &str) -> Answer {
    let made = browser.post(SIGN_UPS, json!({"web3_wallet": wallet.address})).await.ok();
    let path = format!("{SIGN_UPS}/{}", made["response"]["id"].as_str().unwrap());
    let prepare = format!("{path}/prepare_verification");
    let prepared = browser.post(&prepare, json!({"strategy": strategy})).await.ok();
    let verification = &prepared["response"]["verifications"]["web3_wallet"];
    assert_eq!(verification["next_action"], "needs_attempt");
    let signature = wallet.sign(&text(verification));
    let fields = json!({"strategy": strategy, "signature": signature});
    browser.post(&format!("{path}/attempt_verification"), fields).await
}

#[tokio::test]
async fn an_unknown_wallet_signs_up_and_later_in() {
    let t = wallet_server().await;
    for (wallet, strategy) in [(TestWallet::ethereum(1), METAMASK), (TestWallet::solana(1), SOLANA)] {
        let mut browser = t.browser();
        let unknown = begin(&mut browser, json!({"identifier": wallet.address})).await;
        unknown.is_problem(422, "form_identifier_not_found", "identifier");
        let done = sign_up(&mut browser, &wallet, strategy).await.ok();
        let signed_up = &done["response"];
        assert_eq!(
            (&signed_up["status"], &signed_up["web3_wallet"]),
            (&json!("complete"), &json!(wallet.address))
        );
        assert_eq!(signed_up["verifications"]["web3_wallet"]["status"], "verified");
        let user = &done["client"]["sessions"][0]["user"];
        let held = &user["web3_wallets"][0];
        assert_eq!(
            (&held["web3_wallet"], &held["id"]),
            (&json!(wallet.address), &user["primary_web3_wallet_id"])
        );
        let proof = &held["verification"];
        assert_eq!(
            (&proof["object"], &proof["status"], &proof["strategy"], &proof["message"]),
            (&json!("verification_web3"), &json!("verified"), &json!(strategy), &Value::Null)
        );
        let (user, client) = (user["id"].clone(), &mut t.browser());
        let (id, message) = asked(client, &wallet.address, strategy).await;
        let answer = show(client, &id, strategy, &wallet.sign(&message)).await.ok();
        assert_eq!(answer["response"]["status"], "complete");
        assert_eq!(answer["client"]["sessions"][0]["user"]["id"], user);
        assert_eq!(answer["client"]["last_authentication_strategy"], strategy);
    }
}

#[tokio::test]
async fn a_wallet_somebody_names_shows_the_ways_to_prove_it() {
    let t = wallet_server().await;
    let (wallet, other) = (TestWallet::ethereum(1), TestWallet::ethereum(2));
    let user = t.user(json!({"web3_wallet": [other.address, wallet.address], "username": "ada_l",
        "password": PASSWORD}));
    let user = user.await;
    let mut browser = t.browser();
    // In any case, as wallets tell it.
    let typed = format!(" 0x{} ", wallet.address[2..].to_uppercase());
    let sign_in = shown(begin(&mut browser, json!({"identifier": typed})).await);
    let id = &user["web3_wallets"][1]["id"];
    let way = |strategy: &str| json!({"strategy": strategy, "safe_identifier": wallet.address, "web3_wallet_id": id, "primary": false});
    let expected = json!([
        {"strategy": "password"},
        way(METAMASK),
        way("web3_base_signature"),
        way("web3_coinbase_wallet_signature"),
        way("web3_okx_wallet_signature"),
    ]);
    assert_eq!(sign_in["supported_first_factors"], expected);
    assert_eq!(
        sign_in["supported_identifiers"],
        json!(["email_address", "phone_number", "username", "web3_wallet"])
    );
    assert_eq!(sign_in["identifier"], wallet.address);
    // Every one of them proves it.
    let mut texts = Vec::new();
    for strategy in Strategy::WALLETS[..4].iter().map(|strategy| strategy.name()) {
        let mut browser = t.browser();
        let (id, message) = asked(&mut browser, &wallet.address, strategy).await;
        assert_eq!(
            shown(show(&mut browser, &id, strategy, &wallet.sign(&message)).await)["status"],
            "complete"
        );
        texts.push(message);
    }
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 4);
    // Who is named by something else is not asked for a wallet, nor for another than the one they name.
    let by_name = shown(begin(&mut t.browser(), json!({"identifier": "ada_l"})).await);
    assert_eq!(by_name["supported_first_factors"], json!([{"strategy": "password"}]));
    let fields = json!({"strategy": METAMASK, "web3_wallet_id": user["web3_wallets"][0]["id"]});
    let sign_in = sign_in["id"].as_str().unwrap();
    step(&mut browser, sign_in, "prepare_first_factor", fields)
        .await
        .is_error(400, "strategy_for_user_invalid");
}

/// Scripts say "A Web3 Wallet extension cannot be found" by this answer.
#[tokio::test]
async fn a_page_without_a_wallet_is_told_so() {
    let t = wallet_server().await;
    let answer = begin(&mut t.browser(), json!({"identifier": ""})).await;
    answer.is_problem(422, "form_param_nil", "identifier");
}

#[tokio::test]
async fn the_text_can_be_asked_for_at_once() {
    let t = wallet_server().await;
    let wallet = TestWallet::solana(3);
    let mut browser = t.browser();
    let fields = json!({"strategy": SOLANA, "identifier": wallet.address});
    begin(&mut browser, fields.clone()).await.is_problem(422, "form_identifier_not_found", "identifier");
    begin(&mut browser, json!({"strategy": SOLANA})).await.is_problem(
        422,
        "form_param_missing",
        "identifier",
    );
    // Signing up can begin with it too.
    let made = browser.post(SIGN_UPS, json!({"web3_wallet": wallet.address, "strategy": SOLANA})).await.ok();
    let sign_up = &made["response"];
    assert_eq!(
        (&sign_up["unverified_fields"], &sign_up["missing_fields"]),
        (&json!(["web3_wallet"]), &json!([]))
    );
    assert_eq!(sign_up["verifications"]["web3_wallet"]["supported_strategies"].as_array().unwrap().len(), 5);
    let signature = wallet.sign(&text(&sign_up["verifications"]["web3_wallet"]));
    let path = format!("{SIGN_UPS}/{}/attempt_verification", sign_up["id"].as_str().unwrap());
    let done = browser.post(&path, json!({"strategy": SOLANA, "signature": signature})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    let mut browser = t.browser();
    let sign_in = shown(begin(&mut browser, fields).await);
    assert_eq!(sign_in["status"], "needs_first_factor");
    let signature = wallet.sign(&text(&sign_in["first_factor_verification"]));
    let done = shown(show(&mut browser, sign_in["id"].as_str().unwrap(), SOLANA, &signature).await);
    assert_eq!(done["status"], "complete");
}

#[tokio::test]
async fn the_text_names_the_page_that_asks_and_its_end() {
    let t = wallet_server().await;
    let wallet = TestWallet::ethereum(0x11);
    holder(&t, &wallet).await;
    let mut browser = t.browser();
    let (_, message) = asked(&mut browser, &wallet.address, METAMASK).await;
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines[0], "localhost:3000 wants you to sign in with your Ethereum account:");
    assert_eq!(lines[1], "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A");
    assert_eq!(lines[5..8], ["URI: http://localhost:3000", "Version: 1", "Chain ID: 1"]);
    let moment = |line: &str| latchkey_base::Time::parse_rfc3339(line.split_once(": ").unwrap().1).unwrap();
    assert_eq!(moment(lines[10]).ms() - moment(lines[9]).ms(), 600_000);
    // Apps without a page, and pages that say nothing a wallet could show, are asked by the server.
    for origin in [None, Some("null"), Some("chrome-extension://abc"), Some("https://a.example/\\n")] {
        browser.origin = origin.map(str::to_owned);
        let (_, message) = asked(&mut browser, &wallet.address, METAMASK).await;
        assert!(message.starts_with("localhost:3401 wants you to sign in"), "{message}");
        assert!(message.contains("\nURI: http://localhost:3401\n"), "{message}");
    }
}

#[tokio::test]
async fn a_second_factor_is_asked_for_after_a_wallet() {
    let t = wallet_server().await;
    let wallet = TestWallet::ethereum(4);
    let secret = b"authenticator secret".to_vec();
    let user = t.user(json!({"web3_wallet": [wallet.address],
        "totp_secret": latchkey_jose::totp::base32_encode(&secret)}));
    let user = user.await;
    let mut browser = t.browser();
    let (id, message) = asked(&mut browser, &wallet.address, METAMASK).await;
    let half = shown(show(&mut browser, &id, METAMASK, &wallet.sign(&message)).await);
    assert_eq!((&half["status"], &half["created_session_id"]), (&json!("needs_second_factor"), &Value::Null));
    let code = latchkey_jose::totp::totp_code(&secret, {
        use latchkey_base::time::Clock;
        t.clock.now().seconds() / 30
    });
    let fields = json!({"strategy": "totp", "code": code});
    let done = shown(step(&mut browser, &id, "attempt_second_factor", fields.clone()).await);
    assert_eq!(done["status"], "complete");
    // A stranger who holds the wallet does not get on once it was taken away.
    let mut stranger = t.browser();
    let (id, message) = asked(&mut stranger, &wallet.address, METAMASK).await;
    shown(show(&mut stranger, &id, METAMASK, &wallet.sign(&message)).await);
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    t.post(
        "/v1/email_addresses",
        json!({"user_id": user["id"], "email_address": "a@example.com", "verified": true}),
    )
    .await
    .ok();
    t.delete(&format!("{path}/web3_wallets/{}", user["web3_wallets"][0]["id"].as_str().unwrap())).await.ok();
    t.clock.advance_ms(30_000);
    let gone = step(&mut stranger, &id, "attempt_second_factor", fields).await;
    gone.is_error(400, "sign_in_identification_or_user_deleted");
}

#[tokio::test]
async fn signing_up_goes_on_from_a_wallet_to_what_else_is_required() {
    let t = server(|settings| {
        with_wallets(settings);
        settings.attributes.email_address.required_at_sign_up = true;
        settings.legal_consent_required = true;
    })
    .await;
    let wallet = TestWallet::ethereum(5);
    let mut browser = t.browser();
    let half = sign_up(&mut browser, &wallet, METAMASK).await.ok();
    let sign_up = &half["response"];
    assert_eq!(sign_up["status"], "missing_requirements");
    assert_eq!(sign_up["missing_fields"], json!(["email_address", "legal_accepted"]));
    assert_eq!(sign_up["verifications"]["web3_wallet"]["status"], "verified");
    let path = format!("{SIGN_UPS}/{}", sign_up["id"].as_str().unwrap());
    let fields =
        json!({"email_address": "ada@example.com", "legal_accepted": true, "strategy": "email_code"});
    browser.patch(&path, fields).await.ok();
    let code = crate::sign_ins::code(&t).await;
    let fields = json!({"strategy": "email_code", "code": code});
    let done = browser.post(&format!("{path}/attempt_verification"), fields).await.ok();
    let user = &done["client"]["sessions"][0]["user"];
    assert_eq!(user["web3_wallets"][0]["verification"]["status"], "verified");
    assert_eq!(user["email_addresses"][0]["email_address"], "ada@example.com");
}

#[tokio::test]
async fn signing_in_goes_over_to_signing_up_where_that_is_wanted() {
    let t = wallet_server().await;
    let wallet = TestWallet::solana(6);
    let mut browser = t.browser();
    let fields = json!({"identifier": wallet.address, "strategy": SOLANA, "sign_up_if_missing": true});
    let sign_in = shown(begin(&mut browser, fields).await);
    let signature = wallet.sign(&text(&sign_in["first_factor_verification"]));
    let answer = show(&mut browser, sign_in["id"].as_str().unwrap(), SOLANA, &signature).await;
    assert_eq!(answer.code(), "sign_up_if_missing_transfer");
    let done = browser.post(SIGN_UPS, json!({"transfer": true})).await.ok();
    let user = &done["client"]["sessions"][0]["user"];
    assert_eq!(user["web3_wallets"][0]["web3_wallet"], wallet.address);
    assert_eq!(user["web3_wallets"][0]["verification"]["strategy"], SOLANA);
}

#[tokio::test]
async fn what_the_settings_leave_out_is_no_way_in() {
    let t = server(|settings| {
        with_wallets(settings);
        settings.attributes.web3_wallet.first_factors = vec![Strategy::METAMASK];
        settings.attributes.web3_wallet.verifications = vec![Strategy::METAMASK];
    })
    .await;
    let (wallet, solana) = (TestWallet::ethereum(7), TestWallet::solana(7));
    t.user(json!({"web3_wallet": [wallet.address, solana.address]})).await;
    let mut browser = t.browser();
    let sign_in = shown(begin(&mut browser, json!({"identifier": wallet.address})).await);
    assert_eq!(sign_in["supported_first_factors"].as_array().unwrap().len(), 1);
    let id = sign_in["id"].as_str().unwrap();
    let okx = json!({"strategy": "web3_okx_wallet_signature"});
    step(&mut browser, id, "prepare_first_factor", okx.clone())
        .await
        .is_error(400, "strategy_for_user_invalid");
    show(&mut browser, id, "web3_okx_wallet_signature", "0x00")
        .await
        .is_error(400, "strategy_for_user_invalid");
    step(&mut browser, id, "prepare_first_factor", json!({"strategy": "web3_doge_signature"}))
        .await
        .is_problem(422, "form_param_value_invalid", "strategy");
    let sign_in = shown(begin(&mut browser, json!({"identifier": solana.address})).await);
    assert_eq!(sign_in["supported_first_factors"], json!([]));
    let made = browser.post(SIGN_UPS, json!({"web3_wallet": TestWallet::ethereum(8).address})).await.ok();
    let path = format!("{SIGN_UPS}/{}/prepare_verification", made["response"]["id"].as_str().unwrap());
    browser.post(&path, okx).await.is_problem(400, "verification_strategy_invalid", "strategy");
    // Where wallets are off, an address is a name that nobody has.
    let t = TestServer::start().await;
    holder(&t, &wallet).await;
    begin(&mut t.browser(), json!({"identifier": wallet.address})).await.is_problem(
        422,
        "form_identifier_not_found",
        "identifier",
    );
}

#[tokio::test]
async fn pages_are_told_which_wallets_sign_in() {
    let t = wallet_server().await;
    let environment = t.browser().get("/v1/environment").await.ok();
    let wallets = &environment["user_settings"]["attributes"]["web3_wallet"];
    let all: Vec<&str> = Strategy::WALLETS.iter().map(|strategy| strategy.name()).collect();
    assert_eq!(
        *wallets,
        json!({"enabled": true, "required": false, "used_for_first_factor": true, "first_factors": all,
            "used_for_second_factor": false, "second_factors": [], "verifications": all,
            "verify_at_sign_up": true, "immutable": false})
    );
    let config = &environment["auth_config"];
    let factors = config["first_factors"].as_array().unwrap();
    assert!(all.iter().all(|name| factors.contains(&json!(name))), "{factors:?}");
    assert!(config["identification_strategies"].as_array().unwrap().contains(&json!("web3_wallet")));
    let off = TestServer::start().await.browser().get("/v1/environment").await.ok();
    assert_eq!(off["user_settings"]["attributes"]["web3_wallet"]["enabled"], false);
}

#[tokio::test]
async fn where_nobody_is_to_learn_who_has_an_account_a_signature_comes_first() {
    let t = guarded_server().await;
    let (known, unknown) = (TestWallet::ethereum(1), TestWallet::ethereum(2));
    let user = holder(&t, &known).await;
    let mut seen = Vec::new();
    for wallet in [&known, &unknown] {
        let mut browser = t.browser();
        let (id, message) = asked(&mut browser, &wallet.address, METAMASK).await;
        let wrong = TestWallet::ethereum(9).sign(&message);
        show(&mut browser, &id, METAMASK, &wrong).await.is_error(422, "form_incorrect_signature");
        let mut sign_in = browser.get(&format!("/v1/client/sign_ins/{id}")).await.ok()["response"].take();
        for field in ["id", "identifier", "abandon_at"] {
            sign_in[field] = Value::Null;
        }
        for factor in sign_in["supported_first_factors"].as_array_mut().unwrap() {
            factor["safe_identifier"] = Value::Null;
        }
        for field in ["nonce", "message"] {
            sign_in["first_factor_verification"][field] = Value::Null;
        }
        seen.push(sign_in);
    }
    assert_eq!(seen[0], seen[1]);
    // Who holds the wallet may know: scripts go on to sign up by this answer.
    let mut browser = t.browser();
    let (id, message) = asked(&mut browser, &unknown.address, METAMASK).await;
    let answer = show(&mut browser, &id, METAMASK, &unknown.sign(&message)).await;
    answer.is_problem(422, "form_identifier_not_found", "identifier");
    assert_eq!(sign_up(&mut browser, &unknown, METAMASK).await.ok()["response"]["status"], "complete");
    let mut browser = t.browser();
    let (id, message) = asked(&mut browser, &known.address, METAMASK).await;
    assert_eq!(shown(show(&mut browser, &id, METAMASK, &known.sign(&message)).await)["status"], "complete");
    // Signing up tells nothing before the proof either.
    let taken = sign_up(&mut t.browser(), &known, METAMASK).await;
    taken.is_problem(422, "form_identifier_exists", "web3_wallet");
    // Those who are locked out are told what others are told.
    t.post(&format!("/v1/users/{}/lock", user["id"].as_str().unwrap()), json!({})).await.ok();
    let mut browser = t.browser();
    let (id, message) = asked(&mut browser, &known.address, METAMASK).await;
    show(&mut browser, &id, METAMASK, &known.sign(&message)).await.is_error(422, "form_incorrect_signature");
}

#[tokio::test]
async fn wallets_can_be_required_and_listed() {
    let t = server(|settings| {
        with_wallets(settings);
        settings.attributes.web3_wallet.required = true;
        settings.restrictions.blocklist = true;
    })
    .await;
    let answer = t.post("/v1/users", json!({"username": "ada_l"})).await;
    answer.is_error(422, "form_data_missing");
    let made = t.browser().post(SIGN_UPS, json!({})).await.ok();
    assert_eq!(made["response"]["missing_fields"], json!(["web3_wallet"]));
    let wallet = TestWallet::ethereum(1);
    t.post("/v1/blocklist_identifiers", json!({"identifier": wallet.address})).await.ok();
    let refused = t.browser().post(SIGN_UPS, json!({"web3_wallet": wallet.address})).await;
    assert_eq!((refused.status, refused.code()), (403, "not_allowed_access"));
}
