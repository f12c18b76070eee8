//! How somebody comes to be signed in: the last step of signing in, of signing up, and of what backends do.

use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::client_handle::ClientHandle;
use latchkey_kernel::cx::Act;
use latchkey_kernel::limits::{SESSIONS_OPENED_DAILY, SESSIONS_OPENED_MS};
use latchkey_organizations::choices::{self, ChosenOrganization};
use latchkey_organizations::memberships::store as memberships;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::store as clients;
use latchkey_presence::clients::token::ClientProof;
use latchkey_presence::sessions::model::{Session, SessionStatus};
use latchkey_presence::sessions::rules::{self, Entry};
use latchkey_presence::sessions::{activity, ending, notices, store};

/// When to try again after too many sessions of a day.
const AGAIN_AFTER_SECONDS: i64 = 3600;

/// A session that was just opened.
pub struct NewSession {
    /// The client it is on, saved.
    pub client: Client,
    pub session: Session,
    pub user: User,
}

/// Opens a session of a user on the client of the request, which gets a new secret. Both must be locked, the client
/// first. The attempts under way on the client are over with it.
pub async fn open(
    tx: &mut Tx,
    act: &Act,
    handle: &ClientHandle,
    client: Client,
    user: User,
    entry: Entry,
    strategy: Option<&str>,
) -> Result<(NewSession, ClientProof)> {
    let before = client.clone();
    let opened = open_on_other_client(tx, act, client, user, entry, strategy).await?;
    let NewSession { client, session, user } = opened;
    let (client, proof) = handle.rotate(tx, &before, (client, &session.id), act).await?;
    Ok((NewSession { client, session, user }, proof))
}

/// The same on a client that is not that of the request, as when a link is opened in another browser. That client
/// keeps its secret: a new one could not reach it.
pub async fn open_on_other_client(
    tx: &mut Tx,
    act: &Act,
    client: Client,
    user: User,
    entry: Entry,
    strategy: Option<&str>,
) -> Result<NewSession> {
    let is_acted = entry.actor.is_some();
    if !is_acted {
        check_daily(tx, act, &user).await?;
    }
    // Somebody who was here before, on a client that has not seen them.
    let is_new_device = !is_acted && user.last_sign_in_at.is_some() && !client.known_users.contains(&user.id);
    // First of all: the events about sessions show the user as they are from now on.
    let user = match is_acted {
        true => user,
        false => signed_in(tx, act, user).await?,
    };
    let entry = beginning(tx, act, &user, entry).await?;
    let client = make_room(tx, act, client).await?;
    ending::make_room_of_user(tx, act, &user.id).await?;
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
    Ok(NewSession { client, session, user })
}

/// How a session begins: with the organization that was asked for, if the user is still a member of it, else with the one
/// they chose or joined last. What was asked for is their own choice unless somebody acts as them.
async fn beginning(tx: &mut Tx, act: &Act, user: &User, entry: Entry) -> Result<Entry> {
    let asked = match entry.organization.as_ref().filter(|_| act.settings.organizations.enabled) {
        Some(id) => memberships::find_active(tx, &act.instance, id.as_str(), &user.id).await?,
        None => None,
    };
    let active = match asked {
        Some(active) => {
            if entry.actor.is_none() {
                choices::note(tx, &act.instance, &user.id, Some(&active.organization.id)).await?;
            }
            Some(ChosenOrganization::of(&active.membership))
        }
        None => choices::next(tx, &act.instance, &user.id, &act.settings.organizations).await?,
    };
    Ok(Entry { active, ..entry })
}

/// Refuses somebody who has opened too many sessions today.
async fn check_daily(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    let since = act.now.plus_ms(-SESSIONS_OPENED_MS);
    let is_refused = !act.test_mode
        && store::count_begun(tx, &act.instance, &user.id, since, SESSIONS_OPENED_DAILY).await?
            >= SESSIONS_OPENED_DAILY;
    match is_refused {
        false => Ok(()),
        true => Err(Error::new(Code::TooManyRequests)
            .saying(format!("At most {SESSIONS_OPENED_DAILY} sessions in a day. Try again later."))
            .retry_after(AGAIN_AFTER_SECONDS)),
    }
}

/// Ends the oldest sessions of a client until it may have one more.
async fn make_room(tx: &mut Tx, act: &Act, client: Client) -> Result<Client> {
    let mut live = store::lock_live_of_client(tx, &client, &act.settings, act.now).await?;
    live.truncate((live.len() + 1).saturating_sub(act.settings.session.most_on_client()));
    ending::end_all(tx, act, client, live, SessionStatus::Replaced).await
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
