//! Handshakes: cookies on their way from the Frontend API to an app's backend, fetched by a nonce.

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Result, Time};
use latchkey_db::{Row, Table, Tx};
use latchkey_jose::digest::sha256;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::aging::AgedRows;

static HANDSHAKES: Table = Table::new("handshakes", &["instance_id", "nonce_digest"])
    .fixed(&["directives_sealed", "is_good_once", "expire_at"])
    .aged_by("expire_at");

/// Those that nobody can fetch any more.
pub const AGED: AgedRows = AgedRows {
    name: "handshakes",
    kept_ms: 0,
    delete: |tx, before, limit| Box::pin(HANDSHAKES.delete_old(tx, before, limit)),
};

/// What directives are sealed for.
const SEALED_FOR: &str = "handshake";

/// What a handshake leaves for a backend.
pub struct StoredHandshake<'a> {
    /// By which it is fetched.
    pub nonce: &'a str,
    /// Complete `Set-Cookie` lines.
    pub directives: &'a [String],
    /// Whether it can be fetched once only.
    pub is_good_once: bool,
    /// Until when it can be fetched.
    pub expire_at: Time,
}

/// Keeps directives for a backend.
pub async fn insert(
    tx: &mut Tx,
    instance: &InstanceId,
    handshake: &StoredHandshake<'_>,
    master: &MasterKey,
) -> Result<()> {
    let plain = serde_json::to_vec(handshake.directives).map_err(Error::internal)?;
    let sealed = master.seal(SEALED_FOR, &plain).map_err(Error::internal)?;
    let digest = sha256(handshake.nonce.as_bytes());
    let row = [
        instance.into(),
        digest.as_slice().into(),
        sealed.into(),
        handshake.is_good_once.into(),
        handshake.expire_at.into(),
    ];
    HANDSHAKES.insert(tx, &row).await
}

/// Fetches directives. Of several who try at once, one gets those that are good once.
pub async fn fetch(
    tx: &mut Tx,
    instance: &InstanceId,
    nonce: &str,
    now: Time,
    master: &MasterKey,
) -> Result<Option<Vec<String>>> {
    let digest = sha256(nonce.as_bytes());
    let sql = "UPDATE handshakes SET expire_at = CASE WHEN is_good_once THEN 0 ELSE expire_at END \
               WHERE instance_id = $1 AND nonce_digest = $2 AND expire_at > $3 RETURNING directives_sealed";
    let params = [instance.into(), digest.as_slice().into(), now.into()];
    let fetched = tx.all(&[sql], &params, |row: &Row<'_>| row.bytes(0)).await?;
    let Some(sealed) = fetched.into_iter().next() else { return Ok(None) };
    let plain = master.open(SEALED_FOR, &sealed).map_err(Error::internal)?;
    Ok(Some(serde_json::from_slice(&plain).map_err(Error::internal)?))
}
