//! A message as its event tells it.

use latchkey_base::Time;
use latchkey_base::kinds::{IdentificationId, MessageId, UserId};
use latchkey_kernel::cx::Act;
use latchkey_kernel::object;
use serde::Serialize;
use serde_json::Value;

use super::model::{Content, Message, shown_id};

/// The published descriptions know no other at the time of the event.
const STATUS: &str = "queued";

object!(EmailObject, "email");
object!(SmsObject, "sms_message");

#[derive(Serialize)]
pub struct EmailView<'a> {
    id: &'a MessageId,
    object: EmailObject,
    slug: &'static str,
    from_email_name: &'a str,
    reply_to_email_name: Option<&'a str>,
    to_email_address: &'a str,
    email_address_id: Option<&'a IdentificationId>,
    user_id: Option<&'a UserId>,
    subject: &'a str,
    body: &'a str,
    body_plain: &'a str,
    status: &'static str,
    data: &'a Value,
    delivered_by_clerk: bool,
    delivered_by_service: bool,
}

#[derive(Serialize)]
pub struct SmsView<'a> {
    id: String,
    object: SmsObject,
    slug: &'static str,
    from_phone_number: &'a str,
    to_phone_number: &'a str,
    phone_number_id: Option<&'a IdentificationId>,
    user_id: Option<&'a UserId>,
    message: &'a str,
    status: &'static str,
    data: &'a Value,
    delivered_by_clerk: bool,
    delivered_by_service: bool,
    created_at_ms: Time,
}

pub fn email<'a>(
    id: &'a MessageId,
    message: &Message<'a>,
    content: &'a Content,
    data: &'a Value,
    is_delivered: bool,
) -> EmailView<'a> {
    EmailView {
        id,
        object: EmailObject::It,
        slug: message.slug,
        from_email_name: &content.from_email_name,
        reply_to_email_name: content.reply_to_email_name.as_deref(),
        to_email_address: message.to,
        email_address_id: message.identification,
        user_id: message.account.map(|account| account.user),
        subject: &content.subject,
        body: content.html.as_deref().unwrap_or_default(),
        body_plain: &content.text,
        status: STATUS,
        data,
        delivered_by_clerk: is_delivered,
        delivered_by_service: is_delivered,
    }
}

pub fn sms<'a>(
    id: &MessageId,
    message: &Message<'a>,
    content: &'a Content,
    data: &'a Value,
    is_delivered: bool,
    act: &'a Act,
) -> SmsView<'a> {
    SmsView {
        id: shown_id(id, true),
        object: SmsObject::It,
        slug: message.slug,
        from_phone_number: &act.settings.messages.sms.twilio.from,
        to_phone_number: message.to,
        phone_number_id: message.identification,
        user_id: message.account.map(|account| account.user),
        message: &content.text,
        status: STATUS,
        data,
        delivered_by_clerk: is_delivered,
        delivered_by_service: is_delivered,
        created_at_ms: act.now,
    }
}
