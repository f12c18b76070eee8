//! The SQL of the tokens of connected accounts.

use latchkey_base::Result;
use latchkey_base::kinds::{ExternalAccountId, InstanceId, UserId};
use latchkey_db::{Table, Tx};

static TOKENS: Table = Table::new("external_account_tokens", &["instance_id", "external_account_id"])
    .saved(&["sealed"])
    .fixed(&["user_id"])
    .read(&["sealed"]);

/// The tokens of an account, sealed.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &ExternalAccountId) -> Result<Option<String>> {
    TOKENS.find(tx, &[instance.into(), id.into()], |row| row.text(0)).await
}

/// The same, to change them: nobody else does until we commit.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &ExternalAccountId) -> Result<Option<String>> {
    TOKENS.lock(tx, &[instance.into(), id.into()], |row| row.text(0)).await
}

/// Keeps tokens in the place of those that were there.
pub async fn put(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    id: &ExternalAccountId,
    sealed: &str,
) -> Result<()> {
    TOKENS.put(tx, &[instance.into(), id.into(), sealed.into(), user.into()]).await
}

/// Keeps tokens in the place of these, and of no others: what was forgotten meanwhile stays forgotten. Says whether they
/// were still there.
pub async fn replace(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &ExternalAccountId,
    before: &str,
    sealed: &str,
) -> Result<bool> {
    let sql = "UPDATE external_account_tokens SET sealed = $4 \
               WHERE instance_id = $1 AND external_account_id = $2 AND sealed = $3";
    Ok(tx.run(&[sql], &[instance.into(), id.into(), before.into(), sealed.into()]).await? > 0)
}

/// Forgets the tokens of an account.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &ExternalAccountId) -> Result<()> {
    TOKENS.delete(tx, &[instance.into(), id.into()]).await?;
    Ok(())
}
