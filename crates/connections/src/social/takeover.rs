//! Giving an account to whoever has proven its address, where whoever made it never proved anything: that may have been a
//! stranger who waits for them. An account of which something else is proven is never given away
//! (`flows/accounts/unproven.rs`).

use latchkey_base::Result;
use latchkey_base::kinds::UserId;
use latchkey_db::Tx;
use latchkey_flows::accounts::sessions::Sessions;
use latchkey_flows::accounts::unproven;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_organizations::choices;
use latchkey_people::challenges::account::ProvenAccount;
use latchkey_people::external_accounts::{rules, store as tokens};
use latchkey_people::images;
use latchkey_people::users::change::{UserTarget, with_secrets};
use latchkey_people::users::model::User;

use crate::passkeys::store as passkeys;

/// Ends the sessions of a user, and takes away all by which somebody else could come in, what they said of themselves and
/// which organizations they chose. Nothing happens to whoever has proven the address or anything else in the meantime, or may
/// not sign in.
pub(super) async fn take_over(cx: &Cx, act: &Act, user: &UserId, account: ProvenAccount) -> Result<()> {
    let (act, user) = (act.clone(), user.clone());
    cx.write(move |tx| Box::pin(async move { take_over_in(tx, &act, user, &account).await })).await
}

async fn take_over_in(tx: &mut Tx, act: &Act, user: UserId, account: &ProvenAccount) -> Result<()> {
    let mut settling = Sessions::End.lock(tx, act, &[&user]).await?;
    let rule = |user: User, credentials| {
        if !account.proven_email().is_some_and(|address| is_unclaimed(&user, address, act)) {
            return Ok((user, credentials, None));
        }
        let before = user.clone();
        let held = (user, credentials);
        let (user, credentials) = rules::taken_over(held, account, &act.settings, act.now, &*act.rng)?;
        Ok((user, credentials, Some(before)))
    };
    let (_, before) = with_secrets(tx, act, &UserTarget::User(user), rule).await?;
    if let Some(before) = before {
        forget(tx, act, &before).await?;
        settling.settle(tx, act, &before.id).await?;
    }
    Ok(())
}

fn is_unclaimed(user: &User, address: &str, act: &Act) -> bool {
    unproven::has_unproven(user, address, act) && !user.has_proven_anything()
}

/// Deletes what belongs to accounts, passkeys and the picture that are taken away, and forgets what was chosen.
async fn forget(tx: &mut Tx, act: &Act, before: &User) -> Result<()> {
    for account in &before.external_accounts {
        tokens::delete(tx, &act.instance, &account.id).await?;
    }
    for passkey in &before.passkeys {
        passkeys::delete(tx, &act.instance, &before.id, &passkey.id).await?;
    }
    images::delete_all(tx, &act.instance, &before.id).await?;
    choices::forget(tx, &act.instance, &before.id).await
}
