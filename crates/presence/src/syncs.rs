//! Syncs: browsers on their way from the primary domain to a satellite, where they are to be known as the same
//! client.

use latchkey_base::kinds::{ClientId, InstanceId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Table, Tx};
use latchkey_jose::digest::sha256;
use latchkey_kernel::aging::AgedRows;

static SYNCS: Table = Table::new("syncs", &["instance_id", "token_digest"])
    .fixed(&["satellite", "state_digest", "client_id", "redirect_url", "expire_at", "is_used"])
    .aged_by("expire_at");

/// Those whose time is over.
pub const AGED: AgedRows = AgedRows {
    name: "syncs",
    kept_ms: 0,
    delete: |tx, before, limit| Box::pin(SYNCS.delete_old(tx, before, limit)),
};

/// A browser that the primary domain vouches for, on its way to a satellite.
pub struct Sync {
    pub instance: InstanceId,
    /// The name of the satellite domain.
    pub satellite: String,
    /// The digest of what the satellite knows the browser by.
    pub state_digest: Vec<u8>,
    pub client: Option<ClientId>,
    /// Where it goes afterwards.
    pub redirect_url: String,
    /// Until when it may arrive.
    pub expire_at: Time,
}

/// What became of a token that was shown.
pub enum Taken {
    /// It was good, and never will be again.
    Now {
        /// The client it stands for.
        client: Option<ClientId>,
        /// Where the browser goes.
        redirect_url: String,
    },
    /// It was used before.
    Before,
    /// It is unknown, too old, or for another satellite or browser.
    Never,
}

/// Keeps a sync until the browser arrives.
pub async fn insert(tx: &mut Tx, sync: &Sync, token: &str) -> Result<()> {
    let digest = sha256(token.as_bytes());
    let row = [
        (&sync.instance).into(),
        digest.as_slice().into(),
        sync.satellite.as_str().into(),
        sync.state_digest.as_slice().into(),
        sync.client.as_ref().into(),
        sync.redirect_url.as_str().into(),
        sync.expire_at.into(),
        false.into(),
    ];
    SYNCS.insert(tx, &row).await
}

/// Uses a token up. One that is shown at another satellite or by another browser stays good for its own.
pub async fn take(
    tx: &mut Tx,
    instance: &InstanceId,
    satellite: &str,
    token: &str,
    state_digest: &[u8],
    now: Time,
) -> Result<Taken> {
    let digest = sha256(token.as_bytes());
    let params =
        [instance.into(), digest.as_slice().into(), satellite.into(), state_digest.into(), now.into()];
    let sql = "UPDATE syncs SET is_used = TRUE WHERE instance_id = $1 AND token_digest = $2 AND satellite = $3 \
               AND state_digest = $4 AND expire_at > $5 AND is_used = FALSE RETURNING client_id, redirect_url";
    if let Some(taken) = tx.all(&[sql], &params, read).await?.into_iter().next() {
        return Ok(taken);
    }
    let sql = "SELECT is_used FROM syncs WHERE instance_id = $1 AND token_digest = $2 AND satellite = $3 \
               AND state_digest = $4 AND expire_at > $5";
    Ok(match tx.maybe(&[sql], &params, |row| row.bool(0)).await? {
        Some(true) => Taken::Before,
        Some(false) | None => Taken::Never,
    })
}

fn read(row: &Row<'_>) -> Result<Taken, DbError> {
    Ok(Taken::Now { client: row.maybe_id(0)?, redirect_url: row.text(1)? })
}
