//! How many requests an instance, and a user, may cause; what the one too many is told; and whom it
//! does not concern.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use latchkey_app::jobs::JobCounts;
use latchkey_app::{GROUPS, Routers, routers};
use latchkey_base::rng::SystemRng;
use latchkey_kernel::bell::Bell;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::group::Group;
use latchkey_kernel::limits::{RateLimits, WRITES_FOR_ANYBODY};
use latchkey_kernel::settings::Settings;
use latchkey_kernel::{AppParts, AppState, MetricsAccess};
use latchkey_outbound::client::{Client, Options};
use latchkey_testkit::{Answer, Tenant, TestServer};
use latchkey_web::api::Api;
use serde_json::json;
use tower::ServiceExt;

const WINDOW_MS: i64 = 10_000;

async fn limited() -> TestServer {
    TestServer::start_with(RateLimits::default(), Settings::default()).await
}

async fn count(t: &TestServer, tenant: &Tenant) -> Answer {
    t.call(Some(tenant), "GET", "/v1/users/count", None).await
}

/// A user, made without using up much of the instance's limit.
async fn user(t: &TestServer, tenant: &Tenant, name: &str) -> String {
    let body = json!({ "username": name });
    t.call(Some(tenant), "POST", "/v1/users", Some(body)).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn rename(t: &TestServer, tenant: &Tenant, id: &str) -> Answer {
    t.call(Some(tenant), "PATCH", &format!("/v1/users/{id}"), Some(json!({"first_name": "Ada"}))).await
}

async fn metadata(t: &TestServer, tenant: &Tenant, method: &str, id: &str) -> Answer {
    let body = json!({"public_metadata": {"plan": "pro"}});
    t.call(Some(tenant), method, &format!("/v1/users/{id}/metadata"), Some(body)).await
}

#[track_caller]
fn is_refused(answer: &Answer, wait_seconds: &str) {
    answer.is_error(429, "too_many_requests");
    assert_eq!(answer.header("retry-after"), wait_seconds);
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(answer.json["errors"][0]["long_message"].is_string());
}

#[tokio::test]
async fn development_instance_has_100_requests_in_10_seconds() {
    let t = limited().await;
    for _ in 0..100 {
        count(&t, &t.tenant).await.ok();
    }
    is_refused(&count(&t, &t.tenant).await, "10");
}

#[tokio::test]
async fn production_instance_has_1000_requests_in_10_seconds() {
    let t = limited().await;
    for _ in 0..1000 {
        assert_eq!(count(&t, &t.other).await.status, 200);
    }
    is_refused(&count(&t, &t.other).await, "10");
}

#[tokio::test]
async fn block_lasts_until_the_window_ends_however_often_it_is_tried() {
    let t = limited().await;
    for _ in 0..100 {
        count(&t, &t.tenant).await.ok();
    }
    t.clock.advance_ms(3_500);
    is_refused(&count(&t, &t.tenant).await, "7");
    t.clock.advance_ms(6_499);
    for _ in 0..5 {
        is_refused(&count(&t, &t.tenant).await, "1");
    }
    t.clock.advance_ms(1);
    count(&t, &t.tenant).await.ok();
}

#[tokio::test]
async fn limit_of_an_instance_counts_all_operations_and_methods_together() {
    let t = limited().await;
    let id = user(&t, &t.tenant, "somebody").await;
    for _ in 0..33 {
        t.get(&format!("/v1/users/{id}")).await.ok();
        t.call(Some(&t.tenant), "HEAD", &format!("/v1/users/{id}"), None).await;
        // Refused for another reason, and counted all the same.
        t.delete("/v1/users/nobody").await.is_error(404, "resource_not_found");
    }
    is_refused(&t.post(&format!("/v1/users/{id}/ban"), json!({})).await, "10");
    is_refused(&t.get("/v1/users").await, "10");
    assert_eq!(t.call(Some(&t.tenant), "HEAD", "/v1/users", None).await.status, 429);
}

#[tokio::test]
async fn limit_of_an_instance_does_not_concern_others() {
    let t = limited().await;
    for _ in 0..101 {
        count(&t, &t.tenant).await;
    }
    is_refused(&count(&t, &t.tenant).await, "10");
    count(&t, &t.other).await.ok();
}

#[tokio::test]
async fn key_set_is_never_limited_and_not_counted() {
    let t = limited().await;
    for _ in 0..300 {
        t.get("/v1/jwks").await.ok();
    }
    for _ in 0..100 {
        count(&t, &t.tenant).await.ok();
    }
    is_refused(&count(&t, &t.tenant).await, "10");
    t.get("/v1/jwks").await.ok();
}

#[tokio::test]
async fn requests_without_a_valid_key_use_up_nobodys_limit() {
    let t = limited().await;
    let stranger = Tenant { key: "sk_test_unknown".to_owned(), ..t.tenant.clone() };
    for _ in 0..150 {
        assert_eq!(count(&t, &stranger).await.status, 401);
    }
    count(&t, &t.tenant).await.ok();
}

#[tokio::test]
async fn one_user_can_be_changed_10_times_in_10_seconds_by_the_three_operations_together() {
    let t = limited().await;
    let id = user(&t, &t.other, "somebody").await;
    for _ in 0..4 {
        rename(&t, &t.other, &id).await.ok();
    }
    for _ in 0..3 {
        metadata(&t, &t.other, "PATCH", &id).await.ok();
        metadata(&t, &t.other, "PUT", &id).await.ok();
    }
    t.clock.advance_ms(1_000);
    is_refused(&rename(&t, &t.other, &id).await, "9");
    is_refused(&metadata(&t, &t.other, "PATCH", &id).await, "9");
    is_refused(&metadata(&t, &t.other, "PUT", &id).await, "9");
    t.clock.advance_ms(WINDOW_MS - 1_000);
    rename(&t, &t.other, &id).await.ok();
}

#[tokio::test]
async fn limit_of_a_user_concerns_neither_other_users_nor_other_operations() {
    let t = limited().await;
    let (id, other) = (user(&t, &t.other, "somebody").await, user(&t, &t.other, "somebody-else").await);
    for _ in 0..10 {
        rename(&t, &t.other, &id).await.ok();
    }
    is_refused(&rename(&t, &t.other, &id).await, "10");
    rename(&t, &t.other, &other).await.ok();
    metadata(&t, &t.other, "PATCH", &other).await.ok();
    t.call(Some(&t.other), "GET", &format!("/v1/users/{id}"), None).await.ok();
    t.call(Some(&t.other), "POST", &format!("/v1/users/{id}/ban"), None).await.ok();
}

#[tokio::test]
async fn limit_of_a_user_is_not_used_up_by_another_instance() {
    let t = limited().await;
    let id = user(&t, &t.other, "somebody").await;
    for _ in 0..20 {
        let answer = rename(&t, &t.tenant, &id).await;
        assert!([404, 429].contains(&answer.status));
    }
    rename(&t, &t.other, &id).await.ok();
}

#[tokio::test]
async fn nothing_is_limited_when_limits_are_off() {
    let t = TestServer::start().await;
    let id = user(&t, &t.tenant, "somebody").await;
    for _ in 0..150 {
        rename(&t, &t.tenant, &id).await.ok();
    }
}

#[tokio::test]
async fn limit_of_a_user_cannot_be_dodged_by_writing_the_id_with_escapes() {
    let t = limited().await;
    let id = user(&t, &t.tenant, "countess").await;
    for _ in 0..10 {
        rename(&t, &t.tenant, &id).await.ok();
    }
    for written in [id.replacen("user", "%75ser", 1), id.replacen('_', "%5F", 1)] {
        is_refused(&rename(&t, &t.tenant, &written).await, "10");
    }
}

/// Operations that somebody adds without a word about limits: two that may write for anybody, one that only reads.
fn made_up(api: &mut Api<AppState>) {
    api.post("/made_up", "makeUp", async |_: Cx| "made");
    api.get("/made_up", "getUp", async |_: Cx| "got");
    api.get("/read_up", "readUp", async |_: Cx| "read").only_reads();
}

const MADE_UP: Group = Group { backend: made_up, frontend: made_up, ..Group::named("made up") };

fn parts(t: &TestServer, rate_limits: RateLimits) -> AppParts {
    AppParts {
        db: t.db().clone(),
        clock: t.clock.clone(),
        rng: Arc::new(SystemRng),
        master: t.master.clone(),
        rate_limits,
        trusted_proxies: Vec::new(),
        metrics: MetricsAccess::default(),
        api_url: String::new(),
        frontend_url: String::new(),
        frontend_api: String::new(),
        local_host: None,
        scripts_dir: None,
        slow_slots: 1,
        bell: Bell::default(),
        outbound: Client::new(Options::default()).unwrap(),
        checks: Client::new(Options::default()).unwrap(),
    }
}

#[tokio::test]
async fn what_somebody_adds_that_writes_for_anybody_is_limited_by_default() {
    let t = TestServer::start().await;
    for rate_limits in [RateLimits::default(), RateLimits::Off] {
        let is_on = rate_limits != RateLimits::Off;
        let Routers { backend, frontend, .. } =
            routers(parts(&t, rate_limits), &JobCounts::default(), &[GROUPS, &[MADE_UP]].concat());
        for (face, prefix) in [(backend, "/v1"), (frontend, "")] {
            let ask = async |method: &str, path: &str, last: u8| {
                let request = Request::builder().method(method).uri(format!("{prefix}{path}"));
                let request = request.header("host", &t.tenant.frontend_api);
                let mut request = request.body(Body::empty()).unwrap();
                request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([10, 192, 2, last], 4000))));
                let response = face.clone().oneshot(request).await.unwrap();
                (response.status().as_u16(), response.headers().contains_key("retry-after"))
            };
            let refused = if is_on { (429, true) } else { (200, false) };
            for method in ["POST", "GET"] {
                for _ in 0..WRITES_FOR_ANYBODY.limit.requests {
                    assert_eq!(ask(method, "/made_up", 1).await, (200, false));
                    assert_eq!(ask("GET", "/read_up", 1).await, (200, false));
                }
                assert_eq!(ask(method, "/made_up", 1).await, refused);
                assert_eq!(ask(method, "/made_up", 2).await, (200, false));
            }
            // Whoever only looks counts too; on the face that browsers ask, nothing is done for them.
            let looked = if !is_on && prefix.is_empty() { (204, false) } else { refused };
            assert_eq!(ask("HEAD", "/made_up", 1).await, looked);
            assert_eq!(ask("GET", "/read_up", 1).await, (200, false));
        }
    }
}
