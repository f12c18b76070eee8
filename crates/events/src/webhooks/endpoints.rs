//! The work on endpoints, for the API and for the command line.

use latchkey_base::kinds::{InstanceId, WebhookEndpointId};
use latchkey_base::rng::Rng;
use latchkey_base::secret::Secret;
use latchkey_base::{Error, Result, Time};
use latchkey_db::{Db, Tx};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::instances;
use latchkey_kernel::limits::METRICS_ROWS;

use super::input::{CreateWebhookEndpoint, UpdateWebhookEndpoint};
use super::model::{Endpoint, Health};
use super::rules::{self, Start, UpdatedEndpoint};
use super::{not_found, store};
use crate::feed;
use crate::webhooks::deliveries;

/// Deliveries that tell how an endpoint is doing.
const RECENT: i64 = 20;
/// Deliveries deleted in one transaction: some milliseconds.
const AT_ONCE: i64 = 500;

/// Adds an endpoint that was checked; the next event is the first it gets.
pub async fn create(
    tx: &mut Tx,
    instance: &InstanceId,
    input: CreateWebhookEndpoint,
    master: &MasterKey,
    now: Time,
    rng: &dyn Rng,
) -> Result<Endpoint> {
    // Two at once would both find one place left.
    instances::store::lock(tx, instance).await?;
    rules::check_count(store::count(tx, instance).await?)?;
    let start = Start { instance, head: feed::store::head(tx, instance).await?, now };
    let endpoint = rules::create(input, &start, master, rng)?;
    store::insert(tx, &endpoint).await?;
    Ok(endpoint)
}

/// Deletes endpoints with their deliveries; says how many there were. It goes on to the end, also when whoever asked for it
/// does not wait so long.
pub async fn delete(db: &Db, instance: &InstanceId, ids: Vec<WebhookEndpointId>) -> Result<usize> {
    let (db, instance) = (db.clone(), instance.clone());
    let work = tokio::spawn(async move {
        let mut count = 0;
        for id in ids {
            clear(&db, &instance, &id).await?;
            let instance = instance.clone();
            let gone = db.write(move |tx| Box::pin(async move { store::delete(tx, &instance, &id).await }));
            count += usize::from(gone.await?);
        }
        Ok(count)
    });
    work.await.map_err(Error::internal)?
}

/// Deletes the deliveries of an endpoint that is about to go, some in each transaction: there may be millions, and
/// nobody else could write meanwhile. What is noted in between goes with the endpoint.
async fn clear(db: &Db, instance: &InstanceId, id: &WebhookEndpointId) -> Result<()> {
    loop {
        let (instance, id) = (instance.clone(), id.clone());
        let work = db.write(move |tx| {
            Box::pin(async move { deliveries::store::delete_of(tx, &instance, &id, AT_ONCE).await })
        });
        if work.await? < AT_ONCE.unsigned_abs() {
            return Ok(());
        }
    }
}

/// Changes an endpoint as was checked.
pub async fn update(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &WebhookEndpointId,
    input: UpdateWebhookEndpoint,
    now: Time,
) -> Result<Endpoint> {
    let before = store::lock(tx, instance, id).await?.ok_or_else(|| not_found(id))?;
    let UpdatedEndpoint { mut endpoint, skips_missed } = rules::update(before, input, now);
    store::save(tx, &endpoint).await?;
    if skips_missed {
        endpoint.cursor_seq = feed::store::head(tx, instance).await?;
        store::move_cursor(tx, instance, id, endpoint.cursor_seq).await?;
        deliveries::store::give_up(tx, instance, id, 0, now).await?;
    }
    Ok(endpoint)
}

/// Gives an endpoint a new secret that was checked.
pub async fn rotate(
    tx: &mut Tx,
    (instance, id): (&InstanceId, &WebhookEndpointId),
    secret: Secret,
    expire_old_in_seconds: Option<i64>,
    master: &MasterKey,
    now: Time,
) -> Result<Endpoint> {
    let before = store::lock(tx, instance, id).await?.ok_or_else(|| not_found(id))?;
    let after = rules::rotate(before, secret, expire_old_in_seconds, master, now)?;
    store::save(tx, &after).await?;
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
