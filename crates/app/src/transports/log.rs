//! Messages in the log of the server, for those who develop without looking at the inbox.

use super::{Letter, Outcome, Sender};
use crate::resources::instances::model::Environment;
use crate::resources::messages::model::shown_id;
use crate::resources::templates::model::Channel;

/// Writes recipient and code. A code in a log lets whoever reads it in, so never in production.
pub(super) fn write(sender: &Sender, letter: &Letter) -> Outcome {
    if sender.environment != Environment::Development {
        return Outcome::Never("Only development instances may write messages into the log.".to_owned());
    }
    let Letter { channel, to, said, .. } = letter;
    let id = shown_id(&letter.id, *channel == Channel::Sms);
    let gist = said.code.as_deref().or(said.link.as_deref()).unwrap_or(&said.text);
    tracing::info!(message.id = %id, "{} to {to}: {gist:?} ({id})", channel.name());
    Outcome::Sent
}
