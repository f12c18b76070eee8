//! The links that were sent, so that one that is no longer the current one still leads back: people find several
//! mails, and open the wrong one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_jose::digest::{constant_time_eq, sha256};
use latchkey_kernel::strategy::Strategy;
use serde::{Deserialize, Serialize};

use super::model::Challenge;

/// How many are remembered.
const REMEMBERED: usize = 5;
/// The longest address that is: it lies in a document that is read often.
const URL_BYTES: usize = 512;

/// The links that were last sent for an attempt or an address, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SentLinks(Vec<SentLink>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SentLink {
    digest: String,
    redirect_url: String,
}

impl SentLinks {
    /// Whether none was sent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Remembers the link of a challenge, if it has one.
    pub fn note(&mut self, challenge: &Challenge) {
        let Challenge {
            strategy: Strategy::EmailLink, secret: Some(digest), redirect_url: Some(url), ..
        } = challenge
        else {
            return;
        };
        if url.len() > URL_BYTES {
            return;
        }
        self.0.push(SentLink { digest: digest.clone(), redirect_url: url.clone() });
        let too_many = self.0.len().saturating_sub(REMEMBERED);
        self.0.drain(..too_many);
    }

    /// Where the link with this secret leads, if it was one of these.
    pub fn lead_to(&self, secret: &str) -> Option<&str> {
        let given = digest(secret);
        let sent = self.0.iter().find(|sent| constant_time_eq(sent.digest.as_bytes(), given.as_bytes()))?;
        Some(&sent.redirect_url)
    }
}

/// What is kept of the secret of a link.
pub fn digest(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha256(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;

    use super::*;

    fn sent(secret: &str) -> Challenge {
        let proven = Challenge::proven(Strategy::EmailLink, Time::from_ms(0));
        Challenge { secret: Some(digest(secret)), redirect_url: Some(format!("https://{secret}/")), ..proven }
    }

    #[test]
    fn the_last_links_lead_to_their_own_pages() {
        let mut links = SentLinks::default();
        links.note(&Challenge { strategy: Strategy::EmailCode, ..sent("code") });
        assert!(links.is_empty());
        for secret in ["a", "b", "c", "d", "e", "f"] {
            links.note(&sent(secret));
        }
        assert_eq!(links.lead_to("b"), Some("https://b/"));
        assert_eq!(links.lead_to("f"), Some("https://f/"));
        let long = "g".repeat(URL_BYTES);
        links.note(&sent(&long));
        assert_eq!((links.lead_to(&long), links.lead_to("b")), (None, Some("https://b/")));
        assert_eq!((links.lead_to("a"), links.lead_to("code"), links.lead_to("")), (None, None, None));
    }
}
