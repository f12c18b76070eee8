//! What changes of an account mean for its sessions.

use latchkey_base::Result;
use latchkey_base::kinds::SessionId;
use latchkey_db::Tx;

use crate::cx::Act;
use crate::resources::messages::notices;
use crate::resources::sessions::model::Status;
use crate::resources::sessions::{ending, store};
use crate::resources::users::model::User;

/// Sessions that only waited for what was just done count from now on. The user must be locked.
pub async fn settle(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    let live = store::lock_live_of_user(tx, &act.instance, &user.id, act.now).await?;
    for session in live.into_iter().filter(|session| session.status == Status::Pending) {
        ending::settle(tx, act, session, user).await?;
    }
    Ok(())
}

/// Tells people who had no second factor that they have one now.
pub async fn tell_of_first_factor(tx: &mut Tx, act: &Act, had_any: bool, user: &User) -> Result<()> {
    match !had_any && user.has_second_factor() {
        true => notices::mfa_enabled(tx, act, user).await,
        false => Ok(()),
    }
}

/// Notes that a second factor was proven in a session. The user must be locked.
pub async fn second_factor_proven(tx: &mut Tx, act: &Act, id: &SessionId) -> Result<()> {
    match store::lock(tx, &act.instance, id).await? {
        Some(mut session) => {
            session.second_factor_at = Some(act.now);
            store::save(tx, &session).await
        }
        None => Ok(()),
    }
}
