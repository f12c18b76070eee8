//! Opening the link in an e-mail. It may happen in another browser than the one that asked for it; the
//! session is opened where the attempt was made all the same.

use latchkey_base::kinds::{ClientId, SessionId, SignInId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::attempt::{self, Attempt, Stage};
use super::{finish, nobody, steps};
use crate::cx::Cx;
use crate::flows::factors::proof::verified;
use crate::flows::verify::{Verified, outdated};
use crate::frontend::visitor::Visitor;
use crate::resources::challenges::model::{Challenge, State};
use crate::resources::challenges::rules::{attempt_link, is_link};
use crate::resources::clients::store as clients;
use crate::resources::sign_ins::model::{SignIn, Step};
use crate::resources::sign_ins::store;
use crate::resources::users::model::Strategy;

/// Which factor a link belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Slot {
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
        return Ok(Verified { redirect_url, status: "expired", session: None });
    }
    let opening = Opening {
        stage: Stage::new(cx, visitor),
        from: visitor.client.as_ref().map(|client| client.id.clone()),
        client: sign_in.client,
        id,
        token: Secret::new(token.to_owned()),
    };
    let told = match cx.write(move |tx| Box::pin(opening.open(tx))).await {
        Ok(told) => told,
        Err(error) if error.status() >= 500 => return Err(error),
        // Somebody who may not sign in is sent back like everybody else; the page there tells.
        Err(_) => Told::only("failed"),
    };
    if let Some(attempt) = told.attempt.filter(|attempt| !attempt.is_elsewhere) {
        visitor.becomes(attempt.client, attempt.secret);
    }
    Ok(Verified { redirect_url, status: told.status, session: told.session })
}

/// The challenge whose link has this token.
fn slot<'a>(sign_in: &'a SignIn, token: &str) -> Option<(Slot, &'a Challenge)> {
    let all = [(Slot::First, &sign_in.first_factor), (Slot::Second, &sign_in.second_factor)];
    let mut sent = all.into_iter().filter_map(|(slot, challenge)| Some((slot, challenge.as_ref()?)));
    sent.find(|(_, challenge)| is_link(challenge, token))
}

/// A link that is being opened.
struct Opening {
    stage: Stage,
    from: Option<ClientId>,
    client: ClientId,
    id: SignInId,
    token: Secret,
}

/// What the browser is told, and what became of the attempt if anything did.
struct Told {
    status: &'static str,
    session: Option<SessionId>,
    attempt: Option<Attempt>,
}

impl Told {
    fn only(status: &'static str) -> Told {
        Told { status, session: None, attempt: None }
    }
}

impl Opening {
    async fn open(self, tx: &mut Tx) -> Result<Told> {
        let (stage, now) = (&self.stage, self.stage.act.now);
        let invalid = || Error::new(Code::VerificationLinkTokenInvalid);
        let client = clients::lock(tx, &stage.act.instance, &self.client).await?.ok_or_else(invalid)?;
        let mut attempt = attempt::of_client(tx, stage, client, &self.id).await?;
        attempt.is_elsewhere = self.from.as_ref() != Some(&self.client);
        let (slot, challenge) = slot(&attempt.sign_in, self.token.expose()).ok_or_else(invalid)?;
        let state = challenge.state(now);
        let tried = attempt_link(challenge.clone(), self.token.expose(), now).challenge;
        let must_be_same = stage.settings().attack_protection.email_link_require_same_client;
        match state {
            State::Unverified if attempt.is_elsewhere && must_be_same => Ok(Told::only("client_mismatch")),
            State::Unverified => {
                let challenge = Challenge { verified_at_client: self.from.clone(), ..tried };
                self.go_on(tx, attempt, slot, challenge).await
            }
            // A second click finds what the first one has done, and does nothing.
            State::Verified => {
                Ok(Told { session: attempt.sign_in.created_session, ..Told::only("verified") })
            }
            State::Transferable => Ok(Told::only("transferable")),
            State::Expired => Ok(Told::only("expired")),
            State::Failed => Ok(Told::only("failed")),
        }
    }

    /// Goes on with an attempt whose link was opened in time.
    async fn go_on(&self, tx: &mut Tx, mut attempt: Attempt, slot: Slot, met: Challenge) -> Result<Told> {
        let stage = &self.stage;
        let Some(user) = attempt.user.take() else { return self.transfer(tx, attempt, met).await };
        let is_due = match slot {
            Slot::First => attempt.sign_in.step == Step::NeedsFirstFactor,
            Slot::Second => attempt.sign_in.step == Step::NeedsClientTrust,
        };
        if !is_due {
            return Err(Error::new(Code::ClientStateInvalid));
        }
        let user = verified(tx, &stage.act, user, &met).await?;
        let attempt = match slot {
            Slot::First => {
                steps::check_first(stage, &attempt.sign_in, &user, Strategy::EmailLink, Some(&met))?;
                attempt.sign_in.first_factor = Some(met);
                finish::after_first(tx, stage, attempt, user, Strategy::EmailLink, None).await?
            }
            Slot::Second => {
                attempt.sign_in.second_factor = Some(met);
                finish::complete(tx, stage, attempt, user).await?
            }
        };
        store::save(tx, &attempt.sign_in).await?;
        let session = attempt.sign_in.created_session.clone();
        Ok(Told { status: "verified", session, attempt: Some(attempt) })
    }

    /// Nobody has an account with the address that was proven: signing up can go on from here.
    async fn transfer(&self, tx: &mut Tx, mut attempt: Attempt, met: Challenge) -> Result<Told> {
        if !nobody::may_sign_up(&attempt.sign_in, Strategy::EmailLink) {
            return Err(Error::new(Code::ClientStateInvalid));
        }
        attempt.sign_in.first_factor = Some(Challenge { transferable: true, ..met });
        store::save(tx, &attempt.sign_in).await?;
        Ok(Told { attempt: Some(attempt), ..Told::only("transferable") })
    }
}
