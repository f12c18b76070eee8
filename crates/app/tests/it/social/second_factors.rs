//! Accounts of people who have a second factor: nothing is connected before it is proven.

use latchkey_kernel::strategy::Strategy;
use serde_json::json;

use super::{ADA, BACK, begin, client, server, signed_up, start, through, with_mock};
use crate::me;
use crate::passkeys::authenticator::Authenticator;
use crate::passkeys::options;
use crate::sign_ins::{EMAIL, PASSWORD};

#[tokio::test]
async fn an_account_is_connected_once_the_second_factor_is_proven_too() {
    let t = start().await;
    let fields = json!({"email_address": [EMAIL], "password": PASSWORD, "backup_codes": ["first-code-1"],
        "totp_secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"});
    let user = format!("/v1/users/{}", t.user(fields).await["id"].as_str().unwrap());
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &attempt, ADA).await, BACK);
    assert_eq!(t.get(&user).await.ok()["external_accounts"], json!([]));
    let path = format!("/v1/client/sign_ins/{}/attempt_second_factor", attempt["id"].as_str().unwrap());
    let wrong = browser.post(&path, json!({"strategy": "backup_code", "code": "other-code-2"})).await;
    assert_eq!(wrong.status, 422);
    assert_eq!(t.get(&user).await.ok()["external_accounts"], json!([]));
    let done = browser.post(&path, json!({"strategy": "backup_code", "code": "first-code-1"})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(t.get(&user).await.ok()["external_accounts"][0]["provider_user_id"], "42");
}

#[tokio::test]
async fn an_account_that_was_removed_meanwhile_proves_nothing() {
    let t = start().await;
    let user = signed_up(&t, ADA).await;
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    let factors =
        json!({"totp_secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "backup_codes": ["first-code-1"]});
    t.patch(&path, factors).await.ok();
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &attempt, ADA).await, BACK);
    let account = user["external_accounts"][0]["id"].as_str().unwrap();
    t.delete(&format!("{path}/external_accounts/{account}")).await.ok();
    let second = format!("/v1/client/sign_ins/{}/attempt_second_factor", attempt["id"].as_str().unwrap());
    let refused = browser.post(&second, json!({"strategy": "backup_code", "code": "first-code-1"})).await;
    refused.is_error(400, "client_state_invalid");
    assert_eq!(t.get(&path).await.ok()["external_accounts"], json!([]));
    assert_eq!(client(&mut browser).await["sessions"], json!([]));
}

#[tokio::test]
async fn passkey_completes_a_sign_in_after_a_social_connection() {
    let t = server(|settings| {
        with_mock(settings);
        settings.attributes.passkey.enabled = true;
        settings.attributes.passkey.second_factors = vec![Strategy::PASSKEY];
    })
    .await;
    let user = signed_up(&t, ADA).await;
    let id = user["id"].as_str().unwrap();
    let mut device = Authenticator::new();
    me::support::sign_in(&t, id).await.register(&mut device).await;
    t.patch(&format!("/v1/users/{id}"), json!({"totp_secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"}))
        .await
        .ok();
    let mut browser = t.browser();
    browser.version = "2026-08-20";
    let attempt = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &attempt, ADA).await, BACK);
    let path = |step: &str| format!("/v1/client/sign_ins/{}/{step}", attempt["id"].as_str().unwrap());
    let asked = browser.post(&path("prepare_second_factor"), json!({"strategy": "passkey"})).await.ok();
    let credential = device.get(&options(&asked["response"]["second_factor_verification"])).to_string();
    let fields = json!({"strategy": "passkey", "public_key_credential": credential});
    let done = browser.post(&path("attempt_second_factor"), fields).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(done["client"]["sessions"][0]["factor_verification_age"], json!([0, 0]));
}
