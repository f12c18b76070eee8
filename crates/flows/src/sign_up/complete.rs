//! The last step: the user, their credentials, their first session and the events, all or nothing.

use latchkey_base::kinds::SessionId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::client_handle::ClientHandle;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_people::challenges::account::ProvenAccount;
use latchkey_people::external_accounts::rules::connected;
use latchkey_people::external_accounts::store as external_accounts;
use latchkey_people::identifications::rules::taken_problem;
use latchkey_people::users::change::emit_user;
use latchkey_people::users::credentials::{Credentials, StoredPassword};
use latchkey_people::users::model::User;
use latchkey_people::users::rules::Setting;
use latchkey_people::users::{arrivals, create, store as users};
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::token::ClientProof;
use latchkey_presence::sessions::rules::Entry;
use latchkey_presence::sessions::store as sessions;
use latchkey_presence::sign_ups::model::{Created, Password, SignUp};
use latchkey_presence::sign_ups::store;

use super::step::StepOutcome;
use super::{restrictions, rules, tickets};
use crate::enter::{self, NewSession};

/// Completes an attempt. The client must be locked; `handle` is there if it is the one that asks, which then
/// gets a new secret. Whoever was faster with one of the identifiers keeps it.
pub async fn complete(
    tx: &mut Tx,
    act: &Act,
    handle: Option<&ClientHandle>,
    client: Client,
    mut sign_up: SignUp,
) -> Result<StepOutcome> {
    if let Some(error) = occupied(tx, act, &client).await? {
        return Ok(StepOutcome { client, secret: None, sign_up, refusal: Some(error) });
    }
    if let Err(error) = tickets::check(tx, act, &sign_up).await {
        return Ok(StepOutcome { client, secret: None, sign_up, refusal: Some(error) });
    }
    let on = Setting { instance: &act.instance, settings: &act.settings, now: act.now, rng: &*act.rng };
    let accepted = restrictions::check_complete(tx, act, &sign_up).await;
    let user = match accepted.and_then(|()| rules::user(&sign_up, on)) {
        Ok(user) => user,
        // What was proven stays so; what does not fit the settings any more can still be changed.
        Err(error) => return Ok(StepOutcome { client, secret: None, sign_up, refusal: Some(error) }),
    };
    let user = match sign_up.newcomer().and_then(|newcomer| newcomer.account.clone()) {
        Some(account) => with_account(&sign_up, user, account, act),
        None => user,
    };
    let taken = users::taken(tx, &user).await?.iter().map(|kind| taken_problem(kind)).collect();
    if let Err(error) = Error::collect(taken) {
        return Ok(StepOutcome { client, secret: None, sign_up, refusal: Some(error) });
    }
    tx.run_many(create::statements(act, &user, credentials(&sign_up))?).await?;
    if let (Some(account), Some(tokens)) = (user.external_accounts.first(), tokens(&sign_up)) {
        external_accounts::put(tx, &act.instance, &user.id, &account.id, tokens).await?;
    }
    emit_user(tx, act, Event::UserCreated, &user)?;
    let organization = tickets::follow(tx, act, &user, &sign_up).await?;
    arrivals::created(tx, act, &user).await?;
    let entry = Entry { first_factor: true, organization, ..Entry::default() };
    let (client, session, secret) = enter(tx, act, handle, client, user.clone(), entry).await?;
    sign_up.created = Some(Created { user: user.id, session });
    sign_up.password = sign_up.password.map(|_| Password::Moved);
    // What the provider gave lies with the account now.
    if let Some(newcomer) = sign_up.external_account.as_mut().and_then(|proof| proof.newcomer.as_mut()) {
        newcomer.tokens = None;
    }
    store::save(tx, &sign_up).await?;
    Ok(StepOutcome { client, secret, sign_up, refusal: None })
}

/// Why nobody can sign up on a client now, if so: where a browser holds one session at a time, whoever is
/// signed in cannot, and they may have come while the attempt was under way.
pub async fn occupied(tx: &mut Tx, act: &Act, client: &Client) -> Result<Option<Error>> {
    let live = sessions::live_of_client(tx, &act.instance, &client.id, &act.settings, act.now).await?;
    let code = match live.iter().any(|present| present.session.actor.is_some()) {
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
    handle: Option<&ClientHandle>,
    client: Client,
    user: User,
    entry: Entry,
) -> Result<(Client, SessionId, Option<ClientProof>)> {
    match handle {
        Some(handle) => {
            let (NewSession { client, session, .. }, secret) =
                enter::open(tx, act, handle, client, user, entry, None).await?;
            Ok((client, session.id, Some(secret)))
        }
        None => {
            let NewSession { client, session, .. } =
                enter::open_on_other_client(tx, act, client, user, entry, None).await?;
            Ok((client, session.id, None))
        }
    }
}

/// The user with the account at another provider by which they signed up.
fn with_account(sign_up: &SignUp, user: User, account: ProvenAccount, act: &Act) -> User {
    match &sign_up.external_account {
        Some(proof) => connected(user, account, proof.clone(), act.now, &*act.rng).0,
        None => user,
    }
}

fn tokens(sign_up: &SignUp) -> Option<&str> {
    sign_up.newcomer()?.tokens.as_deref()
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
