//! The last step: the user, their credentials, their first session and the events, all or nothing.

use latchkey_base::kinds::SessionId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::rules;
use super::step::Step;
use crate::cx::Act;
use crate::events::Event;
use crate::flows::enter::{self, Begun, Opened};
use crate::frontend::visitor::Hold;
use crate::resources::clients::model::Client;
use crate::resources::identifications::rules::taken_problem;
use crate::resources::sessions::rules::Entry;
use crate::resources::sessions::store as sessions;
use crate::resources::sign_ups::model::{Created, Password, SignUp};
use crate::resources::sign_ups::store;
use crate::resources::users::create;
use crate::resources::users::credentials::{Credentials, StoredPassword};
use crate::resources::users::model::User;
use crate::resources::users::rules::Setting;
use crate::resources::users::store as users;

/// Completes an attempt. The client must be locked; `hold` is there if it is the one that asks, which then
/// gets a new secret. Whoever was faster with one of the identifiers keeps it.
pub async fn complete(
    tx: &mut Tx,
    act: &Act,
    hold: Option<&Hold>,
    client: Client,
    mut sign_up: SignUp,
) -> Result<Step> {
    if let Some(error) = occupied(tx, act, &client).await? {
        return Ok(Step { client, secret: None, sign_up, refusal: Some(error) });
    }
    let on = Setting { instance: &act.instance, settings: &act.settings, now: act.now, rng: &*act.rng };
    let accepted = rules::accepted(&sign_up, &act.settings, act.test_mode);
    let user = match accepted.and_then(|()| rules::user(&sign_up, on)) {
        Ok(user) => user,
        // What was proven stays so; what does not fit the settings any more can still be changed.
        Err(error) => return Ok(Step { client, secret: None, sign_up, refusal: Some(error) }),
    };
    let taken = users::taken(tx, &user).await?.iter().map(|kind| taken_problem(kind)).collect();
    if let Err(error) = Error::collect(taken) {
        return Ok(Step { client, secret: None, sign_up, refusal: Some(error) });
    }
    tx.run_many(create::statements(act, &user, credentials(&sign_up))?).await?;
    act.emit_user(tx, Event::UserCreated, &user)?;
    let entry = Entry { first_factor: true, ..Entry::default() };
    let (client, session, secret) = enter(tx, act, hold, client, user.clone(), entry).await?;
    sign_up.created = Some(Created { user: user.id, session });
    sign_up.password = sign_up.password.map(|_| Password::Moved);
    store::save(tx, &sign_up).await?;
    Ok(Step { client, secret, sign_up, refusal: None })
}

/// Why nobody can sign up on a client now, if so: where a browser holds one session at a time, whoever is
/// signed in cannot, and they may have come while the attempt was under way.
pub async fn occupied(tx: &mut Tx, act: &Act, client: &Client) -> Result<Option<Error>> {
    let live = sessions::live_of_client(tx, &act.instance, &client.id, act.now).await?;
    let code = match live.iter().any(|(session, _)| session.actor.is_some()) {
        _ if live.is_empty() => None,
        _ if act.settings.session.single_session => Some(Code::SessionExists),
        true => Some(Code::SessionCreationNotAllowed),
        false => None,
    };
    Ok(code.map(Error::new))
}

/// Opens the first session. Nobody has signed in by it, so it is no way to sign in that pages could offer
/// next time.
async fn enter(
    tx: &mut Tx,
    act: &Act,
    hold: Option<&Hold>,
    client: Client,
    user: User,
    entry: Entry,
) -> Result<(Client, SessionId, Option<Secret>)> {
    match hold {
        Some(hold) => {
            let Opened { client, session, secret, .. } =
                enter::open(tx, act, hold, client, user, entry, None).await?;
            Ok((client, session.id, Some(secret)))
        }
        None => {
            let Begun { client, session, .. } = enter::begin(tx, act, client, user, entry, None).await?;
            Ok((client, session.id, None))
        }
    }
}

fn credentials(sign_up: &SignUp) -> Option<Credentials> {
    match &sign_up.password {
        Some(Password::Kept { digest, hasher }) => {
            let password = StoredPassword { digest: digest.clone(), hasher: hasher.clone() };
            Some(Credentials { password: Some(password), ..Credentials::default() })
        }
        Some(Password::Moved) | None => None,
    }
}
