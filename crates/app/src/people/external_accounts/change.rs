//! Changes of connected accounts, inside a transaction: the user and the tokens together.

use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;

use super::{rules, store};
use crate::people::challenges::account::ProvenAccount;
use crate::people::challenges::model::Challenge;
use crate::people::users::change::save_user;
use crate::people::users::model::User;

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
    tokens: Option<&str>,
) -> Result<User> {
    let (after, id) = rules::connected(before.clone(), account, proof, act.now, &*act.rng);
    let user = save_user(tx, act, &before, after).await?;
    if let Some(sealed) = tokens {
        store::put(tx, &act.instance, &user.id, &id, sealed).await?;
    }
    Ok(user)
}
