//! Opening a link that proves an e-mail address. It works in a browser the user is signed in on; another one is shown
//! a code to enter there, where a code is a way to prove an address, unless the settings let every browser open it.

use latchkey_base::kinds::{ClientId, IdentificationId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::State;
use latchkey_people::challenges::rules::{attempt_link, code_for_link, is_link};
use latchkey_people::identifications::handlers::{claimed, explain};
use latchkey_people::users::change::UserTarget;
use latchkey_people::users::model::{ContactKind, User};
use latchkey_people::users::store as users;
use latchkey_presence::sessions::store as sessions;

use super::contacts::{asked, proven};
use crate::verify::{CLIENT_MISMATCH, Verified, outdated};

/// Takes the token of a link, which begins with the id of the address. A token that nobody was sent is an error,
/// because nobody knows where to send the browser.
pub async fn link_verified(
    cx: &Cx,
    visitor: &Visitor,
    id: IdentificationId,
    token: &str,
) -> Result<Verified> {
    let opening = Opening {
        act: visitor.act(cx),
        client: visitor.client_id(),
        id,
        token: Secret::new(token.to_owned()),
    };
    let opened = cx.write(move |tx| Box::pin(opening.open(tx)));
    opened.await.map_err(|error| explain(error, claimed(ContactKind::Email)))
}

/// A link that is being opened.
struct Opening {
    act: Act,
    /// In which browser.
    client: Option<ClientId>,
    id: IdentificationId,
    token: Secret,
}

impl Opening {
    async fn open(self, tx: &mut Tx) -> Result<Verified> {
        let (act, target) = (&self.act, UserTarget::Identification(ContactKind::Email, self.id.clone()));
        let invalid = || Error::new(Code::VerificationLinkTokenInvalid);
        let user = target.lock(tx, act).await.map_err(|_| invalid())?;
        let contact = user.email_addresses.find(&self.id).ok_or_else(invalid)?;
        // Guesses are not counted: the secret is too long for them, and the id is no secret.
        let sent = contact.challenge.clone().filter(|sent| is_link(sent, self.token.expose()));
        let Some(challenge) = sent else { return outdated(&contact.links, self.token.expose()) };
        let redirect_url = challenge.redirect_url.clone().ok_or_else(invalid)?;
        let status = match challenge.state(act.now) {
            State::Unverified if !self.is_own_browser(tx, &user).await? => {
                if !act.settings.attributes.email_address.is_verified_by(Strategy::EmailCode) {
                    return Ok(Verified::told(redirect_url, CLIENT_MISMATCH));
                }
                let (challenge, code) = code_for_link(act, challenge)?;
                users::save(tx, &user, &asked(user.clone(), ContactKind::Email, &self.id, challenge)).await?;
                return Ok(Verified { code: Some(code), ..Verified::told(redirect_url, CLIENT_MISMATCH) });
            }
            State::Unverified => {
                let proven_challenge = attempt_link(challenge, self.token.expose(), act.now).challenge;
                proven(tx, &self.act, user, ContactKind::Email, &self.id, proven_challenge).await?;
                "verified"
            }
            // A second click finds what the first one has done, and does nothing.
            State::Verified | State::Transferable => "verified",
            State::Expired => "expired",
            State::Failed => "failed",
        };
        Ok(Verified::told(redirect_url, status))
    }

    /// Where links must be opened in the browser that asked for them, that is one the user is signed in on:
    /// nobody else should be made to prove an address for them.
    async fn is_own_browser(&self, tx: &mut Tx, user: &User) -> Result<bool> {
        let act = &self.act;
        if !self.act.settings.attack_protection.email_link_require_same_client {
            return Ok(true);
        }
        let Some(client) = &self.client else { return Ok(false) };
        let live = sessions::live_of_client(tx, &act.instance, client, &act.settings, act.now).await?;
        Ok(live.iter().any(|present| present.user.id == user.id))
    }
}
