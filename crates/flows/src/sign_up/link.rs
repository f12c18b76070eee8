//! Opening the link in an e-mail. It may happen in another browser than the one that asked for it. That one is shown
//! a code to enter where the attempt was made; or, if the settings allow it, the session is opened there.

use latchkey_base::kinds::SignUpId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::client_handle::ClientHandle;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::{Challenge, State};
use latchkey_people::challenges::rules::{attempt_link, code_for_link, is_link};
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::store as clients;
use latchkey_presence::clients::token::ClientProof;
use latchkey_presence::sign_ups::model::{SignUp, SignUpStatus};
use latchkey_presence::sign_ups::{fields, store};

use super::step::{StepOutcome, write_retrying_once};
use super::{complete, rules};
use crate::verify::{CLIENT_MISMATCH, Verified, outdated};

/// What a browser is told whose link proved the address.
const VERIFIED: &str = "verified";

/// Takes the token of a link, which begins with the id of the attempt. A token that nobody was sent is an error,
/// because nobody knows where to send the browser.
pub async fn link_verified(cx: &Cx, visitor: &mut Visitor, id: SignUpId, token: &str) -> Result<Verified> {
    let opening = Opening {
        act: visitor.act(cx),
        handle: visitor.client_handle(),
        id,
        token: Secret::new(token.to_owned()),
    };
    let (verified, mine) = write_retrying_once(cx, move |tx| Box::pin(opening.open(tx))).await?;
    if let Some((client, secret)) = mine {
        visitor.becomes(client, secret);
    }
    Ok(verified)
}

/// A link that is being opened.
#[derive(Clone)]
struct Opening {
    act: Act,
    handle: ClientHandle,
    id: SignUpId,
    token: Secret,
}

/// What came of it, and what became of the client if it is the one that asks.
type Outcome = (Verified, Option<(Client, Option<ClientProof>)>);

impl Opening {
    async fn open(self, tx: &mut Tx) -> Result<Outcome> {
        let act = &self.act;
        let invalid = || Error::new(Code::VerificationLinkTokenInvalid);
        let found = store::find(tx, &act.instance, &self.id).await?.ok_or_else(invalid)?;
        let client = clients::lock(tx, &act.instance, &found.client).await?.ok_or_else(invalid)?;
        let mut sign_up = store::lock(tx, &act.instance, &self.id).await?.ok_or_else(invalid)?;
        let claimed = sign_up.email_address.as_mut().ok_or_else(invalid)?;
        // Guesses are not counted: the secret is too long for them, and the id is no secret.
        let asked = claimed.verification.clone().filter(|asked| is_link(asked, self.token.expose()));
        let Some(challenge) = asked else {
            return Ok((outdated(&sign_up.links, self.token.expose())?, None));
        };
        let redirect_url = challenge.redirect_url.clone().ok_or_else(invalid)?;
        let is_same = self.handle.id() == Some(&client.id);
        let told = |status, session| Verified { session, ..Verified::told(redirect_url, status) };
        let challenge = match self.tried(challenge.clone(), is_same) {
            Ok(challenge) => challenge,
            Err(CLIENT_MISMATCH) if self.takes_code() => {
                let (challenge, code) = code_for_link(act, challenge)?;
                claimed.verification = Some(challenge);
                store::save(tx, &sign_up).await?;
                return Ok((Verified { code: Some(code), ..told(CLIENT_MISMATCH, None) }, None));
            }
            Err(status) => {
                // A second click finds what the first one has done, and does nothing.
                let created = sign_up.created.filter(|_| status == VERIFIED);
                return Ok((told(status, created.map(|created| created.session)), None));
            }
        };
        claimed.verification = Some(Challenge { verified_at_client: self.handle.id().cloned(), ..challenge });
        let step = self.conclude(tx, is_same, client, sign_up).await?;
        let session = step.sign_up.created.as_ref().map(|created| created.session.clone());
        let status = if step.refusal.is_some() { "failed" } else { VERIFIED };
        Ok((told(status, session), is_same.then_some((step.client, step.secret))))
    }

    /// Whether a code is another way to prove the address.
    fn takes_code(&self) -> bool {
        self.act.settings.attributes.email_address.is_verified_by(Strategy::EmailCode)
    }

    /// The proven challenge, or what the browser is told instead.
    fn tried(&self, challenge: Challenge, is_same: bool) -> Result<Challenge, &'static str> {
        let (act, now) = (&self.act, self.act.now);
        let must_be_same = act.settings.attack_protection.email_link_require_same_client;
        match challenge.state(now) {
            State::Unverified if must_be_same && !is_same => Err(CLIENT_MISMATCH),
            State::Unverified => Ok(attempt_link(challenge, self.token.expose(), now).challenge),
            State::Expired => Err("expired"),
            State::Verified | State::Transferable => Err(VERIFIED),
            State::Failed => Err("failed"),
        }
    }

    async fn conclude(
        &self,
        tx: &mut Tx,
        is_same: bool,
        client: Client,
        sign_up: SignUp,
    ) -> Result<StepOutcome> {
        let act = &self.act;
        let settings = &act.settings;
        store::save(tx, &sign_up).await?;
        let is_open = sign_up.status(act.now) == SignUpStatus::MissingRequirements
            && rules::admit(settings, sign_up.is_invited).is_ok();
        match is_open && fields::progress(&sign_up, settings).is_complete() {
            true => {
                let handle = is_same.then_some(&self.handle);
                complete::complete(tx, &self.act, handle, client, sign_up).await
            }
            false => Ok(StepOutcome { client, secret: None, sign_up, refusal: None }),
        }
    }
}
