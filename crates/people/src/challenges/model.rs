//! What a challenge is.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, IdentificationId};
use latchkey_kernel::limits::{VERIFICATION_ATTEMPTS, VERIFICATION_MS};
use latchkey_kernel::strategy::Strategy;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::account::ProvenAccount;

/// Something to prove.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Challenge {
    /// The way of proof.
    pub strategy: Strategy,
    /// The address or number a code or link was sent to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identification: Option<IdentificationId>,
    /// The address or number itself, which the proof is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The code, sealed; or the digest of the secret in a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The code that answers a link as well, sealed: shown to whoever opened it in another browser than the one that
    /// asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Where a link leads in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
    /// Attempts, the successful one included.
    pub attempts: i64,
    /// How often a code or link was sent.
    #[serde(default)]
    pub sent: i64,
    pub sent_at: Time,
    /// When it stops being good; proofs that need no sending have no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<Time>,
    /// On which client, for links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_at_client: Option<ClientId>,
    /// Proven, but nobody has an account with it: signing up can go on from here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transferable: bool,
    /// Proven in a way that takes two factors at once, such as a device and a fingerprint: nothing else is asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proves_both: bool,
    /// Why it failed for good, for those who come back from another site and are told there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<ChallengeFailure>>,
    /// What a registered strategy keeps for itself, sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
    /// What a registered strategy shows of it besides, such as where the browser has to go.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// Whom it proved, if nobody has an account with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newcomer: Option<Box<Newcomer>>,
}

/// Why a challenge failed, as answers say it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChallengeFailure {
    pub code: String,
    pub message: String,
    pub long_message: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// What a registered strategy knows of somebody who has no account yet. The address and the number are proven.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Newcomer {
    /// An e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_address: Option<String>,
    /// A phone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    /// The first name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The last name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// The account at another provider that is theirs. What it says of names and addresses counts where nothing above does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<ProvenAccount>,
    /// The tokens that the provider gave for it, sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<String>,
    /// Whether the native app that began has not shown the nonce of its return URL. An attacker may have begun and sent the owner
    /// of the account to the provider, so the account does not count as verified.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unconfirmed: bool,
}

/// Where a challenge stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waiting for proof.
    Unverified,
    Verified,
    /// Proven for an account that does not exist yet.
    Transferable,
    /// Tried too often.
    Failed,
    /// Too late.
    Expired,
}

impl Challenge {
    /// Where it stands at a moment.
    pub fn state(&self, now: Time) -> State {
        match self {
            Challenge { transferable: true, .. } => State::Transferable,
            Challenge { verified_at: Some(_), .. } => State::Verified,
            Challenge { failure: Some(_), .. } => State::Failed,
            Challenge { attempts, .. } if *attempts >= VERIFICATION_ATTEMPTS && self.expire_at.is_some() => {
                State::Failed
            }
            Challenge { expire_at: Some(expire_at), .. } if *expire_at <= now => State::Expired,
            _ => State::Unverified,
        }
    }

    /// Whether the other kind of attempt may go on from it: soon after it was proven, by whoever is still there.
    pub fn may_be_transferred(&self, now: Time) -> bool {
        let is_fresh = |proven: Time| now < proven.plus_ms(VERIFICATION_MS);
        self.state(now) == State::Transferable && self.verified_at.is_none_or(is_fresh)
    }

    /// The challenge as this strategy answers it: a link for which a code was shown can be answered by that code. From
    /// then on it is a code, and the link is an outdated one.
    pub fn answered_by(self, strategy: Strategy) -> Challenge {
        match (self.strategy, strategy, &self.code) {
            (Strategy::EmailLink, Strategy::EmailCode, Some(_)) => {
                Challenge { strategy, secret: self.code, code: None, redirect_url: None, ..self }
            }
            _ => self,
        }
    }

    /// A challenge that was proven in the attempt that began it, such as a password.
    pub fn proven(strategy: Strategy, now: Time) -> Challenge {
        Challenge {
            strategy,
            identification: None,
            target: None,
            secret: None,
            code: None,
            redirect_url: None,
            attempts: 0,
            sent: 0,
            sent_at: now,
            expire_at: None,
            verified_at: Some(now),
            verified_at_client: None,
            transferable: false,
            proves_both: false,
            failure: None,
            sealed: None,
            details: Map::new(),
            newcomer: None,
        }
    }

    /// A challenge after that many failed attempts.
    pub fn failed(strategy: Strategy, attempts: i64, now: Time) -> Challenge {
        Challenge { attempts, verified_at: None, ..Challenge::proven(strategy, now) }
    }
}
