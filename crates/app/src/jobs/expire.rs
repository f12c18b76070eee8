//! Deletes what nobody needs any more: sessions long over, clients and browsers not seen for long, tickets
//! and attempts past their time. In small transactions with rests between them, and so many at a time that
//! a run ends: the next one goes on.

use std::time::Duration;

use latchkey_base::{Result, Time};
use latchkey_db::{Db, Tx};

use crate::limits::{CLIENT_RETENTION_MS, SESSION_RETENTION_MS};
use crate::resources::{actor_tokens, clients, handshakes, sessions, sign_in_tokens, sign_ins, sign_ups};

/// Rows of one transaction: some milliseconds of a writer that all requests share.
const BATCH: i64 = 200;
/// Transactions for one kind in one run.
const BATCHES: usize = 500;

/// What gets old. Sessions stand before clients, which only go once they hold none.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Handshakes,
    SignIns,
    SignUps,
    SignInTokens,
    ActorTokens,
    RenewedTokens,
    Sessions,
    Clients,
    DevBrowsers,
}

const ALL: [Kind; 9] = [
    Kind::Handshakes,
    Kind::SignIns,
    Kind::SignUps,
    Kind::SignInTokens,
    Kind::ActorTokens,
    Kind::RenewedTokens,
    Kind::Sessions,
    Kind::Clients,
    Kind::DevBrowsers,
];

/// Deletes what is old at `now`, with a rest after each transaction.
pub async fn run(db: &Db, now: Time, pause: Duration) -> Result<()> {
    for kind in ALL {
        let mut deleted = 0;
        for _ in 0..BATCHES {
            let batch = db.write(move |tx| Box::pin(delete(tx, kind, now))).await?;
            deleted += batch;
            if batch < BATCH.unsigned_abs() {
                break;
            }
            tokio::time::sleep(pause).await;
        }
        if deleted > 0 {
            tracing::info!(deleted, "{deleted} old {kind:?} deleted");
        }
    }
    Ok(())
}

async fn delete(tx: &mut Tx, kind: Kind, now: Time) -> Result<u64> {
    let sessions_before = now.plus_ms(-SESSION_RETENTION_MS);
    let clients_before = now.plus_ms(-CLIENT_RETENTION_MS);
    match kind {
        Kind::Handshakes => handshakes::store::delete_old(tx, now, BATCH).await,
        Kind::SignIns => sign_ins::store::delete_old(tx, now, BATCH).await,
        Kind::SignUps => sign_ups::store::delete_old(tx, now, BATCH).await,
        // As long as sessions, for those who look into a case.
        Kind::SignInTokens => sign_in_tokens::store::delete_old(tx, sessions_before, BATCH).await,
        Kind::ActorTokens => actor_tokens::store::delete_old(tx, sessions_before, BATCH).await,
        Kind::RenewedTokens => sessions::store::delete_old_renewals(tx, now, BATCH).await,
        Kind::Sessions => sessions::store::delete_old(tx, sessions_before, BATCH).await,
        Kind::Clients => clients::store::delete_unused(tx, clients_before, BATCH).await,
        Kind::DevBrowsers => clients::store::delete_unused_dev_browsers(tx, clients_before, BATCH).await,
    }
}
