//! Restrictions of an instance count for whoever comes by a provider as for everybody else, and what refuses them is told on
//! the attempt.

use latchkey_kernel::settings::Settings;
use serde_json::{Value, json};

use super::{BACK, DONE, begin, client, through, with_mock};
use crate::sign_ins::server;

/// Signs up by the provider where the settings are so. Returns where the browser ends, and the attempt.
async fn signed_up_where(change: fn(&mut Settings), person: &str) -> (String, Value) {
    let t = server(move |settings| {
        with_mock(settings);
        change(settings);
    })
    .await;
    t.user(json!({"email_address": ["adalovelace@gmail.com"]})).await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ups").await;
    let end = through(&mut browser, &attempt, person).await;
    (end, client(&mut browser).await["sign_up"].take())
}

#[tokio::test]
async fn addresses_that_are_kept_out_do_not_get_in_by_a_provider() {
    let block: fn(&mut Settings) = |settings| {
        settings.restrictions.block_email_subaddresses = true;
        settings.attributes.email_address.required_at_sign_up = false;
        settings.attributes.username.enabled = true;
    };
    for person in [
        "email_address=ada%2Bx@example.com&username=ada_l",
        "email_address=ada.lovelace@gmail.com&username=ada_l",
    ] {
        let (end, sign_up) = signed_up_where(block, person).await;
        let proof = &sign_up["verifications"]["external_account"];
        assert_eq!(end, BACK, "{person}");
        assert_eq!(proof["status"], "failed", "{person}: {sign_up:#}");
        assert!(proof["error"]["code"].is_string(), "{person}");
        assert_eq!(sign_up["status"], "missing_requirements", "{person}");
    }
}

#[tokio::test]
async fn where_nothing_else_says_who_somebody_is_the_account_does() {
    let nothing: fn(&mut Settings) = |settings| {
        let attributes = &mut settings.attributes;
        attributes.email_address.enabled = false;
        attributes.phone_number.enabled = false;
        attributes.username.enabled = false;
        attributes.password.enabled = false;
    };
    let t = server(move |settings| {
        with_mock(settings);
        nothing(settings);
    })
    .await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ups").await;
    let end = through(&mut browser, &attempt, "id=42").await;
    let shown = client(&mut browser).await;
    assert_eq!(end, DONE, "{shown:#}");
    let user = &shown["sessions"][0]["user"];
    assert_eq!(
        (&user["email_addresses"], &user["external_accounts"][0]["provider_user_id"]),
        (&json!([]), &json!("42"))
    );
}
