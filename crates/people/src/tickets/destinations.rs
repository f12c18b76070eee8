//! Where the link of an invitation may lead in the end. Whoever invites names the page.

use latchkey_base::{Code, Problem};
use latchkey_kernel::origins::origin;

/// Longest URL to return to; browsers take no longer ones.
const REDIRECT_URL_BYTES: usize = 2048;
/// Schemes that run code, show what the link itself contains, or read files of whoever follows it.
pub const UNSAFE_SCHEMES: [&str; 9] =
    ["about", "blob", "data", "file", "filesystem", "intent", "javascript", "vbscript", "view-source"];

/// What is wrong with where a link is to lead, if anything is.
pub fn redirect_problem(url: &str) -> Option<Problem> {
    let is_plain = url.len() <= REDIRECT_URL_BYTES && url.bytes().all(|byte| byte.is_ascii_graphic());
    let is_fit = is_plain && (origin(url).is_some() || is_of_app(url));
    (!is_fit).then(|| {
        Problem::of(Code::FormParamFormatInvalid, "redirect_url").saying(
            "`redirect_url` must be an absolute URL that begins with https://, http:// or the scheme of a native app.",
        )
    })
}

/// Whether a URL is one that a native app registered: `scheme://…`, where the scheme is none that browsers know.
fn is_of_app(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let lower = scheme.to_ascii_lowercase();
    let is_known = ["http", "https"].contains(&lower.as_str()) || UNSAFE_SCHEMES.contains(&lower.as_str());
    is_scheme && !is_known && !rest.is_empty() && !rest.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_or_native_apps_and_nowhere_else() {
        for fit in [
            "https://example.com",
            "http://localhost:3000/join?a=b#c",
            "myapp://join",
            "com.example.app://callback/join",
            "exp+app://host",
        ] {
            assert!(redirect_problem(fit).is_none(), "{fit}");
        }
        let long = format!("https://example.com/{}", "a".repeat(REDIRECT_URL_BYTES));
        for bad in [
            "/join",
            "example.com",
            "//example.com",
            "https://",
            "https://good.com@evil.com/",
            "HTTPS://good.com\\evil.com",
            "javascript://%0aalert(1)",
            "JavaScript://x",
            "javascript:alert(1)",
            "data://x",
            "myapp:join",
            "myapp://",
            "1app://join",
            "my app://join",
            "myapp://jo in",
            "myapp://j\u{f6}in",
            "myapp://a\r\nSet-Cookie: x",
            long.as_str(),
        ] {
            assert!(redirect_problem(bad).is_some(), "{bad}");
        }
    }
}
