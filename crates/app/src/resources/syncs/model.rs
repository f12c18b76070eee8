//! What a sync is.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, InstanceId};

/// A browser that the primary domain vouches for, on its way to a satellite.
pub struct Sync {
    /// The tenant.
    pub instance: InstanceId,
    /// The name of the satellite domain.
    pub satellite: String,
    /// The digest of what the satellite knows the browser by.
    pub state_digest: Vec<u8>,
    /// The client it is, if it is one.
    pub client: Option<ClientId>,
    /// Where it goes afterwards.
    pub redirect_url: String,
    /// Until when it may arrive.
    pub expire_at: Time,
}

/// What became of a token that was shown.
pub enum Taken {
    /// It was good, and never will be again.
    Now {
        /// The client it stands for.
        client: Option<ClientId>,
        /// Where the browser goes.
        redirect_url: String,
    },
    /// It was used before.
    Before,
    /// It is unknown, too old, or for another satellite or browser.
    Never,
}
