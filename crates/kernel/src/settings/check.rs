//! What is wrong with a settings document that can be read: values out of range, and contradictions.

use std::fmt::Display as Shown;
use std::ops::RangeInclusive;

use latchkey_base::text;
use latchkey_passwords::SPECIAL_CHARACTERS;
use latchkey_web::depth::depth;

use super::{Attribute, Settings, satellites, social_faults, unbuilt, wallets};
use crate::limits::JWT_CLAIMS_DEPTH;
use crate::origins::canonical;
use crate::strategy::Strategy;

const MINUTE: i64 = 60;
const TEN_YEARS: i64 = 10 * 365 * 24 * 60 * MINUTE;
/// Longest address or name in the document; it is sent to every browser.
const TEXT_CHARS: usize = 2048;
const NAME_CHARS: usize = 100;
/// Origins are compared one by one with every request.
const ORIGINS: usize = 100;

/// Claims every session token has anyway, or has in one of its forms for people who work for an organization; an
/// application cannot set them, or somebody who works for none could seem to.
const RESERVED_CLAIMS: [&str; 19] = [
    "act",
    "azp",
    "exp",
    "fea",
    "fva",
    "iat",
    "iss",
    "jti",
    "nbf",
    "o",
    "org_id",
    "org_permissions",
    "org_role",
    "org_slug",
    "pla",
    "sid",
    "sts",
    "sub",
    "v",
];

/// One thing wrong with a settings document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFault {
    /// Where, such as `password.min_length`.
    pub path: String,
    /// What, as a sentence.
    pub text: String,
}

impl Settings {
    /// Everything that is out of range or contradicts itself; empty when the document can be used.
    pub fn problems(&self) -> Vec<SettingsFault> {
        let mut faults = Faults(Vec::new());
        self.check_attributes(&mut faults);
        self.check_passkeys(&mut faults);
        self.check_ways_in(&mut faults);
        self.check_lengths(&mut faults);
        self.check_times(&mut faults);
        self.check_texts(&mut faults);
        self.check_restrictions(&mut faults);
        social_faults::check(&self.social, &mut faults);
        unbuilt::check(self, &mut faults);
        satellites::check(&self.satellites, &mut faults);
        satellites::check_proxy(self.proxy_url.as_deref(), &mut faults);
        self.messages.check(&mut faults);
        self.events.check(&mut faults);
        self.tickets.check(&mut faults);
        self.organizations.check(&mut faults);
        self.native_settings.check(&mut faults);
        faults.0
    }

    fn check_attributes(&self, faults: &mut Faults) {
        for (name, attribute) in self.attributes.all() {
            let mut say = |field: &str, text: String| faults.add(format!("attributes.{name}.{field}"), text);
            if attribute.required && !attribute.enabled {
                say("required", format!("{name} cannot be required while it is not enabled."));
            }
            if attribute.required_at_sign_up && !attribute.enabled {
                say("required_at_sign_up", format!("{name} cannot be required while it is not enabled."));
            }
            let known = Known::of(name);
            for (field, used, possible) in [
                ("first_factors", &attribute.first_factors, known.first),
                ("second_factors", &attribute.second_factors, known.second),
                ("verifications", &attribute.verifications, known.verifications),
            ] {
                if let Some(text) = wrong_strategies(name, used, possible) {
                    say(field, text);
                }
            }
            check_uses(name, attribute, known, say);
        }
        wallets::check(&self.attributes.web3_wallet, faults);
        for (name, attribute) in [
            ("authenticator_app", &self.attributes.authenticator_app),
            ("backup_code", &self.attributes.backup_code),
        ] {
            if attribute.required {
                faults.add(
                    format!("attributes.{name}.required"),
                    "Nobody has one before they sign up: set sign_in.second_factor_required instead.",
                );
            }
        }
    }

    /// People get passkeys after they have signed up.
    fn check_passkeys(&self, faults: &mut Faults) {
        let passkey = &self.attributes.passkey;
        for (field, is_set) in [
            ("required", passkey.required),
            ("required_at_sign_up", passkey.required_at_sign_up),
            ("verify_at_sign_up", passkey.verify_at_sign_up),
        ] {
            if is_set {
                faults.add(format!("attributes.passkey.{field}"), "Nobody has one before they sign up.");
            }
        }
    }

    /// Somebody must be able to get in, and to have what everybody must have.
    fn check_ways_in(&self, faults: &mut Faults) {
        if !self.sign_up.progressive {
            faults.add(
                "sign_up.progressive",
                "It must be true: what is missing can always be given step by step.",
            );
        }
        let attributes = &self.attributes;
        let contacts = [&attributes.email_address, &attributes.phone_number, &attributes.web3_wallet];
        let has_provider = self.sign_in_providers().next().is_some();
        let says_who = has_provider
            || contacts.iter().any(|contact| contact.is_first_factor())
            || attributes.username.is_first_factor();
        if !says_who {
            faults.add(
                "attributes",
                "Nobody can sign in: enable email_address, phone_number, username or web3_wallet, with \
                 used_for_first_factor, or a provider in social.",
            );
        }
        let proves = has_provider
            || attributes.password.enabled
            || contacts.iter().any(|contact| contact.is_first_factor() && !contact.first_factors.is_empty());
        if !proves {
            faults.add(
                "attributes",
                "Nobody can prove who they are: enable password, or give email_address, phone_number or \
                 web3_wallet first_factors, with used_for_first_factor, or enable a provider in social.",
            );
        }
        if attributes.backup_code.is_second_factor() && !attributes.has_second_factor() {
            faults.add(
                "attributes.backup_code.used_for_second_factor",
                "Backup codes stand in for another second factor: enable authenticator_app or phone_number \
                 as one, or disable backup_code.",
            );
        }
        for (path, is_required) in [
            ("sign_up.mfa_required", self.sign_up.mfa_required),
            ("sign_in.second_factor_required", self.sign_in.second_factor_required),
        ] {
            if is_required && !attributes.has_second_factor() {
                faults.add(
                    path,
                    "A second factor is required, but none is enabled: enable authenticator_app or \
                     phone_number with used_for_second_factor.",
                );
            }
        }
    }

    fn check_lengths(&self, faults: &mut Faults) {
        let password = &self.password;
        faults.range("password.min_length", password.min_length, 8..=72);
        faults.range("password.max_length", password.max_length, 8..=72);
        faults.order("password", password.min_length, password.max_length);
        faults.range("password.min_zxcvbn_strength", password.min_zxcvbn_strength, 0..=4);
        if let Some(text) = wrong_special_characters(&password.allowed_special_characters) {
            faults.add("password.allowed_special_characters", text);
        }
        let username = &self.username;
        faults.range("username.min_length", username.min_length, 4..=64);
        faults.range("username.max_length", username.max_length, 4..=64);
        faults.order("username", username.min_length, username.max_length);
        if let Some(limit) = self.actions.create_organizations_limit {
            faults.range("actions.create_organizations_limit", limit, 0..=1_000_000);
        }
    }

    fn check_times(&self, faults: &mut Faults) {
        let session = &self.session;
        faults.range("session.lifetime_seconds", session.lifetime_seconds, 5 * MINUTE..=TEN_YEARS);
        if let Some(timeout) = session.inactivity_timeout_seconds {
            faults.range("session.inactivity_timeout_seconds", timeout, 5 * MINUTE..=TEN_YEARS);
            if timeout > session.lifetime_seconds {
                faults.add(
                    "session.inactivity_timeout_seconds",
                    "It must not be longer than session.lifetime_seconds.",
                );
            }
        }
        // Browsers ask for the next token some 15 seconds before the last one ends.
        faults.range("session.max_per_client", session.max_per_client, 1..=100);
        faults.range("session.token_lifetime_seconds", session.token_lifetime_seconds, 30..=60 * MINUTE);
        faults.range("session.reverification_minutes", session.reverification_minutes, 1..=24 * 60);
        faults.range("lockout.max_attempts", self.lockout.max_attempts, 1..=10_000);
        if let Some(minutes) = self.lockout.duration_minutes {
            faults.range("lockout.duration_minutes", minutes, 1..=TEN_YEARS / MINUTE);
        }
    }

    fn check_texts(&self, faults: &mut Faults) {
        for claim in session_claims(self).filter(|claim| RESERVED_CLAIMS.contains(claim)) {
            let text = format!("`{claim}` is a claim of session tokens already; choose another name.");
            faults.add("session.token_claims", text);
        }
        let claims = serde_json::to_string(&self.session.token_claims).unwrap_or_default();
        if depth(claims.as_bytes()) > JWT_CLAIMS_DEPTH {
            let text = format!("There may be at most {JWT_CLAIMS_DEPTH} levels of objects and lists.");
            faults.add("session.token_claims", text);
        }
        if self.allowed_origins.len() > ORIGINS {
            faults.add("allowed_origins", format!("There may be at most {ORIGINS}."));
        }
        for origin in self.allowed_origins.iter().filter(|origin| !is_origin(origin)) {
            let text = format!(
                "`{origin}` is not an origin as browsers write it: https://host or https://host:port in small letters, without a path and without the usual port."
            );
            faults.add("allowed_origins", text);
        }
        let display = &self.display;
        let name = &display.application_name;
        if name.chars().count() > NAME_CHARS || name.chars().any(char::is_control) {
            faults.add(
                "display.application_name",
                format!("It must be one line of at most {NAME_CHARS} characters."),
            );
        }
        if display.support_email.as_deref().is_some_and(|address| text::email(address).is_none()) {
            faults.add("display.support_email", "It must be an e-mail address.");
        }
        for (name, url) in display.urls() {
            if url.is_some_and(|url| !is_url(url)) {
                faults.add(
                    format!("display.{name}"),
                    format!("It must be an http or https URL of at most {TEXT_CHARS} characters, or null."),
                );
            }
        }
    }
}

/// What is wrong with a list of special characters. Browser scripts put it between the brackets of a regular expression,
/// with no more than one bracket of each kind escaped; what would mean something else there, or nothing, is refused.
fn wrong_special_characters(list: &str) -> Option<&'static str> {
    if list == SPECIAL_CHARACTERS {
        return None;
    }
    let has_twice = list.char_indices().any(|(at, c)| list[..at].contains(c));
    let is_range = list.trim_matches('-').contains('-');
    let rules = [
        (list.chars().any(char::is_alphanumeric), "Letters and digits are not special."),
        (has_twice, "A character stands there twice."),
        (list.contains('\\'), "Browser scripts misread a backslash: leave it out."),
        (list.starts_with('^'), "Browser scripts misread ^ at the beginning: put it elsewhere."),
        (is_range, "Browser scripts misread - between others: put it at the end."),
    ];
    rules.into_iter().find_map(|(is_wrong, text)| is_wrong.then_some(text))
}

fn session_claims(settings: &Settings) -> impl Iterator<Item = &str> {
    settings.session.token_claims.keys().map(String::as_str)
}

/// Whether an attribute is used for what it can be used for, and can be proven when it must be.
fn check_uses(name: &str, attribute: &Attribute, known: Known, mut say: impl FnMut(&str, String)) {
    if !attribute.enabled {
        return;
    }
    if attribute.used_for_first_factor && !known.says_who {
        say("used_for_first_factor", format!("Nobody can sign in by {name}."));
    }
    if attribute.used_for_second_factor && attribute.second_factors.is_empty() {
        say("second_factors", format!("{name} is used as second factor, so there must be one."));
    }
    if attribute.verify_at_sign_up && attribute.verifications.is_empty() {
        say("verifications", format!("{name} is verified at sign-up, so there must be a way to do it."));
    }
}

fn wrong_strategies(name: &str, used: &[Strategy], possible: &[Strategy]) -> Option<String> {
    let wrong = used.iter().find(|strategy| !possible.contains(strategy))?.name();
    let possible: Vec<&str> = possible.iter().map(|strategy| strategy.name()).collect();
    Some(match possible.as_slice() {
        [] => format!("{wrong} does not work with {name}; leave the list empty."),
        _ => format!("{wrong} does not work with {name}; possible: {}.", possible.join(", ")),
    })
}

/// What an attribute can be used for.
#[derive(Clone, Copy)]
struct Known {
    says_who: bool,
    first: &'static [Strategy],
    second: &'static [Strategy],
    verifications: &'static [Strategy],
}

impl Known {
    fn of(attribute: &str) -> Known {
        const EMAIL: &[Strategy] = &[Strategy::EmailCode, Strategy::EmailLink];
        const PHONE: &[Strategy] = &[Strategy::PhoneCode];
        const WALLET: &[Strategy] = &Strategy::WALLETS;
        const PASSKEY: &[Strategy] = &[Strategy::PASSKEY];
        let nothing = Known { says_who: false, first: &[], second: &[], verifications: &[] };
        match attribute {
            "email_address" => Known { says_who: true, first: EMAIL, second: &[], verifications: EMAIL },
            "phone_number" => Known { says_who: true, first: PHONE, second: PHONE, verifications: PHONE },
            "username" => Known { says_who: true, ..nothing },
            "web3_wallet" => Known { says_who: true, first: WALLET, second: &[], verifications: WALLET },
            "passkey" => Known { says_who: true, first: PASSKEY, second: PASSKEY, verifications: PASSKEY },
            "authenticator_app" => Known { second: &[Strategy::Totp], ..nothing },
            "backup_code" => Known { second: &[Strategy::BackupCode], ..nothing },
            _ => nothing,
        }
    }
}

pub(super) fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    host.is_some_and(|host| !host.is_empty() && !host.contains('@'))
        && text.chars().count() <= TEXT_CHARS
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Whether it is an origin as browsers write it: of a page on the web, or of what has a scheme of its own, such as
/// browser extensions (`chrome-extension://…`) and apps (`capacitor://localhost`).
fn is_origin(text: &str) -> bool {
    let (scheme, host) = text.split_once("://").unwrap_or_default();
    let is_on_the_web = ["http", "https"].contains(&scheme);
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_host =
        |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte));
    let is_own = !scheme.is_empty() && is_scheme && !host.is_empty() && is_host(host);
    match is_on_the_web {
        true => is_url(text) && canonical(text).as_deref() == Some(text),
        false => is_own && text.to_lowercase() == text,
    }
}

/// Faults as they are found.
pub struct Faults(Vec<SettingsFault>);

impl Faults {
    pub fn add(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.0.push(SettingsFault { path: path.into(), text: text.into() });
    }

    pub fn range<T: PartialOrd + Shown>(&mut self, path: &str, value: T, allowed: RangeInclusive<T>) {
        if !allowed.contains(&value) {
            self.add(path, format!("It must be from {} to {}.", allowed.start(), allowed.end()));
        }
    }

    fn order(&mut self, path: &str, min: usize, max: usize) {
        if min > max {
            self.add(format!("{path}.min_length"), format!("It must not be more than {path}.max_length."));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(change: impl FnOnce(&mut Settings)) -> Vec<String> {
        let mut settings = Settings::default();
        change(&mut settings);
        settings.problems().into_iter().map(|fault| fault.path).collect()
    }

    #[test]
    fn defaults_are_free_of_faults() {
        assert_eq!(Settings::default().problems(), []);
        assert_eq!(serde_json::from_value::<Settings>(json!({})).unwrap(), Settings::default());
    }

    #[test]
    fn nothing_is_promised_that_signing_up_does_not_keep() {
        assert_eq!(paths(|settings| settings.sign_up.progressive = false), ["sign_up.progressive"]);
    }

    #[test]
    fn somebody_must_be_able_to_sign_in() {
        let nobody = paths(|settings| {
            settings.attributes.email_address.used_for_first_factor = false;
            settings.attributes.phone_number.enabled = false;
            settings.attributes.username.enabled = false;
        });
        assert_eq!(nobody, ["attributes"]);
        let unproven = paths(|settings| {
            settings.attributes.password = Attribute::default();
            settings.attributes.email_address.first_factors.clear();
            settings.attributes.phone_number.first_factors.clear();
        });
        assert_eq!(unproven, ["attributes"]);
        let by_name_alone = paths(|settings| {
            settings.attributes.password = Attribute::default();
            settings.attributes.email_address.used_for_first_factor = false;
            settings.attributes.phone_number.used_for_first_factor = false;
        });
        assert_eq!(by_name_alone, ["attributes"]);
        let by_link = paths(|settings| {
            settings.attributes.password = Attribute::default();
            settings.attributes.email_address.first_factors = vec![Strategy::EmailLink];
            settings.attributes.phone_number = Attribute::default();
        });
        assert_eq!(by_link, [""; 0]);
    }

    #[test]
    fn second_factors_that_are_required_must_exist() {
        let none = paths(|settings| {
            settings.attributes.authenticator_app.enabled = false;
            settings.attributes.phone_number.used_for_second_factor = false;
            settings.sign_in.second_factor_required = true;
            settings.sign_up.mfa_required = true;
        });
        let expected = [
            "attributes.backup_code.used_for_second_factor",
            "sign_up.mfa_required",
            "sign_in.second_factor_required",
        ];
        assert_eq!(none, expected);
    }

    #[test]
    fn attributes_prove_only_what_they_can() {
        let wrong = paths(|settings| {
            settings.attributes.email_address.first_factors.push(Strategy::PhoneCode);
            settings.attributes.email_address.used_for_second_factor = true;
            settings.attributes.username.verify_at_sign_up = true;
            settings.attributes.authenticator_app.required = true;
            settings.attributes.last_name.used_for_first_factor = true;
            settings.attributes.first_name = Attribute { required: true, ..Attribute::default() };
        });
        let expected = [
            "attributes.email_address.first_factors",
            "attributes.email_address.second_factors",
            "attributes.username.verifications",
            "attributes.first_name.required",
            "attributes.last_name.used_for_first_factor",
            "attributes.authenticator_app.required",
        ];
        assert_eq!(wrong, expected);
    }

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        for good in [
            "https://app.example.com",
            "http://localhost:3000",
            "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
            "capacitor://localhost",
        ] {
            assert!(is_origin(good), "{good}");
        }
        for bad in [
            "https://app.example.com/",
            "https://App.example.com",
            "https://app.example.com:443",
            "http://app.example.com:80",
            "https://*.example.com",
            "chrome-extension://abc/popup.html",
            "javascript://%0aalert(1)",
            "app.example.com",
            "://localhost",
            "capacitor://",
            "null",
            "",
        ] {
            assert!(!is_origin(bad), "{bad}");
        }
    }

    #[test]
    fn claims_that_no_reader_of_tokens_could_read_are_refused() {
        let nested = |levels| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
        let claims =
            |levels| paths(|settings| _ = settings.session.token_claims.insert("a".into(), nested(levels)));
        assert_eq!(claims(JWT_CLAIMS_DEPTH - 1), [""; 0]);
        assert_eq!(claims(JWT_CLAIMS_DEPTH), ["session.token_claims"]);
    }

    #[test]
    fn special_characters_are_what_browser_scripts_take_them_for() {
        for good in ["", SPECIAL_CHARACTERS, "!", "-!", "!-", "!^", "[]", "§€ "] {
            assert_eq!(wrong_special_characters(good), None, "{good}");
        }
        for bad in ["!a", "!1", "!!", "]]", "!\\", "^!", "!-~", "#-!"] {
            assert!(wrong_special_characters(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn numbers_and_texts_have_bounds() {
        let wrong = paths(|settings| {
            settings.password.min_length = 7;
            settings.password.max_length = 73;
            settings.username.min_length = 60;
            settings.username.max_length = 50;
            settings.session.lifetime_seconds = 300;
            settings.session.inactivity_timeout_seconds = Some(301);
            settings.session.token_lifetime_seconds = 5;
            settings.session.token_claims.insert("sub".into(), json!("me"));
            settings.lockout.max_attempts = 0;
            settings.allowed_origins = vec!["https://app.example.com".into(), "https://a.example/x".into()];
            settings.proxy_url = Some("https://example.com/__clerk/".into());
            settings.display.home_url = Some("javascript:alert(1)".into());
            settings.display.support_email = Some("nobody".into());
            // It stays on the page.
            settings.display.after_switch_session_url = Some(String::new());
        });
        let expected = [
            "password.min_length",
            "password.max_length",
            "username.min_length",
            "session.inactivity_timeout_seconds",
            "session.token_lifetime_seconds",
            "lockout.max_attempts",
            "session.token_claims",
            "allowed_origins",
            "display.support_email",
            "display.home_url",
            "proxy_url",
        ];
        assert_eq!(wrong, expected);
    }
}
