//! A message on its way.

use latchkey_base::Time;
use latchkey_base::kinds::MessageId;
use latchkey_letters::model::Channel;

use crate::messages::model::Content;

/// A message on its way.
#[derive(Clone, Debug)]
pub struct Letter {
    /// Its id, the same in every attempt, so that receivers can tell a repetition.
    pub id: MessageId,
    pub channel: Channel,
    /// The address or number.
    pub to: String,
    /// Which template it is made from.
    pub slug: String,
    /// What it says.
    pub said: Content,
    pub created_at: Time,
    /// When this attempt is made.
    pub sent_at: Time,
}
