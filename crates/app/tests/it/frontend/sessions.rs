//! Sessions of a client: used, listed with fresh tokens, ended.

use latchkey_jose::jwk::Jwk;
use latchkey_jose::jwt;
use latchkey_testkit::{Tenant, TestServer};
use serde_json::{Value, json};

use super::{claims, sign_in, user};

async fn keys(t: &TestServer, tenant: &Tenant) -> Vec<Jwk> {
    let mut browser = t.browser_at(tenant);
    browser.origin = None;
    let answer = browser.get("/.well-known/jwks.json").await.ok();
    serde_json::from_value(answer["keys"].clone()).unwrap()
}

#[tokio::test]
async fn discovery_documents_name_no_endpoint_that_does_not_exist() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
        let document = browser.get(path).await.ok();
        let fields = document.as_object().unwrap();
        let named: Vec<&str> = fields.values().filter_map(|value| value.as_str()).collect();
        let urls: Vec<&&str> = named.iter().filter(|text| **text != document["issuer"]).collect();
        assert_eq!(urls.len(), 1, "{document:#}");
        let (_, jwks) = urls[0].split_at(urls[0].find("/.well-known").unwrap());
        assert_eq!(browser.get(jwks).await.status, 200);
        assert!(fields.keys().all(|field| !field.ends_with("_endpoint")), "{document:#}");
        assert_eq!(document["code_challenge_methods_supported"], json!([]));
    }
}

#[tokio::test]
async fn a_client_carries_a_fresh_token_for_each_session() {
    let t = TestServer::start().await;
    let ann = user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    t.clock.advance_ms(5000);
    let client = browser.get("/v1/client").await.ok();
    let token = client["response"]["sessions"][0]["last_active_token"]["jwt"].as_str().unwrap().to_owned();
    let verified = jwt::verify(&keys(&t, &t.tenant).await, &token).unwrap();
    let told = verified.claims;
    assert_eq!(told["sid"], session);
    assert_eq!(told["sub"], ann["id"]);
    assert_eq!(told["azp"], "http://localhost:3000");
    assert_eq!(told["iss"], format!("https://{}", t.tenant.frontend_api));
    assert_eq!(told["exp"].as_i64().unwrap() - told["iat"].as_i64().unwrap(), 60);
    assert_eq!(told["fva"], json!([0, -1]));
    assert_eq!((told["v"].clone(), told["sts"].clone()), (json!(2), json!("active")));
    assert_eq!(verified.header["cat"], "cl_B7d4PD111AAA");
    let updated_at = client["response"]["updated_at"].as_i64().unwrap();
    assert!(told["iat"].as_i64().unwrap() >= updated_at / 1000);
}

/// Browsers do not name the origin when a page only reads from its own, as behind a proxy of the app.
#[tokio::test]
async fn a_token_names_the_origin_of_a_page_that_shares_it_with_the_api() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    for (fetch_site, azp) in
        [("same-origin", json!("http://localhost:3401")), ("same-site", Value::Null), ("none", Value::Null)]
    {
        let request = axum::http::Request::get("/v1/client?__clerk_api_version=2026-05-12")
            .header("host", &t.tenant.frontend_api)
            .header("cookie", format!("__client={}", browser.cookies["__client"]))
            .header("sec-fetch-site", fetch_site);
        let request = request.body(axum::body::Body::empty()).unwrap();
        let client = browser.send("GET", "/v1/client", request).await.ok();
        let session = &client["response"]["sessions"][0];
        assert_eq!(claims(session["last_active_token"]["jwt"].as_str().unwrap())["azp"], azp, "{fetch_site}");
    }
}

#[tokio::test]
async fn tokens_are_minted_one_after_another_and_never_alike() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let path = format!("/v1/client/sessions/{session}/tokens");
    let first = browser.post(&path, json!({ "organization_id": "" })).await.ok();
    let second = browser.post(&path, json!({})).await.ok();
    assert_eq!(first["object"], "token");
    assert_ne!(first["jwt"], second["jwt"]);
}

#[tokio::test]
async fn old_versions_get_the_first_form_of_claims() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let path = format!("/v1/client/sessions/{session}/tokens?__clerk_api_version=2024-10-01");
    let told = claims(browser.post(&path, json!({})).await.ok()["jwt"].as_str().unwrap());
    assert_eq!((told.get("v"), told.get("jti")), (None, None));
}

#[tokio::test]
async fn touching_answers_the_session_and_the_client() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let before = browser.get("/v1/client").await.ok();
    t.clock.advance_ms(120_000);
    let form = json!({ "active_organization_id": "", "intent": "focus" });
    let touched = browser.post(&format!("/v1/client/sessions/{session}/touch"), form).await.ok();
    assert_eq!(touched["response"]["id"], session);
    assert!(touched["response"]["last_active_token"]["jwt"].is_string());
    let last_active = touched["response"]["last_active_at"].as_i64().unwrap();
    assert!(last_active > before["response"]["sessions"][0]["last_active_at"].as_i64().unwrap());
    // Using the same session changes nothing that apps compare tokens with.
    assert_eq!(touched["client"]["updated_at"], before["response"]["updated_at"]);
    // The user knows it by the hour.
    let ann = touched["response"]["user"]["id"].as_str().unwrap().to_owned();
    assert!(t.shown(&ann).await["last_active_at"].as_i64().unwrap() < last_active);
    t.clock.advance_ms(3_600_000);
    let later = browser.post(&format!("/v1/client/sessions/{session}/touch"), json!({})).await.ok();
    assert_eq!(t.shown(&ann).await["last_active_at"], later["response"]["last_active_at"]);
    t.clock.advance_ms(3_600_000);
    browser.post(&format!("/v1/client/sessions/{session}/tokens"), json!({})).await.ok();
    assert!(t.shown(&ann).await["last_active_at"].as_i64() > later["response"]["last_active_at"].as_i64());
}

#[tokio::test]
async fn an_organization_that_does_not_exist_cannot_be_worked_for() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    for path in ["touch", "tokens"] {
        let form = json!({ "active_organization_id": "org_1", "organization_id": "org_1" });
        let refused = browser.post(&format!("/v1/client/sessions/{session}/{path}"), form).await;
        refused.is_error(404, "organization_not_found_or_unauthorized");
    }
}

#[tokio::test]
async fn ended_sessions_mint_nothing() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    for (how, status) in [("end", "ended"), ("remove", "removed")] {
        let mut browser = t.browser();
        let session = sign_in(&mut browser, "ann@example.com").await;
        let ended = browser.post(&format!("/v1/client/sessions/{session}/{how}"), json!({})).await.ok();
        assert_eq!(ended["response"]["status"], status);
        assert_eq!(ended["client"]["sessions"], json!([]));
        let tokens = format!("/v1/client/sessions/{session}/tokens");
        browser.post(&tokens, json!({})).await.is_error(401, "signed_out");
        let touch = browser.post(&format!("/v1/client/sessions/{session}/touch"), json!({})).await;
        touch.is_error(401, "signed_out");
    }
}

#[tokio::test]
async fn a_session_ends_with_its_time() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    t.clock.advance_ms(7 * 24 * 3600 * 1000 - 1000);
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"][0]["id"], session);
    t.clock.advance_ms(1000);
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
    assert_eq!(t.get(&format!("/v1/sessions/{session}")).await.ok()["status"], "expired");
}

#[tokio::test]
async fn sessions_of_another_client_are_not_found() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut victim = t.browser();
    let session = sign_in(&mut victim, "ann@example.com").await;
    let mut attacker = t.browser();
    attacker.post("/v1/client", json!({})).await.ok();
    for path in ["touch", "end", "remove", "tokens", "tokens/any"] {
        let refused = attacker.post(&format!("/v1/client/sessions/{session}/{path}"), json!({})).await;
        refused.is_error(404, "resource_not_found");
    }
    attacker.get(&format!("/v1/client/sessions/{session}")).await.is_error(404, "resource_not_found");
    // And who has no client at all is signed out.
    let refused = t.browser().post(&format!("/v1/client/sessions/{session}/tokens"), json!({})).await;
    refused.is_error(401, "signed_out");
}

#[tokio::test]
async fn idle_sessions_end_where_the_instance_says_so() {
    let mut settings = latchkey_kernel::settings::Settings::default();
    settings.session.inactivity_timeout_seconds = Some(600);
    let t = TestServer::start_with(latchkey_kernel::limits::RateLimits::Off, settings).await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let tokens = format!("/v1/client/sessions/{session}/tokens");
    for _ in 0..5 {
        t.clock.advance_ms(300_000);
        browser.post(&tokens, json!({})).await.ok();
    }
    t.clock.advance_ms(600_000);
    browser.post(&tokens, json!({})).await.is_error(401, "signed_out");
    assert_eq!(t.get(&format!("/v1/sessions/{session}")).await.ok()["status"], "abandoned");
}

#[tokio::test]
async fn several_people_on_one_client_each_have_a_session() {
    let mut settings = latchkey_kernel::settings::Settings::default();
    settings.session.single_session = false;
    let t = TestServer::start_with(latchkey_kernel::limits::RateLimits::Off, settings).await;
    user(&t, "ann@example.com").await;
    user(&t, "ben@example.com").await;
    let mut browser = t.browser();
    let ann = sign_in(&mut browser, "ann@example.com").await;
    t.clock.advance_ms(1000);
    let ben = sign_in(&mut browser, "ben@example.com").await;
    let client = browser.get("/v1/client").await.ok();
    let ids: Vec<&Value> =
        client["response"]["sessions"].as_array().unwrap().iter().map(|session| &session["id"]).collect();
    assert_eq!(ids, [&json!(ann), &json!(ben)]);
    assert_eq!(client["response"]["last_active_session_id"], ben);
    t.clock.advance_ms(1000);
    let touched = browser.post(&format!("/v1/client/sessions/{ann}/touch"), json!({})).await.ok();
    assert_eq!(touched["client"]["last_active_session_id"], ann);
}

#[tokio::test]
async fn sessions_that_are_over_are_not_listed_and_the_others_stay() {
    let mut settings = latchkey_kernel::settings::Settings::default();
    settings.session.single_session = false;
    let t = TestServer::start_with(latchkey_kernel::limits::RateLimits::Off, settings).await;
    for way in ["end", "remove", "revoke"] {
        let [ann, ben] = ["ann", "ben"].map(|name| format!("{name}-{way}@example.com"));
        user(&t, &ann).await;
        user(&t, &ben).await;
        let mut browser = t.browser();
        let kept = sign_in(&mut browser, &ann).await;
        let over = sign_in(&mut browser, &ben).await;
        match way {
            "revoke" => t.post(&format!("/v1/sessions/{over}/revoke"), json!({})).await.ok(),
            _ => browser.post(&format!("/v1/client/sessions/{over}/{way}"), json!({})).await.ok(),
        };
        let client = browser.get("/v1/client").await.ok()["response"].take();
        assert_eq!(client["sessions"].as_array().unwrap().len(), 1, "{way}");
        assert_eq!(client["sessions"][0]["id"], kept, "{way}");
        // Scripts then take the first one listed.
        assert_eq!(client["last_active_session_id"], Value::Null, "{way}");
        browser
            .post(&format!("/v1/client/sessions/{over}/touch"), json!({}))
            .await
            .is_error(401, "signed_out");
    }
}
