//! Where events may go. Names are resolved by resolvers of the tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::Settings;
use latchkey_outbound::resolve::{Addresses, Resolve};
use latchkey_testkit::Tenant;

use super::*;

/// A public address that nobody has: outside of what was given to any registry.
const NOWHERE: &str = "2d00::1";

/// Answers each lookup with the next of its answers, and with the last one from then on.
struct Names {
    answers: Vec<Vec<&'static str>>,
    lookups: AtomicUsize,
}

impl Names {
    fn new(answers: &[&[&'static str]]) -> Arc<Names> {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        Arc::new(Names { answers, lookups: AtomicUsize::new(0) })
    }
}

impl Resolve for Names {
    fn resolve(&self, _: String, port: u16) -> Addresses {
        let lookup = self.lookups.fetch_add(1, SeqCst);
        let answer = &self.answers[lookup.min(self.answers.len() - 1)];
        let found = answer.iter().map(|text| SocketAddr::new(text.parse().unwrap(), port)).collect();
        Box::pin(async move { Ok(found) })
    }
}

fn courier_with(t: &TestServer, names: &Arc<Names>) -> Courier {
    t.courier(Options { resolver: Some(names.clone()), ..Options::default() })
}

/// An endpoint of this tenant at a name, on the port of the receiver; returns its id. Only those who may send
/// anywhere arrive in clear; for the others it is enough where they go.
async fn endpoint_of(t: &TestServer, tenant: &Tenant, scheme: &str, receiver: &Receiver) -> String {
    let body = json!({"url": format!("{scheme}://hooks.example.com:{}/hook", receiver.port)});
    let made = t.call(Some(tenant), "POST", "/v1/webhooks/endpoints", Some(body)).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

/// A new user of this tenant; returns the id of the event.
async fn event_of(t: &TestServer, tenant: &Tenant) -> String {
    let body = json!({"email_address": ["ann@example.com"]});
    t.call(Some(tenant), "POST", "/v1/users", Some(body)).await.ok();
    let events = t.call(Some(tenant), "GET", "/v1/events", None).await.ok();
    events["data"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
}

async fn attempts(t: &TestServer, tenant: &Tenant, endpoint: &str, event: &str) -> Vec<Value> {
    let path = format!("/v1/webhooks/endpoints/{endpoint}/deliveries/{event}");
    let shown = t.call(Some(tenant), "GET", &path, None).await.ok();
    shown["log"].as_array().unwrap().clone()
}

#[tokio::test]
async fn production_sends_nothing_to_names_of_private_addresses() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint_of(&t, &t.other, "https", &receiver).await;
    let event = event_of(&t, &t.other).await;
    for address in
        ["127.0.0.1", "::ffff:127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"]
    {
        let names = Names::new(&[&[address]]);
        send(&courier_with(&t, &names)).await;
        let log = attempts(&t, &t.other, &endpoint, &event).await;
        let reason = "The host hooks.example.com has no address that requests may go to.";
        assert_eq!(log.last().unwrap()["error"], json!(reason), "{address}");
        assert_eq!(names.lookups.load(SeqCst), 1);
        t.clock.advance_ms(11 * HOUR_MS);
    }
    assert!(receiver.arrivals().is_empty());
}

#[tokio::test]
async fn a_name_that_changes_its_address_after_the_check_gains_nothing() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint_of(&t, &t.other, "https", &receiver).await;
    let event = event_of(&t, &t.other).await;
    // Public when it is checked, private when somebody would look again: nobody does.
    let names = Names::new(&[&[NOWHERE], &["127.0.0.1"]]);
    send(&courier_with(&t, &names)).await;
    assert_eq!(names.lookups.load(SeqCst), 1);
    // The next attempt looks again, and checks again.
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier_with(&t, &names)).await;
    // One public address does not bring the private ones along.
    let mixed = Names::new(&[&["127.0.0.1", NOWHERE, "::1"]]);
    t.clock.advance_ms(6 * MINUTE_MS);
    send(&courier_with(&t, &mixed)).await;
    assert!(receiver.arrivals().is_empty());
    let log = attempts(&t, &t.other, &endpoint, &event).await;
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|attempt| attempt["succeeded"] == json!(false)));
    assert_eq!(log[1]["error"], json!("The host hooks.example.com has no address that requests may go to."));
    for attempt in [&log[0], &log[2]] {
        let error = attempt["error"].as_str().unwrap();
        assert!(error.starts_with("No connection to ") || error.ends_with("in time."), "{error}");
    }
}

#[tokio::test]
async fn production_reaches_private_addresses_where_that_is_allowed() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let mut settings = Settings::default();
    settings.events.allow_private_targets = true;
    let tenant = t.new_tenant(Environment::Production, settings).await;
    endpoint_of(&t, &tenant, "http", &receiver).await;
    let event = event_of(&t, &tenant).await;
    send(&courier_with(&t, &Names::new(&[&["127.0.0.1"]]))).await;
    assert_eq!(receiver.ids(), [event]);
}

#[tokio::test]
async fn nobody_reaches_what_only_machines_of_a_data_centre_are_told() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint_of(&t, &t.tenant, "http", &receiver).await;
    let event = event_of(&t, &t.tenant).await;
    send(&courier_with(&t, &Names::new(&[&["169.254.169.254"]]))).await;
    let log = attempts(&t, &t.tenant, &endpoint, &event).await;
    assert_eq!(log[0]["error"], json!("The host hooks.example.com has no address that requests may go to."));
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier_with(&t, &Names::new(&[&["127.0.0.1"]]))).await;
    assert_eq!(receiver.ids(), [event], "this machine is fine for those who develop on it");
}

#[tokio::test]
async fn a_setting_counts_from_the_next_attempt_on() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let mut settings = Settings::default();
    settings.events.allow_private_targets = true;
    let tenant = t.new_tenant(Environment::Production, settings).await;
    let endpoint = endpoint_of(&t, &tenant, "http", &receiver).await;
    let names = Names::new(&[&["127.0.0.1"]]);
    let courier = courier_with(&t, &names);
    let event = event_of(&t, &tenant).await;
    send(&courier).await;
    assert_eq!(receiver.arrivals().len(), 1);
    let closed = serde_json::to_string(&Settings::default()).unwrap();
    let params = vec![(&tenant.id).into(), closed.as_str().into()];
    t.run_sql(
        "UPDATE instances SET settings = $2, settings_revision = settings_revision + 1 WHERE id = $1",
        params,
    )
    .await;
    let path = format!("/v1/webhooks/endpoints/{endpoint}/deliveries/{event}/replay");
    t.call(Some(&tenant), "POST", &path, Some(json!({}))).await.ok();
    // The connection of the first attempt is still open, and of no use.
    send(&courier).await;
    assert_eq!(receiver.arrivals().len(), 1);
    let attempt = attempts(&t, &tenant, &endpoint, &event).await.remove(1);
    assert_eq!(attempt["error"], json!("Requests to the internet go over https only."));
    assert_eq!((&attempt["succeeded"], &attempt["status_code"]), (&json!(false), &json!(null)));
    assert_eq!(names.lookups.load(SeqCst), 1, "nobody asks where it would go");
}

#[tokio::test]
async fn private_addresses_can_be_given_where_they_are_allowed() {
    let t = TestServer::start().await;
    let add = |tenant, url: &str| {
        let (t, body) = (&t, json!({"url": url}));
        async move { t.call(Some(tenant), "POST", "/v1/webhooks/endpoints", Some(body)).await }
    };
    for url in ["https://10.0.0.5/hook", "http://hooks.example.com/", "https://localhost/"] {
        add(&t.other, url).await.is_problem(422, "form_param_format_invalid", "url");
    }
    let mut settings = Settings::default();
    settings.events.allow_private_targets = true;
    let open = t.new_tenant(Environment::Production, settings).await;
    for url in ["https://10.0.0.5/hook", "http://hooks.example.com/", "https://localhost/"] {
        add(&open, url).await.ok();
    }
}
