//! What changes of an account mean for its sessions.

use latchkey_base::kinds::SessionId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_people::notices;
use latchkey_people::users::change::{UserTarget, with_secrets};
use latchkey_people::users::credentials::Credentials;
use latchkey_people::users::model::User;
use latchkey_presence::sessions::model::{Session, SessionStatus};
use latchkey_presence::sessions::{ending, store};

use super::rules;

/// Sessions that only waited for what was just done count from now on. The user must be locked.
pub async fn settle(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    let live = store::lock_live_of_user(tx, &act.instance, &user.id, &act.settings, act.now).await?;
    let is_waiting = |session: &Session| session.status == SessionStatus::Pending || session.is_to_announce();
    for session in live.into_iter().filter(is_waiting) {
        ending::settle(tx, act, session, user).await?;
    }
    Ok(())
}

/// Changes the second factors of a user by a rule that also says the new backup codes. Sessions that waited for one
/// count from now on, and people who had none are told that they have one.
pub async fn change_factors<R>(
    tx: &mut Tx,
    act: &Act,
    target: &UserTarget,
    rule: R,
) -> Result<(User, Option<Vec<String>>)>
where
    R: FnOnce(User, Credentials) -> Result<(User, Credentials, Option<Vec<String>>)>,
{
    let told = |user: User, held| {
        let had_any = rules::has_second_factor(&user, &act.settings);
        rule(user, held).map(|(user, held, codes)| (user, held, (had_any, codes)))
    };
    let (user, (had_any, codes)) = with_secrets(tx, act, target, told).await?;
    settle(tx, act, &user).await?;
    if !had_any && rules::has_second_factor(&user, &act.settings) {
        notices::mfa_enabled(tx, act, &user).await?;
    }
    Ok((user, codes))
}

/// Notes that a second factor was proven in a session, unless that has ended meanwhile. The user must be locked.
pub async fn second_factor_proven(tx: &mut Tx, act: &Act, id: &SessionId) -> Result<()> {
    let session = store::lock(tx, &act.instance, id, &act.settings).await?;
    let mut session =
        session.filter(|session| session.is_live(act.now)).ok_or_else(|| Error::new(Code::SignedOut))?;
    session.second_factor_at = Some(act.now);
    store::save(tx, &session).await
}
