//! The SQL of attempts to sign in.

use latchkey_base::Result;
use latchkey_base::kinds::{ClientId, InstanceId, SignInId};
use latchkey_db::{DbError, Row, Table, Tx, Value};
use latchkey_kernel::aging::AgedRows;
use latchkey_kernel::document;

use super::model::SignIn;

static SIGN_INS: Table = Table::new("sign_ins", &["instance_id", "id"])
    .saved(&["document"])
    .fixed(&["client_id", "abandon_at"])
    .read(&["instance_id", "document"])
    .aged_by("abandon_at");

/// Attempts that are over.
pub const AGED: AgedRows = AgedRows {
    name: "sign-ins",
    kept_ms: 0,
    delete: |tx, before, limit| Box::pin(SIGN_INS.delete_old(tx, before, limit)),
};

/// One attempt, on whatever client it is.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &SignInId) -> Result<Option<SignIn>> {
    SIGN_INS.find(tx, &[instance.into(), id.into()], read).await
}

/// One attempt on a client.
pub async fn find_of_client(
    tx: &mut Tx,
    instance: &InstanceId,
    client: &ClientId,
    id: &SignInId,
) -> Result<Option<SignIn>> {
    let params = [instance.into(), id.into(), client.into()];
    Ok(tx.maybe(&[SIGN_INS.of_instance(), " AND id = $2 AND client_id = $3"], &params, read).await?)
}

/// One attempt on a client, to change it. The client must be locked first.
pub async fn lock_of_client(
    tx: &mut Tx,
    instance: &InstanceId,
    client: &ClientId,
    id: &SignInId,
) -> Result<Option<SignIn>> {
    let params = [instance.into(), id.into(), client.into()];
    Ok(tx.lock(&[SIGN_INS.of_instance(), " AND id = $2 AND client_id = $3"], &params, read).await?)
}

pub async fn insert(tx: &mut Tx, sign_in: &SignIn) -> Result<()> {
    SIGN_INS.insert(tx, &row(sign_in)?).await
}

/// Saves a changed attempt.
pub async fn save(tx: &mut Tx, sign_in: &SignIn) -> Result<()> {
    SIGN_INS.save(tx, &row(sign_in)?).await
}

/// Deletes an attempt another one takes the place of.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &SignInId) -> Result<()> {
    SIGN_INS.delete(tx, &[instance.into(), id.into()]).await?;
    Ok(())
}

fn row(sign_in: &SignIn) -> Result<Vec<Value>> {
    Ok(vec![
        (&sign_in.instance).into(),
        (&sign_in.id).into(),
        document::write(sign_in)?.into(),
        (&sign_in.client).into(),
        sign_in.abandon_at.into(),
    ])
}

fn read(row: &Row<'_>) -> Result<SignIn, DbError> {
    let sign_in: SignIn = document::read("sign-in", row.str(1)?)?;
    Ok(SignIn { instance: row.id(0)?, ..sign_in })
}
