//! Putting a message into the outbox: written, sealed, and told of by an event.

use std::collections::BTreeSet;

use latchkey_base::kinds::MessageId;
use latchkey_base::text::{is_test_email, is_test_phone, mailbox};
use latchkey_base::{Code, Error, Problem, Result, countries};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::limits::{MAILS_PER_MAILBOX, MESSAGES_FOR_KNOWN, MESSAGES_WINDOW_MS, TEXTS_PER_NUMBER};
use latchkey_kernel::outbox;
use latchkey_letters::catalogue;
use latchkey_letters::model::{Channel, System};
use latchkey_letters::writing::{self, Words, Written};
use serde_json::Value;

use super::model::{Asker, Content, Message, MessageRow, MessageStatus};
use super::{data, rules, store, view};
use crate::templates::model::{StoredTemplate, Template};
use crate::templates::store as templates;

/// Sends a message that somebody in a browser asked for, unless the number or mailbox got too many of late. What goes
/// to a target for tests never leaves, so there may be as many as a test needs.
///
/// Where nobody is to learn who has an account, nothing is said about it: to those who have none nothing is sent, so
/// nothing would be refused.
pub async fn send_asked(tx: &mut Tx, act: &Act, asker: Asker, message: Message<'_>) -> Result<()> {
    let is_quiet = act.settings.attack_protection.enumeration_protection;
    if let Some(country) = blocked_country(act, message.channel, message.to) {
        return if is_quiet { Ok(()) } else { Err(unsupported(country)) };
    }
    let mailbox = (message.channel == Channel::Email).then(|| mailbox(message.to));
    let wait_ms = match is_test(act, &message) {
        true => 0,
        false => wait_ms(tx, act, asker, message.to, mailbox.as_deref()).await?,
    };
    match wait_ms > 0 {
        false => write(tx, act, message, mailbox.as_deref()).await,
        true if is_quiet => Ok(()),
        true => Err(Error::new(Code::VerificationCodeTooManyRequests)
            .saying("Too many messages were sent there in the last hour. Try again later, or sign in another way.")
            .retry_after((wait_ms + 999) / 1000)),
    }
}

/// How long a number, or a mailbox, gets no other message that somebody asks for.
async fn wait_ms(tx: &mut Tx, act: &Act, asker: Asker, to: &str, mailbox: Option<&str>) -> Result<i64> {
    let more = match asker {
        Asker::Stranger => 0,
        Asker::Known => MESSAGES_FOR_KNOWN,
    };
    await_turn(tx, act, mailbox.unwrap_or(to)).await?;
    let earlier = match mailbox {
        Some(mailbox) => {
            store::mail_from_last(tx, &act.instance, mailbox, MAILS_PER_MAILBOX + more, act.now).await?
        }
        None => store::text_from_last(tx, &act.instance, to, TEXTS_PER_NUMBER + more, act.now).await?,
    };
    Ok(earlier.map_or(0, |at| at.plus_ms(MESSAGES_WINDOW_MS).ms_since(act.now)))
}

/// Waits for the turns to send e-mails to several addresses in one transaction, in an order that all keep: two who send to
/// the same ones never wait for each other.
pub async fn await_turns(tx: &mut Tx, act: &Act, addresses: &[&str]) -> Result<()> {
    let mailboxes: BTreeSet<String> = addresses.iter().map(|address| mailbox(address)).collect();
    for mailbox in &mailboxes {
        await_turn(tx, act, mailbox).await?;
    }
    Ok(())
}

/// Of many who ask at once each would find few messages there.
async fn await_turn(tx: &mut Tx, act: &Act, recipient: &str) -> Result<()> {
    Ok(tx.be_alone(&format!("messages to {recipient} of {}", act.instance)).await?)
}

/// Writes a message that nobody in a browser asked for, and puts it into the outbox.
pub async fn send(tx: &mut Tx, act: &Act, message: Message<'_>) -> Result<()> {
    match blocked_country(act, message.channel, message.to) {
        Some(country) => Err(unsupported(country)),
        None => write(tx, act, message, None).await,
    }
}

/// The same for a message whose recipient did not ask for anything: where it may not go to, it is left out.
pub async fn send_notice(tx: &mut Tx, act: &Act, message: Message<'_>) -> Result<()> {
    match blocked_country(act, message.channel, message.to) {
        Some(_) => Ok(()),
        None => write(tx, act, message, None).await,
    }
}

/// Refuses a number to which no text messages are sent. For those who give the number themselves: it tells nothing about
/// anybody's account, so it is said wherever answers must not tell who has one.
pub fn check_country(act: &Act, channel: Channel, to: &str) -> Result<()> {
    match blocked_country(act, channel, to) {
        Some(country) => Err(unsupported(country)),
        None => Ok(()),
    }
}

/// The country of a number to which the instance sends no text messages.
fn blocked_country(act: &Act, channel: Channel, to: &str) -> Option<&'static str> {
    let blocked = &act.settings.messages.sms.blocked_countries;
    if channel != Channel::Sms || blocked.is_empty() {
        return None;
    }
    countries::of_phone(to).filter(|country| blocked.iter().any(|code| code == country))
}

fn unsupported(country: &str) -> Error {
    let mut problem = Problem::of(Code::UnsupportedCountryCode, "phone_number");
    problem.meta.insert("alpha2".to_owned(), country.into());
    problem
        .saying(format!(
            "No text messages are sent to numbers of this country ({country}). Use another number."
        ))
        .into()
}

async fn write(tx: &mut Tx, act: &Act, message: Message<'_>, mailbox: Option<&str>) -> Result<()> {
    let found = catalogue::find(message.channel, message.slug);
    let system = found.ok_or_else(|| Error::internal(format!("there is no template {}", message.slug)))?;
    let own = message.account.and_then(|account| account.locale);
    let languages = rules::languages(own, message.locale, &act.languages);
    let stored = templates::wanted(tx, &act.instance, system, &languages).await?;
    let own = stored.iter().find(|stored| stored.locale.is_empty());
    let template = Template { system, stored: own, sender: act.settings.messages.email.sender() };
    let data = data::all(act, message.account.as_ref(), &message.data);
    let written = written(system, &template, rules::variant(&stored, &languages), &data)?;
    let content = content(&template, written, &data);
    let message = KeptMessage { message: &message, mailbox, template: &template, content: &content };
    keep(tx, act, message, &data).await
}

/// The message in the reader's language. What an instance wrote was tried when it was saved, but not with
/// this person's data: nobody goes without a code because of it.
fn written(
    system: &System,
    template: &Template<'_>,
    variant: Option<&StoredTemplate>,
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
    let is_test = match message.channel {
        Channel::Email => is_test_email,
        Channel::Sms => is_test_phone,
    };
    act.test_mode && is_test(message.to)
}

/// A message that was written.
struct KeptMessage<'a> {
    message: &'a Message<'a>,
    mailbox: Option<&'a str>,
    template: &'a Template<'a>,
    content: &'a Content,
}

async fn keep(tx: &mut Tx, act: &Act, kept: KeptMessage<'_>, data: &Value) -> Result<()> {
    let KeptMessage { message, mailbox, template, content } = kept;
    let id = MessageId::new(act.now, &*act.rng);
    let plain = serde_json::to_vec(content).map_err(Error::internal)?;
    let is_delivered = template.delivered_by_service();
    let row = MessageRow {
        instance: &act.instance,
        id: &id,
        user: message.account.map(|account| account.user),
        identification: message.identification,
        channel: message.channel,
        to: message.to,
        slug: message.slug,
        content_sealed: act.master.seal(id.as_str(), &plain).map_err(Error::internal)?,
        status: if is_delivered && !is_test(act, message) {
            MessageStatus::Queued
        } else {
            MessageStatus::Held
        },
        expire_at: message.expire_at,
        created_at: act.now,
        mailbox,
    };
    store::insert(tx, &row).await?;
    let subject = message.account.map_or(id.as_str(), |account| account.user.as_str());
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
