//! Changes of users that take their sessions with them. Clients are locked before users, users before sessions.

use latchkey_base::Result;
use latchkey_base::kinds::UserId;
use latchkey_db::Tx;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_people::users::change::{UserTarget, changed};
use latchkey_people::users::model::User;
use latchkey_presence::sessions::closing::Clients;
use latchkey_presence::sessions::ending;
use latchkey_presence::sessions::model::SessionStatus;

/// What a change of a user means for their sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// They go on.
    Stay,
    /// They are revoked.
    End,
}

impl Sessions {
    /// They end if `wanted`.
    pub fn end_if(wanted: bool) -> Sessions {
        if wanted { Sessions::End } else { Sessions::Stay }
    }

    /// Locks the clients it takes, before any of the users is locked.
    pub async fn lock(self, tx: &mut Tx, act: &Act, users: &[&UserId]) -> Result<Settling> {
        match self {
            Sessions::Stay => Ok(Settling(None)),
            Sessions::End => Ok(Settling(Some(Clients::lock_of_users(tx, act, users, None).await?))),
        }
    }
}

/// What is to become of sessions, with the clients it takes locked.
pub struct Settling(Option<Clients>);

impl Settling {
    /// Does it to the sessions of a user. They must be locked, and every other user that will be.
    pub async fn settle(&mut self, tx: &mut Tx, act: &Act, user: &UserId) -> Result<()> {
        match &mut self.0 {
            None => Ok(()),
            Some(clients) => {
                ending::end_all_of_user(tx, act, clients, user, None, SessionStatus::Revoked).await
            }
        }
    }
}

/// Changes a user by a pure rule, and their sessions with them.
pub async fn change_and<R>(cx: &Cx, act: Act, id: UserId, rule: R, sessions: Sessions) -> Result<User>
where
    R: FnOnce(User, &Act) -> Result<User> + Send + 'static,
{
    cx.write(move |tx| Box::pin(async move { change_in(tx, &act, id, rule, sessions).await })).await
}

async fn change_in<R>(tx: &mut Tx, act: &Act, id: UserId, rule: R, sessions: Sessions) -> Result<User>
where
    R: FnOnce(User, &Act) -> Result<User> + Send,
{
    let mut settling = sessions.lock(tx, act, &[&id]).await?;
    let after = changed(tx, act, &UserTarget::User(id), rule).await?;
    settling.settle(tx, act, &after.id).await?;
    Ok(after)
}
