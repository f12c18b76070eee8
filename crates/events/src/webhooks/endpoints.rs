//! The work on endpoints, for the API and for the command line.

use std::ops::ControlFlow::{self, Break, Continue};

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, WebhookEndpointId};
use latchkey_base::secret::Secret;
use latchkey_db::{Db, Tx};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::background::WorkProgress;
use latchkey_kernel::events::Event;
use latchkey_kernel::instances;
use latchkey_kernel::limits::METRICS_ROWS;
use latchkey_kernel::outbox::{ChangeOrigin, emit_change};
use latchkey_kernel::steps::{self, AT_ONCE};

use super::input::{CreateWebhookEndpoint, UpdateWebhookEndpoint};
use super::model::{Endpoint, Health};
use super::rules::{self, Start, UpdatedEndpoint};
use super::{not_found, store};
use crate::feed;
use crate::webhooks::deliveries;

/// Deliveries that tell how an endpoint is doing.
const RECENT: i64 = 20;

/// Adds an endpoint that was checked; the next event is the first it gets.
pub async fn create(
    tx: &mut Tx,
    origin: &ChangeOrigin,
    input: CreateWebhookEndpoint,
    master: &MasterKey,
) -> Result<Endpoint> {
    let ChangeOrigin { instance, now, rng, .. } = origin;
    // Two at once would both find one place left.
    instances::store::lock(tx, instance).await?;
    rules::check_count(store::count(tx, instance).await?)?;
    let start = Start { instance, head: feed::store::head(tx, instance).await?, now: *now };
    let endpoint = rules::create(input, &start, master, &**rng)?;
    store::insert(tx, &endpoint).await?;
    emit_change(tx, origin, Event::WebhookEndpointCreated, endpoint.id.as_str(), &[])?;
    Ok(endpoint)
}

/// Deletes endpoints with their deliveries; says how many there were.
pub async fn delete(db: &Db, origin: &ChangeOrigin, ids: Vec<WebhookEndpointId>) -> Result<usize> {
    let (db, caller, origin) = (db.clone(), &origin.instance, origin.clone());
    let work = async move {
        let mut count = 0;
        for id in ids {
            clear(&db, &origin.instance, &id).await?;
            let origin = origin.clone();
            let gone = db.write(move |tx| Box::pin(async move { delete_in(tx, &origin, &id).await }));
            count += usize::from(gone.await?);
        }
        Ok(count)
    };
    steps::to_the_end(caller, work).await
}

async fn delete_in(tx: &mut Tx, origin: &ChangeOrigin, id: &WebhookEndpointId) -> Result<bool> {
    let is_deleted = store::delete(tx, &origin.instance, id).await?;
    if is_deleted {
        emit_change(tx, origin, Event::WebhookEndpointDeleted, id.as_str(), &[])?;
    }
    Ok(is_deleted)
}

/// Deletes the deliveries of an endpoint that is about to go. What is noted in between goes with the endpoint.
async fn clear(db: &Db, instance: &InstanceId, id: &WebhookEndpointId) -> Result<()> {
    let step = |()| async {
        let (instance, id) = (instance.clone(), id.clone());
        db.write(move |tx| Box::pin(async move { clear_some(tx, &instance, &id).await })).await
    };
    steps::all((), step).await
}

/// One step of it, until so few are left that they can go with the endpoint.
async fn clear_some(tx: &mut Tx, instance: &InstanceId, id: &WebhookEndpointId) -> Result<ControlFlow<()>> {
    // Two who delete an endpoint at once would find the same rows, and one of them would delete none of those.
    if store::lock(tx, instance, id).await?.is_none() {
        return Ok(Break(()));
    }
    deliveries::store::delete_of(tx, instance, id, AT_ONCE).await?;
    let is_more = deliveries::store::has_more(tx, instance, id, AT_ONCE).await?;
    Ok(if is_more { Continue(()) } else { Break(()) })
}

/// Changes an endpoint as was checked.
pub async fn update(
    db: &Db,
    origin: &ChangeOrigin,
    id: &WebhookEndpointId,
    input: UpdateWebhookEndpoint,
) -> Result<Endpoint> {
    let (db, caller, origin, id) = (db.clone(), &origin.instance, origin.clone(), id.clone());
    let work = steps::all((), move |()| {
        let (db, origin, id, input) = (db.clone(), origin.clone(), id.clone(), input.clone());
        async move { db.write(move |tx| Box::pin(async move { update_in(tx, &origin, &id, input).await })).await }
    });
    steps::to_the_end(caller, work).await
}

/// One step of changing an endpoint: gives up what waits, if that is asked for, and makes the change once nothing does.
async fn update_in(
    tx: &mut Tx,
    origin: &ChangeOrigin,
    id: &WebhookEndpointId,
    input: UpdateWebhookEndpoint,
) -> Result<ControlFlow<Endpoint>> {
    let instance = &origin.instance;
    let before = store::lock(tx, instance, id).await?.ok_or_else(|| not_found(id))?;
    // Another change may have come in between two steps.
    let now = origin.now.max(before.updated_at);
    let UpdatedEndpoint { mut endpoint, skips_missed } = rules::update(before.clone(), input, now);
    if skips_missed {
        if deliveries::store::give_up(tx, instance, id, now, AT_ONCE).await? == WorkProgress::More {
            return Ok(Continue(()));
        }
        endpoint.cursor_seq = feed::store::head(tx, instance).await?;
        store::move_cursor(tx, instance, id, endpoint.cursor_seq).await?;
    }
    store::save(tx, &endpoint).await?;
    if endpoint != before {
        emit_change(tx, origin, Event::WebhookEndpointUpdated, id.as_str(), &[])?;
    }
    Ok(Break(endpoint))
}

/// Gives an endpoint a new secret that was checked.
pub async fn rotate(
    tx: &mut Tx,
    origin: &ChangeOrigin,
    id: &WebhookEndpointId,
    secret: Secret,
    expire_old_in_seconds: Option<i64>,
    master: &MasterKey,
) -> Result<Endpoint> {
    let before = store::lock(tx, &origin.instance, id).await?.ok_or_else(|| not_found(id))?;
    let after = rules::rotate(before, secret, expire_old_in_seconds, master, origin.now)?;
    store::save(tx, &after).await?;
    emit_change(tx, origin, Event::WebhookSecretRotated, id.as_str(), &[])?;
    Ok(after)
}

/// How an endpoint is doing.
pub async fn health(tx: &mut Tx, endpoint: &Endpoint) -> Result<Health> {
    let (instance, id) = (&endpoint.instance, &endpoint.id);
    let recent = deliveries::store::recent(tx, instance, id, RECENT).await?;
    Ok(Health {
        pending: deliveries::store::count_pending(tx, instance, id, METRICS_ROWS).await?,
        unread: (feed::store::head(tx, instance).await? - endpoint.cursor_seq).max(0),
        recent: recent.into_iter().map(|status| status.name()).collect(),
    })
}
