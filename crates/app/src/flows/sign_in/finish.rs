//! What happens when something is proven: the next step, or a session.

use latchkey_base::Result;
use latchkey_db::Tx;

use super::attempt::{Attempt, Stage};
use super::{password, rules};
use crate::flows::enter::{self, Begun, Opened};
use crate::flows::factors::rules::check_open;
use crate::resources::clients::model::Client;
use crate::resources::sessions::model::Session;
use crate::resources::sessions::rules::Entry;
use crate::resources::sessions::store as sessions;
use crate::resources::sign_ins::model::Step;
use crate::resources::users::credentials::Change;
use crate::resources::users::model::{Strategy, User};

/// Goes on after the first factor was proven, with a new password if one was chosen at once.
pub async fn after_first(
    tx: &mut Tx,
    stage: &Stage,
    mut attempt: Attempt,
    user: User,
    strategy: Strategy,
    new_password: Option<Change>,
) -> Result<Attempt> {
    let is_password_new = new_password.is_some();
    let user = match new_password {
        Some(change) => password::set(tx, &stage.act, user, change).await?,
        None => user,
    };
    attempt.sign_in.password_set_at = user.password.as_ref().map(|password| password.updated_at);
    let step = rules::after_first(&attempt.sign_in, &user, strategy, is_password_new, stage.settings());
    attempt.sign_in.step = step;
    match step {
        Step::Complete => complete(tx, stage, attempt, user).await,
        _ => {
            attempt.user = Some(user);
            Ok(attempt)
        }
    }
}

/// Opens the session of an attempt in which all that is asked for was proven.
pub async fn complete(tx: &mut Tx, stage: &Stage, attempt: Attempt, user: User) -> Result<Attempt> {
    check_open(&user, stage.act.now)?;
    let present = present(tx, stage, &attempt.client).await?;
    rules::check_free(&present, Some(&user.id), stage.settings())?;
    let second_factor = attempt.sign_in.second_factor.is_some();
    let entry = Entry { first_factor: true, second_factor, ..Entry::default() };
    open(tx, stage, attempt, user, entry).await
}

/// Opens a session.
pub async fn open(
    tx: &mut Tx,
    stage: &Stage,
    mut attempt: Attempt,
    user: User,
    entry: Entry,
) -> Result<Attempt> {
    let (act, client) = (&stage.act, attempt.client);
    let strategy = attempt.sign_in.first_factor.as_ref().map(|challenge| challenge.strategy.name());
    let (client, session, user, secret) = match attempt.is_elsewhere {
        true => {
            let Begun { client, session, user } =
                enter::begin(tx, act, client, user, entry, strategy).await?;
            (client, session, user, None)
        }
        false => {
            let Opened { client, session, user, secret } =
                enter::open(tx, act, &stage.hold, client, user, entry, strategy).await?;
            (client, session, user, Some(secret))
        }
    };
    attempt.sign_in.step = Step::Complete;
    attempt.sign_in.created_session = Some(session.id);
    Ok(Attempt { client, secret, user: Some(user), ..attempt })
}

/// Who is signed in on a client.
pub async fn present(tx: &mut Tx, stage: &Stage, client: &Client) -> Result<Vec<Session>> {
    let act = &stage.act;
    let live = sessions::live_of_client(tx, &act.instance, &client.id, act.now).await?;
    Ok(live.into_iter().map(|(session, _)| session).collect())
}
