//! What comes of opening a link.

use latchkey_base::kinds::SessionId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_people::challenges::links::SentLinks;

/// What came of opening a link.
pub struct Verified {
    /// Where the browser is sent.
    pub redirect_url: String,
    /// What it is told there, as `__clerk_status`.
    pub status: &'static str,
    /// The session that was opened by it, as `__clerk_created_session`.
    pub session: Option<SessionId>,
    /// The code that can be entered in the browser that asked for the link, if this is another one.
    pub code: Option<Secret>,
}

/// What a browser is told that may not open a link because another one asked for it.
pub const CLIENT_MISMATCH: &str = "client_mismatch";

impl Verified {
    /// A link that opened no session.
    pub fn told(redirect_url: String, status: &'static str) -> Verified {
        Verified { redirect_url, status, session: None, code: None }
    }
}

/// What comes of a link that is not the current one: it leads back if it was sent once. Of any other nobody knows
/// where to send the browser.
pub fn outdated(links: &SentLinks, token: &str) -> Result<Verified> {
    let redirect_url = links.lead_to(token).ok_or_else(|| Error::new(Code::VerificationLinkTokenInvalid))?;
    Ok(Verified::told(redirect_url.to_owned(), "expired"))
}
