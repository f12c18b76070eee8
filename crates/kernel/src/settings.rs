//! The settings of an instance: one typed document, with defaults for whatever it leaves out.
//!
//! A document is identified by its instance and revision, both read with every request's
//! authentication, so the cache of parsed documents can never serve an old one.

mod actor_tokens;
mod attributes;
mod cache;
mod check;
mod development;
mod display;
pub mod edit;
mod environments;
mod events;
pub mod explain;
mod known_providers;
pub mod messages;
mod native;
mod organizations;
mod passkeys;
mod passwords;
mod restrictions;
mod satellites;
pub mod secrets;
mod sessions;
pub mod social;
mod social_faults;
mod tickets;
mod unbuilt;
mod wallets;
mod wording;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use actor_tokens::ActorTokenSettings;
pub use attributes::{Attribute, Attributes};
pub use cache::SettingsCache;
pub use check::SettingsFault;
pub use development::DevelopmentSettings;
pub use display::Display;
pub use events::EventSettings;
pub use messages::{EmailTransport, MessageSettings, SmsTransport, SmtpTls};
pub use native::{AndroidApp, NativeSettings};
pub use organizations::{EnrollmentMode, OrganizationSettings};
pub use passkeys::{PasskeySettings, RelyingPartyId};
pub use passwords::{PasswordSettings, UsernameSettings};
pub use restrictions::Restrictions;
pub use satellites::Satellite;
pub use secrets::SealedSetting;
pub use sessions::{
    AttackProtection, Lockout, PreferredStrategy, SessionSettings, SignInSettings, SignUpMode, SignUpSettings,
};
pub use social::{SocialProvider, SocialSettings};
pub use tickets::TicketSettings;

/// Everything that can be set for an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What a user may or must have, and what it proves.
    pub attributes: Attributes,
    /// Providers people have accounts at, by their keys, such as `google`; those of your own begin with `custom_`.
    pub social: SocialSettings,
    /// What a password must be like.
    pub password: PasswordSettings,
    /// How passkeys are offered, and what they prove. They are switched on with `attributes.passkey.enabled`.
    pub passkey_settings: PasskeySettings,
    /// Which native apps belong to the application, and what they offer.
    pub native_settings: NativeSettings,
    /// Lengths of usernames.
    pub username: UsernameSettings,
    /// How people sign up.
    pub sign_up: SignUpSettings,
    /// How people sign in.
    pub sign_in: SignInSettings,
    /// How long sessions and their tokens last, and what tokens say.
    pub session: SessionSettings,
    /// Locking users after failed sign-ins.
    pub lockout: Lockout,
    /// What is done against people who try out identifiers and links.
    pub attack_protection: AttackProtection,
    /// Which addresses, numbers and wallets people may enter with.
    pub restrictions: Restrictions,
    /// What users may do by themselves unless told otherwise.
    pub actions: Actions,
    /// Whether backends can let a user act as another user.
    pub actor_tokens: ActorTokenSettings,
    /// Whether there are organizations, and what they may do.
    pub organizations: OrganizationSettings,
    /// Whether test addresses, numbers and codes work; by default on development instances only.
    pub test_mode: Option<bool>,
    /// Whether users must have accepted the terms.
    pub legal_consent_required: bool,
    /// Origins, such as `https://app.example.com`, whose pages may use the Frontend API of a production
    /// instance, beside those of its own domain. On development instances, origins that handshakes may send
    /// tokens to, beside this machine and private networks.
    pub allowed_origins: Vec<String>,
    /// Further domains of the application, on which whoever is signed in on its own domain is signed in too.
    pub satellites: Vec<Satellite>,
    /// Where browsers reach the Frontend API of a production instance if not at its own host: through a proxy of the
    /// application, such as `https://example.com/__clerk`. Links in messages and tickets lead there, and satellites ask
    /// there who is signed in.
    pub proxy_url: Option<String>,
    /// What a development instance allows although it is off by default.
    pub development: DevelopmentSettings,
    /// Names, pictures and addresses that pages show and lead to.
    pub display: Display,
    /// How e-mails and text messages leave.
    pub messages: MessageSettings,
    /// How long events are kept, and where they may be sent.
    pub events: EventSettings,
    /// How long tickets may be good for.
    pub tickets: TicketSettings,
}

/// What users may do by themselves unless told otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Actions {
    /// Users may delete their account, unless it says otherwise on the user.
    pub delete_self: bool,
    /// Users may create organizations, unless it says otherwise on the user.
    pub create_organization: bool,
    /// How many organizations a user may create; `None` is 100, 0 is no limit.
    pub create_organizations_limit: Option<i64>,
}

impl Default for Actions {
    fn default() -> Actions {
        Actions { delete_self: true, create_organization: true, create_organizations_limit: None }
    }
}
