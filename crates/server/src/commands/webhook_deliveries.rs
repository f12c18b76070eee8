//! `latchkey webhooks test`, `deliveries` and `replay`: what becomes of events at an endpoint.

use std::sync::Arc;

use latchkey_base::kinds::EventId;
use latchkey_base::page::Paging;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::{Clock, SystemClock};
use latchkey_base::{Id, Time};
use latchkey_events::feed;
use latchkey_events::webhooks::deliveries::model::{Delivery, DeliveryAttempt, Filter};
use latchkey_events::webhooks::deliveries::{replay as again, rules, store, view};
use latchkey_events::webhooks::sending::{WebhookSender, WebhookTarget};
use latchkey_events::webhooks::{self, samples};
use latchkey_kernel::limits::WEBHOOK_TIMEOUT;

use super::signing_keys;
use super::webhooks::{Desk, refused};
use crate::failure::Failure;
use crate::show::{self, rfc3339};

/// Sends a made-up event and shows what came of it.
pub(super) async fn test(desk: &Desk<'_>) -> Result<(), Failure> {
    let endpoint = desk.endpoint().await?;
    let name = desk.text("event-type").unwrap_or_default();
    let kind = webhooks::rules::kind(&name, "type").map_err(refused)?;
    let master = desk.storage.master_key(desk.config).await?;
    let event = samples::event(kind, &desk.instance.id, SystemClock.now(), &SystemRng)?;
    let client = super::outbound()?;
    let sender =
        WebhookSender { client: &client, master: &master, clock: &SystemClock, timeout: WEBHOOK_TIMEOUT };
    let target = WebhookTarget::of(&endpoint, desk.instance.reach, &master)?;
    let attempt = sender.send(&target, &event).await?;
    let attempt =
        attempt.ok_or_else(|| latchkey_base::Error::internal("a made-up event cannot be opened"))?;
    if desk.is_json() {
        show::json(&webhooks::view::test(feed::view::payload(&event, &master)?, &attempt));
        return Ok(());
    }
    show::result(&attempts(std::slice::from_ref(&attempt)));
    match attempt.is_success() {
        true => Ok(()),
        false => Err(Failure::new(
            format!("{} did not take the event.", endpoint.url),
            "It must answer with a status from 200 to 299 within 15 seconds; redirects are not followed.",
        )),
    }
}

/// Lists deliveries, or shows one of them.
pub(super) async fn list(desk: &Desk<'_>) -> Result<(), Failure> {
    let endpoint = desk.endpoint().await?;
    if let Some(event) = event(desk)? {
        return one(desk, &event).await;
    }
    let kind = desk.text("event-type");
    if let Some(name) = &kind {
        webhooks::rules::kind(name, "type").map_err(refused)?;
    }
    let status = desk.text("status").map(|name| rules::status(&name)).transpose().map_err(refused)?;
    let filter = Filter { status, kind, before_seq: None };
    let limit = desk.line.get_one::<i64>("limit").copied().unwrap_or(20);
    let mut tx = desk.storage.db.read().await?;
    let page = Paging { limit, offset: 0 };
    let found = store::list(&mut tx, &desk.instance.id, &endpoint.id, &filter, page).await?;
    if desk.is_json() {
        show::json(&found.iter().map(view::delivery).collect::<Vec<_>>());
    } else if found.is_empty() {
        show::note("there are no such deliveries; made-up events of `latchkey webhooks test` are not listed");
    } else {
        let rows: Vec<Vec<String>> = found.iter().map(row).collect();
        show::result(&show::table(
            &["EVENT", "SEQ", "TYPE", "STATUS", "TRIES", "LAST ANSWER", "QUEUED"],
            &rows,
        ));
    }
    Ok(())
}

async fn one(desk: &Desk<'_>, id: &EventId) -> Result<(), Failure> {
    let (instance, endpoint) = (&desk.instance.id, desk.id()?);
    let mut tx = desk.storage.db.read().await?;
    let found = store::find(&mut tx, instance, &endpoint, id).await?;
    let found = found.ok_or_else(|| refused(again::not_found(id)))?;
    let event = feed::store::find(&mut tx, instance, found.seq).await?;
    let master = desk.storage.master_key(desk.config).await?;
    let payload = event.as_ref().map(|event| feed::view::payload(event, &master)).transpose()?;
    if desk.is_json() {
        show::json(&view::details(&found, payload));
        return Ok(());
    }
    let next = found.next_at.map_or_else(|| "-".to_owned(), rfc3339);
    show::result(&show::aligned(&[
        ("event", found.event_id.as_str()),
        ("type", &found.kind),
        ("status", found.status.name()),
        ("next try", &next),
    ]));
    show::result(&format!("\n{}\n", attempts(&found.log)));
    match payload {
        Some(payload) => show::json(&payload),
        None => show::note("the event itself is no longer kept"),
    }
    Ok(())
}

/// Sends events again.
pub(super) async fn replay(desk: &Desk<'_>) -> Result<(), Failure> {
    let endpoint = desk.endpoint().await?;
    let (instance, id, now) = (desk.instance.id.clone(), endpoint.id.clone(), SystemClock.now());
    let only_failed = desk.line.get_flag("failed");
    let since = since(desk.text("since").as_deref(), now)?;
    let event = event(desk)?;
    let db = &desk.storage.db;
    let count = match (event, only_failed) {
        (Some(event), _) => {
            let one = db
                .write(move |tx| Box::pin(async move { again::one(tx, &instance, &id, &event, now).await }));
            one.await.map(|_| 1)
        }
        (None, true) => again::failed(db, Arc::new(SystemClock), &instance, &id, since).await,
        (None, false) => {
            let all = db
                .write(move |tx| Box::pin(async move { again::everything(tx, &instance, &id, since).await }));
            all.await
        }
    };
    let count = count.map_err(refused)?;
    if desk.is_json() {
        show::json(&view::replay(count));
    }
    show::note(&match count {
        0 => "there is nothing to send again".to_owned(),
        1 => format!("1 event is sent to {} again", endpoint.url),
        _ => format!("{count} events are looked at again, and sent to {} if it wants them", endpoint.url),
    });
    if endpoint.is_disabled && count > 0 {
        show::note(&format!("it is disabled: `latchkey webhooks enable {}` sends them", endpoint.id));
    }
    Ok(())
}

fn event(desk: &Desk<'_>) -> Result<Option<EventId>, Failure> {
    let Some(text) = desk.text("event") else { return Ok(None) };
    Id::parse(&text).map(Some).ok_or_else(|| {
        Failure::usage(
            format!("{text:?} is not the id of an event."),
            "`latchkey webhooks deliveries ENDPOINT` shows the ids; they begin with msg_.",
        )
    })
}

/// The time somebody means: so long ago, or at a date. Nothing is the beginning.
fn since(text: Option<&str>, now: Time) -> Result<Time, Failure> {
    let Some(text) = text else { return Ok(Time::from_ms(0)) };
    let ago = signing_keys::parse(text).map(|ms| now.plus_ms(-ms));
    ago.or_else(|| Time::parse_rfc3339(text)).ok_or_else(|| {
        Failure::usage(
            format!("--since is {text:?}, which is no time."),
            "Write how long ago (90s, 10m, 2h, 3d), or a date and time such as 2026-01-31T12:00:00Z.",
        )
    })
}

fn row(delivery: &Delivery) -> Vec<String> {
    vec![
        delivery.event_id.to_string(),
        delivery.seq.to_string(),
        delivery.kind.clone(),
        delivery.status.name().to_owned(),
        delivery.attempts.to_string(),
        delivery.log.last().map_or_else(|| "-".to_owned(), answer),
        rfc3339(delivery.created_at),
    ]
}

fn attempts(log: &[DeliveryAttempt]) -> String {
    let row = |attempt: &DeliveryAttempt| {
        let body = attempt.response.split_whitespace().collect::<Vec<_>>().join(" ");
        vec![
            rfc3339(attempt.at),
            answer(attempt),
            format!("{} ms", attempt.duration_ms),
            body.chars().take(80).collect(),
        ]
    };
    let rows: Vec<Vec<String>> = log.iter().map(row).collect();
    show::table(&["TRIED", "ANSWER", "TOOK", "BODY"], &rows)
}

fn answer(attempt: &DeliveryAttempt) -> String {
    match (attempt.status_code, &attempt.error) {
        (Some(status), _) => status.to_string(),
        (None, Some(error)) => error.clone(),
        (None, None) => "-".to_owned(),
    }
}
