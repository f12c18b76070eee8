//! What a message is.

use latchkey_base::Time;
use latchkey_base::kinds::{IdentificationId, InstanceId, MessageId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::resources::templates::model::Channel;
use crate::resources::users::model::User;

/// A message to be written.
pub struct Message<'a> {
    /// Who it is for, if they have an account yet.
    pub user: Option<&'a User>,
    /// The identification it goes to, if it is one yet.
    pub identification: Option<&'a IdentificationId>,
    /// The language of an attempt, for people whose own is not known.
    pub locale: Option<&'a str>,
    /// How it travels.
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
    /// The one-time code in it, if any.
    pub code: Option<String>,
    /// The link in it, if any.
    pub link: Option<String>,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A worker is to send it.
    Queued,
    /// The application delivers it, or it is for tests and nobody does.
    Held,
}

impl Status {
    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Held => "held",
        }
    }
}

/// A message as it is stored when it is written.
pub struct Row<'a> {
    /// The tenant.
    pub instance: &'a InstanceId,
    /// Its id.
    pub id: &'a MessageId,
    /// Who it is for.
    pub user: Option<&'a UserId>,
    /// The identification it goes to.
    pub identification: Option<&'a IdentificationId>,
    /// How it travels.
    pub channel: Channel,
    /// The address or number.
    pub to: &'a str,
    /// Which template it was made from.
    pub slug: &'a str,
    /// What it says, sealed.
    pub content_sealed: Vec<u8>,
    /// What becomes of it.
    pub status: Status,
    /// Until when it is of use.
    pub expire_at: Option<Time>,
    /// When it was written.
    pub created_at: Time,
}

/// A message that is to be sent, sealed.
#[derive(Clone)]
pub struct Queued {
    /// Its id.
    pub id: MessageId,
    /// How it travels.
    pub channel: Channel,
    /// The address or number.
    pub to: String,
    /// Which template it is made from.
    pub slug: String,
    /// What it says, sealed.
    pub content: Vec<u8>,
    /// Attempts so far.
    pub attempts: i64,
    /// When it is of no use any more.
    pub expire_at: Option<Time>,
    /// When it was written.
    pub created_at: Time,
}

const EMAIL_PREFIX: &str = "ema_";
const TEXT_PREFIX: &str = "sms_";

/// What a message is from now on.
pub struct Fate<'a> {
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
