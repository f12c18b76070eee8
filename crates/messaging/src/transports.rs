//! How messages leave the server: by mail, through a provider of text messages, to a webhook, into the log.
//!
//! A transport takes a letter and says what became of it. When to try again is the business of
//! `jobs/post.rs`.

mod hook;
mod letter;
mod log;
mod sms;
mod smtp;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use latchkey_base::kinds::InstanceId;
use latchkey_base::secret::Secret;
use latchkey_base::{Error, Result};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::{EmailTransport, SealedSetting, Settings, SmsTransport};
use latchkey_outbound::client::{Client, Options};
use latchkey_outbound::reach::Reach;

pub use letter::Letter;

use latchkey_letters::model::Channel;

/// The time for one attempt to send a message, whatever the transport.
pub const SEND: Duration = Duration::from_secs(20);

/// What became of a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The service took it.
    Sent,
    /// It stays here, where the inbox of the development instance shows it.
    Held,
    /// It did not work; it may later.
    Later(String),
    /// It did not work and never will.
    Never(String),
}

/// Whose letters are sent.
#[derive(Clone)]
pub struct SendingInstance {
    pub instance: InstanceId,
    pub environment: Environment,
    pub settings: Arc<Settings>,
    /// Counts their changes.
    pub settings_revision: i64,
}

/// All ways out, with the connections they keep.
pub struct Transports {
    client: Client,
    smtp: smtp::Servers,
    master: Arc<MasterKey>,
}

impl Transports {
    /// `extra_roots` is a PEM file with authorities to trust beside those of the operating system.
    pub fn new(master: Arc<MasterKey>, extra_roots: Option<PathBuf>) -> Result<Transports> {
        let smtp = smtp::Servers::new(extra_roots.as_deref())?;
        let options = Options { extra_roots, resolver: None };
        Ok(Transports { client: Client::new(options).map_err(Error::internal)?, smtp, master })
    }

    /// Sends a letter the way its instance wants it.
    pub async fn send(&self, sender: &SendingInstance, letter: &Letter) -> SendOutcome {
        let messages = &sender.settings.messages;
        match letter.channel {
            Channel::Email => match messages.email.transport {
                EmailTransport::None => stays(sender, "e-mail"),
                EmailTransport::Log => log::write(sender, letter),
                EmailTransport::Smtp => smtp::send(self, sender, letter).await,
                EmailTransport::Webhook => hook::send(self, sender, letter, &messages.email.webhook).await,
            },
            Channel::Sms => match messages.sms.transport {
                SmsTransport::None => stays(sender, "text message"),
                SmsTransport::Log => log::write(sender, letter),
                SmsTransport::Twilio => sms::send(self, sender, letter).await,
                SmsTransport::Webhook => hook::send(self, sender, letter, &messages.sms.webhook).await,
            },
        }
    }

    /// Opens a secret of the instance's settings.
    fn secret(&self, sender: &SendingInstance, path: &str, sealed: Option<&SealedSetting>) -> Result<Secret> {
        let sealed = sealed.ok_or_else(|| Error::internal(format!("{path} is not set")))?;
        sealed.open(&self.master, &sender.instance, path)
    }
}

/// Without a transport, nothing leaves. In production nobody would ever see it.
fn stays(sender: &SendingInstance, what: &str) -> SendOutcome {
    match sender.environment {
        Environment::Development => SendOutcome::Held,
        Environment::Production => SendOutcome::Never(format!("No transport for {what}s is set up.")),
    }
}

/// How far URLs in the settings of an instance may lead.
fn reach(sender: &SendingInstance) -> Reach {
    sender.settings.events.reach(sender.environment)
}

/// A secret that cannot be opened is for the operator to set again; until then nothing can be sent.
fn unopened(sender: &SendingInstance, path: &str, error: &Error) -> SendOutcome {
    let instance = &sender.instance;
    tracing::error!(?error, instance.id = %instance, "the setting {path} of {instance} cannot be opened");
    SendOutcome::Later(format!("The setting {path} cannot be opened; set it again."))
}
