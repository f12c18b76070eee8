//! Deletes what nobody needs any more, as the groups say: rows past their time, and history older than its instance wants
//! to keep. In small transactions with rests between them, and so many at a time that a run ends: the next one goes on.

use std::time::Duration;

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Result, Time};
use latchkey_db::{Db, TransactionBody, Tx};
use latchkey_kernel::aging::{AgedRows, InstanceHistory};
use latchkey_kernel::group::Group;
use latchkey_kernel::instances;
use latchkey_kernel::instances::model::Instance;

/// Rows of one transaction: some milliseconds of a writer that all requests share.
const BATCH: i64 = 200;
const DAY_MS: i64 = 24 * 3600 * 1000;
/// Transactions for one kind of rows in one run.
const BATCHES: usize = 5000;

/// Deletes what is old at `now`, with a rest after each transaction.
pub async fn run(db: &Db, groups: &[Group], now: Time, pause: Duration) -> Result<()> {
    for AgedRows { name, kept_ms, delete } in groups.iter().flat_map(|group| group.aged) {
        let before = now.plus_ms(-kept_ms);
        let deleted = repeat(db, pause, move |tx| delete(tx, before, BATCH)).await?;
        note(deleted, name, None);
    }
    let instances = instances::store::list(&mut db.read().await?).await?;
    for Instance { id, settings, .. } in &instances {
        for InstanceHistory { name, days, delete } in groups.iter().flat_map(|group| group.histories) {
            let before = now.plus_ms(-days(&settings.events) * DAY_MS);
            let instance = id.clone();
            let deleted = repeat(db, pause, move |tx| delete(tx, instance.clone(), before, BATCH)).await?;
            note(deleted, name, Some(id));
        }
    }
    Ok(())
}

/// Deletes batch after batch until there is nothing left, or it was enough for one run. Says how many rows went.
async fn repeat<F>(db: &Db, pause: Duration, batch: F) -> Result<u64>
where
    F: for<'a> Fn(&'a mut Tx) -> TransactionBody<'a, u64> + Clone + Send + 'static,
{
    let mut deleted = 0;
    for _ in 0..BATCHES {
        let count = db.write(batch.clone()).await?;
        deleted += count;
        if count < BATCH.unsigned_abs() {
            break;
        }
        tokio::time::sleep(pause).await;
    }
    Ok(deleted)
}

fn note(deleted: u64, name: &str, instance: Option<&InstanceId>) {
    if deleted > 0 {
        let instance = instance.map(InstanceId::as_str);
        tracing::info!(deleted, instance, "{deleted} old {name} deleted");
    }
}
