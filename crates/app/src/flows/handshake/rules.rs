//! Which cookies a browser takes back to the app.

use latchkey_base::Time;

use crate::frontend::cookies::{self, CLIENT_UAT, DEV_BROWSER, REFRESH, SESSION};
use crate::frontend::site::Site;

/// Somebody who is signed in, as far as cookies are concerned.
pub struct Presence<'a> {
    /// A fresh token of the session.
    pub token: &'a str,
    /// What lets the backend renew it.
    pub refresh: &'a str,
    /// When the client last changed.
    pub changed_at: Time,
}

/// The cookies, as complete `Set-Cookie` lines. Backends take the last session cookie for the token, so all
/// of them are the same.
pub fn directives(
    site: &Site,
    presence: Option<&Presence<'_>>,
    dev_browser: Option<&str>,
    is_suffixed: bool,
    is_secure: bool,
) -> Vec<String> {
    let suffix = cookies::suffix(&site.publishable_key());
    let named = |name: &str| match is_suffixed {
        true => vec![name.to_owned(), format!("{name}_{suffix}")],
        false => vec![name.to_owned()],
    };
    let all = |name: &str, value: &str| -> Vec<String> {
        named(name).iter().map(|name| cookies::for_app(name, value, is_secure)).collect()
    };
    let mut lines = Vec::new();
    if let Some(token) = dev_browser {
        lines.extend(all(DEV_BROWSER, token));
    }
    match presence {
        Some(presence) => {
            let refresh = format!("{REFRESH}_{suffix}");
            lines.push(cookies::for_backend(&refresh, presence.refresh, is_secure));
            lines.extend(all(CLIENT_UAT, &presence.changed_at.seconds().to_string()));
            lines.extend(all(SESSION, presence.token));
        }
        None => {
            lines.extend(all(CLIENT_UAT, "0"));
            lines.extend(all(SESSION, ""));
        }
    }
    lines
}
