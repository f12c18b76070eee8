//! The SQL of the tokens of connected accounts.

use latchkey_base::Result;
use latchkey_base::kinds::{ExternalAccountId, InstanceId, UserId};
use latchkey_db::{Table, Tx};

static TOKENS: Table = Table::new("external_account_tokens", &["instance_id", "external_account_id"])
    .saved(&["sealed"])
    .fixed(&["user_id"]);

/// The tokens of an account, sealed.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &ExternalAccountId) -> Result<Option<String>> {
    let sql =
        "SELECT sealed FROM external_account_tokens WHERE instance_id = $1 AND external_account_id = $2";
    Ok(tx.maybe(&[sql], &[instance.into(), id.into()], |row| row.text(0)).await?)
}

/// Keeps tokens in the place of those that were there.
pub async fn put(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    id: &ExternalAccountId,
    sealed: &str,
) -> Result<()> {
    let sql = "INSERT INTO external_account_tokens (instance_id, external_account_id, sealed, user_id) \
               VALUES ($1, $2, $3, $4) ON CONFLICT (instance_id, external_account_id) \
               DO UPDATE SET sealed = EXCLUDED.sealed";
    tx.run(&[sql], &[instance.into(), id.into(), sealed.into(), user.into()]).await?;
    Ok(())
}

/// Forgets the tokens of an account.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &ExternalAccountId) -> Result<()> {
    TOKENS.delete(tx, &[instance.into(), id.into()]).await?;
    Ok(())
}
