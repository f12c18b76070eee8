//! What a challenge is.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, IdentificationId};
use serde::{Deserialize, Serialize};

use crate::limits::VERIFICATION_ATTEMPTS;
use crate::resources::users::model::Strategy;

/// Something to prove.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Challenge {
    /// How.
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
    /// Where a link leads in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
    /// Attempts, the successful one included.
    pub attempts: i64,
    /// How often a code or link was sent.
    #[serde(default)]
    pub sent: i64,
    /// When it was last sent.
    pub sent_at: Time,
    /// When it stops being good; proofs that need no sending have no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_at: Option<Time>,
    /// When it was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<Time>,
    /// On which client, for links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_at_client: Option<ClientId>,
    /// Proven, but nobody has an account with it: signing up can go on from here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transferable: bool,
}

/// Where a challenge stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waiting for proof.
    Unverified,
    /// Proven.
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
            Challenge { attempts, .. } if *attempts >= VERIFICATION_ATTEMPTS && self.expire_at.is_some() => {
                State::Failed
            }
            Challenge { expire_at: Some(expire_at), .. } if *expire_at <= now => State::Expired,
            _ => State::Unverified,
        }
    }

    /// One that was met at once, such as a password.
    pub fn met(strategy: Strategy, now: Time) -> Challenge {
        Challenge {
            strategy,
            identification: None,
            target: None,
            secret: None,
            redirect_url: None,
            attempts: 0,
            sent: 0,
            sent_at: now,
            expire_at: None,
            verified_at: Some(now),
            verified_at_client: None,
            transferable: false,
        }
    }

    /// One that was tried in vain.
    pub fn missed(strategy: Strategy, attempts: i64, now: Time) -> Challenge {
        Challenge { attempts, verified_at: None, ..Challenge::met(strategy, now) }
    }
}
