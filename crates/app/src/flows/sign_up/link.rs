//! Opening the link in an e-mail. It may happen in another browser than the one that asked for it; the
//! session is opened where the attempt was made all the same.

use latchkey_base::kinds::{ClientId, SignUpId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::step::{Step, twice};
use super::{complete, rules};
use crate::cx::{Act, Cx};
use crate::flows::verify::{Verified, outdated};
use crate::frontend::visitor::{Hold, Visitor};
use crate::resources::challenges::model::{Challenge, State};
use crate::resources::challenges::rules::{attempt_link, is_link};
use crate::resources::clients::model::Client;
use crate::resources::clients::store as clients;
use crate::resources::sign_ups::fields;
use crate::resources::sign_ups::model::{SignUp, Status};
use crate::resources::sign_ups::store;

/// What a browser is told whose link proved the address.
const VERIFIED: &str = "verified";

/// Takes the token of a link, which begins with the id of the attempt. A token that nobody was sent is an error,
/// because nobody knows where to send the browser.
pub async fn link_verified(cx: &Cx, visitor: &mut Visitor, id: SignUpId, token: &str) -> Result<Verified> {
    let opening = Opening {
        act: visitor.act(cx),
        hold: visitor.hold(),
        client: visitor.client.as_ref().map(|client| client.id.clone()),
        id,
        token: Secret::new(token.to_owned()),
    };
    let (verified, mine) = twice(cx, move |tx| Box::pin(opening.open(tx))).await?;
    if let Some((client, secret)) = mine {
        visitor.becomes(client, secret);
    }
    Ok(verified)
}

/// A link that is being opened.
#[derive(Clone)]
struct Opening {
    act: Act,
    hold: Hold,
    client: Option<ClientId>,
    id: SignUpId,
    token: Secret,
}

/// What came of it, and what became of the client if it is the one that asks.
type Outcome = (Verified, Option<(Client, Option<Secret>)>);

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
        let is_same = self.client.as_ref() == Some(&client.id);
        let told = |status, session| Verified { redirect_url, status, session };
        let challenge = match self.tried(challenge, is_same) {
            Ok(challenge) => challenge,
            Err(status) => {
                // A second click finds what the first one has done, and does nothing.
                let created = sign_up.created.filter(|_| status == VERIFIED);
                return Ok((told(status, created.map(|created| created.session)), None));
            }
        };
        claimed.verification = Some(Challenge { verified_at_client: self.client.clone(), ..challenge });
        let step = self.conclude(tx, is_same, client, sign_up).await?;
        let session = step.sign_up.created.as_ref().map(|created| created.session.clone());
        let status = if step.refusal.is_some() { "failed" } else { VERIFIED };
        Ok((told(status, session), is_same.then_some((step.client, step.secret))))
    }

    /// The challenge once it is met, or what to tell instead.
    fn tried(&self, challenge: Challenge, is_same: bool) -> Result<Challenge, &'static str> {
        let (act, now) = (&self.act, self.act.now);
        let must_be_same = act.settings.attack_protection.email_link_require_same_client;
        match challenge.state(now) {
            State::Unverified if must_be_same && !is_same => Err("client_mismatch"),
            State::Unverified => Ok(attempt_link(challenge, self.token.expose(), now).challenge),
            State::Expired => Err("expired"),
            State::Verified | State::Transferable => Err(VERIFIED),
            State::Failed => Err("failed"),
        }
    }

    async fn conclude(&self, tx: &mut Tx, is_same: bool, client: Client, sign_up: SignUp) -> Result<Step> {
        let act = &self.act;
        let settings = &act.settings;
        store::save(tx, &sign_up).await?;
        let is_open = sign_up.status(act.now) == Status::MissingRequirements
            && rules::admit(settings, sign_up.is_invited).is_ok();
        match is_open && fields::progress(&sign_up, settings).is_complete() {
            true => {
                let hold = is_same.then_some(&self.hold);
                complete::complete(tx, &self.act, hold, client, sign_up).await
            }
            false => Ok(Step { client, secret: None, sign_up, refusal: None }),
        }
    }
}
