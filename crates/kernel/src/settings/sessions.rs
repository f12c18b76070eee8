//! How people sign up and in, what keeps others from doing so, and what comes of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Settings;

/// How long sessions and their tokens last, and what tokens say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    /// How long a session lasts at most, 5 minutes to 10 years.
    pub lifetime_seconds: i64,
    /// How long a session lasts without being used; `None` as long as it lasts anyway.
    pub inactivity_timeout_seconds: Option<i64>,
    /// A browser holds one session at a time.
    pub single_session: bool,
    /// How many sessions a browser holds where `single_session` is off, 1 to 100; the oldest gives way to one more.
    pub max_per_client: i64,
    /// How long a session token is good for, 30 to 3600 seconds.
    pub token_lifetime_seconds: i64,
    /// Claims added to every session token, with shortcodes such as `{{user.primary_email_address}}`.
    pub token_claims: Map<String, Value>,
    /// Whether users prove anew who they are before they change what protects their account.
    pub reverification: bool,
    /// How long such a proof is good for, a minute to a day.
    pub reverification_minutes: i64,
}

impl Default for SessionSettings {
    fn default() -> SessionSettings {
        SessionSettings {
            lifetime_seconds: 604_800,
            inactivity_timeout_seconds: None,
            single_session: true,
            max_per_client: 25,
            token_lifetime_seconds: 60,
            token_claims: Map::new(),
            reverification: true,
            reverification_minutes: 10,
        }
    }
}

impl SessionSettings {
    /// How many sessions a browser holds at most.
    pub fn most_on_client(&self) -> usize {
        match self.single_session {
            true => 1,
            false => usize::try_from(self.max_per_client).unwrap_or(1),
        }
    }
}

/// How people sign up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SignUpSettings {
    /// Who may sign up.
    pub mode: SignUpMode,
    /// What is missing may be given step by step. Always: it is here because browsers are told so.
    pub progressive: bool,
    /// Everybody needs a second factor: the same as `sign_in.second_factor_required`, under the name of the form to sign up.
    pub mfa_required: bool,
}

impl Default for SignUpSettings {
    fn default() -> SignUpSettings {
        SignUpSettings { mode: SignUpMode::Public, progressive: true, mfa_required: false }
    }
}

/// Who may sign up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SignUpMode {
    /// Everybody.
    #[default]
    Public,
    /// Whoever was invited. Backends create users all the same.
    Restricted,
    /// Whoever was invited, which is what becomes of people who join the waitlist. It takes e-mail addresses, so
    /// attributes.email_address must be enabled.
    Waitlist,
}

/// How people sign in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SignInSettings {
    /// What pages ask for first.
    pub preferred_strategy: PreferredStrategy,
    /// Everybody needs a second factor. Whoever has none is asked to set one up when they sign in. Until then their session
    /// is pending: SDKs take them for signed out, but the Frontend API lets them change their account and what they manage
    /// in organizations.
    pub second_factor_required: bool,
    /// A password from a browser not seen before needs a code as well.
    pub client_trust: bool,
}

/// What pages ask for first when somebody signs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PreferredStrategy {
    /// The password.
    #[default]
    Password,
    /// A code that is sent.
    Otp,
}

impl Settings {
    /// Whether everybody must have a second factor.
    pub fn is_second_factor_required(&self) -> bool {
        self.sign_in.second_factor_required || self.sign_up.mfa_required
    }
}

/// Locking users after failed sign-ins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lockout {
    /// Whether users are locked after failed sign-ins at all. Whoever is locked stays so until the lock ends or a backend
    /// unlocks them.
    pub enabled: bool,
    /// Failed attempts until a user is locked.
    pub max_attempts: i64,
    /// How long a lock lasts; `None` until somebody unlocks.
    pub duration_minutes: Option<i64>,
}

impl Default for Lockout {
    fn default() -> Lockout {
        Lockout { enabled: true, max_attempts: 100, duration_minutes: Some(60) }
    }
}

/// What is done against people who try out identifiers and links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AttackProtection {
    /// Answers do not tell whether an e-mail address or a phone number belongs to somebody. Usernames are told at
    /// sign-up, where a taken one cannot be chosen.
    pub enumeration_protection: bool,
    /// A link sent by e-mail works only in the browser that asked for it. Without it whoever asks for a link to
    /// somebody else's address is signed in when that person opens it.
    pub email_link_require_same_client: bool,
    /// Answers before the sign-in is complete tell neither name nor picture.
    pub pii: bool,
}

impl Default for AttackProtection {
    fn default() -> AttackProtection {
        AttackProtection { enumeration_protection: false, email_link_require_same_client: true, pii: false }
    }
}
