//! Opening a link that was sent by e-mail. The token says what it belongs to: an attempt to sign in or up,
//! or an address of somebody who is signed in.

pub mod frontend;

use latchkey_base::kinds::SessionId;

/// What came of opening a link.
pub struct Verified {
    /// Where the browser is sent.
    pub redirect_url: String,
    /// What it is told there, as `__clerk_status`.
    pub status: &'static str,
    /// The session that was opened by it, as `__clerk_created_session`.
    pub session: Option<SessionId>,
}
