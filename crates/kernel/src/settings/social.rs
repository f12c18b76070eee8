//! Providers people have accounts at: which of them an application works with, and by which credentials.
//!
//! The map has an entry for each provider that was configured, by its key: `google`, or `custom_` and a name for one
//! that the server does not know. How a provider is spoken to is not known here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SealedSetting, Settings};

pub use super::known_providers::{KNOWN_PROVIDERS, KnownProvider, ProviderStanding};

/// What the key of a provider begins with that the server does not know.
pub const CUSTOM: &str = "custom_";
/// The provider of development instances, which lets people be whoever they say.
pub const MOCK: &str = "mock";
/// The same under the key of a provider of one's own: components in pages show a button for those, and for providers whose
/// name they know.
pub const CUSTOM_MOCK: &str = "custom_mock";

/// Whether a key is that of the provider of development instances.
pub fn is_mock(key: &str) -> bool {
    key == MOCK || key == CUSTOM_MOCK
}

/// Providers by their keys.
pub type SocialSettings = BTreeMap<String, SocialProvider>;

/// A provider people have accounts at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SocialProvider {
    /// People may use it.
    pub enabled: bool,
    /// People may sign up and in with it; otherwise they only connect it to the account they have.
    pub authenticatable: bool,
    /// As whom this server is registered at the provider; for Apple the services id.
    pub client_id: Option<String>,
    /// What this server proves that with; kept sealed and shown as `(set)`. Apple has a key instead.
    pub client_secret: Option<SealedSetting>,
    /// Scopes that everybody is asked for, beside those that signing in needs. For a provider of your own they stand
    /// in the place of `profile` and `email`; `openid` is always asked for where there are ID tokens.
    pub scopes: Vec<String>,
    /// Refuses addresses with `+`, `=` or `#` before the `@`, which stay somebody's own after they left a company;
    /// `None` is true for Google and false for the others.
    pub block_email_subaddresses: Option<bool>,
    /// Client ids of the application's own apps, such as those for iOS and Android: ID tokens made for them are taken.
    pub more_client_ids: Vec<String>,
    /// Further parameters of the address people are sent to, by their names.
    pub authorize_params: BTreeMap<String, String>,
    /// For Apple: the id of the team.
    pub team_id: Option<String>,
    /// For Apple: the id of the key.
    pub key_id: Option<String>,
    /// For Apple: the text of the file with the key (`.p8`); kept sealed and shown as `(set)`.
    pub private_key: Option<SealedSetting>,
    /// What people know it as. A provider of your own must have a name.
    pub name: Option<String>,
    /// Its logo.
    pub logo_url: Option<String>,
    /// For a provider of your own: where it says how it is spoken to, such as
    /// `https://id.example.com/.well-known/openid-configuration`.
    pub discovery_url: Option<String>,
    /// For a provider of your own that has no `discovery_url`: where people are sent to.
    pub authorize_url: Option<String>,
    /// For a provider of your own that has no `discovery_url`: where tokens are given out.
    pub token_url: Option<String>,
    /// For a provider of your own: how this server proves who it is where tokens are given out; `None` is what the
    /// discovery document says, and `client_secret_post` without one.
    pub token_auth: Option<TokenAuth>,
    /// For a provider of your own that has no `discovery_url`: where it says who somebody is. What it says there counts
    /// more than the ID token.
    pub userinfo_url: Option<String>,
    /// For a provider of your own that has no `discovery_url`: where the keys are that sign its ID tokens.
    pub jwks_url: Option<String>,
    /// For a provider of your own: who its ID tokens must be from; `None` is what stands in the `discovery_url` before
    /// `/.well-known/`.
    pub issuer: Option<String>,
    /// For a provider of your own: further hosts that its discovery document may name. Without them everything in it
    /// must be at the host of the issuer, so that the document cannot lead to another place later.
    pub endpoint_hosts: Vec<String>,
    /// For a provider of your own: whether a production instance may reach it at private and local addresses, such as a
    /// provider in your own network.
    pub allow_private_addresses: bool,
    /// For a provider of your own: whether it takes a proof that whoever began is who ends (PKCE).
    pub pkce: bool,
    /// For a provider of your own: by which names it says who somebody is.
    pub attributes: ProviderAttributes,
    /// For a provider of your own: whether an address is taken for verified when it does not say. Whoever runs the
    /// provider can then take over every account by its address.
    pub email_verified: bool,
    /// On development instances, for a provider the server knows: what answers in its place. With
    /// `http://127.0.0.1:9000`, requests to `https://api.github.com/user` go to
    /// `http://127.0.0.1:9000/api.github.com/user`.
    pub stand_in_url: Option<String>,
}

impl Default for SocialProvider {
    fn default() -> SocialProvider {
        SocialProvider {
            enabled: false,
            authenticatable: true,
            client_id: None,
            client_secret: None,
            scopes: Vec::new(),
            block_email_subaddresses: None,
            more_client_ids: Vec::new(),
            authorize_params: BTreeMap::new(),
            team_id: None,
            key_id: None,
            private_key: None,
            name: None,
            logo_url: None,
            discovery_url: None,
            authorize_url: None,
            token_url: None,
            token_auth: None,
            userinfo_url: None,
            jwks_url: None,
            issuer: None,
            endpoint_hosts: Vec::new(),
            allow_private_addresses: false,
            pkce: true,
            attributes: ProviderAttributes::default(),
            email_verified: false,
            stand_in_url: None,
        }
    }
}

/// How a server proves who it is where tokens are given out, by the names of OpenID Connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TokenAuth {
    /// In the form.
    #[default]
    ClientSecretPost,
    /// In the header `Authorization`.
    ClientSecretBasic,
}

/// By which names a provider says who somebody is; dots lead into objects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderAttributes {
    /// The name of what somebody is known by there for ever.
    pub sub: String,
    /// The name of the e-mail address.
    pub email: String,
    /// The name of what says whether the address is verified.
    pub email_verified: String,
    /// The name of the given name.
    pub given_name: String,
    /// The name of the family name.
    pub family_name: String,
    /// The name of the username.
    pub username: String,
    /// The name of the address of a picture.
    pub picture: String,
}

impl Default for ProviderAttributes {
    fn default() -> ProviderAttributes {
        ProviderAttributes {
            sub: "sub".to_owned(),
            email: "email".to_owned(),
            email_verified: "email_verified".to_owned(),
            given_name: "given_name".to_owned(),
            family_name: "family_name".to_owned(),
            username: "preferred_username".to_owned(),
            picture: "picture".to_owned(),
        }
    }
}

impl SocialProvider {
    /// Whether addresses with a tag are refused.
    pub fn blocks_subaddresses(&self, key: &str) -> bool {
        self.block_email_subaddresses.unwrap_or(key == "google")
    }

    /// What people know it as.
    pub fn shown_name<'a>(&'a self, key: &'a str) -> &'a str {
        let named = if key == CUSTOM_MOCK { MOCK } else { key };
        let known = || KnownProvider::find(named).map_or(key, |known| known.name);
        self.name.as_deref().filter(|name| !name.is_empty()).unwrap_or_else(known)
    }

    /// Returns the names of the credentials that the provider needs and that are not set. `key` is the provider's key.
    pub fn missing_credentials(&self, key: &str) -> Vec<&'static str> {
        if is_mock(key) {
            return Vec::new();
        }
        let client_id = ("client_id", self.client_id.as_ref().is_some_and(|id| !id.is_empty()));
        let proofs = if key == "apple" {
            vec![
                ("team_id", self.team_id.is_some()),
                ("key_id", self.key_id.is_some()),
                ("private_key", self.private_key.is_some()),
            ]
        } else {
            vec![("client_secret", self.client_secret.is_some())]
        };
        let credentials = std::iter::once(client_id).chain(proofs);
        credentials.filter(|(_, is_set)| !is_set).map(|(name, _)| name).collect()
    }
}

impl SocialProvider {
    /// What stands before the well-known path of the discovery document: who it must say it is.
    pub fn implied_issuer(&self) -> Option<&str> {
        self.discovery_url.as_deref()?.strip_suffix("/openid-configuration")?.strip_suffix("/.well-known")
    }
}

impl Settings {
    /// The providers people may use, by their keys.
    pub fn enabled_providers(&self) -> impl Iterator<Item = (&str, &SocialProvider)> {
        self.social
            .iter()
            .filter(|(_, provider)| provider.enabled)
            .map(|(key, provider)| (key.as_str(), provider))
    }

    /// The providers people may sign in with, by their keys.
    pub fn sign_in_providers(&self) -> impl Iterator<Item = (&str, &SocialProvider)> {
        self.enabled_providers().filter(|(_, provider)| provider.authenticatable)
    }

    /// The client id by which pages show the prompt of Google, if people may sign in with it.
    pub fn one_tap_client_id(&self) -> Option<&str> {
        let (_, google) = self.sign_in_providers().find(|(key, _)| *key == "google")?;
        google.client_id.as_deref()
    }
}
