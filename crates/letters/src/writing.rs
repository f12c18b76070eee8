//! Writing a message from a template.

use latchkey_base::Result;
use serde_json::Value;

use super::render::{OutputKind, filled};
use super::{layout, plain};
use crate::model::{Channel, System};

/// What a message is made from.
pub struct Words<'a> {
    /// The subject line.
    pub subject: &'a str,
    /// The body the instance wrote; without it the default.
    pub body: Option<&'a str>,
    /// The same as text, where somebody wrote it.
    pub body_plain: Option<&'a str>,
}

/// A message.
pub struct Written {
    /// The subject line; none for text messages.
    pub subject: Option<String>,
    /// The page, or the text message.
    pub body: String,
    /// The page as text; none for text messages.
    pub body_plain: Option<String>,
}

/// Writes a message.
pub fn write(system: &System, words: &Words<'_>, data: &Value) -> Result<Written> {
    let own = |default: fn(&System) -> String| words.body.map_or_else(|| default(system), str::to_owned);
    if system.channel == Channel::Sms {
        let body = filled(&own(layout::body), OutputKind::Text, data)?;
        return Ok(Written { subject: None, body, body_plain: None });
    }
    let body = filled(&own(layout::body), OutputKind::Html, data)?;
    let body_plain = match (words.body_plain, words.body) {
        (Some(text), _) => filled(text, OutputKind::Text, data)?,
        (None, Some(_)) => plain::text(&body),
        (None, None) => filled(&layout::text(system), OutputKind::Text, data)?,
    };
    let subject = filled(words.subject, OutputKind::Line, data)?;
    Ok(Written { subject: Some(subject), body, body_plain: Some(body_plain) })
}

/// Writes the message as it is by default. It cannot fail on account of what an instance wrote.
pub fn write_default(system: &System, data: &Value) -> Result<Written> {
    write(system, &Words { subject: system.subject, body: None, body_plain: None }, data)
}
