//! Settings whose effect needs something that the server does not have yet. They are refused, so that nobody relies on
//! what does nothing; whoever builds it takes the line out here.

use super::Settings;
use super::check::Faults;

/// Attributes that people change by themselves one by one, so that it can be forbidden.
const CHANGEABLE: [&str; 5] = ["email_address", "phone_number", "username", "first_name", "last_name"];
/// What people get after they have signed up, never before.
const LATER: [&str; 2] = ["authenticator_app", "backup_code"];

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
            ("attributes.passkey.enabled", json!(true), "not supported yet"),
            ("attributes.web3_wallet.enabled", json!(true), "not supported yet"),
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
}
