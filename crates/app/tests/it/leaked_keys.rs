//! A leaked secret key: what its holder leaves behind, what ends with the key, and how an operator finds the rest.

use std::sync::Arc;
use std::time::Duration;

use latchkey_app::GROUPS;
use latchkey_base::kinds::SecretKeyId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::Clock;
use latchkey_events::feed::by_key::{self, KeyEvents};
use latchkey_jose::digest::sha256;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::instances::store;
use latchkey_kernel::jobs::JobParts;
use latchkey_kernel::key_tickets;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_outbound::client::Options;
use latchkey_testkit::{Answer, Receiver, Tenant, TestServer};
use serde_json::{Value, json};

use crate::bad_inputs::logs::{log, record};
use crate::sign_ins::begin;

const TEN_YEARS: i64 = 315_360_000;
const ENDPOINTS: &str = "/v1/webhooks/endpoints";

/// A further secret key of an instance, and the instance as seen with that key.
async fn further_key(t: &TestServer, tenant: &Tenant, key: &str) -> (SecretKeyId, Tenant) {
    let id = SecretKeyId::new(t.clock.now(), &SystemRng);
    let (instance, own, digest) = (tenant.id.clone(), id.clone(), sha256(key.as_bytes()));
    let now = t.clock.now();
    let insert = t.db().write(move |tx| {
        Box::pin(async move { store::insert_key(tx, &instance, &own, &digest, "sk_test_…", now).await })
    });
    insert.await.unwrap();
    (id, Tenant { key: key.to_owned(), ..tenant.clone() })
}

/// Deletes a key, as `latchkey keys revoke` does first.
async fn delete_key(t: &TestServer, tenant: &Tenant, id: &SecretKeyId, keeps_tickets: bool) {
    let (instance, id, now) = (tenant.id.clone(), id.clone(), t.clock.now());
    let delete = t.db().write(move |tx| {
        Box::pin(async move {
            if keeps_tickets {
                store::insert_replaced_key(tx, &instance, &id, now).await?;
            }
            store::delete_key(tx, &instance, &id).await
        })
    });
    delete.await.unwrap();
}

/// Ends the tickets of a key, as `latchkey keys revoke` does then. Returns their kinds.
async fn end_tickets(t: &TestServer, tenant: &Tenant, id: &SecretKeyId) -> Vec<&'static str> {
    let act = Act::of_command(&tenant.id, t.clock.now(), Arc::new(SystemRng), t.master.clone());
    let ended = key_tickets::end(t.db(), GROUPS, &act, id).await.unwrap();
    ended.into_iter().map(|(kind, _)| kind).collect()
}

async fn call(t: &TestServer, by: &Tenant, method: &str, path: &str, body: Value) -> Answer {
    t.call(Some(by), method, path, Some(body)).await
}

async fn sign_in_token(t: &TestServer, by: &Tenant, user: &str) -> Value {
    let body = json!({"user_id": user, "expires_in_seconds": TEN_YEARS});
    call(t, by, "POST", "/v1/sign_in_tokens", body).await.ok()
}

async fn actor_token(t: &TestServer, by: &Tenant, user: &str) -> Value {
    let body = json!({"user_id": user, "actor": {"sub": "user_boss"}, "expires_in_seconds": TEN_YEARS});
    call(t, by, "POST", "/v1/actor_tokens", body).await.ok()
}

/// Signs in with the ticket of a token.
async fn follow(t: &TestServer, token: &Value) -> Answer {
    begin(&mut t.browser(), json!({"strategy": "ticket", "ticket": token["token"]})).await
}

/// The instance as seen with a link to the webhooks page that a key made.
async fn webhooks_link(t: &TestServer, by: &Tenant, path: &str) -> Tenant {
    let made = t.call(Some(by), "POST", path, None).await.ok();
    let (_, token) = made["svix_url"].as_str().unwrap().split_once('#').unwrap();
    Tenant { key: token.to_owned(), ..by.clone() }
}

/// The secret of an endpoint, read with a link.
async fn read_secret(t: &TestServer, by: &Tenant, endpoint: &str) -> Answer {
    t.call(Some(by), "GET", &format!("{ENDPOINTS}/{endpoint}/secret"), None).await
}

#[tokio::test]
async fn leaked_key_leaves_no_way_in_after_its_revocation() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let endpoint = t.post(ENDPOINTS, json!({"url": "https://example.com"})).await.ok();
    let endpoint = endpoint["id"].as_str().unwrap();
    let (id, thief) = further_key(&t, &t.tenant, "sk_test_leaked").await;
    let own = sign_in_token(&t, &t.tenant, &user).await;
    let own_link = webhooks_link(&t, &t.tenant, "/v1/webhooks/svix").await;

    let sign_in = sign_in_token(&t, &thief, &user).await;
    let actor = actor_token(&t, &thief, &user).await;
    let portal = call(&t, &thief, "POST", "/v1/admin_portal_link_tokens", json!({})).await;
    assert_eq!(portal.status, 201);
    let link = webhooks_link(&t, &thief, "/v1/webhooks/svix_url").await;
    read_secret(&t, &link, endpoint).await.ok();
    t.call(Some(&link), "POST", ENDPOINTS, Some(json!({"url": "https://evil.example"}))).await.ok();
    let body = json!({"allowed_origins": ["https://evil.example"], "test_mode": true});
    assert_eq!(call(&t, &thief, "PATCH", "/v1/instance", body).await.status, 204);
    let url = json!({"url": "https://evil.example/back"});
    call(&t, &thief, "POST", "/v1/redirect_urls", url).await.ok();

    delete_key(&t, &t.tenant, &id, false).await;
    let ended = end_tickets(&t, &t.tenant, &id).await;
    assert_eq!(ended, ["sign-in token", "actor token", "admin portal link token"]);
    t.call(Some(&thief), "GET", "/v1/users", None).await.is_error(401, "clerk_key_invalid");
    follow(&t, &sign_in).await.is_problem(400, "sign_in_token_revoked_code", "ticket");
    follow(&t, &actor).await.is_problem(400, "actor_token_revoked_code", "ticket");
    read_secret(&t, &link, endpoint).await.is_error(401, "webhook_portal_token_invalid");
    let path = format!("/v1/admin_portal_link_tokens/{}/revoke", portal.json["id"].as_str().unwrap());
    assert_eq!(t.post(&path, json!({})).await.ok()["revoked"], true);
    assert_eq!(end_tickets(&t, &t.tenant, &id).await, [""; 0], "all have ended");
    // The tickets and links of other keys go on.
    read_secret(&t, &own_link, endpoint).await.ok();
    assert_eq!(follow(&t, &own).await.status, 200);

    // The rest is found by the key.
    let KeyEvents { changes, others } = by_key::find(t.db(), &t.tenant.id, &id).await.unwrap();
    let kinds: Vec<&str> = changes.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["webhookEndpoint.created", "settings.updated", "redirectUrl.created"]);
    assert!(others.is_empty(), "{others:?}");
}

/// A request that was in progress when the key was revoked can make a ticket after the tickets of the key have ended.
#[tokio::test]
async fn ticket_made_after_the_revocation_of_its_key_is_rejected() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let (id, thief) = further_key(&t, &t.tenant, "sk_test_leaked").await;
    let tokens = [sign_in_token(&t, &thief, &user).await, actor_token(&t, &thief, &user).await];
    delete_key(&t, &t.tenant, &id, false).await;
    let codes = ["sign_in_token_revoked_code", "actor_token_revoked_code"];
    for (token, code) in tokens.iter().zip(codes) {
        follow(&t, token).await.is_problem(400, code, "ticket");
    }
}

/// The link of an invitation signs in as the owner of the invited address. A backend reads it, so no e-mail is needed.
#[tokio::test]
async fn invitations_end_with_the_key_that_made_them() {
    for keeps_tickets in [false, true] {
        let t = TestServer::start().await;
        let victim = t.user_with_email("ann@example.com").await;
        let creator = t.user_with_email("bob@example.com").await;
        let organization = json!({"name": "Engines", "created_by": creator});
        let organization = t.post("/v1/organizations", organization).await.ok();
        let (id, thief) = further_key(&t, &t.tenant, "sk_test_leaked").await;
        let plain = json!({"email_address": "ann@example.com", "ignore_existing": true, "notify": false});
        let plain = call(&t, &thief, "POST", "/v1/invitations", plain).await.ok();
        let path = format!("/v1/organizations/{}/invitations", organization["id"].as_str().unwrap());
        let body = json!({"email_address": "ann@example.com", "role": "org:member", "notify": false});
        let member = call(&t, &thief, "POST", &path, body).await.ok();
        let follow = async |invitation: &Value| {
            let (_, ticket) = invitation["url"].as_str().unwrap().split_once("ticket=").unwrap();
            begin(&mut t.browser(), json!({"strategy": "ticket", "ticket": ticket})).await
        };
        delete_key(&t, &t.tenant, &id, keeps_tickets).await;
        if keeps_tickets {
            for invitation in [&plain, &member] {
                assert_eq!(follow(invitation).await.ok()["response"]["status"], "complete");
            }
            continue;
        }
        // A request that was in progress may have made them after the others had ended.
        follow(&plain).await.is_error(400, "revoked_invitation");
        follow(&member).await.is_error(400, "organization_invitation_revoked_code");
        let ended = end_tickets(&t, &t.tenant, &id).await;
        assert_eq!(ended, ["invitation", "organization invitation"]);
        let status = async |path: &str| t.get(path).await.ok();
        assert_eq!(status("/v1/invitations?status=revoked").await[0]["id"], plain["id"]);
        let path = format!("{path}/{}", member["id"].as_str().unwrap());
        assert_eq!(status(&path).await["status"], "revoked");
        let events = t.get("/v1/events?limit=500").await.ok();
        let last = events["data"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["type"], "organizationInvitation.revoked");
        assert_eq!(
            t.get(&format!("/v1/users/{victim}/organization_memberships")).await.ok()["total_count"],
            0
        );
    }
}

#[tokio::test]
async fn kept_tickets_outlive_their_key() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let (id, backend) = further_key(&t, &t.tenant, "sk_test_replaced").await;
    let token = sign_in_token(&t, &backend, &user).await;
    let link = webhooks_link(&t, &backend, "/v1/webhooks/svix").await;
    delete_key(&t, &t.tenant, &id, true).await;
    t.call(Some(&backend), "GET", "/v1/users", None).await.is_error(401, "clerk_key_invalid");
    assert_eq!(follow(&t, &token).await.status, 200);
    t.call(Some(&link), "GET", ENDPOINTS, None).await.ok();
}

#[tokio::test]
async fn tickets_end_for_one_key_of_one_instance() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let theirs = t.call(Some(&t.other), "POST", "/v1/users", Some(json!({"username": "grace"}))).await.ok();
    let (id, _) = further_key(&t, &t.tenant, "sk_test_leaked").await;
    let (_, other) = further_key(&t, &t.other, "sk_test_theirs").await;
    let body = json!({"user_id": theirs["id"]});
    let foreign = t.call(Some(&other), "POST", "/v1/sign_in_tokens", Some(body)).await.ok();
    let own = sign_in_token(&t, &t.tenant, &user).await;
    // Even if a ticket of another instance named the same key.
    let sql = "UPDATE sign_in_tokens SET key_id = $1";
    t.run_sql(sql, vec![(&id).into()]).await;
    delete_key(&t, &t.tenant, &id, false).await;
    assert_eq!(end_tickets(&t, &t.tenant, &id).await, ["sign-in token"]);
    follow(&t, &own).await.is_problem(400, "sign_in_token_revoked_code", "ticket");
    let pending = key_tickets::pending(t.db(), GROUPS, &t.other.id, None, t.clock.now()).await.unwrap();
    let ids: Vec<&str> = pending.iter().map(|(_, ticket)| ticket.id.as_str()).collect();
    assert_eq!(ids, [foreign["id"].as_str().unwrap()]);
}

/// More tickets than one transaction ends and one statement lists.
#[tokio::test]
async fn many_tickets_of_a_key_end_in_steps() {
    const COUNT: usize = 101;
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let (id, thief) = further_key(&t, &t.tenant, "sk_test_leaked").await;
    for _ in 0..COUNT {
        sign_in_token(&t, &thief, &user).await;
        call(&t, &thief, "POST", "/v1/admin_portal_link_tokens", json!({})).await;
    }
    delete_key(&t, &t.tenant, &id, false).await;
    assert_eq!(end_tickets(&t, &t.tenant, &id).await.len(), 2 * COUNT);
    let pending = key_tickets::pending(t.db(), GROUPS, &t.tenant.id, None, t.clock.now()).await.unwrap();
    assert_eq!(pending.len(), 0);
}

#[tokio::test]
async fn ticket_without_a_key_goes_on_and_is_listed() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let (id, thief) = further_key(&t, &t.tenant, "sk_test_leaked").await;
    let token = sign_in_token(&t, &thief, &user).await;
    t.run_sql("UPDATE sign_in_tokens SET key_id = NULL", vec![]).await;
    delete_key(&t, &t.tenant, &id, false).await;
    assert_eq!(end_tickets(&t, &t.tenant, &id).await, [""; 0]);
    let pending = key_tickets::pending(t.db(), GROUPS, &t.tenant.id, None, t.clock.now()).await.unwrap();
    let [(kind, ticket)] = pending.as_slice() else { panic!("{} tickets", pending.len()) };
    assert_eq!((*kind, ticket.id.as_str()), ("sign-in token", token["id"].as_str().unwrap()));
    assert_eq!((ticket.subject.as_deref(), &ticket.key), (Some(user.as_str()), &None));
    assert_eq!(follow(&t, &token).await.status, 200);
}

/// Every change of the configuration, in order, and the kinds of events it causes.
async fn configure(t: &TestServer, by: &Tenant) -> Vec<String> {
    let id = |made: Value| made["id"].as_str().unwrap().to_owned();
    let url = json!({"url": "https://example.com/back"});
    let redirect = id(call(t, by, "POST", "/v1/redirect_urls", url).await.ok());
    t.call(Some(by), "DELETE", &format!("/v1/redirect_urls/{redirect}"), None).await.ok();
    let template = json!({"name": "hasura", "claims": {"role": "secret-claim"}});
    let jwt = id(call(t, by, "POST", "/v1/jwt_templates", template.clone()).await.ok());
    let path = format!("/v1/jwt_templates/{jwt}");
    t.clock.advance_ms(1);
    call(t, by, "PATCH", &path, json!({"name": "hasura2", "claims": {}})).await.ok();
    t.call(Some(by), "DELETE", &path, None).await.ok();
    let path = "/v1/templates/email/verification_code";
    let template =
        json!({"name": "Code", "subject": "canary-subject {{otp_code}}", "body": "<p>{{otp_code}}</p>"});
    call(t, by, "PUT", path, template).await.ok();
    t.call(Some(by), "POST", &format!("{path}/revert"), None).await.ok();
    let domain = json!({"name": "shop.example.org", "is_satellite": true});
    let domain = id(call(t, by, "POST", "/v1/domains", domain).await.ok());
    let path = format!("/v1/domains/{domain}");
    call(t, by, "PATCH", &path, json!({"name": "store.example.org"})).await.ok();
    t.call(Some(by), "DELETE", &path, None).await.ok();
    let settings =
        json!({"allowed_origins": ["https://canary.example"], "support_email": "canary@example.com"});
    assert_eq!(call(t, by, "PATCH", "/v1/instance", settings).await.status, 204);
    let mut listed = Vec::new();
    for list in ["allowlist", "blocklist"] {
        let path = format!("/v1/{list}_identifiers");
        let identifier =
            id(call(t, by, "POST", &path, json!({"identifier": "eve@canary.example"})).await.ok());
        t.call(Some(by), "DELETE", &format!("{path}/{identifier}"), None).await.ok();
        listed.push(identifier);
    }
    let endpoint = json!({"url": "https://canary.example/hook"});
    let endpoint = id(call(t, by, "POST", ENDPOINTS, endpoint).await.ok());
    let path = format!("{ENDPOINTS}/{endpoint}");
    call(t, by, "PATCH", &path, json!({"disabled": true})).await.ok();
    call(t, by, "POST", &format!("{path}/secret/rotate"), json!({})).await.ok();
    t.call(Some(by), "DELETE", &path, None).await.ok();
    let primary = t.tenant.id.to_string();
    [
        ("redirectUrl.created", &redirect),
        ("redirectUrl.deleted", &redirect),
        ("jwtTemplate.created", &jwt),
        ("jwtTemplate.updated", &jwt),
        ("jwtTemplate.deleted", &jwt),
        ("messageTemplate.updated", &String::new()),
        ("messageTemplate.reverted", &String::new()),
        ("domain.created", &domain),
        ("domain.updated", &domain),
        ("domain.deleted", &domain),
        ("settings.updated", &primary),
        ("allowlistIdentifier.created", &listed[0]),
        ("allowlistIdentifier.deleted", &listed[0]),
        ("blocklistIdentifier.created", &listed[1]),
        ("blocklistIdentifier.deleted", &listed[1]),
        ("webhookEndpoint.created", &endpoint),
        ("webhookEndpoint.updated", &endpoint),
        ("webhookSecret.rotated", &endpoint),
        ("webhookEndpoint.deleted", &endpoint),
    ]
    .map(|(kind, id)| format!("{kind} {id}"))
    .to_vec()
}

#[tokio::test]
async fn changes_of_the_configuration_name_the_key_and_no_values() {
    let t = TestServer::start().await;
    let (id, backend) = further_key(&t, &t.tenant, "sk_test_second").await;
    let expected = configure(&t, &backend).await;
    let user = t.user(json!({"username": "countess"})).await;
    let feed = t.get("/v1/events?limit=500").await.ok();
    let events = feed["data"].as_array().unwrap();
    let (last, changes) = events.split_last().unwrap();
    let is_template = |event: &Value| event["data"]["object"] == "message_template";
    let shown: Vec<String> = changes
        .iter()
        .map(|event| {
            let id = if is_template(event) { "" } else { event["data"]["id"].as_str().unwrap() };
            format!("{} {id}", event["type"].as_str().unwrap())
        })
        .collect();
    assert_eq!(shown, expected);
    for event in changes {
        assert_eq!(
            (&event["key_id"], &event["data"]["actor"]),
            (&json!(id), &json!("secret_key")),
            "{event}"
        );
    }
    let of_kind = |kind: &str| changes.iter().find(|event| event["type"] == kind).unwrap();
    let named = &of_kind("settings.updated")["data"]["changed"];
    assert_eq!(named, &json!(["allowed_origins", "display.support_email"]));
    let named = &of_kind("messageTemplate.updated")["data"]["changed"];
    assert_eq!(named, &json!(["email/verification_code"]));
    let text = json!(changes).to_string();
    for value in ["canary", "whsec_", "secret-claim", "sk_test"] {
        assert!(!text.contains(value), "{value}");
    }
    // Other events that a key causes name the key, too.
    assert_eq!((&last["type"], &last["data"]["id"]), (&json!("user.created"), &user["id"]));
    assert!(last["key_id"].as_str().unwrap().starts_with("key_") && last["key_id"] != json!(id));
    let kinds: Vec<&str> = Event::FEED_ONLY.iter().map(|kind| kind.name()).collect();
    let missing = kinds.iter().filter(|kind| !shown.iter().any(|line| line.starts_with(**kind)));
    // Keys are made and revoked on the command line only.
    assert_eq!(missing.collect::<Vec<_>>(), [&"secretKey.created", &"secretKey.revoked"]);
}

#[tokio::test]
async fn change_without_effect_causes_no_event() {
    let t = TestServer::start().await;
    let body = json!({"allowed_origins": ["https://example.com"]});
    for _ in 0..2 {
        assert_eq!(t.patch("/v1/instance", body.clone()).await.status, 204);
    }
    let refused = t.patch("/v1/instance", json!({"allowed_origins": ["nowhere"]})).await;
    assert_eq!(refused.status, 422);
    assert_eq!(t.count_events("settings.updated").await, 1);
}

#[tokio::test]
async fn webhook_endpoints_receive_no_changes_of_the_configuration() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    t.post(ENDPOINTS, json!({"url": receiver.url()})).await.ok();
    configure(&t, &t.tenant).await;
    t.user(json!({"username": "countess"})).await;
    let answer_timeout = Duration::from_secs(20);
    let parts = JobParts { answer_timeout, ..t.jobs_with(Options::default()) };
    t.courier_of(&parts).run_once().await.unwrap();
    let kinds: Vec<Value> =
        receiver.arrivals().iter().map(|arrival| arrival.json()["type"].clone()).collect();
    assert_eq!(kinds, [json!("user.created")]);
    let types = t.get("/v1/webhooks/event_types").await.ok().to_string();
    for kind in Event::FEED_ONLY {
        let name = kind.name();
        assert!(!types.contains(&format!("\"{name}\"")), "{name}");
        let body = json!({"url": "https://example.com", "event_types": [name]});
        t.post(ENDPOINTS, body).await.is_problem(422, "form_param_value_invalid", "event_types");
    }
}

#[tokio::test]
async fn backend_writes_are_logged_with_their_key_and_instance() {
    record();
    let t = TestServer::start().await;
    let (id, backend) = further_key(&t, &t.tenant, "sk_test_logged").await;
    // Servers of other tests in this process write to the same log, and seeded servers repeat their trace ids.
    let has_line = |answer: &Answer, operation: &str, parts: &[String]| {
        let trace_id = answer.header("clerk-trace-id");
        let log = log();
        let mut lines = log.lines().filter(|line| line.contains(trace_id) && line.contains(operation));
        lines.any(|line| parts.iter().all(|part| line.contains(part)))
    };
    let made = call(&t, &backend, "POST", "/v1/users", json!({"username": "countess"})).await;
    let refused = call(&t, &backend, "POST", "/v1/users", json!({"username": "countess"})).await;
    for answer in [&made, &refused] {
        let names = [format!("key.id=\"{id}\""), format!("instance.id=\"{}\"", t.tenant.id)];
        assert!(has_line(answer, "CreateUser", &names), "{names:?}");
    }
    let read = t.call(Some(&backend), "GET", "/v1/users", None).await;
    assert!(has_line(&read, "GetUserList", &[]));
    assert!(!has_line(&read, "GetUserList", &["key.id".to_owned()]));
    assert!(!log().contains("sk_test_logged"));
}

#[tokio::test]
async fn setting_bounds_the_lifetime_of_tickets() {
    let mut settings = Settings::default();
    settings.tickets.max_lifetime_seconds = 600;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = t.user_with_email("ann@example.com").await;
    for path in ["/v1/sign_in_tokens", "/v1/actor_tokens"] {
        let body = |seconds: Option<i64>| {
            let mut body = json!({"user_id": user});
            if path.contains("actor") {
                body["actor"] = json!({"sub": "user_boss"});
            }
            if let Some(seconds) = seconds {
                body["expires_in_seconds"] = seconds.into();
            }
            body
        };
        let before = t.count_rows(path.strip_prefix("/v1/").unwrap()).await;
        let refused = t.post(path, body(Some(601))).await;
        refused.is_problem(422, "form_param_value_too_large", "expires_in_seconds");
        assert_eq!(t.count_rows(path.strip_prefix("/v1/").unwrap()).await, before);
        t.post(path, body(Some(600))).await.ok();
        let token = t.post(path, body(None)).await.ok();
        t.clock.advance_ms(600_000);
        follow(&t, &token).await.is_problem(400, "ticket_expired_code", "ticket");
    }
}
