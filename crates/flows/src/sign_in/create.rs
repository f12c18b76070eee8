//! Beginning to sign in.

use latchkey_base::kinds::{IdentificationId, SignInId};
use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::client_handle::LockedClient;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::restrictions::check::check_typed;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_presence::clients::store as clients;
use latchkey_presence::sessions::model::Session;
use latchkey_presence::sign_ins::model::{ClaimedIdentity, Named, SignIn, SignInStep};
use latchkey_presence::sign_ins::store;
use latchkey_presence::sign_ups;
use serde_json::{Map, Value};

use super::attempt::{SignInAttempt, SignInContext};
use super::input::CreateSignIn;
use super::plan::{Identify, Plan, ShownAtOnce, SignInMethod, locale, plan};
use super::steps::{self, FactorRequest};
use super::{finish, registered, rules, ticket};
use crate::factors::evidence::{Evidence, Shown, examine_evenly};
use crate::strategies::{self, ProofPurpose, ProofRequest, ShownProof};

/// Begins an attempt, as far as the input goes.
pub async fn begin(
    cx: &Cx,
    visitor: &Visitor,
    input: CreateSignIn,
    fields: &Map<String, Value>,
) -> Result<SignInAttempt> {
    let context = SignInContext::new(cx, visitor);
    let id = SignInId::new(cx.now, &*cx.app.rng);
    let locale = locale(input.locale.as_deref());
    let name = input.strategy.as_deref().unwrap_or_default();
    let plan = match strategies::find(&cx.app.product.registry, name, context.settings()) {
        Some((strategy, factor)) if factor.is_shown_at_once(name) => {
            let shown = ShownProof {
                visitor,
                strategy,
                user: None,
                purpose: ProofPurpose::SignIn,
                challenge: None,
                code: None,
                fields,
            };
            let verdict = factor.examine(cx, shown).await?;
            Plan::Shown(Box::new(ShownAtOnce { factor, examined: (strategy, None), verdict }))
        }
        Some((strategy, factor)) => {
            let identifier = input.identifier.clone().value();
            let (identifier, redirect_url) = (identifier.as_deref(), input.redirect_url.as_deref());
            let attempt = id.as_str();
            let purpose = ProofPurpose::SignIn;
            let asked = ProofRequest {
                visitor,
                strategy,
                purpose,
                attempt,
                user: None,
                identifier,
                redirect_url,
                fields,
            };
            Plan::Registered(Box::new(factor.prepare(cx, asked).await?))
        }
        None => match plan(input, context.settings())? {
            Plan::Transfer => transferred(cx, visitor, fields).await?,
            plan => plan,
        },
    };
    let evidence = match &plan {
        Plan::Identify(Identify { identifier, named_by, way: SignInMethod::Password(password), .. }) => {
            let user = find(cx, visitor, *named_by, identifier).await?;
            let password = Some(password.clone());
            let shown = Shown { strategy: Strategy::Password, code: None, password, signature: None };
            match user.is_some() || context.is_guarded() {
                true => Some(examine_evenly(cx, &visitor.site, user.as_ref(), shown).await?),
                false => None,
            }
        }
        _ => None,
    };
    cx.write(move |tx| Box::pin(create(tx, context, id, plan, locale, evidence))).await
}

/// Goes on from an attempt to sign up by an account of somebody who is a user already.
async fn transferred(cx: &Cx, visitor: &Visitor, fields: &Map<String, Value>) -> Result<Plan> {
    let nothing = || Error::new(Code::AccountTransferInvalid);
    let client = visitor.client().ok_or_else(nothing)?;
    let mut tx = cx.app.db.read().await?;
    let challenge = sign_ups::transferable(&mut tx, client, cx.now).await?.ok_or_else(nothing)?;
    drop(tx);
    let (registry, settings) = (&cx.app.product.registry, &visitor.site.settings);
    let (strategy, factor) =
        strategies::find(registry, challenge.strategy.name(), settings).ok_or_else(nothing)?;
    let shown = ShownProof {
        visitor,
        strategy,
        user: None,
        purpose: ProofPurpose::Transfer,
        challenge: Some(&challenge),
        code: None,
        fields,
    };
    let verdict = factor.examine(cx, shown).await?;
    Ok(Plan::Shown(Box::new(ShownAtOnce { factor, examined: (strategy, Some(challenge)), verdict })))
}

/// Ends the attempt to sign up that this one goes on from, so that it can be taken over once.
async fn without_sign_up(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    examined: &Challenge,
) -> Result<SignInAttempt> {
    let found = sign_ups::transferable(tx, &attempt.client, context.act.now).await?;
    if found.as_ref() != Some(examined) {
        return Err(Error::new(Code::AccountTransferInvalid));
    }
    if let Some(id) = attempt.client.sign_up.take() {
        sign_ups::store::delete(tx, &context.act.instance, &id).await?;
    }
    Ok(attempt)
}

async fn find(cx: &Cx, visitor: &Visitor, named_by: Named, identifier: &str) -> Result<Option<User>> {
    let mut tx = cx.app.db.read().await?;
    users::find_by_identifier(&mut tx, &visitor.site.instance, index_name(named_by), identifier).await
}

async fn create(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    plan: Plan,
    locale: Option<String>,
    evidence: Option<Evidence>,
) -> Result<SignInAttempt> {
    let act = &context.act;
    let LockedClient { client, secret } = context.client.lock_or_create(tx, act).await?;
    let earlier = client.sign_in.clone();
    let sign_in = SignIn::new(&act.instance, id, &client.id, locale, act.now);
    let attempt = SignInAttempt { secret, ..SignInAttempt::new(client, sign_in) };
    let present = finish::present(tx, &context, &attempt.client).await?;
    let mut attempt = match plan {
        Plan::Begin => {
            rules::check_free(&present, None, context.settings())?;
            attempt
        }
        Plan::Registered(challenge) => {
            rules::check_free(&present, None, context.settings())?;
            let sign_in = SignIn { first_factor: Some(*challenge), ..attempt.sign_in };
            SignInAttempt { sign_in, ..attempt }
        }
        Plan::Shown(shown) => {
            rules::check_free(&present, None, context.settings())?;
            let ShownAtOnce { factor, examined, verdict } = *shown;
            let attempt = match &examined.1 {
                Some(begun) => without_sign_up(tx, &context, attempt, begun).await?,
                None => attempt,
            };
            let going_on = registered::go_on(tx, &context, attempt, &*factor, examined, verdict);
            match Box::pin(going_on).await? {
                // Nothing began that could be tried again.
                SignInAttempt { refusal: Some(refusal), .. } => return Err(refusal),
                attempt => attempt,
            }
        }
        Plan::Transfer => return Err(Error::new(Code::AccountTransferInvalid)),
        Plan::Ticket(shown) => Box::pin(ticket::redeem(tx, &context, attempt, &shown, &present)).await?,
        Plan::Identify(who) => {
            let attempt = Box::pin(identify(tx, &context, attempt, &who, &present)).await?;
            Box::pin(go_on(tx, &context, attempt, who.way, evidence)).await?
        }
    };
    if let Some(earlier) = earlier {
        store::delete(tx, &act.instance, &earlier).await?;
    }
    store::insert(tx, &attempt.sign_in).await?;
    if attempt.sign_in.step != SignInStep::Complete {
        attempt.client.sign_in = Some(attempt.sign_in.id.clone());
        clients::save(tx, &attempt.client, act.now).await?;
    }
    Ok(attempt)
}

/// Finds out who somebody says they are.
async fn identify(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    who: &Identify,
    present: &[Session],
) -> Result<SignInAttempt> {
    let (act, settings) = (&context.act, context.settings());
    rules::check_free(present, None, settings)?;
    let kind = index_name(who.named_by);
    let found = users::lock_by_identifier(tx, &act.instance, kind, &who.identifier).await?;
    if found.is_none() && !context.is_guarded() && !who.may_sign_up {
        return Err(Error::param(Code::FormIdentifierNotFound, "identifier"));
    }
    // Where answers must not tell who has an account, the same is asked when the address is proven. Somebody without an
    // account is asked when they go on to sign up.
    if let Some(user) = found.as_ref().filter(|_| !context.is_guarded()) {
        check_typed(tx, act, user, &who.identifier).await?;
    }
    attempt.sign_in.step = SignInStep::NeedsFirstFactor;
    attempt.sign_in.claim = Some(ClaimedIdentity {
        identifier: who.identifier.clone(),
        named_by: who.named_by,
        user: found.as_ref().map(|user| user.id.clone()),
        identification: found.as_ref().and_then(|user| held(user, who.named_by, &who.identifier)),
        may_sign_up: who.may_sign_up,
        is_known: found.as_ref().is_some_and(|user| attempt.client.known_users.contains(&user.id)),
    });
    attempt.user = match found {
        Some(user) => rules::admitted(user, attempt.sign_in.step, settings, act.now)?,
        None => None,
    };
    rules::check_free(present, attempt.user.as_ref().map(|user| &user.id), settings)?;
    Ok(attempt)
}

/// Goes on to proving who somebody is, if they want to at once.
async fn go_on(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    way: SignInMethod,
    evidence: Option<Evidence>,
) -> Result<SignInAttempt> {
    match way {
        SignInMethod::Later => Ok(attempt),
        SignInMethod::Password(_) => {
            // Without evidence the user came to be in this very moment; the next try will find them.
            let not_found = || Error::param(Code::FormIdentifierNotFound, "identifier");
            let evidence = evidence.ok_or_else(not_found)?;
            steps::try_first(tx, context, attempt, Strategy::Password, evidence).await
        }
        SignInMethod::Sent { strategy, redirect_url } => {
            let request = FactorRequest { strategy: Some(strategy), recipient: None, redirect_url };
            let sent = steps::send_first(tx, context, &attempt, strategy, request).await?;
            attempt.sign_in.links.note(&sent);
            attempt.sign_in.first_factor = Some(sent);
            Ok(attempt)
        }
    }
}

/// What an identifier is called in the index.
fn index_name(named_by: Named) -> &'static str {
    match named_by {
        Named::EmailAddress => "email_address",
        Named::PhoneNumber => "phone_number",
        Named::Wallet => "web3_wallet",
        Named::Username | Named::Ticket | Named::Proof => "username",
    }
}

/// Which of a user's identifications an identifier is.
fn held(user: &User, named_by: Named, identifier: &str) -> Option<IdentificationId> {
    let Some(kind) = named_by.kind() else {
        return user.username.as_ref().map(|username| username.id.clone());
    };
    let is_it = |value: &str| fold(value) == fold(identifier);
    let mut exclusive = user.contacts(kind).all.iter().filter(|contact| contact.is_exclusive());
    exclusive.find(|contact| is_it(&contact.value)).map(|contact| contact.id.clone())
}
