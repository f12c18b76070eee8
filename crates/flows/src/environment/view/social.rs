//! `user_settings.social`: the providers people have accounts at, by strategy. Pages offer those that are enabled.

use std::collections::BTreeMap;

use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::SocialProvider;
use latchkey_kernel::settings::social::{KNOWN_PROVIDERS, KnownProvider, ProviderStanding, is_mock};
use latchkey_web::version::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::EnvironmentSource;

/// All providers by strategy, such as `oauth_google`.
pub(super) type SocialsView<'a> = BTreeMap<String, SocialView<'a>>;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsSocial")]
pub(super) struct SocialView<'a> {
    enabled: bool,
    /// Always false: nobody has to have an account at a certain provider.
    required: bool,
    /// Whether people may sign up and in with it, and not only connect it.
    authenticatable: bool,
    block_email_subaddresses: bool,
    strategy: String,
    /// Whether it cannot be enabled.
    not_selectable: bool,
    deprecated: bool,
    name: &'a str,
    logo_url: Option<&'a str>,
}

/// A provider that the descriptions of older versions do not list. Their object is closed.
const VERCEL: &str = "vercel";

/// Those the server knows, whether they are configured or not, and those of the application's own.
pub(super) fn view(source: EnvironmentSource<'_>) -> SocialsView<'_> {
    let EnvironmentSource { settings, environment, version, .. } = source;
    let known = KNOWN_PROVIDERS.iter().map(|known| known.key);
    let configured = settings.social.keys().map(String::as_str);
    let keys = known
        .chain(configured)
        .filter(|key| !is_mock(key) || environment == Environment::Development)
        .filter(|key| *key != VERCEL || version >= Version::V2026_08_20);
    keys.map(|key| (format!("oauth_{key}"), provider(key, settings.social.get(key)))).collect()
}

fn provider<'a>(key: &'a str, settings: Option<&'a SocialProvider>) -> SocialView<'a> {
    let known = KnownProvider::find(key);
    SocialView {
        enabled: settings.is_some_and(|provider| provider.enabled),
        required: false,
        authenticatable: settings.is_some_and(|provider| provider.enabled && provider.authenticatable),
        block_email_subaddresses: match settings {
            Some(provider) => provider.blocks_subaddresses(key),
            None => SocialProvider::default().blocks_subaddresses(key),
        },
        strategy: format!("oauth_{key}"),
        not_selectable: known.is_some_and(|known| matches!(known.standing, ProviderStanding::Closed(_))),
        deprecated: known.is_some_and(KnownProvider::is_deprecated),
        name: match (settings, known) {
            (Some(provider), _) => provider.shown_name(key),
            (None, Some(known)) => known.name,
            (None, None) => key,
        },
        logo_url: settings.and_then(|provider| provider.logo_url.as_deref()),
    }
}
