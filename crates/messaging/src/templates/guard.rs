//! How often templates may be changed or tried, and what happens to those who write traps: after a few suspicious
//! bodies all templates of the instance are locked for the rest of the hour, so that a stolen key cannot be
//! used to find out what gets through.

use latchkey_base::{Code, Result};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;

/// Lets a change or a preview through, and counts it: both cost the same.
pub async fn admit(cx: &Cx, key: &SecretKey) -> Result<()> {
    cx.app.rate_limits.check_templates(&cx.app.throttle, key.instance.as_str(), cx.now).await
}

/// Passes an outcome on, and counts it if it is a suspicious body.
pub async fn watched(cx: &Cx, key: &SecretKey, outcome: Result<()>) -> Result<()> {
    if outcome.as_ref().is_err_and(|error| error.code() == Code::EmailTemplateSuspiciousBlocked) {
        cx.app.rate_limits.note_suspicion(&cx.app.throttle, key.instance.as_str(), cx.now).await;
    }
    outcome
}
