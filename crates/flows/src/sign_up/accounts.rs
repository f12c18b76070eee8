//! Signing up by an account at another provider: what is asked for, and what the provider says of somebody.

use latchkey_base::kinds::{ClientId, SignUpId};
use latchkey_base::text::{fold, username_problem};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::VERIFICATION_MS;
use latchkey_people::challenges::account::ProvenAccount;
use latchkey_people::challenges::model::{Challenge, Newcomer, State};
use latchkey_people::challenges::rules::failure;
use latchkey_people::external_accounts::rules::from_provider;
use latchkey_people::users::model::ContactKind;
use latchkey_people::users::store as users;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::store as clients;
use latchkey_presence::sign_ups::model::{Claimed, SignUp};
use latchkey_presence::sign_ups::{fields, rules as attempts, store};
use serde_json::{Map, Value};

use super::input::SignUpForm;
use super::step::{SignUpContext, StepOutcome, write_retrying_once};
use super::{complete, restrictions, rules};
use crate::accounts::unproven;
use crate::sign_in::registered::{failed, taken};
use crate::strategies::{self, ProofPurpose, ProofRequest, ProofVerdict, ShownProof};

/// What is asked of somebody who wants to sign up by an account elsewhere, if they do: where to go, or nothing more if they
/// have shown a token of the provider.
pub async fn asked(
    cx: &Cx,
    visitor: &Visitor,
    id: &SignUpId,
    form: &SignUpForm,
    fields: &Map<String, Value>,
) -> Result<Option<Challenge>> {
    let name = form.strategy.as_deref().unwrap_or_default();
    let found = strategies::find(&cx.app.product.registry, name, &visitor.site.settings);
    let Some((strategy, factor)) = found.filter(|(_, factor)| factor.is_account()) else {
        return Ok(None);
    };
    if factor.is_shown_at_once(name) {
        let shown = ShownProof {
            visitor,
            strategy,
            user: None,
            purpose: ProofPurpose::SignUp,
            challenge: None,
            code: None,
            fields,
        };
        return match factor.examine(cx, shown).await? {
            ProofVerdict::Nobody(newcomer) => {
                let expire_at = Some(cx.now.plus_ms(VERIFICATION_MS));
                let proven = Challenge::proven(strategy, cx.now);
                Ok(Some(Challenge { newcomer: Some(newcomer), expire_at, ..proven }))
            }
            ProofVerdict::Refused(refusal) => Err(refusal),
            ProofVerdict::User(..) | ProofVerdict::Maybe(..) => Err(Error::new(Code::ExternalAccountExists)),
        };
    }
    let request = ProofRequest {
        purpose: ProofPurpose::SignUp,
        visitor,
        strategy,
        attempt: id.as_str(),
        user: None,
        identifier: form.email_address.as_deref(),
        redirect_url: form.redirect_url.as_deref(),
        fields,
    };
    factor.prepare(cx, request).await.map(Some)
}

/// The attempt with what the provider says of somebody. Whoever is a user already, or may not sign up, is told so by the
/// proof.
pub async fn filled(tx: &mut Tx, act: &Act, before: SignUp, proof: Challenge) -> Result<SignUp> {
    let Some(newcomer) = proof.newcomer.clone() else {
        return Ok(SignUp { external_account: Some(proof), ..before });
    };
    let account = newcomer.account.clone().unwrap_or_default();
    if is_user(tx, act, &account).await? {
        let failure = Some(Box::new(failure(&Error::new(Code::ExternalAccountExists))));
        let external_account = Some(Challenge { transferable: true, failure, sealed: None, ..proof });
        return Ok(SignUp { external_account, ..before });
    }
    let entered = async {
        check_confirmable(act, &newcomer, &account)?;
        let after = with_account(tx, act, before.clone(), &newcomer, &account).await?;
        restrictions::check(tx, act, &after).await?;
        release(tx, act, &after, &account).await?;
        Ok::<_, Error>(after)
    };
    match entered.await {
        Ok(after) => {
            let verified_at = proof.verified_at.filter(|_| !newcomer.is_unconfirmed);
            let external_account = Some(Challenge { sealed: None, verified_at, ..proof });
            Ok(SignUp { external_account, ..after })
        }
        Err(refusal) if refusal.status() < 500 => {
            let unproven = Challenge { verified_at: None, newcomer: None, ..proof };
            Ok(SignUp { external_account: Some(failed(unproven, failure(&refusal))), ..before })
        }
        Err(error) => Err(error),
    }
}

/// Rejects an account that an app has not confirmed by its nonce and that nothing else could confirm: only a code to the
/// address that the provider vouches for can.
fn check_confirmable(act: &Act, newcomer: &Newcomer, account: &ProvenAccount) -> Result<()> {
    let has_address = act.settings.attributes.email_address.enabled && account.proven_email().is_some();
    if !newcomer.is_unconfirmed || has_address {
        Ok(())
    } else {
        Err(Error::new(Code::ExternalAccountEmailAddressVerificationRequired))
    }
}

/// Takes the address that the provider vouches for, and that is now the one of the attempt, off a user who has never proven it
/// and who is somebody else.
async fn release(tx: &mut Tx, act: &Act, sign_up: &SignUp, account: &ProvenAccount) -> Result<()> {
    let Some(address) = account.proven_email() else { return Ok(()) };
    let is_it = |claimed: &Claimed| claimed.is_verified() && fold(&claimed.value) == fold(address);
    match sign_up.email_address.as_ref().is_some_and(is_it) {
        true => unproven::release(tx, act, address).await,
        false => Ok(()),
    }
}

/// Whether somebody has the account, or its address. Where answers must not tell who has an account, an address counts
/// only if the provider vouches for it. Whoever has an address that they have not proven, and something else that they
/// have, is not whom the provider means.
async fn is_user(tx: &mut Tx, act: &Act, account: &ProvenAccount) -> Result<bool> {
    if users::is_held(tx, &act.instance, &account.provider, &account.provider_user_id).await? {
        return Ok(true);
    }
    match told_address(act, account) {
        Some(address) => {
            let kind = ContactKind::Email.name();
            let found = users::find_by_identifier(tx, &act.instance, kind, address).await?;
            let is_vouched = account.proven_email().is_some();
            Ok(found.is_some_and(|user| !is_vouched || !unproven::is_of_another(&user, address, act)))
        }
        None => Ok(false),
    }
}

fn told_address<'a>(act: &Act, account: &'a ProvenAccount) -> Option<&'a str> {
    match act.settings.attack_protection.enumeration_protection {
        true => account.proven_email(),
        false => account.email_address.as_deref(),
    }
}

/// Takes over names and addresses where the person has given none, as far as they are accepted here.
async fn with_account(
    tx: &mut Tx,
    act: &Act,
    mut sign_up: SignUp,
    newcomer: &Newcomer,
    account: &ProvenAccount,
) -> Result<SignUp> {
    let (settings, attributes) = (&act.settings, &act.settings.attributes);
    let given = |own: Option<String>, said: &Option<String>, is_used: bool| match own {
        Some(own) => Some(own),
        None => said.clone().filter(|_| is_used),
    };
    let first = newcomer.first_name.clone().or(account.first_name.clone());
    let last = newcomer.last_name.clone().or(account.last_name.clone());
    sign_up.first_name = given(sign_up.first_name, &first, attributes.first_name.enabled);
    sign_up.last_name = given(sign_up.last_name, &last, attributes.last_name.enabled);
    let told = told_address(act, account).filter(|_| attributes.email_address.enabled);
    if let Some(text) = told {
        // It was checked when the provider named it: what is refused now is kept out by the settings.
        let address = rules::claim(ContactKind::Email, text, settings, act.test_mode)?;
        let own = sign_up.email_address.take();
        let claimed = match own {
            // An invitation, or the person, says otherwise.
            Some(own) if own.value != address || own.is_verified() => own,
            _ => Claimed::new(address.clone()),
        };
        let is_vouched =
            account.proven_email().is_some() && claimed.value == address && !newcomer.is_unconfirmed;
        let verification = match is_vouched && !claimed.is_verified() {
            true => {
                let proof = Challenge::proven(from_provider(&account.provider)?, act.now);
                Some(Challenge { target: Some(address), ..proof })
            }
            false => claimed.verification.clone(),
        };
        sign_up.email_address = Some(Claimed { verification, ..claimed });
    }
    if let Some(name) = account.username.as_deref().filter(|_| attributes.username.enabled)
        && sign_up.username.is_none()
        && username_problem(name, settings.username.min_length, settings.username.max_length).is_none()
        && !users::is_held(tx, &act.instance, "username", name).await?
    {
        sign_up.username = Some(name.to_owned());
    }
    Ok(sign_up)
}

/// Takes a proof that a provider answers, by the digest of its secret. From then on nobody else can answer it.
pub async fn take_returned(
    tx: &mut Tx,
    context: SignUpContext,
    id: SignUpId,
    digest: String,
) -> Result<Challenge> {
    let (_, mut sign_up) = lock_returned(tx, &context, &id).await?;
    let asked = taken(sign_up.external_account.take(), &digest, context.act.now)?;
    sign_up.external_account = Some(asked.clone());
    store::save(tx, &sign_up).await?;
    Ok(asked)
}

/// Goes on with whom a provider has named, on the client that began.
pub async fn settle_returned(
    tx: &mut Tx,
    context: SignUpContext,
    id: SignUpId,
    asked: Challenge,
    newcomer: Newcomer,
) -> Result<StepOutcome> {
    let act = &context.act;
    let (client, sign_up) = lock_returned(tx, &context, &id).await?;
    if sign_up.external_account.as_ref() != Some(&asked) {
        return Err(Error::new(Code::OauthCallbackInvalid));
    }
    rules::admit(&act.settings, sign_up.is_invited)?;
    let proof = Challenge {
        newcomer: Some(Box::new(newcomer)),
        verified_at: Some(act.now),
        attempts: asked.attempts + 1,
        details: Map::new(),
        ..asked
    };
    let sign_up = filled(tx, act, sign_up, proof).await?;
    store::save(tx, &sign_up).await?;
    match sign_up.newcomer().is_some() && fields::progress(&sign_up, &act.settings).is_complete() {
        true => {
            let is_same = context.client.id() == Some(&client.id);
            complete::complete(tx, act, is_same.then_some(&context.client), client, sign_up).await
        }
        false => Ok(StepOutcome { client, secret: None, sign_up, refusal: None }),
    }
}

/// Goes on for an app that shows what it was told when somebody came back from a provider.
pub async fn take_return(
    cx: &Cx,
    visitor: &Visitor,
    context: SignUpContext,
    id: SignUpId,
    nonce: String,
) -> Result<StepOutcome> {
    let (client, asked) = find_returned(cx, visitor, &id).await?;
    let unknown = || Error::not_found("sign-up", &id);
    if visitor.require_client()?.id != client {
        return Err(unknown());
    }
    let asked = asked.ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    if asked.state(cx.now) == State::Expired {
        return Err(Error::new(Code::VerificationExpired));
    }
    let found = strategies::find(&cx.app.product.registry, asked.strategy.name(), &visitor.site.settings);
    let (strategy, factor) = found.ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let fields = Map::from_iter([(strategies::RETURN_NONCE.to_owned(), Value::String(nonce))]);
    let shown = ShownProof {
        visitor,
        strategy,
        user: None,
        purpose: ProofPurpose::SignUp,
        challenge: Some(&asked),
        code: None,
        fields: &fields,
    };
    match factor.examine(cx, shown).await? {
        ProofVerdict::Nobody(newcomer) => {
            write_retrying_once(cx, move |tx| Box::pin(settle_returned(tx, context, id, asked, *newcomer)))
                .await
        }
        ProofVerdict::Refused(refusal) => Err(refusal),
        ProofVerdict::User(..) | ProofVerdict::Maybe(..) => Err(Error::new(Code::ExternalAccountExists)),
    }
}

/// Puts another challenge in the place of one that was taken, unless another request was faster.
pub async fn replace_returned(
    tx: &mut Tx,
    context: SignUpContext,
    id: SignUpId,
    asked: Challenge,
    held: Challenge,
) -> Result<()> {
    let (_, mut sign_up) = lock_returned(tx, &context, &id).await?;
    if sign_up.external_account.as_ref() != Some(&asked) {
        return Err(Error::new(Code::OauthCallbackInvalid));
    }
    sign_up.external_account = Some(held);
    store::save(tx, &sign_up).await
}

async fn lock_returned(tx: &mut Tx, context: &SignUpContext, id: &SignUpId) -> Result<(Client, SignUp)> {
    let (act, gone) = (&context.act, || Error::new(Code::OauthCallbackInvalid));
    let found = store::find(tx, &act.instance, id).await?.ok_or_else(gone)?;
    let client = clients::lock(tx, &act.instance, &found.client).await?.ok_or_else(gone)?;
    let sign_up = store::lock(tx, &act.instance, id).await?.ok_or_else(gone)?;
    Ok((client, attempts::open(sign_up, act.now).map_err(|_| gone())?))
}

/// The attempt that waits for the answer of a provider: its client, and what it waits for.
pub async fn find_returned(
    cx: &Cx,
    visitor: &Visitor,
    id: &SignUpId,
) -> Result<(ClientId, Option<Challenge>)> {
    let found = store::find(&mut cx.app.db.read().await?, &visitor.site.instance, id).await?;
    let sign_up = found.ok_or_else(|| Error::new(Code::OauthCallbackInvalid))?;
    Ok((sign_up.client, sign_up.external_account))
}
