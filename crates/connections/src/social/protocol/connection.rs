//! A provider as one instance uses it: its row, and what the settings say: credentials, scopes and parameters.

use latchkey_base::kinds::InstanceId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_jose::digest::{hex, sha256};
use latchkey_kernel::cx::Act;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::social::{self, CUSTOM_MOCK, KnownProvider, MOCK, ProviderStanding};
use latchkey_kernel::settings::{SealedSetting, SocialProvider};
use latchkey_kernel::strategy::Strategy;
use latchkey_outbound::reach::Reach;
use url::Url;

use super::Endpoints;
use crate::social::providers::{Profile, ProviderAnswers, ProviderRow, UserSource, profiles, rows};

/// A provider as one instance uses it.
pub struct Connection {
    pub(super) instance: InstanceId,
    pub(in crate::social) key: String,
    strategy: Strategy,
    pub(in crate::social) row: &'static ProviderRow,
    pub(in crate::social) settings: SocialProvider,
    pub(in crate::social) reach: Reach,
    pub(in crate::social) client_id: String,
    pub(in crate::social) secret: Secret,
    version: String,
}

impl Connection {
    /// Such as `oauth_google`.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// What the provider said about somebody; nothing when it does not say who it is about.
    pub(super) fn profile(&self, said: &ProviderAnswers<'_>) -> Option<Profile> {
        let profile = match self.is_custom() {
            true => profiles::custom(&self.settings.attributes, self.settings.email_verified, said),
            false => (self.row.profile)(said),
        };
        profile.and_then(profiles::cleaned)
    }

    /// Whether people may sign in with it, and not only connect it to the account they have.
    pub fn is_authenticatable(&self) -> bool {
        self.settings.authenticatable
    }

    /// Whether addresses with a tag, such as `a+b@example.com`, are refused.
    pub fn blocks_subaddresses(&self) -> bool {
        self.settings.blocks_subaddresses(&self.key)
    }

    /// The digest of the configuration: what began under another one cannot be ended.
    pub fn version(&self) -> String {
        self.version.clone()
    }

    /// Whether it is the provider that asks people who they want to be.
    pub fn is_mock(&self) -> bool {
        social::is_mock(&self.key)
    }

    /// Whether it is one of the application's own.
    pub(in crate::social) fn is_custom(&self) -> bool {
        self.key.starts_with(social::CUSTOM)
    }

    /// Whether it is one of the application's own that names people as OpenID Connect does.
    pub(in crate::social) fn is_openid(&self) -> bool {
        self.is_custom() && self.settings.attributes.sub == "sub"
    }

    /// The scopes everybody is asked for.
    pub(in crate::social) fn scopes(&self) -> Vec<String> {
        let mut scopes: Vec<String> = self.row.scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let has_own = !self.settings.scopes.is_empty();
        match self.is_custom() {
            // What every provider that speaks OpenID Connect knows; others have scopes in the settings.
            true if !has_own => scopes.extend(["openid", "profile", "email"].map(str::to_owned)),
            // Without it there is no ID token, and some refuse what belongs to one.
            true if self.settings.discovery_url.is_some() || self.settings.jwks_url.is_some() => {
                scopes.push("openid".to_owned());
            }
            _ => (),
        }
        for scope in &self.settings.scopes {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        scopes
    }

    /// Whether PKCE is used.
    pub(in crate::social) fn has_pkce(&self) -> bool {
        if self.is_custom() { self.settings.pkce } else { self.row.has_pkce }
    }

    /// Where a provider that the server knows is asked, or one whose addresses are in the settings.
    pub(super) fn fixed_endpoints(&self) -> Endpoints {
        let own = |url: &Option<String>| url.clone();
        if self.is_custom() {
            let authorize = self.settings.authorize_url.clone().unwrap_or_default();
            return Endpoints {
                origin: origin(&authorize),
                authorize,
                token: self.settings.token_url.clone().unwrap_or_default(),
                token_auth: Some(self.settings.token_auth.unwrap_or_default()),
                user: own(&self.settings.userinfo_url),
                emails: None,
                jwks: own(&self.settings.jwks_url),
                issuer: own(&self.settings.issuer),
            };
        }
        let (user, emails) = match self.row.user {
            UserSource::Get(url)
            | UserSource::GetWithProof(url)
            | UserSource::Post(url)
            | UserSource::GraphQl(url, _)
            | UserSource::TokenInPath(url) => (Some(url), None),
            UserSource::GetBoth(user, emails) => (Some(user), Some(emails)),
            UserSource::IdToken | UserSource::TokenAnswer => (None, None),
        };
        Endpoints {
            origin: origin(self.row.authorize_url),
            authorize: self.placed(self.row.authorize_url),
            token: self.placed(self.row.token_url),
            token_auth: None,
            user: user.map(|url| self.placed(url)),
            emails: emails.map(|url| self.placed(url)),
            jwks: self.row.id_token.map(|rules| self.placed(rules.jwks_url)),
            issuer: self.row.id_token.map(|rules| rules.issuer.to_owned()),
        }
    }

    /// An address of the row, or where its stand-in answers.
    fn placed(&self, url: &str) -> String {
        match &self.settings.stand_in_url {
            Some(base) => {
                format!("{}/{}", base.trim_end_matches('/'), url.strip_prefix("https://").unwrap_or(url))
            }
            None => url.to_owned(),
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Connection({})", self.key)
    }
}

fn origin(url: &str) -> String {
    Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// The provider of a strategy such as `oauth_google` or `oauth_custom_acme`, made ready for use.
pub fn find(act: &Act, environment: Environment, strategy: &str) -> Result<Connection> {
    let unsupported = || Error::new(Code::OauthUnsupportedProvider);
    let key = strategy.strip_prefix("oauth_").ok_or_else(unsupported)?;
    let row = row(key, environment).ok_or_else(unsupported)?;
    let strategy = Strategy::by_account(key).ok_or_else(unsupported)?;
    let settings = act.settings.social.get(key).filter(|settings| settings.enabled);
    let settings = settings.ok_or_else(|| Error::new(Code::OauthProviderNotEnabled))?;
    if !settings.missing_credentials(key).is_empty() {
        return Err(Error::new(Code::OauthConfigMissing));
    }
    let mut settings = settings.clone();
    if environment == Environment::Production {
        // Settings of production instances have none; an instance that was moved by hand must not either.
        settings.stand_in_url = None;
    }
    Ok(Connection {
        instance: act.instance.clone(),
        key: key.to_owned(),
        strategy,
        row,
        reach: match environment {
            Environment::Production if !settings.allow_private_addresses => Reach::Public,
            Environment::Production | Environment::Development => Reach::Any,
        },
        client_id: settings.client_id.clone().unwrap_or_default(),
        secret: secret(act, key, &settings)?,
        version: version(key, &settings)?,
        settings,
    })
}

/// The provider whose ID tokens a strategy takes, such as `google` for `google_one_tap` and `oauth_token_google`.
pub(in crate::social) fn provider_of_tokens(strategy: &str) -> Option<&str> {
    if strategy == Strategy::ONE_TAP.name() { Some("google") } else { strategy.strip_prefix("oauth_token_") }
}

fn row(key: &str, environment: Environment) -> Option<&'static ProviderRow> {
    let is_closed =
        KnownProvider::find(key).is_some_and(|known| matches!(known.standing, ProviderStanding::Closed(_)));
    match key {
        _ if is_closed => None,
        MOCK | CUSTOM_MOCK => (environment == Environment::Development).then_some(&rows::MOCK),
        _ if key.strip_prefix(social::CUSTOM).is_some_and(|name| !name.is_empty()) => Some(&rows::CUSTOM),
        _ => rows::find(key),
    }
}

/// The secret or key. One that was sealed with another master key is as good as none.
fn secret(act: &Act, key: &str, settings: &SocialProvider) -> Result<Secret> {
    let (sealed, field): (&Option<SealedSetting>, &str) = match key {
        MOCK | CUSTOM_MOCK => return Ok(Secret::new(String::new())),
        "apple" => (&settings.private_key, "private_key"),
        _ => (&settings.client_secret, "client_secret"),
    };
    let missing = || Error::new(Code::OauthConfigMissing);
    let sealed = sealed.as_ref().ok_or_else(missing)?;
    sealed.open(&act.master, &act.instance, &format!("social.{key}.{field}")).map_err(|_| {
        tracing::error!(
            "social.{key}.{field} of {} was sealed with another master key: set it again",
            act.instance
        );
        missing()
    })
}

fn version(key: &str, settings: &SocialProvider) -> Result<String> {
    let text = serde_json::to_string(&(key, settings)).map_err(Error::internal)?;
    Ok(hex(&sha256(text.as_bytes())[..16]))
}
