//! Organizations that sessions of backends, sign-in tokens and handshakes name.

use latchkey_testkit::{TestServer, escape};
use serde_json::{Value, json};

use super::{At, claims, join, organization, remove, server, user};

#[tokio::test]
async fn a_session_made_by_a_backend_has_the_organization_it_names_or_the_last_one() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    join(&t, &engines, &ann, "org:admin").await;
    join(&t, &looms, &ann, "org:member").await;
    let strange = organization(&t, "strange").await;
    let create = |organization: Value| {
        t.post("/v1/sessions", json!({ "user_id": ann["id"], "active_organization_id": organization }))
    };
    assert_eq!(create(json!(engines)).await.ok()["last_active_organization_id"], json!(engines));
    let plain = t.post("/v1/sessions", json!({ "user_id": ann["id"] })).await.ok();
    assert_eq!(plain["last_active_organization_id"], json!(looms));
    create(json!(strange)).await.is_problem(422, "form_resource_not_found", "active_organization_id");
    create(json!("org_000000000000000000000000000")).await.is_error(404, "resource_not_found");
    let token =
        t.post(&format!("/v1/sessions/{}/tokens", plain["id"].as_str().unwrap()), json!({})).await.ok();
    assert_eq!(claims(token["jwt"].as_str().unwrap())["o"]["id"], json!(looms));
}

/// Signs in with a sign-in token for an organization; the organization of the session.
async fn by_ticket(t: &TestServer, token: &Value) -> Value {
    let mut browser = t.browser();
    let form = json!({ "strategy": "ticket", "ticket": token["token"] });
    let answer = browser.post("/v1/client/sign_ins", form).await.ok();
    assert_eq!(answer["response"]["status"], "complete", "{answer:#}");
    answer["client"]["sessions"][0]["last_active_organization_id"].clone()
}

#[tokio::test]
async fn a_sign_in_token_leads_into_the_organization_it_names() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    join(&t, &engines, &ann, "org:member").await;
    join(&t, &looms, &ann, "org:member").await;
    let create = |organization: Value| {
        t.post("/v1/sign_in_tokens", json!({ "user_id": ann["id"], "org_id": organization }))
    };
    let token = create(json!(engines)).await.ok();
    assert_eq!(by_ticket(&t, &token).await, json!(engines));
    let strange = organization(&t, "strange").await;
    create(json!(strange)).await.is_error(403, "not_a_member_in_organization");
    create(json!("org_000000000000000000000000000")).await.is_error(404, "resource_not_found");
    // Who has left since comes in all the same.
    let late = create(json!(engines)).await.ok();
    remove(&t, &engines, &ann).await;
    assert_eq!(by_ticket(&t, &late).await, Value::Null);
}

#[tokio::test]
async fn an_actor_token_leads_into_the_organization_it_names() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    join(&t, &engines, &ann, "org:member").await;
    join(&t, &looms, &ann, "org:member").await;
    let create = |organization: Value| {
        let body = json!({ "user_id": ann["id"], "actor": { "sub": "user_admin" }, "org_id": organization });
        t.post("/v1/actor_tokens", body)
    };
    let token = create(json!(engines)).await.ok();
    assert_eq!(by_ticket(&t, &token).await, json!(engines));
    // It is not what the user chose.
    let plain = t.post("/v1/sign_in_tokens", json!({ "user_id": ann["id"] })).await.ok();
    assert_eq!(by_ticket(&t, &plain).await, json!(looms));
    let strange = organization(&t, "strange").await;
    for unknown in [json!(strange), json!("org_000000000000000000000000000")] {
        create(unknown).await.is_problem(422, "form_resource_not_found", "org_id");
    }
}

/// The cookies that a handshake leaves for the app.
async fn handshake(t: &TestServer, at: &mut At<'_>, asked: &str) -> Vec<String> {
    let back = escape("http://localhost:3000/page");
    let path = format!("/v1/client/handshake?redirect_url={back}&format=nonce{asked}");
    let answer = at.browser.open(&path).await;
    assert_eq!(answer.status, 307, "{asked}");
    let nonce = answer.header("location").split_once("__clerk_handshake_nonce=").unwrap().1.to_owned();
    let payload = t.get(&format!("/v1/clients/handshake_payload?nonce={nonce}")).await.ok();
    serde_json::from_value(payload["directives"].clone()).unwrap()
}

/// The value of the last cookie whose line begins like this.
fn cookie<'a>(lines: &'a [String], start: &str) -> &'a str {
    let line = lines.iter().rfind(|line| line.starts_with(start)).unwrap();
    line.split_once('=').unwrap().1.split(';').next().unwrap()
}

#[tokio::test]
async fn a_handshake_changes_the_organization_as_the_url_of_the_app_says() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    organization(&t, "strange").await;
    join(&t, &engines, &ann, "org:admin").await;
    join(&t, &looms, &ann, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    for (asked, expected) in [
        ("&organization_id=engines", json!(engines)),
        ("", json!(engines)),
        ("&organization_id=strange", json!(engines)),
        ("&organization_id=org_000000000000000000000000000", json!(engines)),
        (&format!("&organization_id={looms}"), json!(looms)),
        ("&organization_id=", Value::Null),
        ("&organization_id=engines", json!(engines)),
    ] {
        let lines = handshake(&t, &mut at, asked).await;
        let token = cookie(&lines, "__session=");
        let told = claims(token).get("o").map(|o| o["id"].clone()).unwrap_or_default();
        assert_eq!(told, expected, "{asked}");
        assert_eq!(at.shown().await["last_active_organization_id"], expected, "{asked}");
    }
}

#[tokio::test]
async fn a_renewed_token_names_the_organization() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:admin").await;
    let mut at = At::new(&t, "ann@example.com").await;
    let lines = handshake(&t, &mut at, "").await;
    t.clock.advance_ms(120_000);
    let body = json!({
        "expired_token": cookie(&lines, "__session="), "refresh_token": cookie(&lines, "__refresh_"),
        "request_origin": "http://localhost:3000",
    });
    let answer = t.post(&format!("/v1/sessions/{}/refresh", at.session), body).await.ok();
    assert_eq!(claims(answer["jwt"].as_str().unwrap())["o"]["id"], json!(engines));
}

#[tokio::test]
async fn handshakes_for_an_organization_and_the_deletion_of_the_user_do_not_wait_for_each_other() {
    let t = server(|_| ()).await;
    let engines = organization(&t, "engines").await;
    for round in 0..20 {
        let email = format!("ann{round}@example.com");
        let ann = user(&t, &email).await;
        join(&t, &engines, &ann, "org:member").await;
        let mut at = At::new(&t, &email).await;
        at.touch("").await.ok();
        let back = escape("http://localhost:3000/page");
        let path = format!("/v1/client/handshake?redirect_url={back}&organization_id=engines");
        let gone = format!("/v1/users/{}", ann["id"].as_str().unwrap());
        let (sent_back, deleted) = tokio::join!(at.browser.open(&path), t.delete(&gone));
        assert_eq!((sent_back.status, deleted.status), (307, 200), "{round}");
    }
}

#[tokio::test]
async fn a_handshake_of_somebody_who_has_signed_out_since_changes_nothing() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    at.touch("").await.ok();
    at.browser.post(&format!("/v1/client/sessions/{}/end", at.session), json!({})).await.ok();
    handshake(&t, &mut at, "&organization_id=engines").await;
    let mut next = At::new(&t, "ann@example.com").await;
    assert_eq!(next.shown().await["last_active_organization_id"], Value::Null);
}
