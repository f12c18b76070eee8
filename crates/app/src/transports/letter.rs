//! A message on its way.

use latchkey_base::Time;
use latchkey_base::kinds::MessageId;

use crate::resources::messages::model::Content;
use crate::resources::templates::model::Channel;

/// A message on its way.
#[derive(Clone, Debug)]
pub struct Letter {
    /// Its id, the same in every attempt, so that receivers can tell a repetition.
    pub id: MessageId,
    /// How it travels.
    pub channel: Channel,
    /// The address or number.
    pub to: String,
    /// Which template it is made from.
    pub slug: String,
    /// What it says.
    pub said: Content,
    /// When it was written.
    pub created_at: Time,
    /// When this attempt is made.
    pub sent_at: Time,
}
