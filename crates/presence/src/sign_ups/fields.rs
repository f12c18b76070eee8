//! What an instance asks of people who sign up, and what of it an attempt has: values in, values out.

use latchkey_kernel::settings::Settings;
use latchkey_people::identifications::rules::attribute;
use latchkey_people::users::model::ContactKind;

use super::model::SignUp;

/// What is asked where neither of the two is required by itself, but one way to reach or name the person is
/// needed.
const EMAIL_OR_PHONE: &str = "email_address_or_phone_number";

/// What is asked of an attempt, and how far it is. All by the names on the wire.
#[derive(Debug, PartialEq)]
pub struct SignUpProgress {
    /// What must be given.
    pub required: Vec<&'static str>,
    /// What may be given.
    pub optional: Vec<&'static str>,
    /// What must be given and is not yet.
    pub missing: Vec<&'static str>,
    /// What was given and must still be proven.
    pub unverified: Vec<&'static str>,
}

impl SignUpProgress {
    /// Whether nothing is left to do.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.unverified.is_empty()
    }
}

/// How far an attempt is.
pub fn progress(sign_up: &SignUp, settings: &Settings) -> SignUpProgress {
    let attributes = &settings.attributes;
    let identifiers = [
        ("email_address", &attributes.email_address, sign_up.email_address.is_some()),
        ("phone_number", &attributes.phone_number, sign_up.phone_number.is_some()),
        ("username", &attributes.username, sign_up.username.is_some()),
        ("web3_wallet", &attributes.web3_wallet, sign_up.web3_wallet.is_some()),
    ];
    let others = [
        ("first_name", &attributes.first_name, sign_up.first_name.is_some()),
        ("last_name", &attributes.last_name, sign_up.last_name.is_some()),
        ("password", &attributes.password, sign_up.password.is_some()),
    ];
    let mut progress = SignUpProgress {
        required: Vec::new(),
        optional: Vec::new(),
        missing: Vec::new(),
        unverified: Vec::new(),
    };
    // Whoever signs up by an account at another provider signs in by it.
    let awaits_address = sign_up.awaits_address_of_account();
    let has_account = awaits_address || sign_up.newcomer().is_some_and(|newcomer| newcomer.account.is_some());
    for (name, attribute, is_given) in identifiers.into_iter().chain(others) {
        match attribute.is_required_at_sign_up() && !(name == "password" && has_account) {
            true => progress.require(name, is_given),
            false if attribute.enabled => progress.optional.push(name),
            false => (),
        }
    }
    if !identifiers.iter().any(|(_, attribute, _)| attribute.is_required_at_sign_up()) {
        let enabled: Vec<&str> = identifiers.iter().filter(|it| it.1.enabled).map(|it| it.0).collect();
        let given = identifiers.iter().find(|(_, _, is_given)| *is_given).map(|(name, _, _)| *name);
        let any = match (enabled.as_slice(), given) {
            // Any identifier will do, so what was given in the place of an address is what is required.
            (_, Some(name)) if !["email_address", "phone_number"].contains(&name) => name,
            (["email_address", "phone_number", ..], _) => EMAIL_OR_PHONE,
            ([first, ..], _) => first,
            ([], _) => "email_address",
        };
        // Where nothing else says who somebody is, the account does.
        if !(enabled.is_empty() && has_account) {
            progress.require(any, given.is_some());
        }
    }
    let can_be_reached = [ContactKind::Email, ContactKind::Phone, ContactKind::Wallet]
        .iter()
        .any(|kind| sign_up.claimed(*kind).is_some());
    let is_entrance_missing = sign_up.username.is_some() && !can_be_reached && !has_account;
    if is_entrance_missing && progress.optional.contains(&"password") {
        // Whoever has but a username could never sign in again without one.
        progress.require("password", sign_up.password.is_some());
    }
    if settings.legal_consent_required {
        progress.require("legal_accepted", sign_up.legal_accepted_at.is_some());
    }
    progress.unverified = [ContactKind::Email, ContactKind::Phone, ContactKind::Wallet]
        .into_iter()
        .filter(|kind| {
            needs_proof(sign_up, *kind, settings) || (*kind == ContactKind::Email && awaits_address)
        })
        .map(ContactKind::name)
        .collect();
    if sign_up.created.is_some() {
        // What the settings ask since then is not asked of somebody who is in.
        progress.missing.clear();
        progress.unverified.clear();
    }
    progress
}

impl SignUpProgress {
    fn require(&mut self, name: &'static str, is_given: bool) {
        // A field that became required in place of a choice is not a choice any more.
        self.optional.retain(|optional| *optional != name);
        self.required.push(name);
        if !is_given {
            self.missing.push(name);
        }
    }
}

/// Whether something was given that must still be proven.
pub fn needs_proof(sign_up: &SignUp, kind: ContactKind, settings: &Settings) -> bool {
    let attribute = attribute(kind, settings);
    attribute.verify_at_sign_up && sign_up.claimed(kind).is_some_and(|claimed| !claimed.is_verified())
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::kinds::{ClientId, InstanceId, SessionId, UserId};
    use latchkey_base::rng::SeededRng;
    use latchkey_kernel::strategy::Strategy;
    use latchkey_people::challenges::model::Challenge;

    use super::*;
    use crate::sign_ups::model::{Claimed, Created, Password};

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn empty() -> SignUp {
        let rng = SeededRng::new(5);
        SignUp::new(&InstanceId::new(NOW, &rng), &ClientId::new(NOW, &rng), NOW, &rng)
    }

    #[test]
    fn by_default_address_and_password_are_asked_for_and_the_address_is_proven() {
        let settings = Settings::default();
        let mut sign_up = empty();
        let at_first = progress(&sign_up, &settings);
        assert_eq!(at_first.required, ["email_address", "password"]);
        assert_eq!(at_first.optional, ["phone_number", "username", "first_name", "last_name"]);
        assert_eq!(at_first.missing, ["email_address", "password"]);
        assert!(at_first.unverified.is_empty());
        sign_up.email_address = Some(Claimed::new("ada@example.com".into()));
        sign_up.password = Some(Password::Moved);
        let given = progress(&sign_up, &settings);
        assert_eq!((given.missing.len(), &given.unverified[..]), (0, &["email_address"][..]));
        assert!(!given.is_complete());
        let proof = Challenge::proven(Strategy::EmailCode, NOW);
        sign_up.email_address =
            Some(Claimed { verification: Some(proof), ..Claimed::new("ada@example.com".into()) });
        assert!(progress(&sign_up, &settings).is_complete());
    }

    #[test]
    fn terms_are_asked_for_where_the_instance_wants_them() {
        let settings = Settings { legal_consent_required: true, ..Settings::default() };
        let mut sign_up = empty();
        assert!(progress(&sign_up, &settings).missing.contains(&"legal_accepted"));
        sign_up.legal_accepted_at = Some(NOW);
        assert!(!progress(&sign_up, &settings).missing.contains(&"legal_accepted"));
    }

    #[test]
    fn somebody_without_any_identifier_is_never_complete() {
        let mut settings = Settings::default();
        settings.attributes.email_address.required_at_sign_up = false;
        settings.attributes.password.required_at_sign_up = false;
        let mut sign_up = empty();
        assert_eq!(progress(&sign_up, &settings).missing, [EMAIL_OR_PHONE]);
        settings.attributes.phone_number.enabled = false;
        assert_eq!(progress(&sign_up, &settings).missing, ["email_address"]);
        assert!(!progress(&sign_up, &settings).optional.contains(&"email_address"));
        sign_up.username = Some("countess".into());
        let named = progress(&sign_up, &settings);
        assert_eq!(
            (&named.missing[..], &named.required[..]),
            (&["password"][..], &["username", "password"][..])
        );
        assert!(named.optional.contains(&"email_address") && !named.optional.contains(&"username"));
        sign_up.password = Some(Password::Moved);
        assert!(progress(&sign_up, &settings).is_complete());
    }

    #[test]
    fn what_is_complete_stays_complete() {
        let rng = SeededRng::new(6);
        let created = Created { user: UserId::new(NOW, &rng), session: SessionId::new(NOW, &rng) };
        let sign_up = SignUp { created: Some(created), ..empty() };
        assert!(progress(&sign_up, &Settings::default()).is_complete());
    }
}
