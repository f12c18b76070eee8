//! What a link token of an admin portal is.

use std::fmt;

use latchkey_base::Time;
use latchkey_base::kinds::{AdminPortalLinkId, InstanceId, OrganizationId, SecretKeyId};
use latchkey_base::rng::{Rng, bytes};
use latchkey_jose::digest::hex;
use serde::{Deserialize, Serialize};

const PREFIX: &str = "aplt_";
const HEX_DIGITS: usize = 32;

/// The id of a token: `aplt_` and 32 hexadecimal digits, unlike all other ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalLinkTokenId(String);

impl PortalLinkTokenId {
    pub fn new(rng: &dyn Rng) -> PortalLinkTokenId {
        PortalLinkTokenId(format!("{PREFIX}{}", hex(&bytes::<16>(rng))))
    }

    /// Reads an id, or nothing when its shape does not fit. Digits may be written in both cases.
    pub fn parse(text: &str) -> Option<PortalLinkTokenId> {
        let digits = text.strip_prefix(PREFIX)?;
        let fits = digits.len() == HEX_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| PortalLinkTokenId(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PortalLinkTokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A token, as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct PortalLinkToken {
    pub instance: InstanceId,
    pub id: PortalLinkTokenId,
    /// What it leads to: the portal of an organization, or that of the instance.
    pub link: AdminPortalLinkId,
    pub organization: Option<OrganizationId>,
    /// The secret key that made it; `None` if it was made before keys were stored with tokens.
    pub key: Option<SecretKeyId>,
    /// The digest of the token itself.
    pub digest: Vec<u8>,
    pub details: PortalLinkDetails,
    pub expire_at: Time,
    pub created_at: Time,
}

/// What is kept of a token in its document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortalLinkDetails {
    /// Whom the application gives it to, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub it_contact: Option<String>,
    /// What it lets them do, in the words of the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// Since when it is good for nothing, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation: Option<Revocation>,
    pub updated_at: Time,
}

/// That a token was revoked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revocation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl PortalLinkToken {
    pub fn is_expired(&self, now: Time) -> bool {
        now >= self.expire_at
    }
}
