//! Settings whose effect needs something that the server does not have yet. They are refused, so that nobody relies on
//! what does nothing; whoever builds it takes the line out here. Names that browsers are shown and that are no settings
//! are refused with the reason.

use super::Settings;
use super::check::Faults;

/// Attributes that people change by themselves one by one, so that it can be forbidden.
const CHANGEABLE: [&str; 6] =
    ["email_address", "phone_number", "username", "first_name", "last_name", "web3_wallet"];
/// What people get after they have signed up, never before.
const LATER: [&str; 2] = ["authenticator_app", "backup_code"];

/// Parts of names that browsers are shown for what Latchkey does not have. Each stands for everything below it, and for
/// the names that begin with it and `_`.
const MISSING: [(&str, &str); 24] = [
    ("allow_extended_special_characters", "usernames with more than letters, digits, _ and -"),
    ("allow_numeric_usernames", "usernames of digits alone"),
    ("api_enabled", "a switch to keep native apps out"),
    ("api_keys_settings", "API keys"),
    ("billing", "billing"),
    ("captcha", "captchas"),
    ("channels", "other ways to phones than text messages"),
    ("client_debug_mode", "a debug mode of browsers"),
    ("commerce_settings", "billing"),
    ("custom_action_required", "steps of your own at sign-up"),
    ("disable_password_reverification", "reverification that is off for passwords alone"),
    ("enforce_hibp_on_sign_in", "a search for leaked passwords at sign-in"),
    ("enhanced_email_deliverability", "a mail service of its own"),
    ("enterprise_sso", "enterprise connections"),
    ("experimental_force_oauth_first", "a forced order of the ways to sign in"),
    ("fraud_settings", "attestation of devices"),
    ("maintenance_mode", "a maintenance mode"),
    ("oauth_consent_url", "OAuth applications"),
    ("partitioned_cookies", "partitioned cookies"),
    ("preferred_channels", "other ways to phones than text messages"),
    ("protect_config", "rules against abuse"),
    ("saml", "enterprise connections"),
    ("session_minter", "a second way to make session tokens"),
    ("theme", "colours of your own for pages"),
];

/// Why there is no setting of a name, where browsers are shown one.
pub(super) fn reason(path: &str) -> Option<String> {
    let is_in = |name: &str| {
        path.split('.')
            .any(|part| part.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')))
    };
    let missing = MISSING.iter().find(|(name, _)| is_in(name));
    missing.map(|(_, what)| format!("Latchkey does not have {what} yet."))
}

pub(super) fn check(settings: &Settings, faults: &mut Faults) {
    for (name, attribute) in settings.attributes.all() {
        if attribute.immutable && !CHANGEABLE.contains(&name) {
            let text = format!("It has no effect on {name}; it can be set for {}.", CHANGEABLE.join(", "));
            faults.add(format!("attributes.{name}.immutable"), text);
        }
        if attribute.required_at_sign_up && LATER.contains(&name) {
            faults.add(
                format!("attributes.{name}.required_at_sign_up"),
                "Nobody has one before they sign up: set sign_up.mfa_required instead.",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::edit;
    use super::*;

    #[test]
    fn what_would_have_no_effect_is_refused_and_says_so() {
        for (path, value, word) in [
            ("attributes.passkey.verify_at_sign_up", json!(true), "before they sign up"),
            ("attributes.passkey.immutable", json!(true), "no effect"),
            ("attributes.password.immutable", json!(true), "no effect"),
            ("attributes.backup_code.required_at_sign_up", json!(true), "before they sign up"),
        ] {
            let change = |value: Value| edit::changed(&Settings::default(), &[(path.to_owned(), value)]);
            let faults = change(value).unwrap_err();
            let said = faults.iter().any(|fault| fault.path == path && fault.text.contains(word));
            assert!(said, "{path}: {faults:?}");
        }
        assert_eq!(Settings::default().problems(), []);
    }

    #[test]
    fn names_that_browsers_are_shown_are_refused_with_the_reason() {
        let said = |path: &str, value: Value| {
            let faults = edit::changed(&Settings::default(), &[(path.to_owned(), value)]).unwrap_err();
            faults[0].text.clone()
        };
        for (path, text) in [
            ("username.allow_numeric_usernames", "Latchkey does not have usernames of digits alone yet."),
            ("sign_up.captcha_enabled", "Latchkey does not have captchas yet."),
            ("user_settings.social.oauth_google.enabled", "There is no setting of this name."),
            ("usernames", "There is no setting of this name."),
            ("socials", "There is no setting of this name."),
        ] {
            assert_eq!(said(path, json!(true)), text, "{path}");
        }
        let nested = json!({"oauth_google": {"enabled": true}});
        assert!(
            said("social", nested).starts_with("There is no provider `oauth_google`. Did you mean google?")
        );
    }
}
