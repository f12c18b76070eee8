//! Changes of connected accounts, inside a transaction: the user and the tokens together.

use latchkey_base::kinds::ExternalAccountId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;

use super::{rules, store, tokens};
use crate::challenges::account::ProvenAccount;
use crate::challenges::model::Challenge;
use crate::users::change::save_user;
use crate::users::model::User;

/// Takes a connected account away from a user, who must be locked, and its tokens with it.
pub async fn disconnect(tx: &mut Tx, act: &Act, before: &User, id: &str) -> Result<User> {
    let (after, account) = rules::without(before.clone(), id)?;
    let user = save_user(tx, act, before, after).await?;
    store::delete(tx, &act.instance, &account.id).await?;
    Ok(user)
}

/// Connects an account that was proven to a user, who must be locked. Without new tokens the old ones stay.
pub async fn connect(
    tx: &mut Tx,
    act: &Act,
    before: User,
    account: ProvenAccount,
    proof: Challenge,
    given: Option<&str>,
) -> Result<User> {
    let (after, id) = rules::connected(before.clone(), account, proof, act.now, &*act.rng);
    let user = save_user(tx, act, &before, after).await?;
    if let Some(sealed) = given {
        keep_tokens(tx, act, &user, &id, sealed).await?;
    }
    Ok(user)
}

/// Keeps the sealed tokens that a provider gave for an account of a user, who must be locked. What it gave before and does
/// not give each time stays.
pub async fn keep_tokens(
    tx: &mut Tx,
    act: &Act,
    user: &User,
    id: &ExternalAccountId,
    sealed: &str,
) -> Result<()> {
    let held = user.external_accounts.iter().find(|held| held.id == *id);
    let held = held.ok_or_else(|| Error::new(Code::ExternalAccountNotFound))?;
    // Locked, because backends renew tokens without locking the user.
    let kept = match store::lock(tx, &act.instance, id).await? {
        Some(before) => tokens::replaced(&act.master, &held.account, &before, sealed)?,
        None => sealed.to_owned(),
    };
    store::put(tx, &act.instance, &user.id, id, &kept).await
}
