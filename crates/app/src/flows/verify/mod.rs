//! Opening a link that was sent by e-mail. The token says what it belongs to: an attempt to sign in or up,
//! or an address of somebody who is signed in.

pub mod frontend;

use latchkey_base::kinds::SessionId;
use latchkey_base::{Code, Error, Result};

use crate::resources::challenges::links::SentLinks;

/// What came of opening a link.
pub struct Verified {
    /// Where the browser is sent.
    pub redirect_url: String,
    /// What it is told there, as `__clerk_status`.
    pub status: &'static str,
    /// The session that was opened by it, as `__clerk_created_session`.
    pub session: Option<SessionId>,
}

/// What comes of a link that is not the current one: it leads back if it was sent once. Of any other nobody knows
/// where to send the browser.
pub fn outdated(links: &SentLinks, token: &str) -> Result<Verified> {
    let redirect_url = links.lead_to(token).ok_or_else(|| Error::new(Code::VerificationLinkTokenInvalid))?;
    Ok(Verified { redirect_url: redirect_url.to_owned(), status: "expired", session: None })
}
