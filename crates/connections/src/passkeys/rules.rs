//! Decisions about passkeys. Pure: values in, values or refusals out.

use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_flows::me::rules::check_entrance;
use latchkey_kernel::device::Device;
use latchkey_kernel::limits::PASSKEYS_PER_USER;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::users::model::{Passkey, User, Verification};

use super::model::PasskeyRegistration;

/// Longest name; pages show a part of it.
const NAME_CHARS: usize = 255;

/// Refuses where there are no passkeys.
pub fn check_enabled(settings: &Settings) -> Result<()> {
    match settings.attributes.passkey.enabled {
        true => Ok(()),
        false => Err(Error::new(Code::FeatureNotEnabled).saying("Passkeys are switched off.")),
    }
}

/// Refuses one more passkey to somebody who has as many as one may have.
pub fn check_quota(user: &User) -> Result<()> {
    match user.passkeys.len() < PASSKEYS_PER_USER {
        true => Ok(()),
        false => Err(Error::new(Code::PasskeyQuotaExceeded)),
    }
}

/// What a passkey is called until its owner says otherwise: by where it was made.
pub fn default_name(user_agent: &str) -> String {
    let Device { device_type, browser_name, .. } = Device::of(user_agent);
    match (browser_name, device_type) {
        (Some(browser), Some(device)) => format!("{browser} on {device}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => "Passkey".to_owned(),
    }
}

/// How people tell an account apart from others of the same application.
pub fn account_name(user: &User) -> &str {
    user.identifier().filter(|name| !name.is_empty()).unwrap_or(user.id.as_str())
}

/// How authenticators call the owner.
pub fn display_name(user: &User) -> String {
    let names = [user.first_name.as_deref(), user.last_name.as_deref()];
    let full: Vec<&str> =
        names.into_iter().flatten().map(str::trim).filter(|name| !name.is_empty()).collect();
    match full.is_empty() {
        true => account_name(user).to_owned(),
        false => full.join(" "),
    }
}

/// The user with a passkey whose registration is finished.
pub fn with_passkey(mut user: User, registration: &PasskeyRegistration, now: Time) -> Result<User> {
    check_quota(&user)?;
    user.passkeys.push(Passkey {
        id: registration.id.clone(),
        name: registration.name.clone(),
        rp_id: registration.rp_id.clone(),
        verification: Verification {
            strategy: Strategy::PASSKEY,
            attempts: Some(registration.attempts),
            expire_at: Some(registration.expire_at),
        },
        last_used_at: None,
        created_at: now,
        updated_at: now,
    });
    Ok(user)
}

/// The user with a passkey under another name.
pub fn renamed(mut user: User, id: &IdentificationId, name: Option<&str>, now: Time) -> Result<User> {
    let passkey = user.passkeys.iter_mut().find(|passkey| passkey.id == *id);
    let passkey = passkey.ok_or_else(|| Error::new(Code::PasskeyNotRegistered))?;
    let Some(name) = name.map(str::trim) else { return Ok(user) };
    check_name(name)?;
    if passkey.name != name {
        name.clone_into(&mut passkey.name);
        passkey.updated_at = now;
    }
    Ok(user)
}

fn check_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::param(Code::FormParamNil, "name"));
    }
    if name.chars().count() > NAME_CHARS {
        let text = format!("A name has at most {NAME_CHARS} characters.");
        return Err(Error::param(Code::FormParamMaxLengthExceeded, "name").saying(text));
    }
    match name.chars().any(char::is_control) {
        true => Err(Error::param(Code::FormParamFormatInvalid, "name").saying("A name is one line.")),
        false => Ok(()),
    }
}

/// Refuses to take the last way to sign in away from somebody.
pub fn check_removal(before: &User, after: &User, settings: &Settings) -> Result<()> {
    let only = |refusal: Error| refusal.saying("This passkey is the only way to sign in to the account.");
    check_entrance(before, after, settings).map_err(only)
}

/// The user after one of their passkeys was used.
pub fn used(mut user: User, id: &IdentificationId, now: Time) -> Result<User> {
    let passkey = user.passkeys.iter_mut().find(|passkey| passkey.id == *id);
    let passkey = passkey.ok_or_else(|| Error::new(Code::PasskeyNotRegistered))?;
    passkey.last_used_at = Some(now);
    Ok(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);
    const ID: &str = "idn_2x4y6z8A0C2E4G6I8K0M2O4Q6S8";

    fn user(more: &str) -> User {
        let document = format!(
            r#"{{"id":"user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","public_metadata":{{}},"private_metadata":{{}},
            "unsafe_metadata":{{}},"created_at":0,"updated_at":0,"passkeys":[{{"id":"{ID}","name":"Laptop",
            "rp_id":"localhost","verification":{{"strategy":"passkey"}},"created_at":0,"updated_at":0}}]{more}}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    fn id(text: &str) -> IdentificationId {
        IdentificationId::parse(text).unwrap()
    }

    #[test]
    fn passkeys_are_called_by_where_they_were_made() {
        let mac =
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/140.0 Safari/537.36";
        assert_eq!(default_name(mac), "Chrome on Macintosh");
        assert_eq!(default_name(""), "Passkey");
    }

    #[test]
    fn a_name_is_one_line_of_some_length() {
        let rename = |name: &str| renamed(user(""), &id(ID), Some(name), NOW);
        let good = rename(" Work ").unwrap();
        assert_eq!((good.passkeys[0].name.as_str(), good.passkeys[0].updated_at), ("Work", NOW));
        assert_eq!(rename("Laptop").unwrap().passkeys[0].updated_at, Time::from_ms(0));
        assert_eq!(rename(&"x".repeat(255)).map(|user| user.passkeys.len()).ok(), Some(1));
        for (name, code) in [
            (" ".to_owned(), Code::FormParamNil),
            ("x".repeat(256), Code::FormParamMaxLengthExceeded),
            ("a\nb".to_owned(), Code::FormParamFormatInvalid),
        ] {
            assert_eq!(rename(&name).unwrap_err().code(), code, "{name}");
        }
        assert_eq!(renamed(user(""), &id(ID), None, NOW).unwrap().passkeys[0].name, "Laptop");
    }

    #[test]
    fn the_last_way_in_stays() {
        let mut settings = Settings::default();
        settings.attributes.passkey.enabled = true;
        let without = |mut user: User| {
            user.passkeys.clear();
            user
        };
        let alone = user("");
        assert!(check_removal(&alone, &without(alone.clone()), &settings).is_err());
        let named = r#","username":{"id":"idn_2x4y6z8A0C2E4G6I8K0M2O4Q6S7","value":"ada"}"#;
        assert!(check_removal(&user(named), &without(user(named)), &settings).is_err());
        let other = user(&format!(r#","password":{{"updated_at":0}}{named}"#));
        assert!(check_removal(&other, &without(other.clone()), &settings).is_ok());
    }

    #[test]
    fn people_are_called_by_their_names() {
        assert_eq!(display_name(&user("")), "user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8");
        let named = user(r#","first_name":" Ada ","last_name":"L""#);
        assert_eq!(display_name(&named), "Ada L");
    }
}
