//! The page as text, and the policy that goes with it.

use latchkey_kernel::page::{fill, in_text};

use super::rules::MockVisit;

const TEMPLATE: &str = include_str!("page.html");

/// The HTML of the page. The state and the hint stand in attributes.
pub fn html(visit: &MockVisit, application: &str, nonce: &str) -> String {
    fill(TEMPLATE, |gap| match gap {
        "nonce" => in_text(nonce),
        "application" => in_text(application),
        "hint" => in_text(&visit.hint),
        _ => in_text(&visit.state),
    })
}

/// Content-Security-Policy: the page's own script and style. The script goes on by itself: browsers would apply
/// `form-action` to wherever the sign-in leads in the end.
pub fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; \
         form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
}
