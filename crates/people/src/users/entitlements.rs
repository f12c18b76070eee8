//! Where groups above leave what somebody may use. Tokens show it from the next one on.

use latchkey_base::kinds::UserId;
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;

use super::model::{Entitlements, User};
use super::store;

/// Replaces what a user may use. No event tells of it: whoever sells it has events of their own.
pub async fn write(tx: &mut Tx, act: &Act, id: &UserId, entitlements: Entitlements) -> Result<()> {
    let found = store::lock(tx, &act.instance, id).await?;
    let before = found.ok_or_else(|| Error::not_found("user", id))?;
    let after = User { entitlements, ..before.clone() };
    store::save(tx, &before, &after).await
}
