//! Opening a link that proves an e-mail address. Whoever reads the mail has the address, in whatever browser
//! the mail is read.

use latchkey_base::kinds::{ClientId, IdentificationId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::contacts::proven;
use crate::cx::{Act, Cx};
use crate::flows::verify::{Verified, outdated};
use crate::frontend::visitor::Visitor;
use crate::resources::challenges::model::State;
use crate::resources::challenges::rules::{attempt_link, is_link};
use crate::resources::identifications::handlers::{claimed, explain};
use crate::resources::sessions::store as sessions;
use crate::resources::users::change::Target;
use crate::resources::users::model::{Kind, User};

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
        client: visitor.client.as_ref().map(|client| client.id.clone()),
        id,
        token: Secret::new(token.to_owned()),
    };
    let opened = cx.write(move |tx| Box::pin(opening.open(tx)));
    opened.await.map_err(|error| explain(error, claimed(Kind::Email)))
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
        let (act, target) = (&self.act, Target::Identification(Kind::Email, self.id.clone()));
        let invalid = || Error::new(Code::VerificationLinkTokenInvalid);
        let user = target.lock(tx, act).await.map_err(|_| invalid())?;
        let contact = user.email_addresses.find(&self.id).ok_or_else(invalid)?;
        // Guesses are not counted: the secret is too long for them, and the id is no secret.
        let asked = contact.challenge.clone().filter(|asked| is_link(asked, self.token.expose()));
        let Some(challenge) = asked else { return outdated(&contact.links, self.token.expose()) };
        let redirect_url = challenge.redirect_url.clone().ok_or_else(invalid)?;
        let status = match challenge.state(act.now) {
            State::Unverified if !self.is_own_browser(tx, &user).await? => "client_mismatch",
            State::Unverified => {
                let met = attempt_link(challenge, self.token.expose(), act.now).challenge;
                proven(tx, &self.act, user, Kind::Email, &self.id, met).await?;
                "verified"
            }
            // A second click finds what the first one has done, and does nothing.
            State::Verified | State::Transferable => "verified",
            State::Expired => "expired",
            State::Failed => "failed",
        };
        Ok(Verified { redirect_url, status, session: None })
    }

    /// Where links must be opened in the browser that asked for them, that is one the user is signed in on:
    /// nobody else should be made to prove an address for them.
    async fn is_own_browser(&self, tx: &mut Tx, user: &User) -> Result<bool> {
        let act = &self.act;
        if !self.act.settings.attack_protection.email_link_require_same_client {
            return Ok(true);
        }
        let Some(client) = &self.client else { return Ok(false) };
        let live = sessions::live_of_client(tx, &act.instance, client, act.now).await?;
        Ok(live.iter().any(|(_, signed_in)| signed_in.id == user.id))
    }
}
