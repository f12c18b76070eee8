//! How somebody comes to be signed in: the last step of signing in, of signing up, and of what backends do.

use latchkey_base::Result;
use latchkey_base::secret::Secret;
use latchkey_db::Tx;

use crate::cx::Act;
use crate::frontend::visitor::Hold;
use crate::resources::clients::model::Client;
use crate::resources::clients::store as clients;
use crate::resources::messages::notices;
use crate::resources::sessions::model::{Session, Status};
use crate::resources::sessions::rules::{self, Entry};
use crate::resources::sessions::{activity, ending, store};
use crate::resources::users::model::User;
use crate::resources::users::store as users;

/// A session that was just opened, on a client that keeps its secret.
pub struct Begun {
    /// The client it is on, saved.
    pub client: Client,
    /// The session.
    pub session: Session,
    /// Its user.
    pub user: User,
}

/// A session that was just opened.
pub struct Opened {
    /// The client it is on, saved.
    pub client: Client,
    /// The session.
    pub session: Session,
    /// Its user.
    pub user: User,
    /// The client's new secret.
    pub secret: Secret,
}

/// Opens a session of a user on a client. Both must be locked, the client first. The attempts under way on
/// the client are over with it.
pub async fn open(
    tx: &mut Tx,
    act: &Act,
    hold: &Hold,
    client: Client,
    user: User,
    entry: Entry,
    strategy: Option<&str>,
) -> Result<Opened> {
    let Begun { client, session, user } = begin(tx, act, client, user, entry, strategy).await?;
    let secret = hold.rotate(tx, &client, act).await?;
    Ok(Opened { client, session, user, secret })
}

/// The same on a client that is not the one that asks, as when a link is opened in another browser: a new
/// secret would not reach it, and it would lose what it has.
pub async fn begin(
    tx: &mut Tx,
    act: &Act,
    client: Client,
    user: User,
    entry: Entry,
    strategy: Option<&str>,
) -> Result<Begun> {
    let is_acted = entry.actor.is_some();
    // Somebody who was here before, on a client that has not seen them.
    let is_new_device = !is_acted && user.last_sign_in_at.is_some() && !client.known_users.contains(&user.id);
    // First of all: the events about sessions show the user as they are from now on.
    let user = match is_acted {
        true => user,
        false => signed_in(tx, act, user).await?,
    };
    let client = match act.settings.session.single_session {
        true => {
            let live = store::lock_live_of_client(tx, &client, act.now).await?;
            ending::end_all(tx, act, client, live, Status::Replaced).await?
        }
        false => client,
    };
    let activity = activity::seen(&act.user_agent, &act.client_ip, act.now, &*act.rng);
    let session = rules::begin(&user, &client.id, entry, activity, &act.settings, act.now, &*act.rng);
    store::insert(tx, &session).await?;
    ending::announce(tx, act, &session).await?;
    if let Some(seen) = session.activity.as_ref().filter(|_| is_new_device) {
        notices::new_device(tx, act, &user, seen, strategy).await?;
    }
    // Whoever acts as somebody is not that somebody: the client does not come to know them.
    let mut client = if is_acted { client } else { client.knows(&user.id) };
    client.last_active_session = Some(session.id.clone());
    client.sign_in = None;
    client.sign_up = None;
    client.updated_at = act.now;
    if let Some(strategy) = strategy {
        client.last_authentication_strategy = Some(strategy.to_owned());
    }
    clients::save(tx, &client, act.now).await?;
    Ok(Begun { client, session, user })
}

/// Notes that a user signed in: earlier failures no longer count.
async fn signed_in(tx: &mut Tx, act: &Act, before: User) -> Result<User> {
    let now = act.now;
    let mut user = before.clone();
    user.last_sign_in_at = Some(now);
    user.last_active_at = Some(now);
    user.failed_attempts = 0;
    user.lock = None;
    users::save(tx, &before, &user).await?;
    Ok(user)
}
