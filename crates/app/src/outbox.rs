//! Writes events and messages into the transaction that causes them. Nothing is sent here: workers
//! take rows from these tables after the commit.

use latchkey_base::kinds::{EventId, InstanceId, MessageId, UserId};
use latchkey_base::{Error, Result};
use latchkey_db::{Statement, Tx};
use serde::{Deserialize, Serialize};

use crate::cx::Act;
use crate::events::Event;

const INSERT_EVENT: &str = "INSERT INTO events (instance_id, id, kind, subject_id, data, client_ip, user_agent, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// The statement that records an event, for callers that send several statements at once.
pub fn event(act: &Act, event: Event, subject: &str, data: &impl Serialize) -> Result<Statement> {
    let id = EventId::new(act.now, &*act.rng);
    let data = serde_json::to_string(data).map_err(Error::internal)?;
    Ok((
        INSERT_EVENT,
        vec![
            (&act.instance).into(),
            (&id).into(),
            event.name().into(),
            subject.into(),
            data.into(),
            act.client_ip.as_str().into(),
            act.user_agent.as_str().into(),
            act.now.into(),
        ],
    ))
}

/// Records an event. `data` is the newest view; it is made to fit a receiver's version at delivery.
pub async fn emit(tx: &mut Tx, act: &Act, kind: Event, subject: &str, data: &impl Serialize) -> Result<()> {
    let (sql, params) = event(act, kind, subject, data)?;
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Deletes up to `limit` events of an instance that is going away. Says whether there were any.
pub async fn delete_some(tx: &mut Tx, instance: &InstanceId, limit: i64) -> Result<bool> {
    let sql = "DELETE FROM events WHERE instance_id = $1 AND (created_at, id) IN \
               (SELECT created_at, id FROM events WHERE instance_id = $1 ORDER BY created_at, id LIMIT $2)";
    Ok(tx.run(&[sql], &[instance.into(), limit.into()]).await? > 0)
}

/// How a message reaches a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// E-mail.
    Email,
    /// Text message.
    Sms,
}

impl Channel {
    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Channel::Email => "email",
            Channel::Sms => "sms",
        }
    }
}

/// A message to a person.
pub struct Message<'a> {
    /// Who it is about, if they have an account yet.
    pub user: Option<&'a UserId>,
    /// How it travels.
    pub channel: Channel,
    /// The address or number.
    pub to: &'a str,
    /// Which template it is made from.
    pub slug: &'static str,
    /// What it says.
    pub content: Content,
}

/// What a message says. Sealed at rest, because it may carry a one-time code.
#[derive(Serialize, Deserialize)]
pub struct Content {
    /// The subject line; empty for text messages.
    pub subject: String,
    /// The text.
    pub body: String,
    /// The one-time code in it, if any.
    pub code: Option<String>,
    /// The link in it, if any.
    #[serde(default)]
    pub link: Option<String>,
}

/// Puts a message into the outbox.
pub async fn send(tx: &mut Tx, act: &Act, message: Message<'_>) -> Result<()> {
    let id = MessageId::new(act.now, &*act.rng);
    let plain = serde_json::to_vec(&message.content).map_err(Error::internal)?;
    let sealed = act.master.seal(id.as_str(), &plain).map_err(Error::internal)?;
    let params = [
        (&act.instance).into(),
        (&id).into(),
        message.user.map(|user| user.as_str()).into(),
        message.channel.name().into(),
        message.to.into(),
        message.slug.into(),
        sealed.into(),
        act.now.into(),
    ];
    tx.run(
        &["INSERT INTO messages (instance_id, id, user_id, channel, recipient, slug, content_sealed, created_at) \
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"],
        &params,
    )
    .await?;
    Ok(())
}
