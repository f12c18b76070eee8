//! The SQL of attempts to sign up.

use latchkey_base::kinds::{InstanceId, SignUpId};
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, Row, Tx};

use super::model::SignUp;
use crate::document;

const SELECT: &str = "SELECT instance_id, document FROM sign_ups";

/// One attempt.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &SignUpId) -> Result<Option<SignUp>> {
    let params = [instance.into(), id.into()];
    Ok(tx.maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// One attempt, to change it. Its client must be locked first.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &SignUpId) -> Result<Option<SignUp>> {
    let params = [instance.into(), id.into()];
    Ok(tx.lock(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// Adds an attempt.
pub async fn insert(tx: &mut Tx, sign_up: &SignUp) -> Result<()> {
    let sql =
        "INSERT INTO sign_ups (instance_id, id, client_id, document, abandon_at) VALUES ($1, $2, $3, $4, $5)";
    let params = [
        (&sign_up.instance).into(),
        (&sign_up.id).into(),
        (&sign_up.client).into(),
        document::write(sign_up)?.into(),
        sign_up.abandon_at.into(),
    ];
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Saves a changed attempt.
pub async fn save(tx: &mut Tx, sign_up: &SignUp) -> Result<()> {
    let sql = "UPDATE sign_ups SET document = $3 WHERE instance_id = $1 AND id = $2";
    let params = [(&sign_up.instance).into(), (&sign_up.id).into(), document::write(sign_up)?.into()];
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Deletes an attempt another one takes the place of.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &SignUpId) -> Result<()> {
    let sql = "DELETE FROM sign_ups WHERE instance_id = $1 AND id = $2";
    tx.run(&[sql], &[instance.into(), id.into()]).await?;
    Ok(())
}

/// Deletes up to `limit` attempts that were over before `before`. Says how many.
pub async fn delete_old(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM sign_ups WHERE (instance_id, id) IN (SELECT instance_id, id FROM sign_ups \
               WHERE abandon_at < $1 ORDER BY abandon_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

fn read(row: &Row<'_>) -> Result<SignUp, DbError> {
    let mut sign_up: SignUp = document::read("sign-up", row.str(1)?)?;
    sign_up.instance =
        Id::parse(row.str(0)?).ok_or_else(|| DbError::Failed("a sign-up without instance".into()))?;
    Ok(sign_up)
}
