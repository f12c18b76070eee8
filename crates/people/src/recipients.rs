//! People as messages see them.

use latchkey_letters::model::Channel;
use latchkey_messaging::messages::model::{Account, Recipient};

use super::users::model::{Contact, ContactKind, User};

/// What messages can tell of somebody.
pub fn account(user: &User) -> Account<'_> {
    let primary = user.email_addresses.primary();
    Account {
        user: &user.id,
        locale: user.locale.as_deref(),
        first_name: user.first_name.as_deref().unwrap_or_default(),
        last_name: user.last_name.as_deref().unwrap_or_default(),
        username: user.username.as_ref().map(|username| username.value.as_str()).unwrap_or_default(),
        primary_email_address: primary.map(|contact| contact.value.as_str()).unwrap_or_default(),
        public_metadata: &user.public_metadata,
        unsafe_metadata: &user.unsafe_metadata,
    }
}

/// How messages to an identification of a kind travel.
pub fn channel(kind: ContactKind) -> Channel {
    match kind {
        ContactKind::Phone => Channel::Sms,
        ContactKind::Email | ContactKind::Wallet => Channel::Email,
    }
}

/// Somebody at one of their addresses or numbers.
pub fn recipient<'a>(user: &'a User, kind: ContactKind, contact: &'a Contact) -> Recipient<'a> {
    Recipient {
        account: Some(account(user)),
        channel: channel(kind),
        to: &contact.value,
        identification: Some(&contact.id),
        locale: None,
    }
}
