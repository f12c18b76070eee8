//! The SQL of attempts to sign up.

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, SignUpId};
use latchkey_db::{DbError, Row, Table, Tx, Value};
use latchkey_kernel::aging::AgedRows;
use latchkey_kernel::document;

use super::model::SignUp;

static SIGN_UPS: Table = Table::new("sign_ups", &["instance_id", "id"])
    .saved(&["document"])
    .fixed(&["client_id", "abandon_at"])
    .read(&["instance_id", "document"])
    .aged_by("abandon_at");

/// Attempts that are over.
pub const AGED: AgedRows = AgedRows {
    name: "sign-ups",
    kept_ms: 0,
    delete: |tx, before, limit| Box::pin(SIGN_UPS.delete_old(tx, before, limit)),
};

/// One attempt.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &SignUpId) -> Result<Option<SignUp>> {
    SIGN_UPS.find(tx, &[instance.into(), id.into()], read).await
}

/// One attempt, to change it. Its client must be locked first.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &SignUpId) -> Result<Option<SignUp>> {
    SIGN_UPS.lock(tx, &[instance.into(), id.into()], read).await
}

pub async fn insert(tx: &mut Tx, sign_up: &SignUp) -> Result<()> {
    SIGN_UPS.insert(tx, &row(sign_up)?).await
}

/// Saves a changed attempt.
pub async fn save(tx: &mut Tx, sign_up: &SignUp) -> Result<()> {
    SIGN_UPS.save(tx, &row(sign_up)?).await
}

/// Deletes an attempt another one takes the place of.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &SignUpId) -> Result<()> {
    SIGN_UPS.delete(tx, &[instance.into(), id.into()]).await?;
    Ok(())
}

fn row(sign_up: &SignUp) -> Result<Vec<Value>> {
    Ok(vec![
        (&sign_up.instance).into(),
        (&sign_up.id).into(),
        document::write(sign_up)?.into(),
        (&sign_up.client).into(),
        sign_up.abandon_at.into(),
    ])
}

fn read(row: &Row<'_>) -> Result<SignUp, DbError> {
    let sign_up: SignUp = document::read("sign-up", row.str(1)?)?;
    Ok(SignUp { instance: row.id(0)?, ..sign_up })
}
