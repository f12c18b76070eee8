//! Connecting an account at another provider to somebody who is signed in.

use latchkey_base::kinds::{ClientId, ExternalAccountId, SessionId, UserId};
use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Result};
use latchkey_db::{Tx, unique_violation};
use latchkey_door::redirects::{self, Destination};
use latchkey_door::visitor::Visitor;
use latchkey_flows::sign_in::registered::{failed, taken};
use latchkey_flows::strategies::RETURN_NONCE;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::IDENTIFICATIONS_PER_KIND;
use latchkey_people::challenges::account::ProvenAccount;
use latchkey_people::challenges::links::digest;
use latchkey_people::challenges::model::{Challenge, Newcomer, State};
use latchkey_people::challenges::rules::failure;
use latchkey_people::external_accounts::{change, rules};
use latchkey_people::restrictions::check::check_added;
use latchkey_people::users::change::save_user;
use latchkey_people::users::model::{ContactKind, User};
use latchkey_people::users::store as users;
use latchkey_presence::sessions::store as sessions;

use super::attempts::kept;
use super::callback::Returned;
use super::returning::held;
use super::verdicts;

/// Takes the answer of a provider for an account that somebody wants to connect. From then on nobody else can answer.
pub(super) async fn take(
    cx: &Cx,
    visitor: &Visitor,
    user: UserId,
    digest: String,
) -> Result<(ExternalAccountId, Challenge)> {
    let (act, is_development) = (visitor.act(cx), visitor.site.is_development());
    let client = visitor.client_id();
    cx.write(move |tx| {
        Box::pin(async move { take_in(tx, &act, client.as_ref(), &user, &digest, is_development).await })
    })
    .await
}

async fn take_in(
    tx: &mut Tx,
    act: &Act,
    client: Option<&ClientId>,
    user: &UserId,
    digest: &str,
    is_development: bool,
) -> Result<(ExternalAccountId, Challenge)> {
    let invalid = || Error::new(Code::OauthCallbackInvalid);
    let live = match client {
        Some(client) => sessions::live_of_client(tx, &act.instance, client, &act.settings, act.now).await?,
        None => Vec::new(),
    };
    let before = users::lock(tx, &act.instance, user).await?.ok_or_else(invalid)?;
    let mut after = before.clone();
    let is_asked = |challenge: &Challenge| challenge.secret.as_deref() == Some(digest);
    let held = after.external_accounts.iter_mut().find(|held| held.challenge.as_ref().is_some_and(is_asked));
    let held = held.ok_or_else(invalid)?;
    let asked = taken(held.challenge.take(), digest, act.now)?;
    let kept = kept(act, &asked)?;
    check_begun(tx, act, kept.session.as_ref()).await?;
    // The session that began must have come back, and not another one of the same user: that may be a thief's, who has
    // proven nothing lately. Nobody else is made to connect an account of theirs either. Apps open a browser that nobody
    // is signed in on, and browsers of developers may have no cookie here.
    let is_own = live.iter().any(|present| Some(&present.session.id) == kept.session.as_ref());
    let is_nobody = live.is_empty() && (is_development || kept.is_native);
    if !is_own && !is_nobody {
        return Err(invalid());
    }
    held.challenge = Some(asked.clone());
    let id = held.id.clone();
    users::save(tx, &before, &after).await?;
    Ok((id, asked))
}

/// Connects the account, or notes why not. Returns where the browser goes. An account for a native app waits until the app
/// shows the nonce of its return URL, unless the account is the user's by something else: an attacker may have begun, and
/// sent the owner of the account to the provider.
pub(super) async fn settle(
    cx: &Cx,
    visitor: &Visitor,
    user: UserId,
    id: ExternalAccountId,
    mut returned: Returned,
) -> Result<Destination> {
    let act = visitor.act(cx);
    let newcomer = returned.newcomer(&act);
    let Returned { asked, kept, .. } = returned;
    let awaits_nonce = match &newcomer {
        Ok(newcomer) if newcomer.is_unconfirmed => !is_of_user(cx, &act, &user, newcomer).await?,
        _ => false,
    };
    let outcome = match newcomer {
        Ok(newcomer) if awaits_nonce => {
            let (nonce, waiting) = held(cx, &asked, newcomer);
            replace(cx, act, user, id, asked, waiting).await?;
            let there = redirects::allowed(cx, &visitor.site, Some(&kept.complete_url)).await?;
            return Ok(there.with(RETURN_NONCE, &nonce));
        }
        Ok(newcomer) => {
            let (act, user, id) = (act.clone(), user.clone(), id.clone());
            let began = kept.session.clone();
            let connected =
                cx.write(move |tx| Box::pin(connect_returned(tx, act, user, id, began, newcomer, None)));
            connected.await.map_err(claimed)
        }
        Err(error) => Err(error),
    };
    let url = match outcome {
        Ok(_) => kept.complete_url,
        Err(error) if error.status() >= 500 => return Err(error),
        Err(error) => {
            fail(cx, act, user, id, asked, &error).await?;
            kept.redirect_url
        }
    };
    redirects::allowed(cx, &visitor.site, Some(&url)).await
}

/// Refuses what was begun in a session that is over: whoever ended it ended what it began too.
async fn check_begun(tx: &mut Tx, act: &Act, began: Option<&SessionId>) -> Result<()> {
    let id = began.ok_or_else(|| Error::new(Code::OauthCallbackInvalid))?;
    let session = sessions::find(tx, &act.instance, id, &act.settings).await?;
    match session.is_some_and(|session| session.is_live(act.now)) {
        true => Ok(()),
        false => Err(Error::new(Code::OauthCallbackInvalid)),
    }
}

/// Connects the account that came back. `waiting` is the challenge that a nonce confirmed: if the user has begun anew for
/// the account since, nothing is connected.
async fn connect_returned(
    tx: &mut Tx,
    act: Act,
    user: UserId,
    id: ExternalAccountId,
    began: Option<SessionId>,
    newcomer: Newcomer,
    waiting: Option<Challenge>,
) -> Result<(User, ExternalAccountId)> {
    // Sessions end with their user locked.
    let locked = users::lock(tx, &act.instance, &user).await?;
    if waiting.is_some() {
        let accounts = locked.iter().flat_map(|user| user.external_accounts.iter());
        let current =
            accounts.filter(|account| account.id == id).find_map(|account| account.challenge.clone());
        if current != waiting {
            return Err(Error::new(Code::ClientStateInvalid));
        }
    }
    check_begun(tx, &act, began.as_ref()).await?;
    connect(tx, act, user, Some(id), newcomer).await
}

/// Somebody else was faster with the account or its address.
pub(super) fn claimed(error: Error) -> Error {
    match unique_violation(&error) {
        Some(_) => Error::new(Code::OauthIdentificationClaimed),
        None => error,
    }
}

/// Returns whether the account is connected to the user already, or has an address that both the provider and the user have
/// verified.
async fn is_of_user(cx: &Cx, act: &Act, user: &UserId, newcomer: &Newcomer) -> Result<bool> {
    let Some(account) = &newcomer.account else { return Ok(false) };
    let mut tx = cx.app.db.read().await?;
    let (provider, subject) = (&account.provider, &account.provider_user_id);
    let holder = users::find_by_identifier(&mut tx, &act.instance, provider, subject).await?;
    if let Some(holder) = holder {
        return Ok(holder.id == *user);
    }
    let user = users::find(&mut tx, &act.instance, user).await?;
    Ok(user.is_some_and(|user| verdicts::has_proven(&user, account.proven_email())))
}

/// Connects the account that waits for the nonce of a native app, while the session that began is live.
pub(super) async fn confirm(cx: &Cx, visitor: &Visitor, user: &User, nonce: &str) -> Result<()> {
    let (act, digest) = (visitor.act(cx), digest(nonce));
    let waits =
        |challenge: &Challenge| challenge.newcomer.is_some() && challenge.secret.as_deref() == Some(&*digest);
    let waiting = user.external_accounts.iter().find(|held| held.challenge.as_ref().is_some_and(waits));
    let invalid = || Error::new(Code::ClientStateInvalid);
    let held = waiting.ok_or_else(invalid)?;
    let asked = held.challenge.clone().ok_or_else(invalid)?;
    if asked.state(cx.now) == State::Expired {
        return Err(Error::new(Code::VerificationExpired));
    }
    let (began, id, user) = (kept(&act, &asked)?.session, held.id.clone(), user.id.clone());
    let newcomer = asked.newcomer.clone().ok_or_else(invalid)?;
    let confirmed = Newcomer { is_unconfirmed: false, ..*newcomer };
    let (in_tx, account, of_user, waiting) = (act.clone(), id.clone(), user.clone(), Some(asked.clone()));
    let connected = cx.write(move |tx| {
        let (act, user, id, waiting) = (in_tx, of_user, account, waiting);
        Box::pin(connect_returned(tx, act, user, id, began, confirmed, waiting))
    });
    match connected.await.map_err(claimed) {
        Ok(_) => Ok(()),
        Err(error) if error.status() >= 500 => Err(error),
        Err(error) => {
            fail(cx, act, user, id, asked, &error).await?;
            Err(error)
        }
    }
}

async fn fail(
    cx: &Cx,
    act: Act,
    user: UserId,
    id: ExternalAccountId,
    asked: Challenge,
    error: &Error,
) -> Result<()> {
    let unproven = Challenge { newcomer: None, ..asked.clone() };
    replace(cx, act, user, id, asked, failed(unproven, failure(error))).await
}

/// Puts another challenge in the place of one that was taken, unless another request was faster.
async fn replace(
    cx: &Cx,
    act: Act,
    user: UserId,
    id: ExternalAccountId,
    asked: Challenge,
    next: Challenge,
) -> Result<()> {
    cx.write(move |tx| Box::pin(async move { replace_in(tx, &act, &user, &id, (asked, next)).await })).await
}

async fn replace_in(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    id: &ExternalAccountId,
    (asked, next): (Challenge, Challenge),
) -> Result<()> {
    let Some(before) = users::lock(tx, &act.instance, user).await? else { return Ok(()) };
    let mut after = before.clone();
    let held = after.external_accounts.iter_mut().find(|held| &held.id == id);
    if let Some(held) = held.filter(|held| held.challenge.as_ref() == Some(&asked)) {
        held.challenge = Some(next);
        users::save(tx, &before, &after).await?;
    }
    Ok(())
}

/// Connects an account that was proven: the one that waits for it, or a new one. Returns the user and the account.
pub(super) async fn connect(
    tx: &mut Tx,
    act: Act,
    user: UserId,
    id: Option<ExternalAccountId>,
    newcomer: Newcomer,
) -> Result<(User, ExternalAccountId)> {
    let gone = || Error::new(Code::ExternalAccountNotFound);
    let account = newcomer.account.ok_or_else(gone)?;
    let before = users::lock(tx, &act.instance, &user).await?.ok_or_else(gone)?;
    check(tx, &act, &before, id.as_ref(), &account).await?;
    let after = with_address(tx, &act, before.clone(), &account).await?;
    let proof = verdicts::proof(&act, &account.provider)?;
    let (after, id) = match id {
        Some(id) => (rules::confirmed(after, &id, account, proof, act.now), id),
        None => rules::connected(after, account, proof, act.now, &*act.rng),
    };
    let user = save_user(tx, &act, &before, after).await?;
    if let Some(sealed) = &newcomer.tokens {
        change::keep_tokens(tx, &act, &user, &id, sealed).await?;
    }
    Ok((user, id))
}

/// Refuses an account that is somebody else's, another one than before, or one more of the same provider.
async fn check(
    tx: &mut Tx,
    act: &Act,
    user: &User,
    id: Option<&ExternalAccountId>,
    account: &ProvenAccount,
) -> Result<()> {
    let subject = &account.provider_user_id;
    let holder = users::find_by_identifier(tx, &act.instance, &account.provider, subject).await?;
    if holder.is_some_and(|holder| holder.id != user.id) {
        return Err(Error::new(Code::OauthIdentificationClaimed));
    }
    let of_provider = user
        .external_accounts
        .iter()
        .filter(|held| held.is_verified() && held.account.provider == account.provider);
    for held in of_provider {
        if Some(&held.id) != id || held.account.provider_user_id != *subject {
            return Err(Error::new(Code::OauthAccountAlreadyConnected));
        }
    }
    if let Some(id) = id
        && !user.external_accounts.iter().any(|held| held.id == *id)
    {
        return Err(Error::new(Code::ExternalAccountNotFound));
    }
    Ok(())
}

/// The user with the address that the provider vouches for, where users have addresses.
async fn with_address(tx: &mut Tx, act: &Act, user: User, account: &ProvenAccount) -> Result<User> {
    let attribute = &act.settings.attributes.email_address;
    let Some(address) = account.proven_email().filter(|_| attribute.enabled) else { return Ok(user) };
    let own = user.email_addresses.all.iter().find(|contact| fold(&contact.value) == fold(address));
    if own.is_some_and(|contact| contact.is_verified()) {
        return Ok(user);
    }
    if attribute.immutable && user.email_addresses.all.iter().any(|contact| contact.is_verified()) {
        return Err(Error::new(Code::OauthConnectionBlockedByImmutableAttribute));
    }
    if users::is_taken(tx, &user, ContactKind::Email, address).await? {
        return Err(Error::new(Code::OauthIdentificationClaimed));
    }
    if own.is_none() {
        let is_full = user.email_addresses.all.len() >= IDENTIFICATIONS_PER_KIND;
        let is_kept_out = check_added(tx, act, &user, (ContactKind::Email, address), false).await;
        match is_kept_out {
            Err(error) if error.status() >= 500 => return Err(error),
            // The account is theirs all the same; the address just does not become one here.
            Err(_) => return Ok(user),
            Ok(()) if is_full => return Ok(user),
            Ok(()) => (),
        }
    }
    rules::with_proven_address(user, address, &account.provider, act.now, &*act.rng)
}
