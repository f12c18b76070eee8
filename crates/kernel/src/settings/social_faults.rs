//! What is wrong with the configuration of a provider.

use url::{Host, Url};

use super::social::{
    CUSTOM, CUSTOM_MOCK, KNOWN_PROVIDERS, KnownProvider, ProviderStanding, SocialProvider, SocialSettings,
    is_mock,
};
use crate::environment::Environment;
use crate::settings::SettingsFault;
use crate::settings::check::Faults;

/// Every browser is told of all that are enabled.
const PROVIDERS: usize = 80;
const CUSTOM_KEY_CHARS: usize = 40;
const SCOPES: usize = 50;
const PARAMS: usize = 20;
const CLIENT_IDS: usize = 20;
const TEXT_CHARS: usize = 512;
const URL_CHARS: usize = 1024;

/// Parameters of the address people are sent to that the server itself sets: whoever sets them otherwise would take
/// away what they protect.
const RESERVED: [&str; 12] = [
    "client_id",
    "client_key",
    "code_challenge",
    "code_challenge_method",
    "nonce",
    "redirect_uri",
    "request",
    "request_uri",
    "response_mode",
    "response_type",
    "scope",
    "state",
];

const ONLY_CUSTOM: &str = "Only a provider of your own, whose key begins with custom_, has it.";
const ONLY_APPLE: &str = "Only apple has it.";

pub(super) fn check(social: &SocialSettings, faults: &mut Faults) {
    if social.len() > PROVIDERS {
        faults.add("social", format!("There may be at most {PROVIDERS} providers."));
    }
    for (key, provider) in social {
        let mut own = ProviderFaults { key, faults };
        match (key.strip_prefix(CUSTOM), KnownProvider::find(key)) {
            // It needs nothing that those have.
            (Some(_), _) if key == CUSTOM_MOCK => (),
            (Some(name), _) => own.custom(name, provider),
            (None, Some(known)) => own.known(known, provider),
            (None, None) => own.unknown(),
        }
        own.texts(provider);
    }
}

/// What counts on the other kind of instance only.
pub(super) fn check_on(environment: Environment, social: &SocialSettings) -> Vec<SettingsFault> {
    let mut found = Vec::new();
    if environment == Environment::Development {
        return found;
    }
    for (key, provider) in social {
        let mut add = |field: &str, text: &str| {
            found.push(SettingsFault { path: format!("social.{key}.{field}"), text: text.to_owned() });
        };
        if is_mock(key) && provider.enabled {
            add("enabled", "Only development instances have it: it lets everybody be whoever they say.");
        }
        if provider.stand_in_url.is_some() {
            add("stand_in_url", "Only development instances allow it.");
        }
        let is_insecure = |field: &str, url: Option<&str>| {
            field != "stand_in_url" && url.is_some_and(|url| !is_secure(url))
        };
        for (field, _) in urls(provider).into_iter().filter(|(field, url)| is_insecure(field, *url)) {
            add(field, "On a production instance it must begin with https://.");
        }
    }
    found
}

/// The faults of one provider.
struct ProviderFaults<'a> {
    key: &'a str,
    faults: &'a mut Faults,
}

impl ProviderFaults<'_> {
    fn add(&mut self, field: &str, text: impl Into<String>) {
        self.faults.add(format!("social.{}.{field}", self.key), text);
    }

    fn unknown(&mut self) {
        let meant = nearest(self.key).map(|meant| format!(" Did you mean {meant}?")).unwrap_or_default();
        let text = format!(
            "There is no provider `{}`.{meant} Known: {}. The key of one of your own begins with custom_.",
            self.key,
            KNOWN_PROVIDERS.map(|known| known.key).join(", ")
        );
        self.faults.add(format!("social.{}", self.key), text);
    }

    fn known(&mut self, known: &KnownProvider, provider: &SocialProvider) {
        let usual = SocialProvider::default();
        for (field, is_set) in [
            ("discovery_url", provider.discovery_url.is_some()),
            ("authorize_url", provider.authorize_url.is_some()),
            ("token_url", provider.token_url.is_some()),
            ("token_auth", provider.token_auth.is_some()),
            ("userinfo_url", provider.userinfo_url.is_some()),
            ("jwks_url", provider.jwks_url.is_some()),
            ("issuer", provider.issuer.is_some()),
            ("endpoint_hosts", !provider.endpoint_hosts.is_empty()),
            ("allow_private_addresses", provider.allow_private_addresses),
            ("pkce", provider.pkce != usual.pkce),
            ("attributes", provider.attributes != usual.attributes),
            ("email_verified", provider.email_verified),
        ] {
            if is_set {
                self.add(field, ONLY_CUSTOM);
            }
        }
        let is_apple = known.key == "apple";
        if is_apple && provider.client_secret.is_some() {
            self.add("client_secret", "Apple has none: set team_id, key_id and private_key.");
        }
        if !is_apple {
            self.not_apple(provider);
        }
        match known.standing {
            ProviderStanding::Closed(why) if provider.enabled => self.add("enabled", why),
            _ => self.credentials(provider),
        }
    }

    fn not_apple(&mut self, provider: &SocialProvider) {
        for (field, is_set) in [
            ("team_id", provider.team_id.is_some()),
            ("key_id", provider.key_id.is_some()),
            ("private_key", provider.private_key.is_some()),
        ] {
            if is_set {
                self.add(field, ONLY_APPLE);
            }
        }
    }

    fn credentials(&mut self, provider: &SocialProvider) {
        let missing = provider.missing_credentials(self.key);
        if provider.enabled && !missing.is_empty() {
            let names = missing.join(" and ");
            self.add("enabled", format!("Set {names} too, in the same command or before it."));
        }
    }

    fn custom(&mut self, name: &str, provider: &SocialProvider) {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if name.is_empty() || name.len() > CUSTOM_KEY_CHARS || !name.bytes().all(is_plain) {
            let text = format!(
                "What follows custom_ must be 1 to {CUSTOM_KEY_CHARS} small letters, digits and underscores."
            );
            self.faults.add(format!("social.{}", self.key), text);
        }
        self.not_apple(provider);
        self.credentials(provider);
        if provider.stand_in_url.is_some() {
            self.add("stand_in_url", "A provider of your own has addresses of its own: set those.");
        }
        if provider.name.as_ref().is_none_or(|name| name.trim().is_empty()) {
            self.add("name", "A provider of your own must have a name.");
        }
        self.addresses(provider);
        for (field, path) in mapping(provider) {
            let is_path =
                !path.is_empty() && path.len() <= 100 && path.split('.').all(|part| !part.is_empty());
            if !is_path {
                self.add(field, "It must be a name of at most 100 characters; dots lead into objects.");
            }
        }
    }

    /// It says itself where everything is, or all of it is set here.
    fn addresses(&mut self, provider: &SocialProvider) {
        let single = [
            ("authorize_url", &provider.authorize_url),
            ("token_url", &provider.token_url),
            ("userinfo_url", &provider.userinfo_url),
            ("jwks_url", &provider.jwks_url),
        ];
        if provider.discovery_url.is_some() {
            for (field, _) in single.iter().filter(|(_, url)| url.is_some()) {
                self.add(field, "The discovery_url says where it is: set one or the other.");
            }
            let has_issuer = provider.issuer.is_some() || provider.implied_issuer().is_some();
            if !has_issuer {
                self.add(
                    "issuer",
                    "Set it: the discovery_url does not end in /.well-known/openid-configuration.",
                );
            }
            return;
        }
        for (field, _) in single.iter().take(2).filter(|(_, url)| url.is_none()) {
            self.add(field, "Set it, or discovery_url.");
        }
        let has_keys = provider.jwks_url.is_some() && provider.issuer.is_some();
        if provider.userinfo_url.is_none() && !has_keys {
            self.add(
                "userinfo_url",
                "Set it, or jwks_url and issuer, or discovery_url: else nothing says who somebody is.",
            );
        }
        if provider.jwks_url.is_some() != provider.issuer.is_some() {
            self.add("issuer", "jwks_url and issuer belong together: set both or none.");
        }
        if !provider.endpoint_hosts.is_empty() {
            self.add("endpoint_hosts", "It is about what the discovery_url leads to, and there is none.");
        }
    }

    fn texts(&mut self, provider: &SocialProvider) {
        for (field, text) in [
            ("client_id", &provider.client_id),
            ("team_id", &provider.team_id),
            ("key_id", &provider.key_id),
            ("name", &provider.name),
        ] {
            if text.as_ref().is_some_and(|text| !is_text(text)) {
                self.add(field, format!("It must be one line of at most {TEXT_CHARS} characters."));
            }
        }
        for (field, url) in urls(provider) {
            if url.is_some_and(|url| !is_address(url)) {
                self.add(
                    field,
                    "It must be a URL over https, or over http on this machine, without credentials.",
                );
            }
        }
        if provider.scopes.len() > SCOPES || !provider.scopes.iter().all(|scope| is_scope(scope)) {
            self.add("scopes", format!("At most {SCOPES}, without spaces, commas and quotes."));
        }
        let ids = &provider.more_client_ids;
        if ids.len() > CLIENT_IDS || ids.iter().any(|id| id.is_empty() || !is_text(id)) {
            self.add("more_client_ids", format!("At most {CLIENT_IDS}, each one line."));
        }
        let hosts = &provider.endpoint_hosts;
        if hosts.len() > CLIENT_IDS || hosts.iter().any(|host| !is_host(host)) {
            self.add(
                "endpoint_hosts",
                "They must be names of hosts, such as api.example.com, in small letters.",
            );
        }
        self.params(provider);
    }

    fn params(&mut self, provider: &SocialProvider) {
        let params = &provider.authorize_params;
        let is_fine = |(name, value): (&String, &String)| !name.is_empty() && is_text(name) && is_text(value);
        if params.len() > PARAMS || !params.iter().all(is_fine) {
            self.add("authorize_params", format!("At most {PARAMS}, each with a name, and one line each."));
        }
        if let Some(name) = params.keys().find(|name| RESERVED.contains(&name.as_str())) {
            self.add("authorize_params", format!("The server itself sets `{name}`."));
        }
    }
}

fn mapping(provider: &SocialProvider) -> [(&'static str, &str); 7] {
    let names = &provider.attributes;
    [
        ("attributes.sub", &names.sub),
        ("attributes.email", &names.email),
        ("attributes.email_verified", &names.email_verified),
        ("attributes.given_name", &names.given_name),
        ("attributes.family_name", &names.family_name),
        ("attributes.username", &names.username),
        ("attributes.picture", &names.picture),
    ]
}

fn urls(provider: &SocialProvider) -> [(&'static str, Option<&str>); 8] {
    [
        ("logo_url", provider.logo_url.as_deref()),
        ("discovery_url", provider.discovery_url.as_deref()),
        ("authorize_url", provider.authorize_url.as_deref()),
        ("token_url", provider.token_url.as_deref()),
        ("userinfo_url", provider.userinfo_url.as_deref()),
        ("jwks_url", provider.jwks_url.as_deref()),
        ("issuer", provider.issuer.as_deref()),
        ("stand_in_url", provider.stand_in_url.as_deref()),
    ]
}

fn is_text(text: &str) -> bool {
    text.chars().count() <= TEXT_CHARS && !text.chars().any(char::is_control)
}

/// RFC 6749, section 3.3, without the comma that some providers put between scopes.
fn is_scope(scope: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"\\,".contains(&byte);
    !scope.is_empty() && scope.len() <= TEXT_CHARS && scope.bytes().all(is_plain)
}

fn is_host(host: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    !host.is_empty() && host.len() <= 253 && host.bytes().all(is_plain)
}

fn is_secure(text: &str) -> bool {
    text.starts_with("https://")
}

/// An address over https, or of this machine.
fn is_address(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return false,
    };
    let is_allowed = url.scheme() == "https" || (url.scheme() == "http" && is_here);
    is_bare
        && is_allowed
        && text.len() <= URL_CHARS
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
}

/// The known provider that may have been meant: one or two letters are different.
fn nearest(key: &str) -> Option<&'static str> {
    let key = key.strip_prefix("oauth_").unwrap_or(key).to_lowercase();
    let near = KNOWN_PROVIDERS.iter().map(|known| (distance(&key, known.key), known.key)).min()?;
    (near.0 <= 2 && near.0 < near.1.len()).then_some(near.1)
}

/// How many letters have to be added, left out or replaced.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().take(TEXT_CHARS).enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (index, expected) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *expected);
            diagonal = row[index + 1];
            row[index + 1] = replaced.min(row[index] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::environment::Environment;
    use crate::settings::Settings;

    fn settings(social: Value) -> Settings {
        serde_json::from_value(json!({ "social": social })).unwrap()
    }

    fn said(social: Value) -> Vec<String> {
        settings(social)
            .problems()
            .into_iter()
            .map(|fault| format!("{}: {}", fault.path, fault.text))
            .collect()
    }

    fn paths(social: Value) -> Vec<String> {
        settings(social).problems().into_iter().map(|fault| fault.path).collect()
    }

    const SECRET: &str = "sealed:AQ==";

    #[test]
    fn good_ones_are_taken() {
        let credentials = json!({"enabled": true, "client_id": "id", "client_secret": SECRET});
        let good = json!({
            "google": credentials,
            "github": {"enabled": true, "client_id": "id", "client_secret": SECRET, "scopes": ["repo", "admin:org"],
                "authorize_params": {"allow_signup": "false"}, "stand_in_url": "http://127.0.0.1:9000"},
            "apple": {"enabled": true, "client_id": "id", "team_id": "T", "key_id": "K", "private_key": SECRET},
            "mock": {"enabled": true},
            "instagram": {},
            "custom_acme": {"enabled": true, "client_id": "id", "client_secret": SECRET, "name": "Acme",
                "discovery_url": "https://id.acme.example/.well-known/openid-configuration"},
            "custom_plain": {"name": "Plain", "authorize_url": "http://localhost:9000/a", "token_url": "http://127.0.0.1/t",
                "userinfo_url": "https://id.example.com/u", "pkce": false, "attributes": {"sub": "data.id"},
                "token_auth": "client_secret_basic"},
        });
        assert_eq!(said(good), [""; 0]);
    }

    #[test]
    fn a_provider_that_does_not_exist_is_told_with_the_one_that_may_be_meant() {
        for (key, meant) in
            [("googel", "google"), ("oauth_google", "google"), ("GitHub", "github"), ("linkdin", "linkedin")]
        {
            let faults = said(json!({ key: {} }));
            assert!(
                faults[0].starts_with(&format!(
                    "social.{key}: There is no provider `{key}`. Did you mean {meant}?"
                )),
                "{faults:?}"
            );
        }
        assert!(!said(json!({ "acme": {} }))[0].contains("Did you mean"));
    }

    #[test]
    fn what_cannot_work_is_refused_where_it_stands() {
        let custom = |more: Value| {
            let mut provider =
                json!({"name": "A", "discovery_url": "https://a.example/.well-known/openid-configuration"});
            provider.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({ "custom_a": provider })
        };
        for (social, path) in [
            (json!({"google": {"enabled": true}}), "social.google.enabled"),
            (
                json!({"google": {"enabled": true, "client_id": "", "client_secret": SECRET}}),
                "social.google.enabled",
            ),
            (json!({"instagram": {"enabled": true}}), "social.instagram.enabled"),
            (json!({"enstall": {"enabled": true}}), "social.enstall.enabled"),
            (
                json!({"twitter": {"enabled": true, "client_id": "a", "client_secret": SECRET}}),
                "social.twitter.enabled",
            ),
            (json!({"google": {"team_id": "T"}}), "social.google.team_id"),
            (json!({"apple": {"client_secret": SECRET}}), "social.apple.client_secret"),
            (json!({"google": {"token_url": "https://evil.example/"}}), "social.google.token_url"),
            (json!({"google": {"pkce": false}}), "social.google.pkce"),
            (json!({"google": {"token_auth": "client_secret_basic"}}), "social.google.token_auth"),
            (json!({"google": {"allow_private_addresses": true}}), "social.google.allow_private_addresses"),
            (json!({"google": {"email_verified": true}}), "social.google.email_verified"),
            (json!({"google": {"scopes": ["a b"]}}), "social.google.scopes"),
            (json!({"tiktok": {"scopes": ["a,b"]}}), "social.tiktok.scopes"),
            (json!({"google": {"authorize_params": {"state": "x"}}}), "social.google.authorize_params"),
            (
                json!({"google": {"authorize_params": {"redirect_uri": "x"}}}),
                "social.google.authorize_params",
            ),
            (json!({"google": {"stand_in_url": "http://10.0.0.1/"}}), "social.google.stand_in_url"),
            (json!({"google": {"stand_in_url": "ftp://localhost/"}}), "social.google.stand_in_url"),
            (json!({"google": {"client_id": "a\nb"}}), "social.google.client_id"),
            (
                json!({"custom_": {"name": "A", "discovery_url": "https://a.example/.well-known/openid-configuration"}}),
                "social.custom_",
            ),
            (custom(json!({"name": " "})), "social.custom_a.name"),
            (custom(json!({"token_url": "https://a.example/t"})), "social.custom_a.token_url"),
            (
                custom(json!({"discovery_url": "http://a.example/.well-known/openid-configuration"})),
                "social.custom_a.discovery_url",
            ),
            (
                custom(json!({"discovery_url": "https://u:p@a.example/.well-known/openid-configuration"})),
                "social.custom_a.discovery_url",
            ),
            (custom(json!({"discovery_url": "https://a.example/discovery"})), "social.custom_a.issuer"),
            (custom(json!({"attributes": {"sub": ""}})), "social.custom_a.attributes.sub"),
            (custom(json!({"attributes": {"email": "a..b"}})), "social.custom_a.attributes.email"),
            (custom(json!({"stand_in_url": "http://localhost/"})), "social.custom_a.stand_in_url"),
            (custom(json!({"endpoint_hosts": ["https://b.example"]})), "social.custom_a.endpoint_hosts"),
            (
                json!({"custom_b": {"name": "B", "authorize_url": "https://b.example/a", "token_url": "https://b.example/t"}}),
                "social.custom_b.userinfo_url",
            ),
            (
                json!({"custom_b": {"name": "B", "userinfo_url": "https://b.example/a", "token_url": "https://b.example/t"}}),
                "social.custom_b.authorize_url",
            ),
        ] {
            assert_eq!(paths(social.clone()), [path], "{social}");
        }
        for key in ["custom_A", "custom_a-b", "custom_é", &format!("custom_{}", "a".repeat(41))] {
            let provider = json!({ key: {"name": "A", "discovery_url": "https://a.example/.well-known/openid-configuration"} });
            assert!(paths(provider).contains(&format!("social.{key}")), "{key}");
        }
    }

    #[test]
    fn fault_names_only_the_credentials_that_are_missing() {
        let fault = |key: &str, provider: Value| said(json!({ key: provider })).join("; ");
        let google = json!({"enabled": true, "client_id": "id"});
        assert!(fault("google", google).contains(": Set client_secret too,"));
        let google = json!({"enabled": true, "client_id": ""});
        assert!(fault("google", google).contains(": Set client_id and client_secret too,"));
        let apple = json!({"enabled": true, "client_id": "id", "key_id": "K"});
        assert!(fault("apple", apple).contains(": Set team_id and private_key too,"));
    }

    #[test]
    fn production_has_no_mock_no_stand_in_and_nothing_in_clear() {
        let settings = settings(json!({
            "mock": {"enabled": true},
            "google": {"stand_in_url": "https://localhost:9000"},
            "custom_a": {"name": "A", "discovery_url": "http://localhost/.well-known/openid-configuration"},
        }));
        assert_eq!(settings.problems_on(Environment::Development), []);
        let faults = settings.problems_on(Environment::Production).into_iter();
        let expected = ["social.custom_a.discovery_url", "social.google.stand_in_url", "social.mock.enabled"];
        assert_eq!(faults.map(|fault| fault.path).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_provider_is_a_way_in() {
        let mut settings =
            settings(json!({"google": {"enabled": true, "client_id": "id", "client_secret": SECRET}}));
        settings.attributes.email_address.used_for_first_factor = false;
        settings.attributes.phone_number.enabled = false;
        settings.attributes.username.enabled = false;
        assert_eq!(settings.problems(), []);
        settings.social.get_mut("google").unwrap().authenticatable = false;
        assert_eq!(settings.problems().len(), 1);
    }
}
