//! What a template is.

use latchkey_base::Time;
use latchkey_base::kinds::InstanceId;
use serde::{Deserialize, Serialize};

/// How a message reaches a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// E-mail.
    Email,
    /// Text message.
    Sms,
}

impl Channel {
    /// The name in tables and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Channel::Email => "email",
            Channel::Sms => "sms",
        }
    }

    /// The channel of this name.
    pub fn parse(name: &str) -> Option<Channel> {
        [Channel::Email, Channel::Sms].into_iter().find(|channel| channel.name() == name)
    }
}

/// A template that comes with the server.
#[derive(Debug)]
pub struct System {
    /// How its messages travel.
    pub channel: Channel,
    /// Its name for machines.
    pub slug: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// The subject line; empty for text messages.
    pub subject: &'static str,
    /// The headline of an e-mail, or the whole text message.
    pub title: &'static str,
    /// What an e-mail says below its headline.
    pub blocks: &'static [Block],
    /// The variables it has beside those of all templates.
    pub variables: &'static [&'static str],
    /// The variables without which its messages would be of no use.
    pub required: &'static [&'static str],
    /// Whether it tells of something rather than being waited for.
    pub is_notice: bool,
}

/// A part of an e-mail. All texts may hold variables.
#[derive(Debug)]
pub enum Block {
    /// A greeting, by name where there is one.
    Greeting,
    /// A paragraph.
    Text(&'static str),
    /// The one-time code, large.
    Code,
    /// A link that looks like a button: what it says, and the variable that tells where it leads.
    Button(&'static str, &'static str),
    /// What is known about the occasion: names, and the variables that tell it. What is empty is left out.
    Facts(&'static [(&'static str, &'static str)]),
    /// Small print.
    Note(&'static str),
}

/// What an instance changed of a template. What it left alone stays as the server has it, also after an
/// update of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The subject line.
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
pub struct Stored {
    /// The tenant.
    pub instance: InstanceId,
    /// How messages travel.
    pub channel: Channel,
    /// Which template.
    pub slug: String,
    /// For whom; empty for everybody else.
    pub locale: String,
    /// What is different.
    pub changes: Changes,
    /// When it was first changed.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// A template as an instance has it.
pub struct Template<'a> {
    /// What it is by default.
    pub system: &'static System,
    /// What the instance changed of it.
    pub stored: Option<&'a Stored>,
}

/// The sender of e-mails unless the instance chose one: what stands before the `@`.
pub const FROM_EMAIL_NAME: &str = "noreply";

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
            Channel::Email => FROM_EMAIL_NAME,
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

impl Stored {
    /// A template of which nothing is changed yet.
    pub fn new(instance: InstanceId, system: &System, locale: &str, now: Time) -> Stored {
        Stored {
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
