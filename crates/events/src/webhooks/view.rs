//! How endpoints look on the wire. Their secrets are shown when they are made, and to those who ask for them.

use latchkey_base::Time;
use latchkey_base::kinds::WebhookEndpointId;
use latchkey_kernel::events::Event;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{Endpoint, Health, SigningSecret};
use crate::feed::view::PayloadView;
use crate::webhooks::deliveries::model::DeliveryAttempt;
use crate::webhooks::deliveries::view::{AttemptView, attempt};

object!(EndpointObject, "webhook_endpoint");
object!(EventTypeObject, "webhook_event_type");
object!(SecretsObject, "webhook_secrets");
object!(TestObject, "webhook_test");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SvixURL")]
#[serde(deny_unknown_fields)]
pub struct SvixUrlView {
    pub svix_url: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookEventType")]
pub struct EventTypeView {
    object: EventTypeObject,
    /// Such as `user.created`.
    name: &'static str,
    description: &'static str,
    /// Whether such events happen; others are of groups that are still to come.
    emitted: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookEndpoint")]
pub struct EndpointView<'a> {
    object: EndpointObject,
    id: &'a WebhookEndpointId,
    url: &'a str,
    description: &'a str,
    /// The kinds of events wanted; empty for all.
    event_types: &'a [String],
    disabled: bool,
    /// Since when nothing got there any more.
    failing_since: Option<Time>,
    health: HealthView<'a>,
    created_at: Time,
    updated_at: Time,
}

/// An endpoint that was just made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NewWebhookEndpoint")]
pub struct NewEndpointView<'a> {
    #[serde(flatten)]
    endpoint: EndpointView<'a>,
    /// What its events are signed with.
    secret: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookEndpointHealth")]
struct HealthView<'a> {
    /// Deliveries that wait for another try, counted up to 10,000.
    pending: i64,
    /// Events the endpoint has not come to yet, wanted or not.
    unread: i64,
    /// What became of the last deliveries, newest first: `succeeded`, `pending` or `failed`.
    recent: &'a [&'static str],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookSecrets")]
pub struct SecretsView<'a> {
    object: SecretsObject,
    /// The newest one.
    secret: &'a str,
    /// All that sign now, newest first.
    secrets: Vec<SecretView<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookSecret")]
struct SecretView<'a> {
    secret: &'a str,
    /// When it signs no more; null for the newest one.
    expire_at: Option<Time>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookTest")]
pub struct TestView<'a> {
    object: TestObject,
    /// What was sent.
    payload: PayloadView<'a>,
    attempt: AttemptView<'a>,
}

pub fn event_type(event: Event) -> EventTypeView {
    EventTypeView {
        object: EventTypeObject::It,
        name: event.name(),
        description: event.meaning().trim(),
        emitted: event.is_emitted(),
    }
}

pub fn endpoint<'a>(endpoint: &'a Endpoint, health: &'a Health) -> EndpointView<'a> {
    EndpointView {
        object: EndpointObject::It,
        id: &endpoint.id,
        url: &endpoint.url,
        description: &endpoint.description,
        event_types: &endpoint.kinds,
        disabled: endpoint.is_disabled,
        failing_since: endpoint.failing_since,
        health: HealthView { pending: health.pending, unread: health.unread, recent: &health.recent },
        created_at: endpoint.created_at,
        updated_at: endpoint.updated_at,
    }
}

/// An endpoint that was just made, with its secret.
pub fn new_endpoint<'a>(
    made: &'a Endpoint,
    health: &'a Health,
    secrets: &'a [SigningSecret],
) -> NewEndpointView<'a> {
    NewEndpointView { endpoint: endpoint(made, health), secret: newest(secrets) }
}

fn newest(secrets: &[SigningSecret]) -> &str {
    secrets.first().map_or("", |it| it.secret.expose())
}

/// The secrets that sign at `now`.
pub fn secrets(secrets: &[SigningSecret], now: Time) -> SecretsView<'_> {
    let good = secrets.iter().filter(|it| it.is_good(now));
    SecretsView {
        object: SecretsObject::It,
        secret: newest(secrets),
        secrets: good.map(|it| SecretView { secret: it.secret.expose(), expire_at: it.expire_at }).collect(),
    }
}

pub fn test<'a>(payload: PayloadView<'a>, tried: &'a DeliveryAttempt) -> TestView<'a> {
    TestView { object: TestObject::It, payload, attempt: attempt(tried) }
}
