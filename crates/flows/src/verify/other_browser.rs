//! The page for somebody who opened a link in another browser than the one that asked for it.

use axum::http::StatusCode;
use axum::response::Response;
use latchkey_base::Result;
use latchkey_base::secret::Secret;
use latchkey_door::redirects::Destination;
use latchkey_kernel::page::{fill, in_text, notice};

const TITLE: &str = "Open this link in the browser where you started";
const TEMPLATE: &str = include_str!("other_browser.html");

/// The part about the code, where the browser that asked can take one.
const CODE: &str = "<p>Or enter this code there. If the page is waiting for the link, choose \u{201c}Use another \
    method\u{201d} and then \u{201c}Email code\u{201d}.</p>\n<p class=\"code\">{{code}}</p>\n<p>Never give the code to \
    anybody, and enter it only on the page where you started yourself.</p>";

pub(super) fn page(application: &str, code: Option<&Secret>, then: &Destination) -> Result<Response> {
    // The address of the page is the link itself, which nobody else is told.
    notice(StatusCode::FORBIDDEN, TITLE, &html(application, code, then))
}

fn html(application: &str, code: Option<&Secret>, then: &Destination) -> String {
    let name = if application.is_empty() { "the application" } else { application };
    let code = code.map(|code| CODE.replace("{{code}}", &in_text(code.expose()))).unwrap_or_default();
    fill(TEMPLATE, |gap| match gap {
        "code" => code.clone(),
        "then" => in_text(then.as_str()),
        _ => in_text(name),
    })
}

#[cfg(test)]
mod tests {
    use latchkey_door::redirects::trusted;

    use super::*;

    #[test]
    fn the_page_is_filled_and_what_is_filled_in_is_no_markup() {
        let then = trusted("https://a.example/?a=1&b=\"><script>".to_owned());
        let code = Secret::new("123456".to_owned());
        let shown = html("<b>{{code}}</b>", Some(&code), &then);
        assert!(shown.contains("<p class=\"code\">123456</p>"), "{shown}");
        assert!(
            shown.contains("&lt;b&gt;") && !shown.contains("<b>") && !shown.contains("<script"),
            "{shown}"
        );
        let without = html("", None, &then);
        assert!(
            !without.contains("123456") && !without.contains("{{") && without.contains("the application")
        );
    }
}
