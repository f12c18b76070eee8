//! Sending the code or the link of a factor.

use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::strategy::Strategy;
use latchkey_messaging::messages::model::{Asker, Recipient};
use latchkey_messaging::messages::rules::Purpose;
use latchkey_messaging::messages::{rules as messages, sending as outgoing};
use latchkey_people::challenges::model::Challenge;
use latchkey_people::challenges::rules as challenges;
use latchkey_people::challenges::rules::{ChallengeTarget, PreparedChallenge};
use latchkey_people::factors::model::Factor;
use latchkey_people::recipients::{account, channel};
use latchkey_people::users::model::User;

use crate::strategies::{WalletRequest, prepare_wallet};

/// What is to be sent.
pub struct Sending<'a> {
    /// The factor, which must be one with a recipient.
    pub factor: &'a Factor,
    /// Who asks for it.
    pub asker: Asker,
    /// Whose it is, if there is an account.
    pub user: Option<&'a User>,
    /// The language of the attempt.
    pub locale: Option<&'a str>,
    /// The challenge it takes the place of.
    pub previous: Option<&'a Challenge>,
    /// What a link leads back to.
    pub link: Option<LinkToSend<'a>>,
    /// The origin of the page that asks.
    pub page: &'a str,
    /// Whether anything is sent at all: nothing is, to those who must not learn that they have no account.
    pub is_delivered: bool,
}

/// A link.
pub struct LinkToSend<'a> {
    /// Where browsers reach this server.
    pub base_url: &'a str,
    /// The id of the attempt it belongs to.
    pub owner: &'a str,
    /// Where it leads in the end; checked already.
    pub redirect_url: String,
}

/// Sends a code or a link, and returns the challenge it answers. Wallets are sent nothing: their challenge holds the text
/// that the page has them sign.
pub async fn send(tx: &mut Tx, act: &Act, sending: Sending<'_>) -> Result<Challenge> {
    let strategy = sending.factor.strategy;
    let invalid = || Error::param(Code::VerificationStrategyInvalid, "strategy");
    let recipient = sending.factor.recipient.as_ref().ok_or_else(invalid)?;
    let (address, identification) = (&recipient.value, recipient.id.as_ref());
    if strategy.is_wallet() {
        let asked = WalletRequest { strategy, address, identification, page: sending.page };
        return prepare_wallet(act, asked);
    }
    let target = ChallengeTarget { kind: recipient.kind, value: address, identification };
    let to = Recipient {
        account: sending.user.map(account),
        channel: channel(recipient.kind),
        to: &recipient.value,
        identification: recipient.id.as_ref(),
        locale: sending.locale,
    };
    let previous = sending.previous;
    let (prepared, message) = match (strategy, sending.link) {
        (Strategy::EmailLink, Some(link)) => {
            let prepared = challenges::link(act, &target, link.owner, link.redirect_url, previous)?;
            let url = format!("{}/v1/verify?token={}", link.base_url, prepared.secret.expose());
            let message = messages::link(act, to, Purpose::SignIn, &url);
            (prepared, message)
        }
        (Strategy::EmailLink, None) => return Err(invalid()),
        (Strategy::ResetPasswordEmailCode | Strategy::ResetPasswordPhoneCode, _) => {
            let prepared = challenges::code(act, strategy, &target, previous)?;
            let message = match sending.user {
                Some(_) => messages::reset_code(act, to, &prepared.secret),
                None => messages::code(act, to, &prepared.secret),
            };
            (prepared, message)
        }
        _ => {
            let prepared = challenges::code(act, strategy, &target, previous)?;
            let message = messages::code(act, to, &prepared.secret);
            (prepared, message)
        }
    };
    let PreparedChallenge { challenge, is_sent, .. } = prepared;
    if is_sent && sending.is_delivered {
        outgoing::send_asked(tx, act, sending.asker, message).await?;
    }
    Ok(challenge)
}
