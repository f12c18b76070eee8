//! What a template of the server is made of.

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
