//! The page for somebody who opened a link in another browser than the one that asked for it. It works without
//! scripts, and follows the light or dark colours of the system.

use axum::http::StatusCode;
use axum::response::Response;
use latchkey_base::Result;
use latchkey_base::secret::Secret;
use latchkey_kernel::page::{self, fill, in_text};

use crate::door::redirects::Destination;

const TEMPLATE: &str = include_str!("other_browser.html");

/// The part about the code, where the browser that asked can take one.
const CODE: &str = "<p>Or enter this code there. If the page is waiting for the link, choose \u{201c}Use another \
    method\u{201d} and then \u{201c}Email code\u{201d}.</p>\n<p class=\"code\">{{code}}</p>\n<p>Never give the code to \
    anybody, and enter it only on the page where you started yourself.</p>";

/// The page. `random` makes the nonce of its styles, and must be new for each answer.
pub(super) fn page(
    application: &str,
    code: Option<&Secret>,
    then: &Destination,
    random: [u8; 16],
) -> Result<Response> {
    let nonce = page::nonce(random);
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    // The address of the page is the link itself, which nobody else is told.
    let mut response = page::page(html(application, code, then, &nonce), policy)?;
    *response.status_mut() = StatusCode::FORBIDDEN;
    Ok(response)
}

fn html(application: &str, code: Option<&Secret>, then: &Destination, nonce: &str) -> String {
    let name = if application.is_empty() { "the application" } else { application };
    let code = code.map(|code| CODE.replace("{{code}}", &in_text(code.expose()))).unwrap_or_default();
    fill(TEMPLATE, |gap| match gap {
        "nonce" => in_text(nonce),
        "code" => code.clone(),
        "then" => in_text(then.as_str()),
        _ => in_text(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::redirects::trusted;

    #[test]
    fn the_page_is_filled_and_what_is_filled_in_is_no_markup() {
        let then = trusted("https://a.example/?a=1&b=\"><script>".to_owned());
        let code = Secret::new("123456".to_owned());
        let shown = html("<b>{{code}}</b>", Some(&code), &then, "n0nce");
        assert!(shown.contains("<p class=\"code\">123456</p>"), "{shown}");
        assert!(
            shown.contains("&lt;b&gt;") && !shown.contains("<b>") && !shown.contains("<script"),
            "{shown}"
        );
        assert!(shown.contains("nonce=\"n0nce\"") && shown.contains("prefers-color-scheme"));
        let without = html("", None, &then, "n0nce");
        assert!(
            !without.contains("123456") && !without.contains("{{") && without.contains("the application")
        );
    }
}
