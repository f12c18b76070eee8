//! Messages handed to a URL of the application, which sends them by itself. Signed as the Standard Webhooks
//! specification says, so that libraries for it can verify them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use latchkey_jose::digest::hmac_sha256;
use latchkey_kernel::object;
use latchkey_kernel::settings::messages::{EMAIL_WEBHOOK_SECRET, SMS_WEBHOOK_SECRET, WebhookSettings};
use latchkey_letters::model::Channel;
use latchkey_outbound::client::Request;
use serde::Serialize;

use super::{Letter, SEND, SendOutcome, SendingInstance, Transports, reach, unopened};
use crate::messages::model::shown_id;

/// Bytes of the answer that are kept, for the reason of a failure.
const KEEP: usize = 512;

/// What the receiver gets.
#[derive(Serialize)]
struct Handed<'a> {
    object: HandedObject,
    id: String,
    channel: &'static str,
    to: &'a str,
    slug: &'a str,
    subject: &'a str,
    html: Option<&'a str>,
    text: &'a str,
    from_email_name: Option<&'a str>,
    reply_to_email_name: Option<&'a str>,
    code: Option<&'a str>,
    link: Option<&'a str>,
    created_at: i64,
}

/// Hands a letter over. Any answer of success means that it was taken.
pub(super) async fn send(
    transports: &Transports,
    sender: &SendingInstance,
    letter: &Letter,
    hook: &WebhookSettings,
) -> SendOutcome {
    let path = match letter.channel {
        Channel::Email => EMAIL_WEBHOOK_SECRET,
        Channel::Sms => SMS_WEBHOOK_SECRET,
    };
    let secret = match transports.secret(sender, path, hook.secret.as_ref()) {
        Ok(secret) => secret,
        Err(error) => return unopened(sender, path, &error),
    };
    let Ok(body) = serde_json::to_string(&handed(letter)) else {
        return SendOutcome::Never("The message cannot be written as JSON.".to_owned());
    };
    // Receivers refuse what is old, so it is the time of this attempt.
    let (id, seconds) = (id(letter), letter.sent_at.seconds());
    let headers = vec![
        ("content-type", "application/json".to_owned()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signature(secret.expose(), &id, seconds, &body)),
        ("webhook-id", id),
    ];
    let url = hook.url.as_deref().unwrap_or_default();
    let (body, reach) = (Bytes::from(body), reach(sender));
    let request = Request { url, headers, body, reach, timeout: SEND, keep: KEEP };
    match transports.client.post(request).await {
        Ok(answer) if (200..300).contains(&answer.status) => SendOutcome::Sent,
        Ok(answer) => SendOutcome::Later(format!("The webhook answered {}.", answer.status)),
        Err(failure) => SendOutcome::Later(failure.to_string()),
    }
}

object!(HandedObject, "message");

fn handed(letter: &Letter) -> Handed<'_> {
    let said = &letter.said;
    Handed {
        object: HandedObject::It,
        id: id(letter),
        channel: letter.channel.name(),
        to: &letter.to,
        slug: &letter.slug,
        subject: &said.subject,
        html: said.html.as_deref(),
        text: &said.text,
        from_email_name: Some(said.from_email_name.as_str()).filter(|name| !name.is_empty()),
        reply_to_email_name: said.reply_to_email_name.as_deref(),
        code: said.code.as_deref(),
        link: said.link.as_deref(),
        created_at: letter.created_at.ms(),
    }
}

/// The id of a message as events and the inbox show it.
fn id(letter: &Letter) -> String {
    shown_id(&letter.id, letter.channel == Channel::Sms)
}

/// The signature over id, time and body. A secret `whsec_…` is base64, as libraries take it.
fn signature(secret: &str, id: &str, seconds: i64, body: &str) -> String {
    let encoded = secret.strip_prefix("whsec_").and_then(|encoded| STANDARD.decode(encoded).ok());
    let key = encoded.unwrap_or_else(|| secret.as_bytes().to_vec());
    let signed = hmac_sha256(&key, format!("{id}.{seconds}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(signed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_specification() {
        // The example of the Standard Webhooks libraries.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = "{\"test\": 2432232314}";
        let made = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(made, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
