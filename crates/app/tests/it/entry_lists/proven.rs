//! The allow-list and what is not proven: anybody can type what stands on it.

use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::json;

use super::{ALLOWED, SIGN_INS, SIGN_UPS, listed, no_passwords};
use crate::sign_ups::{attempt, newest_code, server};

const LISTED: &str = "+14155550199";
const LISTED_TOO: &str = "+14155550198";

/// A server with a number on its allow-list, where numbers need not be proven to sign up.
async fn start(change: impl FnOnce(&mut Settings)) -> TestServer {
    let t = server(|settings| {
        no_passwords(settings);
        settings.restrictions.allowlist = true;
        settings.attributes.phone_number.verify_at_sign_up = false;
        change(settings);
    })
    .await;
    for number in [LISTED, LISTED_TOO] {
        listed(&t, ALLOWED, number).await;
    }
    t
}

#[tokio::test]
async fn a_listed_number_that_is_only_typed_admits_no_unlisted_address() {
    let t = start(|_| ()).await;
    let mut browser = t.browser();
    let both = json!({"email_address": "eve@other.test", "phone_number": LISTED});
    let refused = browser.post(SIGN_UPS, both).await;
    refused.is_problem(403, "not_allowed_access", "email_address");
    // Nor when it comes first, and the address afterwards.
    let fields = json!({"phone_number": LISTED});
    let begun = browser.post(SIGN_UPS, fields).await.ok()["response"].take();
    let path = format!("{SIGN_UPS}/{}", begun["id"].as_str().unwrap());
    let more = json!({"email_address": "eve@other.test"});
    browser.patch(&path, more).await.is_problem(403, "not_allowed_access", "email_address");
    assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], 0);
}

#[tokio::test]
async fn an_invited_or_listed_address_goes_with_any_number() {
    let t = start(|_| ()).await;
    let ticket = super::ticket(&t, "ada@other.test").await;
    let fields = json!({"strategy": "ticket", "ticket": ticket, "phone_number": "+14155550150"});
    let done = t.browser().post(SIGN_UPS, fields).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    listed(&t, ALLOWED, "bob@other.test").await;
    let mut browser = t.browser();
    let fields =
        json!({"email_address": "bob@other.test", "phone_number": "+14155550151", "strategy": "email_code"});
    let begun = browser.post(SIGN_UPS, fields).await.ok()["response"].take();
    let path = format!("{SIGN_UPS}/{}", begun["id"].as_str().unwrap());
    let done = attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    assert_eq!(done["response"]["status"], "complete");
}

#[tokio::test]
async fn where_nothing_is_to_be_proven_what_was_given_counts() {
    let t = start(|settings| settings.attributes.email_address.verify_at_sign_up = false).await;
    let fields = json!({"email_address": "ada@other.test", "phone_number": LISTED});
    let done = t.browser().post(SIGN_UPS, fields).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    let user = &done["response"]["created_user_id"];
    // A further number goes with it, until something else of the account is proven.
    let more = |number: &str| {
        t.post("/v1/phone_numbers", json!({"user_id": user, "phone_number": number, "verified": false}))
    };
    more("+14155550160").await.ok();
    let shown = t.shown(user.as_str().unwrap()).await;
    let address = format!("/v1/email_addresses/{}", shown["email_addresses"][0]["id"].as_str().unwrap());
    t.patch(&address, json!({"verified": true})).await.ok();
    more("+14155550161").await.is_problem(403, "not_allowed_access", "phone_number");
    more(LISTED_TOO).await.ok();
}

#[tokio::test]
async fn where_the_lists_count_for_signing_in_an_unproven_number_admits_nobody_either() {
    let t = server(|settings| {
        no_passwords(settings);
        settings.restrictions.allowlist_blocklist_disabled_on_sign_in = false;
    })
    .await;
    let fields = json!({"email_address": ["eve@other.test"], "phone_number": [LISTED],
        "phone_number_identification_status": ["reserved"]});
    let eve = t.user(fields).await;
    listed(&t, ALLOWED, LISTED).await;
    let mut settings = Settings::default();
    no_passwords(&mut settings);
    settings.restrictions.allowlist_blocklist_disabled_on_sign_in = false;
    settings.restrictions.allowlist = true;
    t.set_settings(settings).await;
    let refused = t.browser().post(SIGN_INS, json!({"identifier": "eve@other.test"})).await;
    refused.is_error(403, "not_allowed_access");
    // Once it is proven, it does.
    let number = format!("/v1/phone_numbers/{}", eve["phone_numbers"][0]["id"].as_str().unwrap());
    t.patch(&number, json!({"verified": true})).await.ok();
    t.browser().post(SIGN_INS, json!({"identifier": "eve@other.test"})).await.ok();
}
