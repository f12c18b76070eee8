//! Addresses that somebody gave and never proved, once somebody else has proven them. Whose the account is that has the address,
//! the rest of it says: where nothing of it is proven, whoever made it may be a stranger to the address, and it goes to whoever
//! proves that (`connections/social/takeover.rs`). Where anything else is, it belongs to whoever proved that, and they lose the
//! address only.

use latchkey_base::Result;
use latchkey_base::text::fold;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_people::identifications::rules::without_address;
use latchkey_people::users::change::save_user;
use latchkey_people::users::model::{ContactKind, User};
use latchkey_people::users::store as users;

use crate::factors::rules::check_open;

/// Whether a user who may sign in has an address without having proven it.
pub fn has_unproven(user: &User, address: &str, act: &Act) -> bool {
    let contact = user.email_addresses.all.iter().find(|held| fold(&held.value) == fold(address));
    contact.is_some_and(|contact| !contact.is_verified()) && check_open(user, act.now).is_ok()
}

/// Whether somebody who has proven an address is another person than the user who has it unproven.
pub fn is_of_another(user: &User, address: &str, act: &Act) -> bool {
    has_unproven(user, address, act) && user.has_proven_anything()
}

/// Takes an address, which somebody has proven, off another user who has it unproven. Nothing else changes for them.
pub async fn release(tx: &mut Tx, act: &Act, address: &str) -> Result<()> {
    let kind = ContactKind::Email.name();
    let Some(before) = users::lock_by_identifier(tx, &act.instance, kind, address).await? else {
        return Ok(());
    };
    if is_of_another(&before, address, act) {
        save_user(tx, act, &before, without_address(before.clone(), address)).await?;
    }
    Ok(())
}
