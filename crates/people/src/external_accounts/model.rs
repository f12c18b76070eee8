//! What a connected account is.

use latchkey_base::Time;
use latchkey_base::kinds::{ExternalAccountId, IdentificationId};
use serde::{Deserialize, Serialize};

use crate::challenges::account::ProvenAccount;
use crate::challenges::model::Challenge;

/// An account at another provider, connected to the user, or about to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExternalAccount {
    pub id: ExternalAccountId,
    pub identification: IdentificationId,
    /// What the provider says about it; nothing but the provider until it is proven.
    #[serde(flatten)]
    pub account: ProvenAccount,
    /// When it was proven first. An account that was not signs nobody in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<Time>,
    /// The proof that was asked for last: at first, or to approve of more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
    pub created_at: Time,
    pub updated_at: Time,
}

impl ExternalAccount {
    pub fn is_verified(&self) -> bool {
        self.verified_at.is_some()
    }
}
