//! Opening the link in an e-mail. It may happen in another browser than the one that asked for it. That one is shown
//! a code to enter where the attempt was made; or, if the settings allow it, the session is opened there.

use latchkey_base::kinds::{ClientId, SessionId, SignInId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::{Challenge, State};
use latchkey_people::challenges::rules::{attempt_link, code_for_link, is_link};
use latchkey_people::factors::rules as factors;
use latchkey_presence::clients::store as clients;
use latchkey_presence::sign_ins::model::{SignIn, SignInStep};
use latchkey_presence::sign_ins::{rules as attempts, store};

use super::attempt::{self, SignInAttempt, SignInContext};
use super::{finish, nobody, steps};
use crate::verify::{CLIENT_MISMATCH, Verified, outdated};

/// Which factor a link belongs to.
#[derive(Clone, Copy, PartialEq)]
enum LinkedFactor {
    First,
    Second,
}

/// Takes the token of a link, which begins with the id of the attempt. A token that nobody was sent is an error,
/// because nobody knows where to send the browser.
pub async fn link_verified(cx: &Cx, visitor: &mut Visitor, id: SignInId, token: &str) -> Result<Verified> {
    let invalid = || Error::new(Code::VerificationLinkTokenInvalid);
    let mut tx = cx.app.db.read().await?;
    let found = store::find(&mut tx, &visitor.site.instance, &id).await?;
    drop(tx);
    let sign_in = found.ok_or_else(invalid)?;
    let Some((_, challenge)) = slot(&sign_in, token) else { return outdated(&sign_in.links, token) };
    let redirect_url = challenge.redirect_url.clone().ok_or_else(invalid)?;
    if sign_in.is_over(cx.now) {
        return Ok(Verified::told(redirect_url, "expired"));
    }
    let opening = Opening {
        context: SignInContext::new(cx, visitor),
        client: sign_in.client,
        id,
        token: Secret::new(token.to_owned()),
    };
    let outcome = match cx.write(move |tx| Box::pin(opening.open(tx))).await {
        Ok(outcome) => outcome,
        Err(error) if error.status() >= 500 => return Err(error),
        // Somebody who may not sign in is sent back like everybody else; the page there tells.
        Err(_) => LinkOutcome::only("failed"),
    };
    if let Some(attempt) = outcome.attempt.filter(|attempt| !attempt.is_elsewhere) {
        visitor.becomes(attempt.client, attempt.secret);
    }
    Ok(Verified { redirect_url, status: outcome.status, session: outcome.session, code: outcome.code })
}

/// The challenge whose link has this token.
fn slot<'a>(sign_in: &'a SignIn, token: &str) -> Option<(LinkedFactor, &'a Challenge)> {
    let all = [(LinkedFactor::First, &sign_in.first_factor), (LinkedFactor::Second, &sign_in.second_factor)];
    let mut sent = all.into_iter().filter_map(|(slot, challenge)| Some((slot, challenge.as_ref()?)));
    sent.find(|(_, challenge)| is_link(challenge, token))
}

/// A link that is being opened.
struct Opening {
    context: SignInContext,
    client: ClientId,
    id: SignInId,
    token: Secret,
}

/// What the browser is told, and what became of the attempt if anything did.
struct LinkOutcome {
    status: &'static str,
    session: Option<SessionId>,
    attempt: Option<SignInAttempt>,
    code: Option<Secret>,
}

impl LinkOutcome {
    fn only(status: &'static str) -> LinkOutcome {
        LinkOutcome { status, session: None, attempt: None, code: None }
    }
}

impl Opening {
    async fn open(self, tx: &mut Tx) -> Result<LinkOutcome> {
        let (context, now) = (&self.context, self.context.act.now);
        let invalid = || Error::new(Code::VerificationLinkTokenInvalid);
        let client = clients::lock(tx, &context.act.instance, &self.client).await?.ok_or_else(invalid)?;
        let mut attempt = attempt::of_client(tx, context, client, &self.id).await?;
        attempt.is_elsewhere = context.client.id() != Some(&self.client);
        let (slot, challenge) = slot(&attempt.sign_in, self.token.expose()).ok_or_else(invalid)?;
        let state = challenge.state(now);
        let tried = attempt_link(challenge.clone(), self.token.expose(), now).challenge;
        let must_be_same = context.settings().attack_protection.email_link_require_same_client;
        match state {
            State::Unverified if attempt.is_elsewhere && must_be_same => {
                let challenge = challenge.clone();
                self.refuse_here(tx, attempt, slot, challenge).await
            }
            State::Unverified => {
                let challenge = Challenge { verified_at_client: context.client.id().cloned(), ..tried };
                self.go_on(tx, attempt, slot, challenge).await
            }
            // A second click finds what the first one has done, and does nothing.
            State::Verified => {
                Ok(LinkOutcome { session: attempt.sign_in.created_session, ..LinkOutcome::only("verified") })
            }
            State::Transferable => Ok(LinkOutcome::only("transferable")),
            State::Expired => Ok(LinkOutcome::only("expired")),
            State::Failed => Ok(LinkOutcome::only("failed")),
        }
    }

    /// Leaves the attempt to the browser that asked for the link. Where a code is another way to prove the address,
    /// there is one to enter there.
    async fn refuse_here(
        &self,
        tx: &mut Tx,
        mut attempt: SignInAttempt,
        slot: LinkedFactor,
        challenge: Challenge,
    ) -> Result<LinkOutcome> {
        if !self.takes_code(&attempt, slot) {
            return Ok(LinkOutcome::only(CLIENT_MISMATCH));
        }
        let (challenge, code) = code_for_link(&self.context.act, challenge)?;
        match slot {
            LinkedFactor::First => attempt.sign_in.first_factor = Some(challenge),
            LinkedFactor::Second => attempt.sign_in.second_factor = Some(challenge),
        }
        store::save(tx, &attempt.sign_in).await?;
        Ok(LinkOutcome { code: Some(code), ..LinkOutcome::only(CLIENT_MISMATCH) })
    }

    fn takes_code(&self, attempt: &SignInAttempt, slot: LinkedFactor) -> bool {
        let (sign_in, settings) = (&attempt.sign_in, self.context.settings());
        let offered = match (&attempt.user, slot) {
            (Some(user), LinkedFactor::First) => factors::first(user, sign_in.typed(), settings),
            (Some(user), LinkedFactor::Second) => {
                attempts::second_factors(sign_in, user, settings, self.context.audience)
            }
            (None, _) => return nobody::may_sign_up(sign_in, Strategy::EmailCode),
        };
        offered.iter().any(|factor| factor.strategy == Strategy::EmailCode)
    }

    /// Goes on with an attempt whose link was opened in time.
    async fn go_on(
        &self,
        tx: &mut Tx,
        mut attempt: SignInAttempt,
        slot: LinkedFactor,
        proven: Challenge,
    ) -> Result<LinkOutcome> {
        let context = &self.context;
        let Some(user) = attempt.user.take() else { return self.transfer(tx, attempt, proven).await };
        let is_due = match slot {
            LinkedFactor::First => attempt.sign_in.step == SignInStep::NeedsFirstFactor,
            LinkedFactor::Second => attempt.sign_in.step == SignInStep::NeedsClientTrust,
        };
        if !is_due {
            return Err(Error::new(Code::ClientStateInvalid));
        }
        let attempt = match slot {
            LinkedFactor::First => {
                steps::check_first(context, &attempt.sign_in, &user, Strategy::EmailLink, Some(&proven))?;
                attempt.sign_in.first_factor = Some(proven);
                finish::after_first(tx, context, attempt, user, Strategy::EmailLink, None).await?
            }
            LinkedFactor::Second => {
                attempt.sign_in.second_factor = Some(proven);
                finish::complete(tx, context, attempt, user).await?
            }
        };
        store::save(tx, &attempt.sign_in).await?;
        let session = attempt.sign_in.created_session.clone();
        Ok(LinkOutcome { session, attempt: Some(attempt), ..LinkOutcome::only("verified") })
    }

    /// Nobody has an account with the address that was proven: signing up can go on from here.
    async fn transfer(
        &self,
        tx: &mut Tx,
        mut attempt: SignInAttempt,
        proven: Challenge,
    ) -> Result<LinkOutcome> {
        if !nobody::may_sign_up(&attempt.sign_in, Strategy::EmailLink) {
            return Err(Error::new(Code::ClientStateInvalid));
        }
        attempt.sign_in.first_factor = Some(Challenge { transferable: true, ..proven });
        store::save(tx, &attempt.sign_in).await?;
        Ok(LinkOutcome { attempt: Some(attempt), ..LinkOutcome::only("transferable") })
    }
}
