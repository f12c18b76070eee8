//! Which factors a user has, by what they own and what the instance allows.

use latchkey_base::kinds::IdentificationId;
use latchkey_kernel::settings::{Attribute, Settings};
use latchkey_kernel::strategy::Strategy;

use super::audience::FactorAudience;
use super::model::{Factor, FactorRecipient};
use crate::users::model::{Contact, ContactKind, Contacts, SecondFactor, TrustedDevice, User};

/// The ways to begin signing in. `typed` is the identification somebody named, which needs no mask.
pub fn first(user: &User, typed: Option<&IdentificationId>, settings: &Settings) -> Vec<Factor> {
    let factors = first_without(user, typed, settings, |phone| phone.second_factor != SecondFactor::None);
    match factors.is_empty() {
        // Nobody is kept out because their only number is their second factor as well.
        true => first_without(user, typed, settings, |_| false),
        false => factors,
    }
}

/// A number that is the second factor must not be the first one too: it would prove both.
fn first_without(
    user: &User,
    typed: Option<&IdentificationId>,
    settings: &Settings,
    is_left_out: fn(&Contact) -> bool,
) -> Vec<Factor> {
    let has_password = settings.attributes.password.enabled && user.password.is_some();
    let usable = |kind: ContactKind, strategy: Strategy, is_fit: fn(&Contact) -> bool| -> Vec<Factor> {
        let contacts = user.contacts(kind);
        let fit = contacts.all.iter().filter(|contact| is_fit(contact));
        let left = fit.filter(|contact| kind != ContactKind::Phone || !is_left_out(contact));
        left.map(|contact| sent(strategy, kind, contact, contacts, typed)).collect()
    };
    let mut factors = Vec::new();
    if has_password {
        factors.push(Factor::new(Strategy::Password));
    }
    for (kind, strategy) in [
        (ContactKind::Phone, Strategy::PhoneCode),
        (ContactKind::Email, Strategy::EmailCode),
        (ContactKind::Email, Strategy::EmailLink),
    ] {
        if offers(attribute(kind, settings), strategy) {
            factors.extend(usable(kind, strategy, Contact::is_exclusive));
        }
    }
    // Pages ask the wallet that somebody named for its signature, and no other one.
    let wallets = &user.web3_wallets;
    let named = wallets.all.iter().filter(|wallet| Some(&wallet.id) == typed);
    factors.extend(named.flat_map(|wallet| {
        let sent = move |strategy| sent(strategy, ContactKind::Wallet, wallet, wallets, typed);
        signatures(wallet, settings).map(sent)
    }));
    if offers(&settings.attributes.passkey, Strategy::PASSKEY) && !user.passkeys.is_empty() {
        factors.push(Factor::new(Strategy::PASSKEY));
    }
    if has_password {
        for (kind, strategy) in resets(settings) {
            factors.extend(usable(kind, strategy, Contact::is_verified));
        }
    }
    factors.extend(accounts(user, settings));
    factors
}

/// The accounts at other providers by which somebody can sign in.
fn accounts(user: &User, settings: &Settings) -> Vec<Factor> {
    let is_open = |provider: &str| {
        let key = provider.strip_prefix("oauth_").unwrap_or_default();
        settings.social.get(key).is_some_and(|provider| provider.enabled && provider.authenticatable)
    };
    let proven = user.external_accounts.iter().filter(|held| held.is_verified());
    let strategies = proven.filter(|held| is_open(&held.account.provider));
    let strategies = strategies.filter_map(|held| Strategy::try_from(held.account.provider.clone()).ok());
    let mut factors: Vec<Factor> = Vec::new();
    for strategy in strategies {
        if !factors.iter().any(|factor| factor.strategy == strategy) {
            factors.push(Factor::new(strategy));
        }
    }
    factors
}

/// The factors that can be used where passkeys belong to this domain: browsers offer those of others nowhere else.
pub fn usable_at(mut factors: Vec<Factor>, user: &User, relying_party: Option<&str>) -> Vec<Factor> {
    let has_passkey = user.passkeys.iter().any(|passkey| Some(passkey.rp_id.as_str()) == relying_party);
    factors.retain(|factor| factor.strategy != Strategy::PASSKEY || has_passkey);
    factors
}

/// The ways to get a new password: wherever there are passwords, by what says who signs in, whether its codes are a
/// first factor or not.
pub fn resets(settings: &Settings) -> impl Iterator<Item = (ContactKind, Strategy)> {
    let all = [
        (ContactKind::Phone, Strategy::ResetPasswordPhoneCode),
        (ContactKind::Email, Strategy::ResetPasswordEmailCode),
    ];
    let has_passwords = settings.attributes.password.enabled;
    all.into_iter().filter(move |(kind, _)| has_passwords && attribute(*kind, settings).is_first_factor())
}

/// Whether somebody has a wallet to sign in with.
pub fn has_wallet(user: &User, settings: &Settings) -> bool {
    user.web3_wallets.all.iter().any(|wallet| signatures(wallet, settings).next().is_some())
}

/// The ways in which a wallet signs somebody in. One that was only said to be theirs has none.
fn signatures(wallet: &Contact, settings: &Settings) -> impl Iterator<Item = Strategy> {
    signatures_of(&wallet.value, settings).filter(|_| wallet.is_verified())
}

fn signatures_of(address: &str, settings: &Settings) -> impl Iterator<Item = Strategy> {
    let attribute = attribute(ContactKind::Wallet, settings);
    let offered = attribute.first_factors.iter().copied().filter(|strategy| offers(attribute, *strategy));
    offered.filter(move |strategy| strategy.fits_wallet(address))
}

/// The ways to begin signing in that are shown to everybody, whether there is such a user or not: they
/// depend on nothing but what was typed.
pub fn generic(kind: Option<ContactKind>, value: &str, settings: &Settings) -> Vec<Factor> {
    let has_passwords = settings.attributes.password.enabled;
    let password = has_passwords.then_some(Factor::new(Strategy::Password));
    let sent = |kind: ContactKind, strategy: Strategy| Factor {
        strategy,
        recipient: Some(FactorRecipient {
            kind,
            id: None,
            value: value.to_owned(),
            safe_identifier: value.to_owned(),
            is_primary: None,
            is_default: false,
        }),
        device: None,
    };
    let codes =
        [Strategy::PhoneCode, Strategy::EmailCode, Strategy::EmailLink].into_iter().filter_map(|strategy| {
            let kind = kind.filter(|kind| offers(attribute(*kind, settings), strategy))?;
            Some(sent(kind, strategy))
        });
    let signatures = signatures_of(value, settings)
        .filter(|_| kind == Some(ContactKind::Wallet))
        .map(|strategy| sent(ContactKind::Wallet, strategy));
    let resets = resets(settings).filter(|(of, _)| Some(*of) == kind);
    password
        .into_iter()
        .chain(codes)
        .chain(signatures)
        .chain(resets.map(|(kind, strategy)| sent(kind, strategy)))
        .collect()
}

/// The second factors of a user. Backup codes only stand in for another one.
pub fn second(user: &User, settings: &Settings) -> Vec<Factor> {
    let attributes = &settings.attributes;
    let mut factors = Vec::new();
    if user.totp_enabled && attributes.authenticator_app.is_second_factor() {
        factors.push(Factor::new(Strategy::Totp));
    }
    if attributes.phone_number.is_second_factor() {
        let phones = &user.phone_numbers;
        let reserved = phones.all.iter().filter(|phone| phone.is_second_factor());
        let mut numbers: Vec<&Contact> = reserved.filter(|phone| phone.is_verified()).collect();
        numbers.sort_by_key(|phone| phone.second_factor != SecondFactor::Default);
        let send = |phone: &&Contact| sent(Strategy::PhoneCode, ContactKind::Phone, phone, phones, None);
        factors.extend(numbers.iter().map(send));
    }
    if !factors.is_empty() && user.backup_code_enabled && attributes.backup_code.is_second_factor() {
        factors.push(Factor::new(Strategy::BackupCode));
    }
    factors
}

/// Adds a passkey to the second factors that a client is offered. It only stands in for another one, as backup codes do:
/// a passkey alone does not switch two-factor authentication on, so a client that does not know it always has another way.
/// It comes last, because pages that do not know it begin with the first one.
pub fn with_second_passkey(
    mut factors: Vec<Factor>,
    user: &User,
    settings: &Settings,
    audience: FactorAudience,
) -> Vec<Factor> {
    let is_usable = settings.attributes.has_second_passkey() && !user.passkeys.is_empty();
    if !factors.is_empty() && is_usable && audience.knows_second_passkeys() {
        factors.push(Factor::new(Strategy::PASSKEY));
    }
    factors
}

/// Returns the trusted devices with which a user of a native app proves again who they are.
pub fn devices(user: &User, settings: &Settings, audience: FactorAudience) -> Vec<Factor> {
    let native = &settings.native_settings;
    if !native.trusted_device_sign_in_enabled || !audience.can_reverify_by_device() {
        return Vec::new();
    }
    let active = user.trusted_devices.iter().filter(|device| device.revoked_at.is_none());
    let known = active.filter(|device| native.has_app(&device.platform, &device.app_identifier));
    let factor = |device: &TrustedDevice| Factor {
        device: Some(device.id.clone()),
        ..Factor::new(Strategy::TRUSTED_DEVICE)
    };
    known.map(factor).collect()
}

/// Whether a user has a second factor that counts.
pub fn has_second(user: &User, settings: &Settings) -> bool {
    !second(user, settings).is_empty()
}

/// What somebody proves beside the password in a browser that has not seen them before.
pub fn trust(user: &User, typed: Option<&IdentificationId>, settings: &Settings) -> Vec<Factor> {
    let mut factors = Vec::new();
    for (kind, strategy) in [
        (ContactKind::Email, Strategy::EmailCode),
        (ContactKind::Phone, Strategy::PhoneCode),
        (ContactKind::Email, Strategy::EmailLink),
    ] {
        let attribute = attribute(kind, settings);
        let is_link = strategy == Strategy::EmailLink;
        if !attribute.enabled || (is_link && !offers(attribute, strategy)) {
            continue;
        }
        let contacts = user.contacts(kind);
        let verified = contacts.all.iter().filter(|contact| contact.is_verified());
        factors.extend(verified.map(|contact| sent(strategy, kind, contact, contacts, typed)));
    }
    factors
}

fn attribute(kind: ContactKind, settings: &Settings) -> &Attribute {
    match kind {
        ContactKind::Email => &settings.attributes.email_address,
        ContactKind::Phone => &settings.attributes.phone_number,
        ContactKind::Wallet => &settings.attributes.web3_wallet,
    }
}

fn offers(attribute: &Attribute, strategy: Strategy) -> bool {
    attribute.is_first_factor() && attribute.first_factors.contains(&strategy)
}

fn sent(
    strategy: Strategy,
    kind: ContactKind,
    contact: &Contact,
    contacts: &Contacts,
    typed: Option<&IdentificationId>,
) -> Factor {
    let is_typed = typed == Some(&contact.id);
    Factor {
        strategy,
        recipient: Some(FactorRecipient {
            kind,
            id: Some(contact.id.clone()),
            value: contact.value.clone(),
            safe_identifier: if is_typed { contact.value.clone() } else { mask(&contact.value) },
            is_primary: Some(contacts.primary.as_ref() == Some(&contact.id)),
            is_default: contact.second_factor == SecondFactor::Default,
        }),
        device: None,
    }
}

/// What is shown of an address or number to somebody who has not proven that it is theirs. As many stars
/// for all, so that they do not tell the length.
pub fn mask(value: &str) -> String {
    let (name, domain) = value.split_once('@').map_or((value, None), |(name, domain)| (name, Some(domain)));
    let first: String = name.chars().take(if domain.is_some() { 1 } else { 2 }).collect();
    match domain {
        Some(domain) => format!("{first}*****@{domain}"),
        None => {
            let last: String = name.chars().skip(name.chars().count().saturating_sub(2)).collect();
            format!("{first}*******{last}")
        }
    }
}

#[cfg(test)]
mod tests {
    use latchkey_web::version::Version;

    use super::*;

    fn user(second_factor: &str, more: &str) -> User {
        let document = format!(
            r#"{{"id":"user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","public_metadata":{{}},"private_metadata":{{}},
            "unsafe_metadata":{{}},"delete_self_enabled":true,"create_organization_enabled":true,
            "phone_numbers":{{"all":[{{"id":"idn_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","value":"+14155550142",
            "second_factor":"{second_factor}","verification":{{"strategy":"admin"}},"created_at":0,
            "updated_at":0}}]}},"created_at":0,"updated_at":0{more}}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    fn strategies(factors: &[Factor]) -> Vec<Strategy> {
        factors.iter().map(|factor| factor.strategy).collect()
    }

    #[test]
    fn a_number_proves_one_factor_unless_there_is_nothing_else() {
        let settings = Settings::default();
        let password = r#","password":{"updated_at":0}"#;
        let first_of = |user: &User| strategies(&first(user, None, &settings));
        assert_eq!(
            first_of(&user("none", password)),
            [Strategy::Password, Strategy::PhoneCode, Strategy::ResetPasswordPhoneCode]
        );
        assert_eq!(first_of(&user("default", password)), [Strategy::Password]);
        assert_eq!(first_of(&user("default", "")), [Strategy::PhoneCode]);
        assert_eq!(strategies(&second(&user("default", ""), &settings)), [Strategy::PhoneCode]);
        assert_eq!(strategies(&second(&user("none", ""), &settings)), []);
    }

    #[test]
    fn backup_codes_stand_in_for_another_second_factor_only() {
        let settings = Settings::default();
        let codes = r#","backup_code_enabled":true"#;
        assert_eq!(strategies(&second(&user("none", codes), &settings)), []);
        let with_number = second(&user("reserved", codes), &settings);
        assert_eq!(strategies(&with_number), [Strategy::PhoneCode, Strategy::BackupCode]);
    }

    #[test]
    fn passkey_stands_in_for_another_second_factor_only_for_newer_clients() {
        let mut settings = Settings::default();
        settings.attributes.passkey.enabled = true;
        let passkey = r#","passkeys":[{"id":"idn_2x4y6z8A0C2E4G6I8K0M2O4Q6S7","name":"Phone",
            "rp_id":"localhost","verification":{"strategy":"passkey"},"created_at":0,"updated_at":0}]"#;
        let offered = |second_factor, settings: &Settings, version| {
            let user = user(second_factor, passkey);
            let audience = FactorAudience { version, is_native: false };
            strategies(&with_second_passkey(second(&user, settings), &user, settings, audience))
        };
        assert_eq!(offered("reserved", &settings, Version::NEWEST), [Strategy::PhoneCode]);
        settings.attributes.passkey.second_factors = vec![Strategy::PASSKEY];
        assert_eq!(offered("reserved", &settings, Version::NEWEST), [Strategy::PhoneCode, Strategy::PASSKEY]);
        assert_eq!(offered("reserved", &settings, Version::V2026_05_12), [Strategy::PhoneCode]);
        assert_eq!(offered("none", &settings, Version::NEWEST), []);
        assert!(!has_second(&user("none", passkey), &settings));
        settings.attributes.passkey.enabled = false;
        assert_eq!(offered("reserved", &settings, Version::NEWEST), [Strategy::PhoneCode]);
    }

    #[test]
    fn what_everybody_is_shown_depends_on_what_was_typed_only() {
        let settings = Settings::default();
        let shown = |kind, value| strategies(&generic(kind, value, &settings));
        assert_eq!(
            shown(Some(ContactKind::Email), "ada@example.com"),
            [Strategy::Password, Strategy::EmailCode, Strategy::ResetPasswordEmailCode]
        );
        assert_eq!(shown(None, "ada_l"), [Strategy::Password]);
        let factor = &generic(Some(ContactKind::Phone), "+14155550142", &settings)[1];
        let recipient = factor.recipient.as_ref().unwrap();
        assert_eq!((&recipient.id, &*recipient.safe_identifier), (&None, "+14155550142"));
    }

    #[test]
    fn a_wallet_is_proven_in_all_ways_its_chain_has_here() {
        let mut settings = Settings::default();
        let ways = vec![Strategy::SOLANA, Strategy::OKX, Strategy::METAMASK];
        settings.attributes.web3_wallet = Attribute {
            enabled: true,
            used_for_first_factor: true,
            first_factors: ways,
            ..Attribute::default()
        };
        let address = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a";
        let holder = |verification: &str| {
            let wallet = format!(
                r#","web3_wallets":{{"all":[{{"id":"idn_2x4y6z8A0C2E4G6I8K0M2O4Q6S9","value":"{address}",
                {verification}"created_at":0,"updated_at":0}}]}}"#
            );
            user("reserved", &wallet)
        };
        let proven = holder(r#""verification":{"strategy":"admin"},"#);
        let named = Some(&proven.web3_wallets.all[0].id);
        assert_eq!(strategies(&first(&proven, named, &settings)), [Strategy::OKX, Strategy::METAMASK]);
        assert!(has_wallet(&proven, &settings) && !has_wallet(&proven, &Settings::default()));
        // Who is named by something else is not asked for it.
        assert_eq!(strategies(&first(&proven, None, &settings)), [Strategy::PhoneCode]);
        let shown = |value| strategies(&generic(Some(ContactKind::Wallet), value, &settings));
        assert_eq!(shown(address), [Strategy::Password, Strategy::OKX, Strategy::METAMASK]);
        let solana = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";
        assert_eq!(shown(solana), [Strategy::Password, Strategy::SOLANA]);
        // What somebody typed in about themselves and never proved signs nobody in.
        let unproven = holder("");
        assert_eq!(strategies(&first(&unproven, named, &settings)), [Strategy::PhoneCode]);
        assert!(!has_wallet(&unproven, &settings));
        assert_eq!(
            strategies(&generic(Some(ContactKind::Email), "ada@example.com", &settings))[1],
            Strategy::EmailCode
        );
    }

    #[test]
    fn masks_do_not_tell_lengths() {
        assert_eq!(mask("ada@example.com"), "a*****@example.com");
        assert_eq!(mask("a@example.com"), "a*****@example.com");
        assert_eq!(mask("+14155550142"), "+1*******42");
    }
}
