//! Putting a message into the outbox: written, sealed, and told of by an event.

use latchkey_base::kinds::MessageId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use serde_json::Value;

use super::model::{Content, Message, Row, Status};
use super::{data, rules, store, view};
use crate::cx::Act;
use crate::events::Event;
use crate::limits::{TEXTS_PER_NUMBER, TEXTS_WINDOW_MS};
use crate::outbox;
use crate::resources::identifications::codes::is_for_tests;
use crate::resources::templates::model::{Channel, Stored, System, Template};
use crate::resources::templates::writing::{self, Words, Written};
use crate::resources::templates::{catalogue, store as templates};
use crate::resources::users::model::Kind;

/// Sends a message that somebody in a browser asked for, unless the number got too many of late. What goes to a
/// target for tests never leaves, so there may be as many as a test needs.
pub async fn send_asked(tx: &mut Tx, act: &Act, message: Message<'_>) -> Result<()> {
    let earlier = match message.channel {
        Channel::Sms if !is_test(act, &message) => {
            store::text_from_last(tx, &act.instance, message.to, TEXTS_PER_NUMBER).await?
        }
        _ => None,
    };
    let wait_ms = earlier.map_or(0, |at| at.plus_ms(TEXTS_WINDOW_MS).ms_since(act.now));
    match wait_ms > 0 {
        true => Err(Error::new(Code::VerificationCodeTooManyRequests).retry_after((wait_ms + 999) / 1000)),
        false => send(tx, act, message).await,
    }
}

/// Writes a message and puts it into the outbox.
pub async fn send(tx: &mut Tx, act: &Act, message: Message<'_>) -> Result<()> {
    let found = catalogue::find(message.channel, message.slug);
    let system = found.ok_or_else(|| Error::internal(format!("there is no template {}", message.slug)))?;
    let own = message.user.and_then(|user| user.locale.as_deref());
    let languages = rules::languages(own, message.locale, &act.languages);
    let stored = templates::wanted(tx, &act.instance, system, &languages).await?;
    let template = Template { system, stored: stored.iter().find(|stored| stored.locale.is_empty()) };
    let data = data::all(act, message.user, &message.data);
    let written = written(system, &template, rules::variant(&stored, &languages), &data)?;
    let content = content(&template, written, &data);
    keep(tx, act, &message, &template, &content, &data).await
}

/// The message in the reader's language. What an instance wrote was tried when it was saved, but not with
/// this person's data: nobody goes without a code because of it.
fn written(
    system: &System,
    template: &Template<'_>,
    variant: Option<&Stored>,
    data: &Value,
) -> Result<Written> {
    let words = match variant.map(|stored| &stored.changes) {
        Some(changes) => Words {
            subject: changes.subject.as_deref().unwrap_or(template.subject()),
            body: changes.body.as_deref(),
            body_plain: changes.body_plain.as_deref(),
        },
        None => Words { subject: template.subject(), body: template.own_body(), body_plain: None },
    };
    writing::write(system, &words, data).or_else(|error| {
        tracing::warn!(slug = system.slug, cause = ?error.cause(), "a template failed; its default was used");
        writing::write_default(system, data)
    })
}

fn content(template: &Template<'_>, written: Written, data: &Value) -> Content {
    let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
    let (html, plain) = match written.body_plain {
        Some(plain) => (Some(written.body), plain),
        None => (None, written.body),
    };
    Content {
        subject: written.subject.unwrap_or_default(),
        html,
        text: plain,
        from_email_name: template.from_email_name().to_owned(),
        reply_to_email_name: Some(template.reply_to_email_name().to_owned()).filter(|name| !name.is_empty()),
        code: text("otp_code"),
        link: text("magic_link").or_else(|| text("action_url")),
    }
}

/// Whether a message goes to a target for tests: it can be seen in the inbox, but never leaves.
fn is_test(act: &Act, message: &Message<'_>) -> bool {
    let kind = match message.channel {
        Channel::Email => Kind::Email,
        Channel::Sms => Kind::Phone,
    };
    act.test_mode && is_for_tests(kind, message.to)
}

async fn keep(
    tx: &mut Tx,
    act: &Act,
    message: &Message<'_>,
    template: &Template<'_>,
    content: &Content,
    data: &Value,
) -> Result<()> {
    let id = MessageId::new(act.now, &*act.rng);
    let plain = serde_json::to_vec(content).map_err(Error::internal)?;
    let is_delivered = template.delivered_by_service();
    let row = Row {
        instance: &act.instance,
        id: &id,
        user: message.user.map(|user| &user.id),
        identification: message.identification,
        channel: message.channel,
        to: message.to,
        slug: message.slug,
        content_sealed: act.master.seal(id.as_str(), &plain).map_err(Error::internal)?,
        status: if is_delivered && !is_test(act, message) { Status::Queued } else { Status::Held },
        expire_at: message.expire_at,
        created_at: act.now,
    };
    store::insert(tx, &row).await?;
    let subject = message.user.map_or(id.as_str(), |user| user.id.as_str());
    match message.channel {
        Channel::Email => {
            let told = view::email(&id, message, content, data, is_delivered);
            outbox::emit_sealed(tx, act, Event::EmailCreated, subject, &told)
        }
        Channel::Sms => {
            let told = view::sms(&id, message, content, data, is_delivered, act);
            outbox::emit_sealed(tx, act, Event::SmsCreated, subject, &told)
        }
    }
}
