//! Which cookies a browser takes back to the app, and how they travel.

use latchkey_base::Time;
use latchkey_door::cookies::{self, CLIENT_UAT, CookieScope, DEV_BROWSER, REFRESH, SESSION};
use latchkey_door::site::Site;

/// How what a handshake leaves gets to the app's backend.
pub enum Carrier<'a> {
    /// In the URL, where no cookie of ours reaches the app: development instances are on a site of their own, and
    /// further origins may be on another domain.
    Url,
    /// In a cookie that the app's host gets too: in production no URL must tell who somebody is.
    Cookie(CookieScope<'a>),
}

/// How what a handshake leaves travels to the app at that origin.
pub fn carrier<'a>(site: &'a Site, app: &str) -> Carrier<'a> {
    let scope = CookieScope::domain_of(site, &site.base_url);
    match !site.is_development() && scope.reaches(app) {
        true => Carrier::Cookie(scope),
        false => Carrier::Url,
    }
}

/// Somebody who is signed in, as far as cookies are concerned.
pub struct Presence<'a> {
    /// A fresh token of the session.
    pub token: &'a str,
    /// What lets the backend renew it.
    pub refresh: &'a str,
    /// When the client last changed.
    pub changed_at: Time,
}

/// The token of a developer's browser, for the cookie of the application.
#[derive(Clone, Copy)]
pub struct DevBrowserCookie<'a> {
    pub token: &'a str,
    /// Whether the browser sent the token with the handshake.
    pub is_known: bool,
}

/// The cookies for the app at that origin, as complete `Set-Cookie` lines. Backends take the last session cookie for
/// the token, so all of them are the same.
pub fn directives(
    site: &Site,
    app: &str,
    carrier: &Carrier<'_>,
    presence: Option<&Presence<'_>>,
    dev_browser: Option<DevBrowserCookie<'_>>,
    is_suffixed: bool,
) -> Vec<String> {
    let key = site.publishable_key();
    let named = |name: &str| cookies::names(name, &key, is_suffixed);
    let all = |name: &str, value: &str| -> Vec<String> {
        named(name).iter().map(|name| cookies::for_app(name, value, app)).collect()
    };
    let (token, refresh, changed_at) = match presence {
        Some(presence) => (presence.token, presence.refresh, presence.changed_at.seconds()),
        None => ("", "", 0),
    };
    let mut lines = Vec::new();
    if let Carrier::Cookie(scope) = carrier {
        // What is left behind would be looked at again with every request.
        lines.extend(cookies::no_handshake(scope));
    }
    lines.push(cookies::for_backend(&cookies::suffixed(REFRESH, &key), refresh, app));
    lines.extend(cookies::client_uat(&CookieScope::domain_of(site, app), &named(CLIENT_UAT), changed_at));
    let session = all(SESSION, token);
    let Some(dev_browser) = dev_browser else {
        lines.extend(session);
        return lines;
    };
    // `@clerk/tanstack-react-start` 1.5 passes on only the last cookie. So the last one is the one that the backend lacks:
    // without the token of the developer's browser, or without the session of a user, it asks again three times.
    let browser = all(DEV_BROWSER, dev_browser.token);
    let is_session_missing = presence.is_some() && dev_browser.is_known;
    let (first, last) = if is_session_missing { (browser, session) } else { (session, browser) };
    lines.extend(first);
    lines.extend(last);
    lines
}
