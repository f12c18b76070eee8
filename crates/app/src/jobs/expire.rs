//! Deletes what nobody needs any more: sessions long over, clients and browsers not seen for long, tickets
//! and attempts past their time, and history older than its instance wants to keep. In small transactions with rests between them, and so many at a time that
//! a run ends: the next one goes on.

use std::time::Duration;

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Result, Time};
use latchkey_db::{Db, Tx};
use latchkey_events::webhooks::deliveries;
use latchkey_kernel::instances::model::Instance;
use latchkey_kernel::limits::{
    CLIENT_RETENTION_MS, CLIENT_WITHOUT_PEOPLE_RETENTION_MS, SESSION_RETENTION_MS,
};
use latchkey_kernel::settings::EventSettings;
use latchkey_kernel::{instances, outbox};
use latchkey_messaging::messages;
use latchkey_organizations::portal_links;
use latchkey_people::tickets::{actor_tokens, sign_in_tokens};
use latchkey_presence::{clients, handshakes, sessions, sign_ins, sign_ups, syncs};

/// Rows of one transaction: some milliseconds of a writer that all requests share.
const BATCH: i64 = 200;
const DAY_MS: i64 = 24 * 3600 * 1000;
/// Transactions for one kind in one run.
const BATCHES: usize = 5000;

/// What gets old. Sessions stand before clients, which only go once they hold none.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Handshakes,
    Syncs,
    SignIns,
    SignUps,
    SignInTokens,
    ActorTokens,
    PortalLinkTokens,
    RenewedTokens,
    Sessions,
    ClientsWithoutPeople,
    Clients,
    DevBrowsers,
}

const ALL: [Kind; 12] = [
    Kind::Handshakes,
    Kind::Syncs,
    Kind::SignIns,
    Kind::SignUps,
    Kind::SignInTokens,
    Kind::ActorTokens,
    Kind::PortalLinkTokens,
    Kind::RenewedTokens,
    Kind::Sessions,
    Kind::ClientsWithoutPeople,
    Kind::Clients,
    Kind::DevBrowsers,
];

/// Deletes what is old at `now`, with a rest after each transaction.
pub async fn run(db: &Db, now: Time, pause: Duration) -> Result<()> {
    for kind in ALL {
        repeat(db, pause, Work::Aged(kind, now)).await?;
    }
    let instances = instances::store::list(&mut db.read().await?).await?;
    for Instance { id, settings, .. } in instances {
        for history in History::ALL {
            let before = now.plus_ms(-history.days(&settings.events) * DAY_MS);
            repeat(db, pause, Work::History(history, id.clone(), before)).await?;
        }
    }
    Ok(())
}

/// Deletes batch after batch until there is nothing left, or it was enough for one run.
async fn repeat(db: &Db, pause: Duration, work: Work) -> Result<()> {
    let mut deleted = 0;
    for _ in 0..BATCHES {
        let batch = work.clone();
        let count = db.write(move |tx| Box::pin(async move { batch.delete(tx).await })).await?;
        deleted += count;
        if count < BATCH.unsigned_abs() {
            break;
        }
        tokio::time::sleep(pause).await;
    }
    if deleted > 0 {
        tracing::info!(deleted, "{deleted} old {} deleted", work.name());
    }
    Ok(())
}

/// Something to delete.
#[derive(Clone)]
enum Work {
    /// What is past its time.
    Aged(Kind, Time),
    /// What an instance had before a time.
    History(History, InstanceId, Time),
}

impl Work {
    fn name(&self) -> String {
        match self {
            Work::Aged(kind, _) => format!("{kind:?}"),
            Work::History(history, instance, _) => format!("{history:?} of {instance}"),
        }
    }

    async fn delete(self, tx: &mut Tx) -> Result<u64> {
        match self {
            Work::Aged(kind, now) => delete(tx, kind, now).await,
            Work::History(history, instance, before) => history.delete(tx, &instance, before).await,
        }
    }
}

/// What an instance itself says how long to keep.
#[derive(Clone, Copy, Debug)]
enum History {
    Events,
    Deliveries,
    Messages,
}

impl History {
    const ALL: [History; 3] = [History::Events, History::Deliveries, History::Messages];

    fn days(self, settings: &EventSettings) -> i64 {
        match self {
            History::Events => settings.retention_days,
            History::Deliveries => settings.deliveries_retention_days,
            History::Messages => settings.messages_retention_days,
        }
    }

    async fn delete(self, tx: &mut Tx, instance: &InstanceId, before: Time) -> Result<u64> {
        match self {
            History::Events => outbox::delete_old(tx, instance, before, BATCH).await,
            History::Deliveries => deliveries::store::delete_old(tx, instance, before, BATCH).await,
            History::Messages => messages::store::delete_old(tx, instance, before, BATCH).await,
        }
    }
}

async fn delete(tx: &mut Tx, kind: Kind, now: Time) -> Result<u64> {
    let sessions_before = now.plus_ms(-SESSION_RETENTION_MS);
    let clients_before = now.plus_ms(-CLIENT_RETENTION_MS);
    match kind {
        Kind::Handshakes => handshakes::delete_old(tx, now, BATCH).await,
        Kind::Syncs => syncs::delete_old(tx, now, BATCH).await,
        Kind::SignIns => sign_ins::store::delete_old(tx, now, BATCH).await,
        Kind::SignUps => sign_ups::store::delete_old(tx, now, BATCH).await,
        // As long as sessions, for those who look into a case.
        Kind::SignInTokens => sign_in_tokens::store::delete_old(tx, sessions_before, BATCH).await,
        Kind::ActorTokens => actor_tokens::store::delete_old(tx, sessions_before, BATCH).await,
        Kind::PortalLinkTokens => portal_links::store::delete_old(tx, sessions_before, BATCH).await,
        Kind::RenewedTokens => sessions::store::delete_old_renewals(tx, now, BATCH).await,
        Kind::Sessions => sessions::store::delete_old(tx, sessions_before, BATCH).await,
        Kind::ClientsWithoutPeople => {
            let before = now.plus_ms(-CLIENT_WITHOUT_PEOPLE_RETENTION_MS);
            clients::store::delete_without_people(tx, before, BATCH).await
        }
        Kind::Clients => clients::store::delete_unused(tx, clients_before, BATCH).await,
        Kind::DevBrowsers => clients::store::delete_unused_dev_browsers(tx, clients_before, BATCH).await,
    }
}
