//! Which URLs can be listed. Pure: values in, values out.

use latchkey_base::kinds::{InstanceId, RedirectUrlId};
use latchkey_base::rng::Rng;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::limits::REDIRECT_URL_CHARS;
use latchkey_kernel::origins::{is_local, origin};
use latchkey_people::tickets::destinations::UNSAFE_SCHEMES;

use super::model::RedirectUrl;

/// A new entry of the list.
pub fn create(url: String, instance: &InstanceId, now: Time, rng: &dyn Rng) -> Result<RedirectUrl> {
    check(&url)?;
    Ok(RedirectUrl { instance: instance.clone(), id: RedirectUrlId::new(now, rng), url, created_at: now })
}

fn check(url: &str) -> Result<()> {
    let refuse = |code: Code, text: String| Err(Error::param(code, "url").saying(text));
    if url.is_empty() {
        return refuse(Code::FormParamNil, "`url` must not be empty.".to_owned());
    }
    if url.chars().count() > REDIRECT_URL_CHARS {
        let text = format!("`url` may have at most {REDIRECT_URL_CHARS} characters.");
        return refuse(Code::FormParamMaxLengthExceeded, text);
    }
    match problem(url) {
        Some(text) => refuse(Code::FormParamFormatInvalid, format!("`url` {text}")),
        None => Ok(()),
    }
}

/// What is wrong with the form of a URL.
fn problem(url: &str) -> Option<&'static str> {
    if !url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return Some("must consist of visible ASCII characters without `\\`; write others as %XX.");
    }
    // `localhost:3000` would be read as a scheme, but nobody means that.
    let Some((scheme, rest)) = url.split_once(":/").filter(|(scheme, _)| is_scheme(scheme)) else {
        return Some("must be absolute, such as https://app.example.com/callback or myapp://callback.");
    };
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let is_unsafe = UNSAFE_SCHEMES.iter().any(|name| scheme.eq_ignore_ascii_case(name));
    match is_web {
        true if origin(url).is_none() => {
            Some("must be written as https://host/path, in small letters, without a user name.")
        }
        true if scheme == "http" && !is_local(url) => {
            Some("must use https; http is for this machine and private networks.")
        }
        false if is_unsafe => Some("has a scheme that browsers must not be sent to."),
        false if rest.trim_start_matches('/').is_empty() => Some("names nothing after its scheme."),
        _ => None,
    }
}

/// RFC 3986, section 3.1.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    fn code(url: &str) -> Option<Code> {
        let (instance, rng) = (InstanceId::new(Time::from_ms(0), &SeededRng::new(1)), SeededRng::new(2));
        create(url.to_owned(), &instance, Time::from_ms(0), &rng).err().map(|error| error.code())
    }

    #[test]
    fn pages_and_deep_links_can_be_listed() {
        for good in [
            "https://app.example.com",
            "https://app.example.com/callback?from=app#top",
            "http://localhost:3000/callback",
            "http://127.0.0.1:8765/",
            "myapp://callback",
            "com.example.app:/oauth2redirect",
            "exp://192.168.1.5:8081/--/callback",
            "clerk://com.example.app.callback",
        ] {
            assert_eq!(code(good), None, "{good}");
        }
    }

    #[test]
    fn what_is_relative_unsafe_or_read_differently_cannot() {
        for bad in [
            "/callback",
            "callback",
            "app.example.com/callback",
            "localhost:3000/callback",
            "//app.example.com",
            "http://app.example.com/callback",
            "https://",
            "https:/app.example.com",
            "https://good.com@evil.com/",
            "https://good.com\\.evil.com/",
            "HTTPS://app.example.com",
            "javascript:/alert(1)",
            "JavaScript://x/%0aalert(1)",
            "data:/text/html,x",
            "file:///etc/passwd",
            "myapp://",
            "myapp:/",
            "my app://callback",
            "1app://callback",
            "://callback",
            "myapp://call\u{e4}ck",
            "myapp://a\nb",
        ] {
            assert_eq!(code(bad), Some(Code::FormParamFormatInvalid), "{bad}");
        }
        assert_eq!(code(""), Some(Code::FormParamNil));
        let long = format!("https://a.com/{}", "x".repeat(REDIRECT_URL_CHARS));
        assert_eq!(code(&long), Some(Code::FormParamMaxLengthExceeded));
    }
}
