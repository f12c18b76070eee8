//! What an attacker tries at the edges of the machines.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::Clock;
use latchkey_kernel::instances;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};
use tokio::time::Instant;

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
async fn neither_the_time_of_an_answer_nor_an_event_tells_who_has_an_account() {
    let mut settings = Settings::default();
    settings.attack_protection.enumeration_protection = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    user(&t, "ann@example.com").await;
    for identifier in ["ann@example.com", "nobody@example.com"] {
        for strategy in ["email_code", "reset_password_email_code"] {
            let began = Instant::now();
            let form = json!({ "identifier": identifier, "strategy": strategy });
            let answer = t.browser().post("/v1/client/sign_ins", form).await;
            assert_eq!(answer.status, 200, "{}", answer.json);
            assert!(began.elapsed() >= Duration::from_millis(100), "longer than what differs");
            assert_eq!(answer.header("latchkey-event-seq"), "", "{identifier}");
        }
    }
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    let changed = browser.patch("/v1/me", json!({ "first_name": "Ann" })).await;
    assert_eq!((changed.status, changed.header("latchkey-event-seq")), (200, ""), "who counts sees nothing");
    let sent = t.get("/v1/events").await.ok()["data"].as_array().unwrap().clone();
    assert_eq!(sent.iter().filter(|event| event["type"] == "email.created").count(), 2);
}

#[tokio::test]
async fn a_client_is_known_by_nothing_but_the_token_it_was_given() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let genuine = browser.cookies["__client"].clone();
    let [header, claims, signature]: [&str; 3] = genuine.split('.').collect::<Vec<_>>().try_into().unwrap();
    let plain = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let (none, symmetric) = (plain(r#"{"alg":"none"}"#), plain(r#"{"alg":"HS256","typ":"JWT"}"#));
    let mut flipped = URL_SAFE_NO_PAD.decode(signature).unwrap();
    flipped[7] ^= 1;
    let more =
        String::from_utf8(URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap().replacen('{', r#"{"a":1,"#, 1);
    let forged = [
        format!("{none}.{claims}."),
        format!("{none}.{claims}.{signature}"),
        format!("{symmetric}.{claims}.{signature}"),
        format!("x.{claims}.x"),
        format!("{header}.{claims}."),
        format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(flipped)),
        format!("{header}.{}.{signature}", plain(&more)),
    ];
    let tokens = format!("/v1/client/sessions/{session}/tokens");
    for token in forged {
        browser.cookies.insert("__client".to_owned(), token.clone());
        assert_eq!(browser.get("/v1/client").await.ok()["response"], json!(null), "{token}");
        browser.post(&tokens, json!({})).await.is_error(401, "signed_out");
        let native = Request::get("/v1/me?_is_native=1")
            .header("host", &t.tenant.frontend_api)
            .header("authorization", &token)
            .body(Body::empty())
            .unwrap();
        t.browser().send("GET", "/v1/me", native).await.is_error(401, "signed_out");
        t.post("/v1/clients/verify", json!({ "token": token })).await.is_error(400, "cookie_invalid");
    }
    browser.cookies.insert("__client".to_owned(), genuine);
    browser.post(&tokens, json!({})).await.ok();
}

/// A new key signs from now on, and those before are good for nothing but clients.
async fn change_keys(t: &TestServer) {
    t.clock.advance_ms(1000);
    let (id, now) = (t.tenant.id.clone(), t.clock.now());
    let key = instances::rules::signing_key(&InstanceId::new(now, &SystemRng), &t.master).unwrap();
    let work = t.db().write(move |tx| {
        Box::pin(async move {
            instances::store::retire_signing_keys(tx, &id, now, now).await?;
            instances::store::insert_signing_key(tx, &id, &key, now, now).await
        })
    });
    let done: Result<(), latchkey_base::Error> = work.await;
    done.unwrap();
}

#[tokio::test]
async fn people_stay_signed_in_however_often_keys_change() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let client = browser.cookies["__client"].clone();
    for _ in 0..3 {
        change_keys(&t).await;
        browser.cookies.insert("__client".to_owned(), client.clone());
        let minted = browser.post(&format!("/v1/client/sessions/{session}/tokens"), json!({})).await.ok();
        let header = minted["jwt"].as_str().unwrap().split('.').next().unwrap();
        let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
        let published = t.get("/v1/jwks").await.ok();
        assert_eq!(published["keys"].as_array().unwrap().len(), 1);
        assert_eq!(published["keys"][0]["kid"], header["kid"]);
        t.post("/v1/clients/verify", json!({ "token": client })).await.ok();
    }
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
        Box::pin(async move { latchkey_kernel::instances::store::save_settings(tx, &id, &settings).await })
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
        browser.address.set_ip(std::net::Ipv6Addr::new(0xfd00, 0xdb8, 0, 1, turn, turn, 0, 1).into());
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
        browser.address.set_ip(std::net::Ipv4Addr::new(10, 192, 2, last).to_ipv6_mapped().into());
        let answer = browser.post("/v1/client/sign_ins/sia_none/prepare_first_factor", json!({})).await;
        assert_ne!(answer.status, 429);
    }
}

/// The query of a request is chosen by scripts, which could read a header and cannot read the cookie.
#[tokio::test]
async fn what_proves_the_client_of_a_cookie_is_told_to_no_script_whatever_the_query_says() {
    let t = TestServer::start().await;
    for (tenant, address) in [(&t.tenant, "ann@example.com"), (&t.other, "bob@example.com")] {
        let body = json!({"email_address": [address], "password": PASSWORD});
        t.call(Some(tenant), "POST", "/v1/users", Some(body)).await.ok();
        let mut browser = t.browser_at(tenant);
        browser.origin = None;
        browser.post("/v1/client", json!({})).await.ok();
        let planted = browser.cookies["__client"].clone();
        let form = json!({"identifier": address, "password": PASSWORD});
        let answer = browser.post("/v1/client/sign_ins?_is_native=1", form).await;
        assert_eq!((answer.status, answer.headers.get("authorization")), (200, None));
        assert_ne!(browser.cookies["__client"], planted);
        let there = match tenant.id == t.tenant.id {
            true => "http://localhost:3000/".to_owned(),
            false => format!("https://{}/", tenant.frontend_api),
        };
        let touch =
            format!("/v1/client/touch?_is_native=1&redirect_url={}", latchkey_testkit::escape(&there));
        let touched = browser.open(&touch).await;
        assert_eq!((touched.status, touched.headers.get("authorization")), (307, None));
        assert!(
            touched
                .headers
                .get_all("set-cookie")
                .iter()
                .any(|line| line.as_bytes().starts_with(b"__client="))
        );
        assert_eq!(browser.get("/v1/client?_is_native=1").await.headers.get("authorization"), None);
        let gone = browser.delete("/v1/client?_is_native=1").await;
        assert_eq!((gone.status, gone.headers.get("authorization")), (200, None));
        assert!(!browser.cookies.contains_key("__client"));
    }
}

/// The cookie of a developer's browser shows a client too.
#[tokio::test]
async fn the_cookie_of_a_developers_browser_makes_it_a_browser() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let made = browser.post("/v1/dev_browser", json!({})).await.ok();
    browser.cookies.clear();
    browser.cookies.insert("__clerk_db_jwt".to_owned(), made["id"].as_str().unwrap().to_owned());
    let form = json!({"identifier": "ann@example.com", "password": PASSWORD});
    let answer = browser.post("/v1/client/sign_ins?_is_native=1", form).await;
    assert_eq!((answer.status, answer.headers.get("authorization")), (200, None));
    assert!(browser.cookies.contains_key("__client"));
}
