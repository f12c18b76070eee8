//! Which expired tokens of sessions were renewed: each is renewed once.

use latchkey_base::{Result, Time};
use latchkey_db::{Table, Tx};
use latchkey_kernel::aging::AgedRows;

use crate::sessions::model::Session;

static RENEWED_TOKENS: Table = Table::new("renewed_tokens", &["instance_id", "token_digest"])
    .fixed(&["session_id", "expire_at"])
    .aged_by("expire_at");

/// Notes about tokens that are too old to be renewed.
pub const AGED: AgedRows = AgedRows {
    name: "notes about renewed tokens",
    kept_ms: 0,
    delete: |tx, before, limit| Box::pin(RENEWED_TOKENS.delete_old(tx, before, limit)),
};

/// Notes that a token of a session was renewed. Says whether it was for the first time.
pub async fn renew(tx: &mut Tx, session: &Session, digest: &[u8], expire_at: Time) -> Result<bool> {
    let row = [(&session.instance).into(), digest.into(), (&session.id).into(), expire_at.into()];
    RENEWED_TOKENS.insert_new(tx, &row).await
}
