//! Messages in the log of the server, for those who develop without looking at the inbox.

use latchkey_kernel::environment::Environment;
use latchkey_letters::model::Channel;

use super::{Letter, SendOutcome, SendingInstance};
use crate::messages::model::shown_id;

/// Writes recipient and code. A code in a log lets whoever reads it in, so never in production.
pub(super) fn write(sender: &SendingInstance, letter: &Letter) -> SendOutcome {
    if sender.environment != Environment::Development {
        return SendOutcome::Never("Only development instances may write messages into the log.".to_owned());
    }
    let Letter { channel, to, said, .. } = letter;
    let id = shown_id(&letter.id, *channel == Channel::Sms);
    let gist = said.code.as_deref().or(said.link.as_deref()).unwrap_or(&said.text);
    tracing::info!(message.id = %id, "{} to {to}: {gist:?} ({id})", channel.name());
    SendOutcome::Sent
}
