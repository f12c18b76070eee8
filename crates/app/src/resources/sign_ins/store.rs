//! The SQL of attempts to sign in.

use latchkey_base::kinds::{ClientId, InstanceId, SignInId};
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, Row, Tx};

use super::model::SignIn;
use crate::document;

const SELECT: &str = "SELECT instance_id, document FROM sign_ins";

/// One attempt, on whatever client it is.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &SignInId) -> Result<Option<SignIn>> {
    let params = [instance.into(), id.into()];
    Ok(tx.maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// One attempt on a client.
pub async fn find_of_client(
    tx: &mut Tx,
    instance: &InstanceId,
    client: &ClientId,
    id: &SignInId,
) -> Result<Option<SignIn>> {
    let params = [instance.into(), id.into(), client.into()];
    Ok(tx.maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2 AND client_id = $3"], &params, read).await?)
}

/// One attempt on a client, to change it. The client must be locked first.
pub async fn lock_of_client(
    tx: &mut Tx,
    instance: &InstanceId,
    client: &ClientId,
    id: &SignInId,
) -> Result<Option<SignIn>> {
    let params = [instance.into(), id.into(), client.into()];
    Ok(tx.lock(&[SELECT, " WHERE instance_id = $1 AND id = $2 AND client_id = $3"], &params, read).await?)
}

/// Adds an attempt.
pub async fn insert(tx: &mut Tx, sign_in: &SignIn) -> Result<()> {
    let sql =
        "INSERT INTO sign_ins (instance_id, id, client_id, document, abandon_at) VALUES ($1, $2, $3, $4, $5)";
    let params = [
        (&sign_in.instance).into(),
        (&sign_in.id).into(),
        (&sign_in.client).into(),
        document::write(sign_in)?.into(),
        sign_in.abandon_at.into(),
    ];
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Saves a changed attempt.
pub async fn save(tx: &mut Tx, sign_in: &SignIn) -> Result<()> {
    let sql = "UPDATE sign_ins SET document = $3 WHERE instance_id = $1 AND id = $2";
    let params = [(&sign_in.instance).into(), (&sign_in.id).into(), document::write(sign_in)?.into()];
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Deletes an attempt another one takes the place of.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &SignInId) -> Result<()> {
    let sql = "DELETE FROM sign_ins WHERE instance_id = $1 AND id = $2";
    tx.run(&[sql], &[instance.into(), id.into()]).await?;
    Ok(())
}

/// Deletes up to `limit` attempts that were over before `before`. Says how many.
pub async fn delete_old(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM sign_ins WHERE (instance_id, id) IN (SELECT instance_id, id FROM sign_ins \
               WHERE abandon_at < $1 ORDER BY abandon_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

fn read(row: &Row<'_>) -> Result<SignIn, DbError> {
    let mut sign_in: SignIn = document::read("sign-in", row.str(1)?)?;
    let instance = Id::parse(row.str(0)?);
    sign_in.instance = instance.ok_or_else(|| DbError::Failed("a sign-in without instance".into()))?;
    Ok(sign_in)
}
