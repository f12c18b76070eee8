//! A message as the inbox shows it.

use latchkey_base::{Error, Result, Time};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::Sealed;
use crate::messages::model::{Content, shown_id};

object!(MessageObject, "message");

/// A message as the inbox shows it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InboxMessage")]
pub struct MessageView {
    object: MessageObject,
    id: String,
    /// `email` or `sms`.
    channel: String,
    /// The address or number.
    to: String,
    /// Which template it is made from.
    slug: String,
    /// The subject line; empty for text messages.
    subject: String,
    /// The body as plain text.
    body: String,
    /// The body for programs that show HTML.
    html: Option<String>,
    /// The one-time code in it.
    code: Option<String>,
    /// The link in it.
    link: Option<String>,
    /// `held`, `queued`, `sent` or `failed`.
    status: String,
    /// Why it was not sent.
    failure: Option<String>,
    created_at: Time,
}

/// Opens a message.
pub(super) fn message(sealed: Sealed, master: &MasterKey) -> Result<MessageView> {
    let plain = master.open(sealed.id.as_str(), &sealed.content).map_err(Error::internal)?;
    let said: Content = serde_json::from_slice(&plain).map_err(Error::internal)?;
    Ok(MessageView {
        object: MessageObject::It,
        id: shown_id(&sealed.id, sealed.channel == "sms"),
        channel: sealed.channel,
        to: sealed.to,
        slug: sealed.slug,
        subject: said.subject,
        body: said.text,
        html: said.html,
        code: said.code,
        link: said.link,
        status: sealed.status,
        failure: sealed.failure,
        created_at: sealed.created_at,
    })
}
