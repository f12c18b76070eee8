//! E-mails through a mail server. Connections are kept for the next letter.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Result, text};
use latchkey_kernel::settings::SmtpTls;
use latchkey_kernel::settings::messages::{EmailSettings, SMTP_PASSWORD, SmtpSettings};
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{self, PoolConfig};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use tokio::time::timeout;

use super::{Letter, SEND, SendOutcome, SendingInstance, Transports, unopened};

/// How long the server may take for one step.
const STEP: Duration = Duration::from_secs(10);
/// How long a connection waits for the next letter; servers close theirs after minutes.
const IDLE: Duration = Duration::from_secs(30);
/// Connections to one server that are kept.
const CONNECTIONS: u32 = 8;
/// Instances whose connections are kept.
const KEPT: usize = 1000;
/// Who sends when a message does not say.
const SENDER: &str = "noreply";

type Server = AsyncSmtpTransport<Tokio1Executor>;

/// The mail servers of instances, by the revision of the settings they were made from.
pub(super) struct Servers {
    made: Mutex<HashMap<InstanceId, (i64, Server)>>,
    extra_root: Option<Certificate>,
}

impl Servers {
    pub(super) fn new(extra_root: Option<&Path>) -> Result<Servers> {
        let read = |path: &Path| {
            let pem = std::fs::read(path).map_err(Error::internal)?;
            Certificate::from_pem(&pem).map_err(Error::internal)
        };
        Ok(Servers { made: Mutex::default(), extra_root: extra_root.map(read).transpose()? })
    }

    fn get(&self, sender: &SendingInstance) -> Option<Server> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let current =
            made.get(&sender.instance).filter(|(revision, _)| *revision == sender.settings_revision);
        current.map(|(_, server)| server.clone())
    }

    fn put(&self, sender: &SendingInstance, server: Server) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= KEPT {
            made.clear();
        }
        made.insert(sender.instance.clone(), (sender.settings_revision, server));
    }

    /// Prepares a server; it connects when it has something to send.
    fn make(&self, email: &EmailSettings, password: Option<&str>) -> Result<Server, smtp::Error> {
        let host = &email.smtp.host;
        let secure = || {
            let parameters = TlsParameters::builder(host.clone());
            let extra = self.extra_root.clone();
            extra.into_iter().fold(parameters, |made, root| made.add_root_certificate(root)).build_rustls()
        };
        let tls = match email.smtp.tls {
            SmtpTls::Starttls => Tls::Required(secure()?),
            SmtpTls::Implicit => Tls::Wrapper(secure()?),
            SmtpTls::None => Tls::None,
        };
        let pool = PoolConfig::new().max_size(CONNECTIONS).idle_timeout(IDLE);
        let mut builder = Server::builder_dangerous(host.clone())
            .port(email.smtp.port)
            .tls(tls)
            .timeout(Some(STEP))
            .hello_name(ClientId::Domain(domain(email).to_owned()))
            .pool_config(pool);
        if let (Some(username), Some(password)) = (&email.smtp.username, password) {
            builder = builder.credentials(Credentials::new(username.clone(), password.to_owned()));
        }
        Ok(builder.build())
    }
}

pub(super) async fn send(transports: &Transports, sender: &SendingInstance, letter: &Letter) -> SendOutcome {
    let server = match transports.smtp.get(sender) {
        Some(server) => server,
        None => match prepared(transports, sender) {
            Ok(server) => server,
            Err(outcome) => return outcome,
        },
    };
    let Some(message) = written(sender, letter) else {
        return SendOutcome::Never("The message cannot be written as e-mail to this address.".to_owned());
    };
    match timeout(SEND, server.send(message)).await {
        Ok(Ok(_)) => SendOutcome::Sent,
        Ok(Err(error)) => judged(&error, &sender.settings.messages.email.smtp),
        Err(_) => SendOutcome::Later("The mail server did not take the message in time.".to_owned()),
    }
}

fn prepared(transports: &Transports, sender: &SendingInstance) -> Result<Server, SendOutcome> {
    let email = &sender.settings.messages.email;
    let opened = email.smtp.password.as_ref();
    let opened = opened.map(|sealed| transports.secret(sender, SMTP_PASSWORD, Some(sealed))).transpose();
    let password = opened.map_err(|error| unopened(sender, SMTP_PASSWORD, &error))?;
    let made = transports.smtp.make(email, password.as_ref().map(|password| password.expose()));
    let server = made.map_err(|error| SendOutcome::Later(chain(&error)))?;
    transports.smtp.put(sender, server.clone());
    Ok(server)
}

/// The letter as an e-mail; nothing when an address cannot be used. Whatever becomes a header is freed from
/// line breaks here once more, whoever wrote it.
fn written(sender: &SendingInstance, letter: &Letter) -> Option<Message> {
    let email = &sender.settings.messages.email;
    let said = &letter.said;
    let from = match &email.from_address {
        Some(address) => address.clone(),
        None if said.from_email_name.is_empty() => address(email, SENDER)?,
        None => address(email, &said.from_email_name)?,
    };
    let name = line(sender.settings.display.name());
    let mut builder = Message::builder()
        .from(Mailbox::new(Some(name), from.parse().ok()?))
        .to(Mailbox::new(None, text::email(&letter.to)?.parse().ok()?))
        .subject(line(&said.subject))
        .date(UNIX_EPOCH + Duration::from_millis(u64::try_from(letter.created_at.ms()).ok()?))
        .message_id(Some(format!("<{}@{}>", letter.id, domain(email))))
        .raw_header(automatic());
    if let Some(name) = &said.reply_to_email_name {
        builder = builder.reply_to(Mailbox::new(None, address(email, name)?.parse().ok()?));
    }
    match &said.html {
        Some(html) => {
            builder.multipart(MultiPart::alternative_plain_html(said.text.clone(), html.clone())).ok()
        }
        None => builder.singlepart(lettre::message::SinglePart::plain(said.text.clone())).ok(),
    }
}

/// Tells programs that answer for people on holiday not to answer (RFC 3834, section 5).
fn automatic() -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned())
}

/// An address of the instance's domain; a whole address stays what it is.
fn address(email: &EmailSettings, name: &str) -> Option<String> {
    match name.contains('@') {
        true => text::email(name),
        false => text::email(&format!("{name}@{}", domain(email))),
    }
}

fn domain(email: &EmailSettings) -> &str {
    let of_address = email.from_address.as_deref().and_then(|address| address.rsplit_once('@'));
    let of_address = of_address.map(|(_, domain)| domain);
    email.from_domain.as_deref().or(of_address).unwrap_or("localhost")
}

/// A text as the value of a header: one line, and nothing in it that mail programs would decode (RFC 2047).
fn line(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.replace("=?", "= ?")
}

/// A refused letter stays refused; credentials and settings can be put right, and anything else may pass.
fn judged(error: &smtp::Error, settings: &SmtpSettings) -> SendOutcome {
    // The library has no kind for it, only these words, and only they tell a wrong setting from a wrong letter.
    if error.is_client() && chain(error).contains("STARTTLS") {
        return SendOutcome::Later(without_starttls(settings));
    }
    let code = error.status().map(|code| code.to_string());
    let is_about_credentials = code.is_some_and(|code| ["530", "534", "535", "538"].contains(&code.as_str()));
    match (error.is_permanent() && !is_about_credentials) || error.is_client() {
        true => SendOutcome::Never(format!("The mail server refused the message: {}.", chain(error))),
        false => SendOutcome::Later(format!("The mail server did not take the message: {}.", chain(error))),
    }
}

/// What to do about a mail server that offers no STARTTLS.
fn without_starttls(SmtpSettings { host, port, .. }: &SmtpSettings) -> String {
    format!(
        "The mail server {host}:{port} does not offer STARTTLS, so nothing was sent. If it is secure from the \
         first byte (usually on port 465): latchkey settings set messages.email.smtp.tls=implicit \
         messages.email.smtp.port=465. If it runs on this machine and is not secured at all: latchkey \
         settings set messages.email.smtp.tls=none."
    )
}

/// An error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |said, cause| {
        let cause = cause.to_string();
        if said.contains(&cause) { said } else { format!("{said}: {cause}") }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use latchkey_base::Time;
    use latchkey_base::kinds::MessageId;
    use latchkey_base::rng::SeededRng;
    use latchkey_kernel::environment::Environment;
    use latchkey_kernel::settings::Settings;
    use latchkey_letters::model::Channel;

    use super::*;
    use crate::messages::model::Content;

    const NOW: Time = Time::from_ms(1_767_225_600_000);

    fn text_of(name: &str, subject: &str, from: Option<&str>, to: &str) -> Option<String> {
        let mut settings = Settings::default();
        settings.display.application_name = name.to_owned();
        settings.messages.email.from_domain = Some("example.com".to_owned());
        let instance = InstanceId::new(NOW, &SeededRng::new(1));
        let environment = Environment::Production;
        let sender =
            SendingInstance { instance, environment, settings: Arc::new(settings), settings_revision: 1 };
        let said = Content {
            subject: subject.to_owned(),
            html: Some("<p>Grüße</p>".to_owned()),
            text: "Grüße".to_owned(),
            from_email_name: from.unwrap_or_default().to_owned(),
            reply_to_email_name: Some("help".to_owned()),
            code: None,
            link: None,
        };
        let (id, channel) = (MessageId::new(NOW, &SeededRng::new(2)), Channel::Email);
        let (to, slug) = (to.to_owned(), "verification_code".to_owned());
        let letter = Letter { id, channel, to, slug, said, created_at: NOW, sent_at: NOW };
        written(&sender, &letter).map(|message| String::from_utf8(message.formatted()).unwrap())
    }

    #[test]
    fn a_letter_has_all_its_headers() {
        let text = text_of("Büro", "Your code", Some("hello"), "ada@example.org").unwrap();
        for line in [
            "From: =?utf-8?b?QsO8cm8=?= <hello@example.com>\r\n",
            "To: ada@example.org\r\n",
            "Reply-To: help@example.com\r\n",
            "Subject: Your code\r\n",
            "Date: Thu, 01 Jan 2026 00:00:00 +0000\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "Content-Type: multipart/alternative;",
        ] {
            assert!(text.contains(line), "{line} is missing:\n{text}");
        }
        assert!(text.contains("Message-ID: <") && text.contains("@example.com>\r\n"), "{text}");
    }

    #[test]
    fn nothing_adds_a_header() {
        let evil = "x\r\nBcc: eve@example.net\n.\r\n";
        let text = text_of(evil, evil, None, "ada@example.org").unwrap();
        assert!(!text.lines().any(|line| line.starts_with("Bcc")), "{text}");
        for to in [evil, "ada@example.org\r\nBcc: eve@example.net", "ada@example.org, eve@example.net", ""] {
            assert_eq!(text_of("A", "B", None, to), None, "{to}");
        }
        assert_eq!(text_of("A", "B", Some(evil), "ada@example.org"), None);
        let encoded = "=?utf-8?b?aHR0cHM6Ly9ldmlsLmNvbQ==?=";
        let text = text_of(encoded, encoded, None, "ada@example.org").unwrap();
        assert!(!text.contains(encoded), "{text}");
    }
}
