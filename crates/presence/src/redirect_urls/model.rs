//! What a redirect URL is.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, RedirectUrlId};

/// A URL that browsers may be sent to, in exactly this form.
#[derive(Clone, Debug, PartialEq)]
pub struct RedirectUrl {
    pub instance: InstanceId,
    pub id: RedirectUrlId,
    /// Unique in the instance.
    pub url: String,
    pub created_at: Time,
}
