//! How messages leave: by which service, as whom, with which credentials.

use latchkey_base::{countries, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SealedSetting;
use super::check::{Faults, is_url};

/// The paths of the secrets below.
pub const SMTP_PASSWORD: &str = "messages.email.smtp.password";
/// Signs e-mails handed to a webhook.
pub const EMAIL_WEBHOOK_SECRET: &str = "messages.email.webhook.secret";
/// The token of the provider of text messages.
pub const TWILIO_TOKEN: &str = "messages.sms.twilio.auth_token";
/// Signs text messages handed to a webhook.
pub const SMS_WEBHOOK_SECRET: &str = "messages.sms.webhook.secret";

/// How messages leave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MessageSettings {
    /// E-mails.
    pub email: EmailSettings,
    /// Text messages.
    pub sms: SmsSettings,
}

/// How e-mails leave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EmailSettings {
    /// By which service e-mails leave.
    pub transport: EmailTransport,
    /// The domain senders belong to: a message from `noreply` comes from `noreply@` this domain.
    pub from_domain: Option<String>,
    /// What stands before the `@` of the sender, unless a template says otherwise; `None` is `noreply`.
    pub from_name: Option<String>,
    /// One sender for all messages, where the service allows only one. Wins over `from_domain` and `from_name`.
    pub from_address: Option<String>,
    /// The mail server.
    pub smtp: SmtpSettings,
    /// Where e-mails are handed to.
    pub webhook: WebhookSettings,
}

impl EmailSettings {
    /// What stands before the `@` of the sender, unless a template says otherwise.
    pub fn sender(&self) -> &str {
        self.from_name.as_deref().unwrap_or("noreply")
    }
}

/// By which service e-mails leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmailTransport {
    /// None. Development instances show messages in their inbox; others fail to send.
    #[default]
    None,
    /// The log of the server gets recipient and code; development instances only.
    Log,
    /// A mail server.
    Smtp,
    /// A URL of the application, which sends it.
    Webhook,
}

/// A mail server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SmtpSettings {
    /// The name of the mail server, which its certificate must have too.
    pub host: String,
    /// The port of the mail server.
    pub port: u16,
    /// How the connection to the mail server is secured.
    pub tls: SmtpTls,
    /// As whom the server signs in at the mail server, if as anybody.
    pub username: Option<String>,
    /// The password at the mail server; kept sealed and shown as `(set)`.
    pub password: Option<SealedSetting>,
}

impl Default for SmtpSettings {
    fn default() -> SmtpSettings {
        SmtpSettings {
            host: String::new(),
            port: 587,
            tls: SmtpTls::Starttls,
            username: None,
            password: None,
        }
    }
}

/// How the connection to a mail server is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SmtpTls {
    /// After a greeting in the clear; usually port 587. Nothing is sent unless it works.
    Starttls,
    /// From the first byte; usually port 465.
    Implicit,
    /// Not at all; for a mail server on the same machine or a test.
    None,
}

/// How text messages leave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SmsSettings {
    /// By which service text messages leave.
    pub transport: SmsTransport,
    /// Countries, such as `GB` (ISO 3166-1 alpha-2), to whose numbers no text message is sent.
    pub blocked_countries: Vec<String>,
    /// Twilio, or a service that speaks like it.
    pub twilio: TwilioSettings,
    /// Where text messages are handed to.
    pub webhook: WebhookSettings,
}

/// By which service text messages leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SmsTransport {
    /// None. Development instances show messages in their inbox; others fail to send.
    #[default]
    None,
    /// The log of the server gets recipient and code; development instances only.
    Log,
    /// Twilio, or a service that speaks like it.
    Twilio,
    /// A URL of the application, which sends it.
    Webhook,
}

/// Twilio, or a service that speaks like it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TwilioSettings {
    /// Where Twilio is, or the service that speaks like it.
    pub base_url: String,
    /// The account at Twilio.
    pub account_sid: String,
    /// The token of the account at Twilio; kept sealed and shown as `(set)`.
    pub auth_token: Option<SealedSetting>,
    /// The number, sender name or messaging service (`MG…`) messages come from.
    pub from: String,
}

impl Default for TwilioSettings {
    fn default() -> TwilioSettings {
        let base_url = "https://api.twilio.com".to_owned();
        TwilioSettings { base_url, account_sid: String::new(), auth_token: None, from: String::new() }
    }
}

/// Where messages are handed to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookSettings {
    /// The URL that messages are handed to; on production instances one that everybody on the internet can reach.
    pub url: Option<String>,
    /// Signs what is handed over: `whsec_` and at least 24 random bytes in base64. Kept sealed and shown as `(set)`.
    pub secret: Option<SealedSetting>,
}

impl SmsSettings {
    fn check_countries(&self, faults: &mut Faults) {
        let blocked = &self.blocked_countries;
        for (at, code) in blocked.iter().enumerate() {
            if !countries::is_known(code) || blocked[..at].contains(code) {
                let text = format!(
                    "`{code}` is no country, or stands there twice: use codes such as GB, once each."
                );
                faults.add("messages.sms.blocked_countries", text);
            }
        }
    }
}

fn is_local_part(name: &str) -> bool {
    !name.contains('@') && text::email(&format!("{name}@example.com")).is_some()
}

impl MessageSettings {
    /// What is out of range, or missing for the service that was chosen.
    pub fn check(&self, faults: &mut Faults) {
        let email = &self.email;
        if email.from_address.as_deref().is_some_and(|address| text::email(address).is_none()) {
            faults.add("messages.email.from_address", "It must be an e-mail address.");
        }
        if email.from_domain.as_deref().is_some_and(|domain| text::email(&format!("a@{domain}")).is_none()) {
            faults.add("messages.email.from_domain", "It must be a domain, such as example.com.");
        }
        if email.from_name.as_deref().is_some_and(|name| !is_local_part(name)) {
            faults.add("messages.email.from_name", "It must be what stands before the `@` of an address.");
        }
        self.sms.check_countries(faults);
        match email.transport {
            EmailTransport::Smtp => email.check_smtp(faults),
            EmailTransport::Webhook => email.webhook.check("messages.email.webhook", faults),
            EmailTransport::None | EmailTransport::Log => {}
        }
        match self.sms.transport {
            SmsTransport::Twilio => self.sms.twilio.check(faults),
            SmsTransport::Webhook => self.sms.webhook.check("messages.sms.webhook", faults),
            SmsTransport::None | SmsTransport::Log => {}
        }
    }
}

impl EmailSettings {
    fn check_smtp(&self, faults: &mut Faults) {
        let SmtpSettings { host, port, tls, username, password } = &self.smtp;
        if !is_word(host) {
            faults.add("messages.email.smtp.host", "It must be the name of a mail server.");
        }
        faults.range("messages.email.smtp.port", *port, 1..=u16::MAX);
        if self.from_address.is_none() && self.from_domain.is_none() {
            faults.add(
                "messages.email.from_domain",
                "Messages must come from somebody: set it, or from_address.",
            );
        }
        if username.is_some() != password.is_some() {
            faults.add("messages.email.smtp.password", "Set username and password, or neither.");
        }
        let is_here = ["localhost", "127.0.0.1", "::1"].contains(&host.as_str());
        if *tls == SmtpTls::None && password.is_some() && !is_here {
            faults
                .add("messages.email.smtp.tls", "A password is not sent over a connection anybody can read.");
        }
    }
}

impl TwilioSettings {
    fn check(&self, faults: &mut Faults) {
        if !is_url(&self.base_url) {
            faults.add("messages.sms.twilio.base_url", "It must be an http or https URL.");
        }
        if !self.account_sid.chars().all(|c| c.is_ascii_alphanumeric()) || self.account_sid.is_empty() {
            faults.add(
                "messages.sms.twilio.account_sid",
                "It must be the id of an account: letters and digits.",
            );
        }
        if self.auth_token.is_none() {
            faults.add(TWILIO_TOKEN, "It must be set.");
        }
        if !is_word(&self.from) {
            faults.add("messages.sms.twilio.from", "It must be a number or the name of a sender.");
        }
    }
}

impl WebhookSettings {
    fn check(&self, path: &str, faults: &mut Faults) {
        if !self.url.as_deref().is_some_and(is_url) {
            faults.add(format!("{path}.url"), "It must be an http or https URL.");
        }
        if self.secret.is_none() {
            faults.add(format!("{path}.secret"), "It must be set, so that the receiver can tell who sends.");
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 255 && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use crate::settings::{EmailTransport, Settings, SmsTransport, SmtpTls};

    fn paths(change: impl FnOnce(&mut Settings)) -> Vec<String> {
        let mut settings = Settings::default();
        change(&mut settings);
        settings.problems().into_iter().map(|fault| fault.path).collect()
    }

    #[test]
    fn a_service_needs_what_it_needs() {
        let smtp = paths(|settings| settings.messages.email.transport = EmailTransport::Smtp);
        assert_eq!(smtp, ["messages.email.smtp.host", "messages.email.from_domain"]);
        let webhook = paths(|settings| settings.messages.email.transport = EmailTransport::Webhook);
        assert_eq!(webhook, ["messages.email.webhook.url", "messages.email.webhook.secret"]);
        let twilio = paths(|settings| settings.messages.sms.transport = SmsTransport::Twilio);
        let expected =
            ["account_sid", "auth_token", "from"].map(|name| format!("messages.sms.twilio.{name}"));
        assert_eq!(twilio, expected);
    }

    #[test]
    fn passwords_travel_over_secure_connections_only() {
        let secret = || Some("sealed:AQ==".to_owned().try_into().unwrap());
        let send = |host: &str, tls| {
            paths(|settings| {
                let email = &mut settings.messages.email;
                email.transport = EmailTransport::Smtp;
                email.from_domain = Some("example.com".to_owned());
                (email.smtp.host, email.smtp.tls) = (host.to_owned(), tls);
                (email.smtp.username, email.smtp.password) = (Some("me".to_owned()), secret());
            })
        };
        assert_eq!(send("mail.example.com", SmtpTls::Starttls), [""; 0]);
        assert_eq!(send("localhost", SmtpTls::None), [""; 0]);
        assert_eq!(send("mail.example.com", SmtpTls::None), ["messages.email.smtp.tls"]);
    }
}
