//! The page as text, and the policy that goes with it.

use latchkey_door::cookies;
use latchkey_kernel::page::{fill, in_script, in_text};
use serde_json::json;

use super::model::{Page, Portal};

const TEMPLATE: &str = include_str!("page.html");

/// The versions the page is written for, as the SDKs ask for them.
pub const CLERK_JS: &str = "/npm/@clerk/clerk-js@6/dist/clerk.browser.js";
const UI: &str = "/npm/@clerk/ui@1/dist/ui.browser.js";

/// The HTML of a page. Nothing of a request goes into it but the nonce that was made for the answer:
/// query parameters are read by the components in the browser.
pub fn html(portal: &Portal, page: Page, nonce: &str) -> String {
    let title = match portal.application_name.as_str() {
        "" => page.title().to_owned(),
        name => format!("{} · {name}", page.title()),
    };
    let facts = json!({
        "page": page.path(),
        "publishableKey": portal.publishable_key,
        "applicationName": portal.application_name,
        "homeUrl": on_the_web(&portal.home_url),
        "hasOrganizations": portal.has_organizations,
        "hasWaitlist": portal.has_waitlist,
        "isSingleSession": portal.is_single_session,
        "signInUrl": on_the_web(&portal.sign_in_url),
        "afterSignInUrl": here_or_on_the_web(&portal.after_sign_in_url),
        "afterSignUpUrl": here_or_on_the_web(&portal.after_sign_up_url),
        "afterSignOutOneUrl": here_or_on_the_web(&portal.after_sign_out_one_url),
        "afterSignOutAllUrl": here_or_on_the_web(&portal.after_sign_out_all_url),
        "afterCreateOrganizationUrl": on_the_web(&portal.after_create_organization_url),
        "afterLeaveOrganizationUrl": on_the_web(&portal.after_leave_organization_url),
        "afterJoinWaitlistUrl": on_the_web(&portal.after_join_waitlist_url),
        "helpUrl": on_the_web(&portal.help_url),
        "logoLinkUrl": on_the_web(&portal.logo_link_url),
        "isDevelopment": portal.is_development,
        "sessionCookies": cookies::names(cookies::SESSION, &portal.publishable_key, true),
        "inboxUrl": portal.inbox_url,
        "redirectOrigins": portal.redirect_origins,
        "hasOwnScripts": portal.has_own_scripts,
        "clerkJs": CLERK_JS,
        "ui": UI,
    });
    fill(TEMPLATE, |gap| match gap {
        "title" => in_text(&title),
        "icon" => in_text(on_the_web(&portal.favicon_url).unwrap_or("data:,")),
        "nonce" => in_text(nonce),
        _ => in_script(&facts.to_string()),
    })
}

/// Content-Security-Policy: scripts run by the nonce, or because such a script asked for them; frames and
/// plug-ins do not exist. Styles need no nonce, because the field for codes that the components use adds
/// some without; there is no way to add any but by a script.
pub fn policy(portal: &Portal, nonce: &str) -> String {
    let images: String = portal.image_origins.iter().map(|origin| source(origin)).collect();
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'unsafe-inline'; \
         connect-src 'self'; img-src 'self' data: blob: https:{images}; \
         worker-src 'self' blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// A link, unless it is something else than an address on the web.
fn on_the_web(url: &str) -> Option<&str> {
    Some(url).filter(|url| ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)))
}

/// The same, or a path of this server.
fn here_or_on_the_web(url: &str) -> Option<&str> {
    let is_path = url.starts_with('/') && !url.starts_with("//");
    if is_path { Some(url) } else { on_the_web(url) }
}

/// An origin as another source of a policy. One with a character that means something there is left out.
fn source(origin: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | '.' | '-' | '[' | ']');
    match !origin.is_empty() && origin.chars().all(is_safe) {
        true => format!(" {origin}"),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portal() -> Portal {
        Portal {
            publishable_key: "pk_test_Y2xlcmsubG9jYWxob3N0LnRlc3Qk".to_owned(),
            application_name: "Acme".to_owned(),
            home_url: String::new(),
            has_organizations: true,
            has_waitlist: false,
            is_single_session: true,
            sign_in_url: "http://localhost:3401/sign-in".to_owned(),
            after_sign_in_url: "/default-redirect".to_owned(),
            after_sign_up_url: "https://app.example.com/welcome".to_owned(),
            after_sign_out_one_url: "/sign-in/choose".to_owned(),
            after_sign_out_all_url: "/sign-in".to_owned(),
            after_create_organization_url: String::new(),
            after_leave_organization_url: String::new(),
            after_join_waitlist_url: String::new(),
            help_url: String::new(),
            logo_link_url: String::new(),
            favicon_url: String::new(),
            is_development: true,
            inbox_url: Some("http://localhost:3400/dev/inbox".to_owned()),
            redirect_origins: vec!["http://localhost:*".to_owned()],
            image_origins: vec!["http://localhost:3400".to_owned()],
            has_own_scripts: false,
        }
    }

    #[test]
    fn every_page_is_filled_completely() {
        for page in Page::ALL.into_iter().chain([Page::InvalidLink]) {
            let html = html(&portal(), page, "n0nce");
            assert!(html.contains(&format!("<title>{} · Acme</title>", page.title())), "{html}");
            assert!(html.contains(&format!("\"page\":\"{}\"", page.path())));
            assert!(!html.contains("{{") && !html.contains("}}"), "{html}");
        }
    }

    #[test]
    fn every_script_has_the_nonce() {
        let html = html(&portal(), Page::SignIn, "n0nce");
        for tag in html.split("<script").skip(1) {
            assert!(tag.split('>').next().unwrap().contains("nonce=\"n0nce\""), "{tag}");
        }
        for attribute in [" onclick=", " onload=", "javascript:"] {
            assert!(!html.contains(attribute), "{attribute} is refused by the policy");
        }
        let policy = policy(&portal(), "n0nce");
        assert!(policy.contains("script-src 'nonce-n0nce' 'strict-dynamic';"), "{policy}");
        let unsafe_parts = policy.split("; ").filter(|part| part.contains("unsafe"));
        assert_eq!(unsafe_parts.collect::<Vec<_>>(), ["style-src 'unsafe-inline'"]);
    }

    #[test]
    fn names_cannot_become_markup() {
        let usual = html(&portal(), Page::SignIn, "n0nce");
        let evil = "</script><script>alert(1)</script><!--{{nonce}}\"'&".to_owned();
        let html = html(&Portal { application_name: evil, ..portal() }, Page::SignIn, "n0nce");
        assert_eq!(html.matches("<script").count(), usual.matches("<script").count());
        assert_eq!(html.matches("n0nce").count(), usual.matches("n0nce").count());
        assert!(!html.contains("alert(1)</script>"));
        assert!(!html.contains("<!--"));
    }

    #[test]
    fn only_addresses_on_the_web_become_links() {
        assert_eq!(on_the_web("javascript:alert(1)"), None);
        assert_eq!(on_the_web(""), None);
        assert_eq!(on_the_web("https://example.com"), Some("https://example.com"));
        assert_eq!(here_or_on_the_web("/sign-in"), Some("/sign-in"));
        assert_eq!(here_or_on_the_web("//evil.example"), None);
        assert_eq!(here_or_on_the_web("javascript:alert(1)"), None);
    }

    #[test]
    fn an_icon_is_an_address_on_the_web() {
        let icon = |url: &str| {
            let portal = Portal { favicon_url: url.to_owned(), ..portal() };
            let html = html(&portal, Page::SignIn, "n0nce");
            let (_, rest) = html.split_once("<link rel=\"icon\" href=\"").unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        assert_eq!(icon(""), "data:,");
        assert_eq!(icon("javascript:alert(1)"), "data:,");
        assert_eq!(icon("https://a.example/i.png?a=1&b=\"x"), "https://a.example/i.png?a=1&amp;b=&quot;x");
    }

    #[test]
    fn image_origins_cannot_change_the_policy() {
        for origin in ["http://a; script-src *", "*", "'unsafe-inline'", "http://a,b", ""] {
            let portal = Portal { image_origins: vec![origin.to_owned()], ..portal() };
            assert!(
                policy(&portal, "n").contains("img-src 'self' data: blob: https:; worker-src"),
                "{origin}"
            );
        }
        assert!(policy(&portal(), "n").contains("https: http://localhost:3400; worker-src"));
    }
}
