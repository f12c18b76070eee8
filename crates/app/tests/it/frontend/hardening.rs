//! What an attacker tries at the edges of the machines.

use latchkey_app::limits::RateLimits;
use latchkey_app::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::json;

use super::{PASSWORD, sign_in, user};

#[tokio::test]
async fn a_new_password_with_a_wrong_code_tells_nothing_about_the_account() {
    let mut settings = Settings::default();
    settings.attack_protection.enumeration_protection = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    user(&t, "ann@example.com").await;
    let mut answers = Vec::new();
    for identifier in ["ann@example.com", "nobody@example.com"] {
        let mut browser = t.browser();
        let form = json!({ "identifier": identifier, "strategy": "reset_password_email_code" });
        let begun = browser.post("/v1/client/sign_ins", form).await.ok();
        let id = begun["response"]["id"].as_str().unwrap();
        let path = format!("/v1/client/sign_ins/{id}/attempt_first_factor");
        for password in ["a", PASSWORD] {
            let form =
                json!({ "strategy": "reset_password_email_code", "code": "000000", "password": password });
            let refused = browser.post(&path, form).await;
            answers.push((identifier.len() > 16, refused.status, refused.code().to_owned()));
        }
    }
    let told = |is_nobody: bool| -> Vec<(u16, String)> {
        let of = answers.iter().filter(|(nobody, _, _)| *nobody == is_nobody);
        of.map(|(_, status, code)| (*status, code.clone())).collect()
    };
    assert_eq!(told(false), told(true));
    assert_eq!(told(false)[0], (422, "form_code_incorrect".to_owned()));
}

#[tokio::test]
async fn a_code_and_a_new_password_can_come_together() {
    let t = TestServer::start().await;
    user(&t, "ann+clerk_test@example.com").await;
    let mut browser = t.browser();
    let form = json!({ "identifier": "ann+clerk_test@example.com", "strategy": "reset_password_email_code" });
    let begun = browser.post("/v1/client/sign_ins", form).await.ok();
    let path =
        format!("/v1/client/sign_ins/{}/attempt_first_factor", begun["response"]["id"].as_str().unwrap());
    let form = json!({ "strategy": "reset_password_email_code", "code": "424242", "password": "short" });
    let refused = browser.post(&path, form).await;
    refused.is_error(422, "form_password_length_too_short");
    assert_eq!(refused.json["meta"]["client"]["sign_in"]["status"], "needs_new_password");
    let path = path.replace("attempt_first_factor", "reset_password");
    let done = browser.post(&path, json!({ "password": "another long password" })).await.ok();
    assert_eq!(done["response"]["status"], "complete");
}

#[tokio::test]
async fn passwords_that_are_switched_off_sign_nobody_in_however_careful_answers_are() {
    let mut settings = Settings::default();
    settings.attack_protection.enumeration_protection = true;
    let t = TestServer::start_with(RateLimits::Off, settings.clone()).await;
    user(&t, "ann@example.com").await;
    settings.attributes.password.enabled = false;
    let id = t.tenant.id.clone();
    let save = t.db().write(move |tx| {
        Box::pin(
            async move { latchkey_app::resources::instances::store::save_settings(tx, &id, &settings).await },
        )
    });
    save.await.unwrap();
    let form = json!({ "identifier": "ann@example.com", "password": PASSWORD });
    let refused = t.browser().post("/v1/client/sign_ins", form).await;
    assert!(refused.status >= 400, "{:#}", refused.json);
}

#[tokio::test]
async fn changing_the_strategy_does_not_get_round_the_pause_between_texts() {
    let t = TestServer::start().await;
    let body = json!({ "phone_number": ["+491511234567"], "password": PASSWORD });
    t.post("/v1/users", body).await.ok();
    let mut browser = t.browser();
    let form = json!({ "identifier": "+491511234567" });
    let begun = browser.post("/v1/client/sign_ins", form).await.ok();
    let path =
        format!("/v1/client/sign_ins/{}/prepare_first_factor", begun["response"]["id"].as_str().unwrap());
    assert_eq!(browser.post(&path, json!({ "strategy": "phone_code" })).await.status, 200);
    let form = json!({ "strategy": "reset_password_phone_code" });
    browser.post(&path, form).await.is_error(429, "verification_code_too_many_requests");
    t.clock.advance_ms(30_000);
    let form = json!({ "strategy": "reset_password_phone_code" });
    assert_eq!(browser.post(&path, form).await.status, 200);
}

#[tokio::test]
async fn a_session_with_tasks_left_gives_no_template_tokens() {
    let mut settings = Settings::default();
    settings.sign_in.second_factor_required = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    user(&t, "ann@example.com").await;
    t.post("/v1/jwt_templates", json!({ "name": "app", "claims": { "role": "user" } })).await.ok();
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let client = browser.get("/v1/client").await.ok();
    assert_eq!(client["response"]["sessions"][0]["status"], "pending");
    let refused = browser.post(&format!("/v1/client/sessions/{session}/tokens/app"), json!({})).await;
    refused.is_error(401, "signed_out");
    let refused = t.post(&format!("/v1/sessions/{session}/tokens/app"), json!({})).await;
    refused.is_error(401, "signed_out");
}

#[tokio::test]
async fn sending_is_limited_by_address_and_a_network_counts_as_one() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    let mut statuses = Vec::new();
    for turn in 0..12u16 {
        let mut browser = t.browser();
        browser.address.set_ip(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 1, turn, turn, 0, 1).into());
        let answer = browser.post("/v1/client/sign_ins/sia_none/prepare_first_factor", json!({})).await;
        statuses.push(answer.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 2, "{statuses:?}");
}

#[tokio::test]
async fn old_addresses_inside_new_ones_are_counted_each_by_itself() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    for last in 0..12 {
        let mut browser = t.browser();
        browser.address.set_ip(std::net::Ipv4Addr::new(192, 0, 2, last).to_ipv6_mapped().into());
        let answer = browser.post("/v1/client/sign_ins/sia_none/prepare_first_factor", json!({})).await;
        assert_ne!(answer.status, 429);
    }
}
