//! How passkeys are offered, and what they prove.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How passkeys are offered, and what they prove.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PasskeySettings {
    /// Browsers offer passkeys in the field for the identifier.
    pub allow_autofill: bool,
    /// Pages to sign in show a link to use a passkey.
    pub show_sign_in_button: bool,
    /// Whoever signs in with a passkey is not asked for a second factor: the device was one, and a fingerprint or a PIN
    /// the other.
    pub satisfies_second_factor: bool,
    /// The domain that passkeys of a production instance belong to. Passkeys that people have keep the domain they were
    /// made for, so those made before a change cannot be used after it.
    pub rp_id: RelyingPartyId,
}

impl Default for PasskeySettings {
    fn default() -> PasskeySettings {
        PasskeySettings {
            allow_autofill: true,
            show_sign_in_button: true,
            satisfies_second_factor: true,
            rp_id: RelyingPartyId::RegistrableDomain,
        }
    }
}

/// The domain that passkeys belong to: their relying party id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RelyingPartyId {
    /// The registrable domain of the application: good on all hosts below it, but not on other domains. On development
    /// instances the host of the page.
    #[default]
    RegistrableDomain,
    /// The host of the Frontend API, which tells browsers and native apps by `/.well-known/webauthn` which origins may
    /// use its passkeys. Web pages and native apps share them.
    AuthHost,
}
