//! Telling people what happened to their account. Notices go to the primary address, or by text to the
//! primary number of those who have none; never to targets for tests, nor to an address that is not proven.

use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_letters::catalogue;
use latchkey_messaging::messages::model::Message;
use latchkey_messaging::messages::{rules, sending};
use serde_json::{Map, Value, json};

use super::identifications::codes::is_for_tests;
use super::recipients::recipient;
use super::users::model::{ContactKind, User};

/// The password is another one.
pub async fn password_changed(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    tell(tx, act, user, "password_changed", Map::new()).await
}

/// There is no password any more.
pub async fn password_removed(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    tell(tx, act, user, "password_removed", Map::new()).await
}

/// Signing in takes a second step from now on.
pub async fn mfa_enabled(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    tell(tx, act, user, "mfa_enabled", Map::new()).await
}

/// There is one more passkey.
pub async fn passkey_added(tx: &mut Tx, act: &Act, user: &User, name: &str) -> Result<()> {
    tell(tx, act, user, "passkey_added", named_passkey(name)).await
}

/// There is one passkey less.
pub async fn passkey_removed(tx: &mut Tx, act: &Act, user: &User, name: &str) -> Result<()> {
    tell(tx, act, user, "passkey_removed", named_passkey(name)).await
}

fn named_passkey(name: &str) -> Map<String, Value> {
    Map::from_iter([("passkey_name".to_owned(), json!(name))])
}

/// Nobody can sign in for a while.
pub async fn account_locked(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    let duration = act.settings.lockout.duration_minutes.map(spoken_minutes).unwrap_or_default();
    let data = [
        ("failed_attempts".to_owned(), json!(user.failed_attempts)),
        ("lockout_duration".to_owned(), json!(duration)),
        ("locked_date".to_owned(), json!(act.now.spoken())),
    ];
    tell(tx, act, user, "account_locked", Map::from_iter(data)).await
}

/// Another address is the primary one; the old one is told, if it was proven: a stranger may own it.
pub async fn primary_address_changed(tx: &mut Tx, act: &Act, before: &User, after: &User) -> Result<()> {
    let (Some(old), Some(new)) = (before.email_addresses.primary(), after.email_addresses.primary()) else {
        return Ok(());
    };
    if old.value == new.value
        || !old.is_verified()
        || act.test_mode && is_for_tests(ContactKind::Email, &old.value)
    {
        return Ok(());
    }
    let data = [("new_email_address".to_owned(), json!(new.value))];
    let to = recipient(after, ContactKind::Email, old);
    sending::send(tx, act, rules::notice(to, "primary_email_address_changed", Map::from_iter(data))).await
}

/// Tells somebody something, where they can be reached.
pub async fn tell(
    tx: &mut Tx,
    act: &Act,
    user: &User,
    slug: &'static str,
    data: Map<String, Value>,
) -> Result<()> {
    let proven = |kind: ContactKind| {
        let contact = user.contacts(kind).primary().filter(|contact| contact.is_verified())?;
        (!act.test_mode || !is_for_tests(kind, &contact.value)).then(|| recipient(user, kind, contact))
    };
    let to = match user.email_addresses.primary() {
        Some(_) => proven(ContactKind::Email),
        None => proven(ContactKind::Phone),
    };
    match to.map(|to| rules::notice(to, slug, data)).filter(exists) {
        Some(message) => sending::send_notice(tx, act, message).await,
        None => Ok(()),
    }
}

fn exists(message: &Message<'_>) -> bool {
    catalogue::find(message.channel, message.slug).is_some()
}

fn spoken_minutes(minutes: i64) -> String {
    let spoken = |count: i64, unit: &str| format!("{count} {unit}{}", if count == 1 { "" } else { "s" });
    match minutes % 60 == 0 {
        true => spoken(minutes / 60, "hour"),
        false => spoken(minutes, "minute"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_say_them() {
        assert_eq!((spoken_minutes(60).as_str(), spoken_minutes(90).as_str()), ("1 hour", "90 minutes"));
    }
}
