//! What a template is.

use latchkey_base::Time;
use latchkey_base::kinds::InstanceId;
use latchkey_letters::model::{Channel, System};
use serde::{Deserialize, Serialize};

/// What an instance changed of a template. What it left alone stays as the server has it, also after an
/// update of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What an editor made the body from; only kept for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markup: Option<String>,
    /// The page, or the text message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The same without markup; made from the body where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_plain: Option<String>,
    /// The sender: what stands before the `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_email_name: Option<String>,
    /// Where answers go: what stands before the `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_email_name: Option<String>,
    /// Whether this server delivers; by default it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_by_service: Option<bool>,
}

/// A stored change: for everybody, or for those of a locale.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTemplate {
    pub instance: InstanceId,
    pub channel: Channel,
    pub slug: String,
    /// For whom; empty for everybody else.
    pub locale: String,
    /// What is different.
    pub changes: Changes,
    /// When it was first changed.
    pub created_at: Time,
    pub updated_at: Time,
}

/// A template as an instance has it.
pub struct Template<'a> {
    /// What it is by default.
    pub system: &'static System,
    /// What the instance changed of it.
    pub stored: Option<&'a StoredTemplate>,
    /// The sender of e-mails unless it says otherwise: what stands before the `@`.
    pub sender: &'a str,
}

impl<'a> Template<'a> {
    fn changes(&self) -> Option<&'a Changes> {
        self.stored.map(|stored| &stored.changes)
    }

    /// The name for people.
    pub fn name(&self) -> &'a str {
        self.changes().and_then(|changes| changes.name.as_deref()).unwrap_or(self.system.name)
    }

    /// The subject line; empty for text messages.
    pub fn subject(&self) -> &'a str {
        self.changes().and_then(|changes| changes.subject.as_deref()).unwrap_or(self.system.subject)
    }

    /// The body the instance wrote, if it did.
    pub fn own_body(&self) -> Option<&'a str> {
        self.changes().and_then(|changes| changes.body.as_deref())
    }

    /// What an editor made the body from.
    pub fn markup(&self) -> &'a str {
        self.changes().and_then(|changes| changes.markup.as_deref()).unwrap_or_default()
    }

    /// The sender: what stands before the `@`; empty for text messages.
    pub fn from_email_name(&self) -> &'a str {
        let default = match self.system.channel {
            Channel::Email => self.sender,
            Channel::Sms => "",
        };
        self.changes().and_then(|changes| changes.from_email_name.as_deref()).unwrap_or(default)
    }

    /// Where answers go: what stands before the `@`; empty for nowhere.
    pub fn reply_to_email_name(&self) -> &'a str {
        self.changes().and_then(|changes| changes.reply_to_email_name.as_deref()).unwrap_or_default()
    }

    /// Whether this server delivers.
    pub fn delivered_by_service(&self) -> bool {
        self.changes().and_then(|changes| changes.delivered_by_service).unwrap_or(true)
    }
}

impl StoredTemplate {
    /// A template of which nothing is changed yet.
    pub fn new(instance: InstanceId, system: &System, locale: &str, now: Time) -> StoredTemplate {
        StoredTemplate {
            instance,
            channel: system.channel,
            slug: system.slug.to_owned(),
            locale: locale.to_owned(),
            changes: Changes::default(),
            created_at: now,
            updated_at: now,
        }
    }
}
