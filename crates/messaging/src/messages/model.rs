//! What a message is.

use latchkey_base::Time;
use latchkey_base::kinds::{IdentificationId, InstanceId, MessageId, UserId};
use latchkey_letters::model::Channel;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What messages can tell of the account they are about.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    pub user: &'a UserId,
    /// The language they chose.
    pub locale: Option<&'a str>,
    /// Their first name, or nothing.
    pub first_name: &'a str,
    /// Their last name, or nothing.
    pub last_name: &'a str,
    /// Their username, or nothing.
    pub username: &'a str,
    /// Their primary address, or nothing.
    pub primary_email_address: &'a str,
    /// Metadata everybody may see.
    pub public_metadata: &'a RawValue,
    /// Metadata they wrote themselves.
    pub unsafe_metadata: &'a RawValue,
}

impl<'a> Account<'a> {
    /// How a person is greeted: by first name, else by username, else not by name.
    pub fn greeting_name(&self) -> &'a str {
        if self.first_name.is_empty() { self.username } else { self.first_name }
    }
}

/// Whom a message goes to.
#[derive(Clone, Copy)]
pub struct Recipient<'a> {
    /// Their account, if they have one yet.
    pub account: Option<Account<'a>>,
    /// How messages reach them.
    pub channel: Channel,
    /// The address or number.
    pub to: &'a str,
    /// The identification it is, if it is one yet.
    pub identification: Option<&'a IdentificationId>,
    /// The language of an attempt, for people whose own is not known.
    pub locale: Option<&'a str>,
}

/// A message to be written.
pub struct Message<'a> {
    /// Who it is for, if they have an account yet.
    pub account: Option<Account<'a>>,
    /// The identification it goes to, if it is one yet.
    pub identification: Option<&'a IdentificationId>,
    /// The language of an attempt, for people whose own is not known.
    pub locale: Option<&'a str>,
    pub channel: Channel,
    /// The address or number.
    pub to: &'a str,
    /// Which template it is made from.
    pub slug: &'static str,
    /// What the template shows, beside what all templates can.
    pub data: Map<String, Value>,
    /// Until when it is of use.
    pub expire_at: Option<Time>,
}

/// What a message says. Sealed at rest, because it may carry a one-time code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Content {
    /// The subject line; empty for text messages.
    pub subject: String,
    /// The page; none for text messages.
    pub html: Option<String>,
    /// The page as text, or the text message.
    pub text: String,
    /// The sender: what stands before the `@`.
    pub from_email_name: String,
    /// Where answers go, if anywhere: what stands before the `@`.
    pub reply_to_email_name: Option<String>,
    pub code: Option<String>,
    pub link: Option<String>,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageStatus {
    /// A worker is to send it.
    Queued,
    /// The application delivers it, or it is for tests and nobody does.
    Held,
}

impl MessageStatus {
    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            MessageStatus::Queued => "queued",
            MessageStatus::Held => "held",
        }
    }
}

/// Who asks for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Anybody who knows the address or number.
    Stranger,
    /// Somebody who has proven before, or otherwise, that the account is theirs.
    Known,
}

/// A message as it is stored when it is written.
pub struct MessageRow<'a> {
    pub instance: &'a InstanceId,
    pub id: &'a MessageId,
    pub user: Option<&'a UserId>,
    /// The identification it goes to.
    pub identification: Option<&'a IdentificationId>,
    pub channel: Channel,
    /// The address or number.
    pub to: &'a str,
    /// Which template it was made from.
    pub slug: &'a str,
    /// What it says, sealed.
    pub content_sealed: Vec<u8>,
    /// What becomes of it.
    pub status: MessageStatus,
    /// Until when it is of use.
    pub expire_at: Option<Time>,
    pub created_at: Time,
    /// The mailbox, if it is an e-mail that somebody asked for.
    pub mailbox: Option<&'a str>,
    /// From where somebody asked for it whom its recipient does not know.
    pub asked_from: Option<&'a str>,
}

/// A message that is to be sent, sealed.
#[derive(Clone)]
pub struct Queued {
    pub id: MessageId,
    pub channel: Channel,
    /// The address or number.
    pub to: String,
    /// Which template it is made from.
    pub slug: String,
    /// What it says, sealed.
    pub content: Vec<u8>,
    pub attempts: i64,
    /// When it is of no use any more.
    pub expire_at: Option<Time>,
    pub created_at: Time,
}

const EMAIL_PREFIX: &str = "ema_";
const TEXT_PREFIX: &str = "sms_";

/// What a message is from now on.
pub struct MessageOutcome<'a> {
    /// `queued`, `sent`, `failed` or `held`.
    pub status: &'static str,
    /// When to try again.
    pub next_at: Option<Time>,
    /// Why it did not work.
    pub failure: Option<&'a str>,
}

/// The id of a message as it is shown: texts have a prefix of their own, though both kinds lie in one table.
pub fn shown_id(id: &MessageId, is_text: bool) -> String {
    match is_text {
        true => id.as_str().replacen(EMAIL_PREFIX, TEXT_PREFIX, 1),
        false => id.to_string(),
    }
}

/// The message an id that was shown belongs to.
pub fn read_id(shown: &str) -> Option<MessageId> {
    match shown.strip_prefix(TEXT_PREFIX) {
        Some(rest) => MessageId::parse(&format!("{EMAIL_PREFIX}{rest}")),
        None => MessageId::parse(shown),
    }
}
