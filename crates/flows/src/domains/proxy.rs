//! Trying a proxy: a real request to where it is said to be, which must come back to the Frontend API.

use std::time::Duration;

use bytes::Bytes;
use latchkey_base::kinds::DomainId;
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::limits::{PROXY_CHECK_BYTES, PROXY_CHECK_MS};
use latchkey_outbound::client::{Answer, Client, Request};
use latchkey_outbound::reach::Reach;
use serde_json::Value;

/// Asks the health of a proxy through itself. An error says what is wrong with it.
pub async fn check(client: &Client, reach: Reach, proxy_url: &str, domain: &DomainId) -> Result<()> {
    let request = Request {
        url: &format!("{proxy_url}/v1/proxy-health?domain_id={domain}"),
        headers: vec![("user-agent", concat!("Latchkey/", env!("CARGO_PKG_VERSION")).to_owned())],
        body: Bytes::new(),
        reach,
        timeout: Duration::from_millis(PROXY_CHECK_MS),
        keep: PROXY_CHECK_BYTES,
    };
    let answer = client.get(request).await.map_err(|failure| refusal(&failure.to_string()))?;
    match problem(&answer) {
        None => Ok(()),
        Some(text) => Err(refusal(&text)),
    }
}

/// What an answer says against the proxy.
fn problem(answer: &Answer) -> Option<String> {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    match (answer.status, body["status"].as_str()) {
        (200, Some("healthy")) => None,
        (200, Some("unhealthy")) => Some(
            "It reaches the Frontend API, but without one of the headers Clerk-Proxy-Url, Clerk-Secret-Key and \
             X-Forwarded-For."
                .to_owned(),
        ),
        (200, _) => Some("What answers there is not the Frontend API.".to_owned()),
        (status, _) => Some(format!("It answers with status {status}.")),
    }
}

fn refusal(text: &str) -> Error {
    Error::param(Code::InvalidProxyConfiguration, "proxy_url")
        .saying(format!("The proxy does not work: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_healthy_answer_of_the_frontend_api_counts() {
        let said = |status: u16, body: &str| {
            problem(&Answer { status, body: body.as_bytes().to_vec(), is_truncated: false }).is_none()
        };
        assert!(said(200, r#"{"status": "healthy", "x_forwarded_for": "1.2.3.4"}"#));
        for (status, body) in [
            (200, r#"{"status": "unhealthy", "message": "x"}"#),
            (200, "<html>"),
            (404, "{}"),
            (307, ""),
            (200, "[]"),
        ] {
            assert!(!said(status, body), "{status} {body}");
        }
    }
}
