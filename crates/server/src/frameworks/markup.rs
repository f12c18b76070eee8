//! A page without a framework: the script tags and the code to paste into it. There is nothing that would read variables,
//! so everything stands in the markup.

use latchkey_kernel::page::{fill, in_text};

use super::{Framework, Target, Variable, third_party_advice};

const TEMPLATE: &str = include_str!("page.html");

/// The values that stand in the markup, for programs that make pages.
pub(super) fn variables(target: &Target) -> Vec<Variable> {
    let url = frontend_url(target);
    let proxy = target.plain_url.clone().map(|url| ("CLERK_PROXY_URL", url));
    let key = ("CLERK_PUBLISHABLE_KEY", target.publishable_key.clone());
    let scripts = [("CLERK_JS_URL", clerk_js(url)), ("CLERK_UI_URL", ui(url))];
    let all = [key].into_iter().chain(proxy).chain(scripts);
    all.map(|(name, value)| (name, Some(value))).collect()
}

/// The markup to paste.
pub(super) fn block(framework: &Framework, target: &Target) -> String {
    let url = frontend_url(target);
    let host = target.shared_name().unwrap_or("localhost");
    let open = match target.plain_url.is_some() || target.is_local() {
        true => format!("Open the page as http://{host}:<its port>, from a server: not as a file."),
        false => "Publish the page below the domain of the instance, over HTTPS.".to_owned(),
    };
    let open = match target.third_party() {
        Some(name) => format!("{open}\n     {}", third_party_advice(name)),
        None => open,
    };
    let proxy = match &target.plain_url {
        Some(url) => format!("\n  data-clerk-proxy-url=\"{}\"", in_text(url)),
        None => String::new(),
    };
    let text = fill(TEMPLATE, |gap| match gap {
        "title" => framework.title.to_owned(),
        "package" => framework.package.to_owned(),
        "file" => framework.file.to_owned(),
        "open" => open.clone(),
        "key" => in_text(&target.publishable_key),
        "proxy" => proxy.clone(),
        "ui" => in_text(&ui(url)),
        _ => in_text(&clerk_js(url)),
    });
    text.trim_end().to_owned()
}

/// Where browsers reach the Frontend API.
fn frontend_url(target: &Target) -> &str {
    target.plain_url.as_deref().unwrap_or(&target.issuer)
}

fn clerk_js(url: &str) -> String {
    format!("{url}/npm/@clerk/clerk-js@6/dist/clerk.browser.js")
}

fn ui(url: &str) -> String {
    format!("{url}/npm/@clerk/ui@1/dist/ui.browser.js")
}

#[cfg(test)]
mod tests {
    use super::super::{FRAMEWORKS, example};
    use super::*;

    fn block_of(target: &Target) -> String {
        let html = FRAMEWORKS.iter().find(|one| one.is_markup).unwrap();
        let block = html.block(target);
        assert!(!block.contains("{{") && !block.contains("}}") && !block.contains("sk_"), "{block}");
        for (name, value) in html.variables(target) {
            assert!(block.contains(&value.unwrap()), "{name} is missing in\n{block}");
        }
        block
    }

    #[test]
    fn over_plain_http_the_scripts_are_told_where_the_frontend_api_is() {
        let block =
            block_of(&example("127.0.0.1:3401", Some("http://localhost:3401"), "http://127.0.0.1:3401"));
        assert!(block.contains("\n  data-clerk-proxy-url=\"http://localhost:3401\"\n"), "{block}");
        assert!(block.contains("src=\"http://localhost:3401/npm/@clerk/clerk-js@6/dist/clerk.browser.js\""));
        assert!(block.contains("Open the page as http://localhost:<its port>"), "{block}");
        let second =
            block_of(&example("ab.localhost:1", Some("http://ab.localhost:1"), "http://ab.localhost:1"));
        assert!(second.contains("Open the page as http://ab.localhost:<its port>"), "{second}");
    }

    #[test]
    fn over_https_they_come_from_the_host_in_the_key_and_need_nothing_else() {
        for (host, open) in [
            ("latchkey.localhost:3401", "Open the page as http://localhost:<its port>"),
            ("clerk.example.com", "Publish the page below the domain of the instance"),
        ] {
            let block = block_of(&example(host, None, &format!("https://{host}")));
            assert!(!block.contains("data-clerk-proxy-url") && block.contains(open), "{block}");
            let source = format!("src=\"https://{host}/npm/@clerk/ui@1/dist/ui.browser.js\"");
            assert!(block.contains(&source), "{block}");
        }
    }
}
