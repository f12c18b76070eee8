//! Taking a passkey away: its key, what is shown of it, and a word to its owner.

use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_people::identifications::rules as identifications;
use latchkey_people::notices;
use latchkey_people::users::change::{UserTarget, save_user};
use latchkey_people::users::model::User;

use super::store;

/// Takes a passkey away, unless `check` refuses, which sees the user before and after.
pub async fn remove(
    tx: &mut Tx,
    act: &Act,
    target: &UserTarget,
    id: &IdentificationId,
    check: fn(&User, &User, &Act) -> Result<()>,
) -> Result<()> {
    let before = target.lock(tx, act).await?;
    let removed = before.passkeys.iter().find(|passkey| passkey.id == *id);
    let removed = removed.ok_or_else(|| Error::new(Code::PasskeyNotRegistered))?;
    let after = identifications::without_passkey(before.clone(), id)?;
    check(&before, &after, act)?;
    store::delete(tx, &act.instance, &before.id, id).await?;
    let after = save_user(tx, act, &before, after).await?;
    notices::passkey_removed(tx, act, &after, &removed.name).await
}
