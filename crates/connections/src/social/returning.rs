//! What becomes of an attempt to sign in or up when the browser is back from a provider.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::kinds::{ClientId, DevBrowserId, SessionId, SignInId, SignUpId};
use latchkey_base::{Code, Error, Result, rng};
use latchkey_door::cookies;
use latchkey_door::redirects::{self, Destination};
use latchkey_door::visitor::Visitor;
use latchkey_flows::sign_in::attempt::SignInContext;
use latchkey_flows::sign_in::registered;
use latchkey_flows::sign_up::step::{SignUpContext, write_retrying_once};
use latchkey_flows::sign_up::{self, accounts};
use latchkey_flows::strategies::{ProofVerdict, RETURN_NONCE};
use latchkey_jose::digest::sha256;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::hosts::is_for_dev_browsers;
use latchkey_people::challenges::links::digest;
use latchkey_people::challenges::model::{Challenge, Newcomer, State};
use latchkey_people::challenges::rules::failure;
use latchkey_presence::clients::store as clients;
use latchkey_presence::sessions::model::SessionStatus;
use latchkey_presence::sessions::store as sessions;
use latchkey_presence::sign_ins::model::SignInStep;
use latchkey_presence::sign_ins::store as sign_ins;

use super::attempts::{KeptAttempt, ProviderAccounts};
use super::callback::Returned;
use super::{popup, verdicts};

/// The attempt that waits for an answer: its client, and what it waits for.
pub(super) async fn find_sign_in(
    cx: &Cx,
    visitor: &Visitor,
    id: &SignInId,
) -> Result<(ClientId, Option<Challenge>)> {
    let found = sign_ins::find(&mut cx.app.db.read().await?, &visitor.site.instance, id).await?;
    let sign_in = found.ok_or_else(|| Error::new(Code::OauthCallbackInvalid))?;
    Ok((sign_in.client, sign_in.first_factor))
}

/// Goes on with an attempt to sign in. Returns where the browser goes.
pub(super) async fn to_sign_in(
    cx: &Cx,
    visitor: &mut Visitor,
    client: ClientId,
    id: SignInId,
    mut returned: Returned,
) -> Result<Destination> {
    let act = visitor.act(cx);
    let newcomer = returned.newcomer(&act);
    let Returned { asked, kept, .. } = returned;
    let at = SignInAt { client, id, asked, kept };
    let newcomer = match newcomer {
        Ok(newcomer) => newcomer,
        Err(error) => return at.fail(cx, visitor, error).await,
    };
    let verdict = match at.kept.is_native {
        true => verdicts::of(cx, &act, newcomer.clone()).await?,
        false => verdicts::acted_on(cx, &act, newcomer.clone()).await?,
    };
    match verdict {
        ProofVerdict::User(..) | ProofVerdict::Maybe(..) if at.kept.is_native => {
            at.hold(cx, visitor, newcomer).await
        }
        ProofVerdict::Nobody(_) if at.kept.is_native && at.kept.shows_every_nonce => {
            at.hold(cx, visitor, newcomer).await
        }
        ProofVerdict::Refused(error) => at.fail(cx, visitor, error).await,
        verdict => at.judge(cx, visitor, verdict).await,
    }
}

/// An attempt to sign in to which a provider has answered.
#[derive(Clone)]
struct SignInAt {
    client: ClientId,
    id: SignInId,
    asked: Challenge,
    kept: KeptAttempt,
}

impl SignInAt {
    async fn judge(self, cx: &Cx, visitor: &mut Visitor, verdict: ProofVerdict) -> Result<Destination> {
        let (context, at) = (SignInContext::new(cx, visitor), self.clone());
        let (factor, examined) = (Arc::new(ProviderAccounts), (at.asked.strategy, Some(at.asked)));
        let judged = cx.write(move |tx| {
            Box::pin(registered::judge_returned(tx, context, at.client, at.id, factor, examined, verdict))
        });
        let attempt = match judged.await {
            Ok(attempt) => attempt,
            Err(error) if error.status() >= 500 => return Err(error),
            Err(error) => return self.fail(cx, visitor, error).await,
        };
        if let Some(refusal) = attempt.refusal {
            let asked = attempt.sign_in.first_factor.unwrap_or_else(|| self.asked.clone());
            return SignInAt { asked, ..self }.fail(cx, visitor, refusal).await;
        }
        let first = attempt.sign_in.first_factor.as_ref();
        let is_transferable = first.is_some_and(|proof| proof.state(cx.now) == State::Transferable);
        let is_complete = attempt.sign_in.step == SignInStep::Complete;
        if !attempt.is_elsewhere {
            visitor.becomes(attempt.client, attempt.secret);
        }
        let code = is_transferable.then_some(Code::ExternalAccountNotFound);
        let session = attempt.sign_in.created_session.filter(|_| is_complete);
        arrive(cx, visitor, &self.client, &self.kept, session, code).await
    }

    /// Waits for the app to show that it was told: whoever sent somebody here must not get their session.
    async fn hold(self, cx: &Cx, visitor: &Visitor, newcomer: Newcomer) -> Result<Destination> {
        let (nonce, held) = held(cx, &self.asked, newcomer);
        let (context, at) = (SignInContext::new(cx, visitor), self.clone());
        let kept = cx.write(move |tx| {
            Box::pin(registered::replace_returned(tx, context, at.client, at.id, at.asked, held))
        });
        kept.await?;
        Ok(leave(cx, visitor, &self.kept, true, None).await?.with(RETURN_NONCE, &nonce))
    }

    async fn fail(self, cx: &Cx, visitor: &Visitor, error: Error) -> Result<Destination> {
        if error.status() >= 500 {
            return Err(error);
        }
        let (context, at, why) = (SignInContext::new(cx, visitor), self.clone(), failure(&error));
        let failed = cx.write(move |tx| {
            let held = registered::failed(at.asked.clone(), why);
            Box::pin(registered::replace_returned(tx, context, at.client, at.id, at.asked, held))
        });
        failed.await?;
        leave(cx, visitor, &self.kept, false, Some(error.code())).await
    }
}

/// What waits until an app shows that it was told, and what it is told.
pub(super) fn held(cx: &Cx, asked: &Challenge, newcomer: Newcomer) -> (String, Challenge) {
    let nonce = URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*cx.app.rng));
    let (secret, newcomer) = (Some(digest(&nonce)), Some(Box::new(newcomer)));
    (nonce, Challenge { secret, newcomer, ..asked.clone() })
}

/// Where the browser goes with the session that was opened on a client, if one was. Components show what a session still
/// needs on the page that began.
async fn arrive(
    cx: &Cx,
    visitor: &Visitor,
    client: &ClientId,
    kept: &KeptAttempt,
    session: Option<SessionId>,
    code: Option<Code>,
) -> Result<Destination> {
    let Some(id) = session else { return leave(cx, visitor, kept, false, code).await };
    let site = &visitor.site;
    let opened = sessions::find(&mut cx.app.db.read().await?, &site.instance, &id, &site.settings).await?;
    let is_ready = opened.is_some_and(|session| session.status == SessionStatus::Active);
    let there = leave(cx, visitor, kept, is_ready, code).await?;
    let there = known_to_app(cx, visitor, client, there).await?;
    Ok(popup::told(there, Some(&id).filter(|_| is_ready), &kept.redirect_url))
}

/// The page of a developer's application, with a token for the client that the session was opened on: the one it had leads
/// nowhere any more, and backends learn only so that somebody signed in.
async fn known_to_app(
    cx: &Cx,
    visitor: &Visitor,
    client: &ClientId,
    there: Destination,
) -> Result<Destination> {
    let site = &visitor.site;
    // Known by nothing, or by a cookie; whoever is known as another client stays that.
    let is_it = visitor.client().is_none_or(|known| known.id == *client) && visitor.dev_browser.is_none();
    let has_tokens = site.is_development() && is_for_dev_browsers(&site.frontend_api);
    if !is_it || !has_tokens || redirects::for_token(site, Some(there.as_str())).is_err() {
        return Ok(there);
    }
    let token = DevBrowserId::new(cx.now, &*cx.app.rng);
    let (instance, now, client) = (site.instance.clone(), cx.now, client.clone());
    let digest = sha256(token.as_str().as_bytes());
    let saved = cx.write(move |tx| {
        Box::pin(async move {
            let found = clients::find_with_digest(tx, &instance, &client).await?;
            let proof = found.as_ref().map(|(client, digest)| (&client.id, &digest[..]));
            clients::save_dev_browser(tx, &instance, &digest, proof, now).await
        })
    });
    saved.await?;
    Ok(there.set(cookies::DEV_BROWSER, token.as_str()))
}

/// Where the browser goes. Apps are told what came of it by their URL; pages ask for the attempt.
async fn leave(
    cx: &Cx,
    visitor: &Visitor,
    kept: &KeptAttempt,
    is_complete: bool,
    code: Option<Code>,
) -> Result<Destination> {
    let url = if is_complete { &kept.complete_url } else { &kept.redirect_url };
    let there = redirects::allowed(cx, &visitor.site, Some(url)).await?;
    match code.filter(|_| kept.is_native) {
        Some(code) => Ok(there.with("__clerk_status", "failed").with("__clerk_error_code", code.spec().1)),
        None => Ok(there),
    }
}

/// Goes on with an attempt to sign up. Returns where the browser goes.
pub(super) async fn to_sign_up(
    cx: &Cx,
    visitor: &mut Visitor,
    id: SignUpId,
    mut returned: Returned,
) -> Result<Destination> {
    let act = visitor.act(cx);
    let newcomer = returned.newcomer(&act);
    let Returned { asked, kept, .. } = returned;
    let context = sign_up::frontend::context(cx, visitor);
    let at = SignUpAt { id, asked, kept, context };
    let newcomer = match newcomer {
        Ok(newcomer) => newcomer,
        Err(error) => return at.fail(cx, visitor, error).await,
    };
    if at.kept.is_native {
        let verdict = verdicts::of(cx, &at.context.act, newcomer.clone()).await?;
        if at.kept.shows_every_nonce || matches!(verdict, ProofVerdict::Nobody(_)) {
            return at.hold(cx, visitor, newcomer).await;
        }
    }
    at.settle(cx, visitor, newcomer).await
}

/// An attempt to sign up to which a provider has answered.
#[derive(Clone)]
struct SignUpAt {
    id: SignUpId,
    asked: Challenge,
    kept: KeptAttempt,
    context: SignUpContext,
}

impl SignUpAt {
    async fn settle(self, cx: &Cx, visitor: &mut Visitor, newcomer: Newcomer) -> Result<Destination> {
        let at = self.clone();
        let settled = write_retrying_once(cx, move |tx| {
            Box::pin(accounts::settle_returned(tx, at.context, at.id, at.asked, newcomer))
        });
        let step = match settled.await {
            Ok(step) => step,
            Err(error) if error.status() >= 500 => return Err(error),
            Err(error) => return self.fail(cx, visitor, error).await,
        };
        if let Some(refusal) = step.refusal {
            let asked = step.sign_up.external_account.unwrap_or_else(|| self.asked.clone());
            return SignUpAt { asked, ..self }.fail(cx, visitor, refusal).await;
        }
        let session = step.sign_up.created.map(|created| created.session);
        let is_transferable = step.sign_up.external_account.is_some_and(|proof| proof.transferable);
        let client = step.client.id.clone();
        if self.context.client.id() == Some(&client) {
            visitor.becomes(step.client, step.secret);
        }
        let code = is_transferable.then_some(Code::ExternalAccountExists);
        arrive(cx, visitor, &client, &self.kept, session, code).await
    }

    async fn hold(self, cx: &Cx, visitor: &Visitor, newcomer: Newcomer) -> Result<Destination> {
        let (nonce, held) = held(cx, &self.asked, newcomer);
        let at = self.clone();
        let kept =
            cx.write(move |tx| Box::pin(accounts::replace_returned(tx, at.context, at.id, at.asked, held)));
        kept.await?;
        Ok(leave(cx, visitor, &self.kept, true, None).await?.with(RETURN_NONCE, &nonce))
    }

    async fn fail(self, cx: &Cx, visitor: &Visitor, error: Error) -> Result<Destination> {
        if error.status() >= 500 {
            return Err(error);
        }
        let (at, why) = (self.clone(), failure(&error));
        let failed = cx.write(move |tx| {
            let unproven = Challenge { verified_at: None, newcomer: None, ..at.asked.clone() };
            let held = registered::failed(unproven, why);
            Box::pin(accounts::replace_returned(tx, at.context, at.id, at.asked, held))
        });
        failed.await?;
        leave(cx, visitor, &self.kept, false, Some(error.code())).await
    }
}
