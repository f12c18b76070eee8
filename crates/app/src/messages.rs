//! The messages people receive, in words.

use latchkey_base::kinds::UserId;
use latchkey_base::secret::Secret;

use crate::outbox::{Channel, Content, Message};
use crate::resources::users::model::Kind;

/// A one-time code.
pub fn code<'a>(user: Option<&'a UserId>, kind: Kind, to: &'a str, digits: &Secret) -> Message<'a> {
    let digits = digits.expose();
    let (channel, subject) = match kind {
        Kind::Phone => (Channel::Sms, String::new()),
        Kind::Email | Kind::Wallet => (Channel::Email, format!("{digits} is your verification code")),
    };
    let body = format!("{digits} is your verification code. It is good for 10 minutes. Do not share it.");
    let content = Content { subject, body, code: Some(digits.to_owned()), link: None };
    Message { user, channel, to, slug: "verification_code", content }
}

/// A code to choose a new password with.
pub fn reset_code<'a>(user: &'a UserId, kind: Kind, to: &'a str, digits: &Secret) -> Message<'a> {
    let message = code(Some(user), kind, to, digits);
    let digits = digits.expose();
    let subject = match kind {
        Kind::Phone => String::new(),
        Kind::Email | Kind::Wallet => format!("{digits} is your password reset code"),
    };
    let body = format!(
        "{digits} is the code to choose a new password. It is good for 10 minutes. \
         If you did not ask for it, somebody else did; your password is unchanged."
    );
    let content = Content { subject, body, ..message.content };
    Message { slug: "reset_password_code", content, ..message }
}

/// A link that proves the address.
pub fn link<'a>(user: Option<&'a UserId>, to: &'a str, url: String, slug: &'static str) -> Message<'a> {
    let content = Content {
        subject: "Your link to continue".to_owned(),
        body: format!(
            "Open this link to continue: {url}\n\nIt is good for 10 minutes. \
             If you did not ask for it, do not open it."
        ),
        code: None,
        link: Some(url),
    };
    Message { user, channel: Channel::Email, to, slug, content }
}

/// Another address is the primary one now.
pub fn primary_address_changed<'a>(user: &'a UserId, old: &'a str, new: &str) -> Message<'a> {
    let content = Content {
        subject: "Your primary e-mail address has changed".to_owned(),
        body: format!(
            "The primary e-mail address of your account is now {new}. If this was not you, contact support."
        ),
        code: None,
        link: None,
    };
    Message {
        user: Some(user),
        channel: Channel::Email,
        to: old,
        slug: "primary_email_address_changed",
        content,
    }
}
