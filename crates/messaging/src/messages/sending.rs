//! Putting a message into the outbox: written, sealed, and told of by an event.

use std::collections::BTreeSet;

use latchkey_base::kinds::MessageId;
use latchkey_base::text::{is_test_email, is_test_phone, mailbox};
use latchkey_base::{Code, Error, Problem, Result, countries};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::limits::{
    MAILS_OF_ADDRESS, MAILS_PER_MAILBOX, MESSAGES_FOR_KNOWN, MESSAGES_OF_ADDRESS_MS, MESSAGES_WINDOW_MS,
    TEXTS_OF_ADDRESS, TEXTS_PER_NUMBER,
};
use latchkey_kernel::outbox;
use latchkey_letters::catalogue;
use latchkey_letters::model::{Channel, System};
use latchkey_letters::writing::{self, Words, Written};
use serde_json::Value;

use super::model::{Asker, Content, Message, MessageRow, MessageStatus};
use super::{data, rules, store, view};
use crate::templates::model::{StoredTemplate, Template};
use crate::templates::store as templates;

/// Sends a message that somebody in a browser asked for, unless the number or mailbox got too many of late, or strangers at
/// the same address asked for too many. What goes to a target for tests never leaves, so there may be as many as a test
/// needs.
///
/// Where nobody is to learn who has an account, nothing is said about it: to those who have none nothing is sent, so
/// nothing would be refused.
pub async fn send_asked(tx: &mut Tx, act: &Act, asker: Asker, message: Message<'_>) -> Result<()> {
    let is_quiet = act.settings.attack_protection.enumeration_protection;
    if let Some(country) = blocked_country(act, message.channel, message.to) {
        return if is_quiet { Ok(()) } else { Err(unsupported(country)) };
    }
    let is_test = is_test(act, &message);
    let asked = Asked {
        mailbox: (message.channel == Channel::Email).then(|| mailbox(message.to)),
        from: asked_from(act, asker).filter(|_| !is_test),
    };
    let allowed = match is_test {
        true => Ok(()),
        false => check_asked(tx, act, asker, &message, &asked).await?,
    };
    match allowed {
        Ok(()) => write(tx, act, message, asked).await,
        Err(_) if is_quiet => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

/// What is noted of a message that somebody in a browser asked for.
#[derive(Default)]
struct Asked {
    /// The mailbox, if it is an e-mail.
    mailbox: Option<String>,
    /// The address of a stranger, or what one customer has of them, unless it is this machine.
    from: Option<String>,
}

fn asked_from(act: &Act, asker: Asker) -> Option<String> {
    (asker == Asker::Stranger && !act.network.is_here()).then(|| act.network.block().to_string())
}

/// Whether a message may be sent, or why not.
async fn check_asked(
    tx: &mut Tx,
    act: &Act,
    asker: Asker,
    message: &Message<'_>,
    asked: &Asked,
) -> Result<Result<()>> {
    let refused = |wait_ms: i64, words: &'static str| {
        let refusal = Error::new(Code::VerificationCodeTooManyRequests).saying(words);
        Err(refusal.retry_after((wait_ms + 999) / 1000))
    };
    let wait_ms = recipient_wait_ms(tx, act, asker, message.to, asked.mailbox.as_deref()).await?;
    if wait_ms > 0 {
        let words =
            "Too many messages were sent there in the last hour. Try again later, or sign in another way.";
        return Ok(refused(wait_ms, words));
    }
    let wait_ms = match &asked.from {
        Some(from) => address_wait_ms(tx, act, from, message.channel).await?,
        None => 0,
    };
    let words = "Too many messages were asked for from your network in the last 24 hours. Try again later, or sign in another way.";
    Ok(if wait_ms > 0 { refused(wait_ms, words) } else { Ok(()) })
}

/// How long strangers at an address have no other message sent. Their turn is taken behind that of the recipient.
async fn address_wait_ms(tx: &mut Tx, act: &Act, from: &str, channel: Channel) -> Result<i64> {
    await_turn(tx, act, from).await?;
    let most = match channel {
        Channel::Email => MAILS_OF_ADDRESS,
        Channel::Sms => TEXTS_OF_ADDRESS,
    };
    let earlier = store::asked_from_last(tx, &act.instance, (from, channel), most, act.now).await?;
    Ok(earlier.map_or(0, |at| at.plus_ms(MESSAGES_OF_ADDRESS_MS).ms_since(act.now)))
}

/// How long a number, or a mailbox, gets no other message that somebody asks for.
async fn recipient_wait_ms(
    tx: &mut Tx,
    act: &Act,
    asker: Asker,
    to: &str,
    mailbox: Option<&str>,
) -> Result<i64> {
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
async fn await_turn(tx: &mut Tx, act: &Act, whose: &str) -> Result<()> {
    Ok(tx.be_alone(&format!("messages of {whose} in {}", act.instance)).await?)
}

/// Writes a message that nobody in a browser asked for, and puts it into the outbox.
pub async fn send(tx: &mut Tx, act: &Act, message: Message<'_>) -> Result<()> {
    match blocked_country(act, message.channel, message.to) {
        Some(country) => Err(unsupported(country)),
        None => write(tx, act, message, Asked::default()).await,
    }
}

/// The same for a message whose recipient did not ask for anything: where it may not go to, it is left out.
pub async fn send_notice(tx: &mut Tx, act: &Act, message: Message<'_>) -> Result<()> {
    match blocked_country(act, message.channel, message.to) {
        Some(_) => Ok(()),
        None => write(tx, act, message, Asked::default()).await,
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

async fn write(tx: &mut Tx, act: &Act, message: Message<'_>, asked: Asked) -> Result<()> {
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
    let message = KeptMessage { message: &message, asked, template: &template, content: &content };
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
    asked: Asked,
    template: &'a Template<'a>,
    content: &'a Content,
}

async fn keep(tx: &mut Tx, act: &Act, kept: KeptMessage<'_>, data: &Value) -> Result<()> {
    let KeptMessage { message, asked, template, content } = kept;
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
        mailbox: asked.mailbox.as_deref(),
        asked_from: asked.from.as_deref(),
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
