//! Event: something that happened in an instance.

use std::borrow::Cow;

use latchkey_base::kinds::{EventId, InstanceId, SecretKeyId};
use latchkey_base::{Error, Result, Time};
use latchkey_jose::seal::MasterKey;

/// An event as the outbox holds it.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    pub instance: InstanceId,
    /// Its number: the first of an instance is 1, and there is none missing between two.
    pub seq: i64,
    /// Its id, the same in every attempt to deliver it.
    pub id: EventId,
    /// Such as `user.created`.
    pub kind: String,
    /// What receivers see in order.
    pub subject: String,
    /// What is told, as JSON.
    pub data: Data,
    /// Where the request that caused it came from.
    pub client_ip: String,
    pub user_agent: String,
    pub created_at: Time,
    /// The secret key of the request that caused it, or the one that made the link token of that request.
    pub key: Option<SecretKeyId>,
}

/// What an event tells.
#[derive(Clone, Debug)]
pub enum Data {
    /// JSON.
    Plain(String),
    /// JSON with a one-time code in it, sealed.
    Sealed(Vec<u8>),
}

impl StoredEvent {
    /// Whether it tells a one-time code.
    pub fn is_sealed(&self) -> bool {
        matches!(self.data, Data::Sealed(_))
    }

    /// How much room its content takes.
    pub fn bytes(&self) -> usize {
        match &self.data {
            Data::Plain(text) => text.len(),
            Data::Sealed(sealed) => sealed.len(),
        }
    }

    /// What the event tells, as JSON.
    pub fn open(&self, master: &MasterKey) -> Result<Cow<'_, str>> {
        match &self.data {
            Data::Plain(text) => Ok(Cow::Borrowed(text)),
            Data::Sealed(sealed) => {
                let plain = master.open(self.id.as_str(), sealed).map_err(Error::internal)?;
                String::from_utf8(plain).map(Cow::Owned).map_err(Error::internal)
            }
        }
    }
}
