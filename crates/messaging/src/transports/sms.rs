//! Text messages through Twilio, or a service that speaks like it.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use latchkey_kernel::settings::messages::TWILIO_TOKEN;
use latchkey_outbound::client::{Answer, Request};
use latchkey_outbound::reach::Reach;
use serde::Deserialize;

use super::{Letter, SEND, SendOutcome, SendingInstance, Transports, unopened};

/// Bytes of the answer that are read; errors are short.
const KEEP: usize = 8 * 1024;

/// What the service says went wrong.
#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

/// Sends a text message. The operator chose the service, so it may be on a private network.
pub(super) async fn send(transports: &Transports, sender: &SendingInstance, letter: &Letter) -> SendOutcome {
    let twilio = &sender.settings.messages.sms.twilio;
    let token = match transports.secret(sender, TWILIO_TOKEN, twilio.auth_token.as_ref()) {
        Ok(token) => token,
        Err(error) => return unopened(sender, TWILIO_TOKEN, &error),
    };
    let sid = &twilio.account_sid;
    let base = twilio.base_url.trim_end_matches('/');
    let credentials = STANDARD.encode(format!("{sid}:{}", token.expose()));
    let request = Request {
        url: &format!("{base}/2010-04-01/Accounts/{sid}/Messages.json"),
        headers: vec![
            ("authorization", format!("Basic {credentials}")),
            ("content-type", "application/x-www-form-urlencoded".to_owned()),
        ],
        body: Bytes::from(form(&letter.to, &twilio.from, &letter.said.text)),
        reach: Reach::Any,
        timeout: SEND,
        keep: KEEP,
    };
    match transports.client.post(request).await {
        Ok(answer) => judged(&answer),
        Err(failure) => SendOutcome::Later(failure.to_string()),
    }
}

fn form(to: &str, from: &str, text: &str) -> String {
    // Ids of messaging services take the place of a number.
    let from_name = if from.starts_with("MG") { "MessagingServiceSid" } else { "From" };
    format!("To={}&{from_name}={}&Body={}", encoded(to), encoded(from), encoded(text))
}

/// Percent-encodes whatever is not plain.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => out.push(byte.into()),
            other => drop(write!(out, "%{other:02X}")),
        }
        out
    })
}

/// A refused message (a number that does not exist, a country that is not served) stays refused. Wrong
/// credentials, too many requests and troubles of the service may pass.
fn judged(answer: &Answer) -> SendOutcome {
    let refusal: Option<Refusal> = serde_json::from_slice(&answer.body).ok();
    let status = answer.status;
    let said = match refusal {
        Some(Refusal { code, message }) if !message.is_empty() => format!("{status}: {message} ({code})"),
        _ => status.to_string(),
    };
    match status {
        200..=299 => SendOutcome::Sent,
        400 | 422 => SendOutcome::Never(format!("The provider refused the message. {said}.")),
        _ => SendOutcome::Later(format!("The provider did not take the message. {said}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_a_form_is_encoded() {
        let written = form("+49 30", "+1", "Grüße & 50% = 1");
        assert_eq!(written, "To=%2B49%2030&From=%2B1&Body=Gr%C3%BC%C3%9Fe%20%26%2050%25%20%3D%201");
        assert!(form("+1", "MG123", "x").contains("&MessagingServiceSid=MG123&"));
    }

    #[test]
    fn refusals_are_final_and_troubles_are_not() {
        let answer = |status, body: &str| Answer { status, body: body.into(), is_truncated: false };
        assert_eq!(judged(&answer(201, "{}")), SendOutcome::Sent);
        let refused = judged(&answer(400, r#"{"code": 21211, "message": "Invalid 'To' Phone Number"}"#));
        let SendOutcome::Never(why) = refused else { panic!("{refused:?}") };
        assert!(why.contains("400: Invalid 'To' Phone Number (21211)"), "{why}");
        for status in [301, 401, 403, 404, 429, 500, 503] {
            assert!(matches!(judged(&answer(status, "oh")), SendOutcome::Later(_)), "{status}");
        }
    }
}
