//! The socket for what groups above do when users have an e-mail address that was proven: with a new account, or
//! because they proved another one. It runs inside the transaction that writes the user.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::settings::Settings;

use super::model::User;

/// What a group above does with newly proven addresses. It may lock what comes behind users.
pub struct ProvenAddresses {
    /// Whether it does anything at an instance with these settings.
    pub is_wanted: fn(&Settings) -> bool,
    /// Does it. The addresses are the user's.
    pub run: for<'a> fn(&'a mut Tx, &'a Act, &'a User, Vec<String>) -> Done<'a>,
}

/// The end of what a group above does.
pub type Done<'a> = BoxFuture<'a, Result<()>>;

/// Whether anybody waits for addresses to be proven.
pub fn is_awaited(act: &Act) -> bool {
    act.registry.all::<ProvenAddresses>().iter().any(|hook| (hook.is_wanted)(&act.settings))
}

/// Tells of a user who was just created.
pub async fn created(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    tell(tx, act, user, proven(user).into_iter().collect()).await
}

/// Tells of a user who was just saved.
pub async fn changed(tx: &mut Tx, act: &Act, before: &User, after: &User) -> Result<()> {
    let had = proven(before);
    tell(tx, act, after, proven(after).into_iter().filter(|address| !had.contains(address)).collect()).await
}

async fn tell(tx: &mut Tx, act: &Act, user: &User, addresses: Vec<&str>) -> Result<()> {
    if addresses.is_empty() {
        return Ok(());
    }
    for hook in act.registry.all::<ProvenAddresses>() {
        if (hook.is_wanted)(&act.settings) {
            let addresses = addresses.iter().map(|&address| address.to_owned()).collect();
            (hook.run)(tx, act, user, addresses).await?;
        }
    }
    Ok(())
}

fn proven(user: &User) -> BTreeSet<&str> {
    let proven = user.email_addresses.all.iter().filter(|address| address.is_verified());
    proven.map(|address| address.value.as_str()).collect()
}
