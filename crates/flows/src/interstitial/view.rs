//! The page as HTML.

use latchkey_kernel::page::{fill, in_script, in_text};
use serde_json::{Map, Value, json};

use super::rules::Interstitial;
use crate::portal::view::CLERK_JS;

const TEMPLATE: &str = include_str!("page.html");

/// The HTML. All that depends on the request stands in one JSON text, which cannot end its element.
pub fn html(page: &Interstitial, nonce: &str) -> String {
    let mut attributes = Map::new();
    attributes.insert("data-clerk-publishable-key".into(), json!(page.publishable_key));
    let more = [("data-clerk-proxy-url", &page.proxy_url), ("data-clerk-domain", &page.domain)];
    attributes
        .extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?)))));
    let facts: Value = json!({
        "script": format!("{}{CLERK_JS}", page.script_base),
        "attributes": attributes,
        "signInUrl": page.sign_in_url,
    });
    fill(TEMPLATE, |gap| match gap {
        "nonce" => in_text(nonce),
        _ => in_script(&facts.to_string()),
    })
}

/// Content-Security-Policy for those who open the page here rather than at an app.
pub fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; connect-src http: https:; \
         worker-src blob:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_markup() {
        let evil = "</script><script>alert(1)</script>{{nonce}}\"'&<!--".to_owned();
        let page = Interstitial {
            script_base: evil.clone(),
            publishable_key: evil.clone(),
            proxy_url: Some(evil.clone()),
            domain: Some(evil.clone()),
            sign_in_url: Some(evil),
        };
        let html = html(&page, "n0nce");
        assert_eq!(html.matches("<script").count(), 2);
        assert_eq!(html.matches("n0nce").count(), 2);
        assert!(!html.contains("<!--") && !html.contains("{{facts}}"));
    }
}
