//! What the operations take. Scripts write null as an empty text: it clears what can be cleared, and means
//! not given elsewhere.

use latchkey_base::patch::Patch;
use latchkey_base::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Body of `createSignUps` and `updateSignUps`.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-fields-of-strategies" = {
    "action_complete_redirect_url": "Where the browser goes at last when it was sent to another provider.",
    "oidc_login_hint": "Whom the other provider should expect.",
    "oidc_prompt": "What the other provider should ask, as OpenID Connect has it.",
    "token": "The ID token of another provider.",
}))]
pub struct SignUpForm {
    /// Go on from a sign-in that found no account. When creating only.
    pub transfer: Option<bool>,
    /// Password.
    pub password: Option<Secret>,
    /// First name.
    pub first_name: Patch<String>,
    /// Last name.
    pub last_name: Patch<String>,
    /// Username.
    pub username: Patch<String>,
    /// E-mail address.
    pub email_address: Option<String>,
    /// Phone number in E.164 format.
    pub phone_number: Patch<String>,
    /// Either of the two.
    pub email_address_or_phone_number: Option<String>,
    /// Wallet.
    pub web3_wallet: Option<String>,
    /// What the page keeps about the person, as JSON.
    pub unsafe_metadata: Option<Map<String, Value>>,
    /// How to prove the address or number; the code or link is sent at once.
    pub strategy: Option<String>,
    /// Where a link in an e-mail leads in the end.
    pub redirect_url: Option<String>,
    /// Opens a sign-up that is not open to everybody.
    pub ticket: Option<String>,
    /// Whether the terms are accepted.
    pub legal_accepted: Option<bool>,
    /// The language of the browser, as a BCP 47 tag.
    pub locale: Option<String>,
}

/// Body of `prepareSignUpsVerification`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PrepareVerification {
    /// `email_code`, `email_link`, `phone_code`, or one of the signatures of wallets.
    pub strategy: Option<String>,
    /// Where a link leads in the end.
    pub redirect_url: Option<String>,
}

/// Body of `attemptSignUpsVerification`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "AttemptVerification")]
pub struct AttemptSignUpVerification {
    /// `email_code`, `phone_code`, or one of the signatures of wallets.
    pub strategy: Option<String>,
    /// The code.
    pub code: Option<Secret>,
    /// What the wallet made of the text it was given to sign.
    pub signature: Option<String>,
}
