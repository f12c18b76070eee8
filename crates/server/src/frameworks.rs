//! What the official SDKs read from the environment, framework by framework, and the block an app needs of it.
//!
//! The names are those of the published packages. Some of an SDK's options have no variable: then the block has one of
//! our choice, and says what to write in code.

mod markup;
mod table;

use latchkey_kernel::hosts;

use crate::show;
use crate::trust::is_local_name;

pub(crate) use table::FRAMEWORKS;

/// A framework with its SDK.
pub(crate) struct Framework {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// Further names for it.
    pub(crate) aliases: &'static [&'static str],
    /// What people call it.
    pub(crate) title: &'static str,
    /// Its SDK.
    pub(crate) package: &'static str,
    /// The file that it reads variables from.
    pub(crate) file: &'static str,
    pub(crate) publishable_key: Option<&'static str>,
    /// Nothing where a secret would get into browsers.
    pub(crate) secret_key: Option<&'static str>,
    pub(crate) api_url: Option<ApiUrl>,
    /// What browsers need where the Frontend API is not at `https://` and the host in the key.
    pub(crate) proxy_url: Option<&'static str>,
    pub(crate) scripts: Option<Scripts>,
    pub(crate) sign_in_url: Option<&'static str>,
    pub(crate) sign_up_url: Option<&'static str>,
    /// Whom session tokens must be from, for SDKs that would accept nobody else.
    pub(crate) issuer: Option<&'static str>,
    pub(crate) telemetry: &'static [&'static str],
    /// How to start an app that does not read its file by itself.
    pub(crate) start: Option<&'static str>,
    /// What must stand in code, over plain HTTP and over HTTPS.
    pub(crate) code_plain: &'static [&'static str],
    pub(crate) code_https: &'static [&'static str],
    /// The same for hosts that are not of this machine, where it is not what HTTPS needs on it.
    pub(crate) code_production: Option<&'static [&'static str]>,
    /// Whether there is nothing that reads variables: then the block is markup with everything in it.
    pub(crate) is_markup: bool,
}

/// Where a backend finds the Backend API.
#[derive(Clone, Copy)]
pub(crate) enum ApiUrl {
    /// The SDK adds the version.
    Bare(&'static str),
    /// The URL ends in `/v1`.
    Versioned(&'static str),
}

/// The variables for the scripts in pages, and which major versions of them the SDK asks for.
pub(crate) struct Scripts {
    pub(crate) clerk_js: (&'static str, &'static str),
    /// Scripts up to clerk-js 5 have their components inside.
    pub(crate) ui: Option<(&'static str, &'static str)>,
}

/// An instance as an app reaches it.
pub(crate) struct Target {
    /// The id of the instance.
    pub(crate) instance: String,
    pub(crate) api_url: String,
    pub(crate) publishable_key: String,
    /// The secret key, if it is known.
    pub(crate) secret_key: Option<String>,
    /// Whom its session tokens are from.
    pub(crate) issuer: String,
    /// Where browsers reach the Frontend API when that is not `https://` and the host in the key.
    pub(crate) plain_url: Option<String>,
}

impl Target {
    /// The name below `localhost` at which the application must be opened as well: cookies are those of one host.
    fn shared_name(&self) -> Option<&str> {
        let name = hosts::name(hosts::authority(self.plain_url.as_deref()?.strip_prefix("http://")?));
        name.ends_with(".localhost").then_some(name)
    }

    /// The host whose cookies are those of a third party to an application on this machine.
    fn third_party(&self) -> Option<&str> {
        let host = hosts::name(hosts::authority(&self.issuer));
        (self.plain_url.is_none() && self.is_local()).then_some(host)
    }

    /// Whether browsers reach the Frontend API on their own machine.
    fn is_local(&self) -> bool {
        is_local_name(hosts::name(hosts::authority(&self.issuer)))
    }
}

/// A variable and its value; without one it is not known here.
type Variable = (&'static str, Option<String>);

impl Framework {
    /// All that an app needs, in the order of the block.
    pub(crate) fn variables(&self, target: &Target) -> Vec<Variable> {
        if self.is_markup {
            return markup::variables(target);
        }
        let known = |name: Option<&'static str>, value: String| name.map(|name| (name, Some(value)));
        let api_url = self.api_url.map(|api_url| match api_url {
            ApiUrl::Bare(name) => (name, Some(target.api_url.clone())),
            ApiUrl::Versioned(name) => (name, Some(format!("{}/v1", target.api_url))),
        });
        let keys = [
            known(self.publishable_key, target.publishable_key.clone()),
            self.secret_key.map(|name| (name, target.secret_key.clone())),
            api_url,
        ];
        let plain = target.plain_url.iter().flat_map(|url| self.plain_variables(url));
        // Backends have no scripts that know the page by themselves.
        let page = match target.plain_url.is_none() && self.scripts.is_none() {
            true => known(self.sign_in_url, format!("{}/sign-in", target.issuer)),
            false => None,
        };
        let last = [page, known(self.issuer, target.issuer.clone())].into_iter().flatten();
        let telemetry = self.telemetry.iter().map(|name| (*name, Some("1".to_owned())));
        keys.into_iter().flatten().chain(plain).chain(last).chain(telemetry).collect()
    }

    fn plain_variables(&self, url: &str) -> Vec<Variable> {
        let script = |(name, version): (&'static str, &str), package: &str, file: &str| {
            (name, Some(format!("{url}/npm/@clerk/{package}@{version}/dist/{file}")))
        };
        let scripts = self.scripts.iter().flat_map(|scripts| {
            let clerk_js = script(scripts.clerk_js, "clerk-js", "clerk.browser.js");
            [Some(clerk_js), scripts.ui.map(|ui| script(ui, "ui", "ui.browser.js"))].into_iter().flatten()
        });
        let page =
            |name: Option<&'static str>, path: &str| name.map(|name| (name, Some(format!("{url}{path}"))));
        let proxy = self.proxy_url.map(|name| (name, Some(url.to_owned())));
        let pages = [page(self.sign_in_url, "/sign-in"), page(self.sign_up_url, "/sign-up")];
        proxy.into_iter().chain(scripts).chain(pages.into_iter().flatten()).collect()
    }

    /// What must stand in code.
    pub(crate) fn code(&self, target: &Target) -> &'static [&'static str] {
        match &target.plain_url {
            Some(_) => self.code_plain,
            None if target.is_local() => self.code_https,
            None => self.code_production.unwrap_or(self.code_https),
        }
    }

    /// The block to paste.
    pub(crate) fn block(&self, target: &Target) -> String {
        if self.is_markup {
            return markup::block(self, target);
        }
        let Framework { name: framework, title, package, file, .. } = self;
        let instance = &target.instance;
        let mut lines = vec![format!("# {title} ({package}): {file}")];
        lines.extend(self.start.map(|command| format!("# Start with: {command}")));
        lines.extend(target.shared_name().map(|name| {
            format!("# Open the application as http://{name}:<its port>, not as http://localhost.")
        }));
        for (name, value) in self.variables(target) {
            lines.push(match value {
                Some(value) => format!("{name}={value}"),
                None => format!(
                    "# {name}=…  (only its digest is kept: use the key you were shown, or make a further one: \
                     latchkey env {framework} --instance {instance} --new-key)"
                ),
            });
        }
        if self.has_pages() {
            lines.extend(target.third_party().map(|host| format!("# {}", third_party_advice(host))));
        }
        if let Some((first, rest)) = self.code(target).split_first() {
            lines.push(format!("# In code: {first}"));
            lines.extend(rest.iter().map(|line| format!("#          {line}")));
        }
        lines.join("\n")
    }

    /// Whether the SDK makes pages.
    fn has_pages(&self) -> bool {
        self.proxy_url.is_some()
    }
}

/// What to do where browsers send no cookies to a host.
fn third_party_advice(host: &str) -> String {
    format!(
        "Firefox, Safari and Debian's Chromium block third-party cookies: allow them for {host}, or print this with --plain."
    )
}

/// The list of frameworks, for the command line.
pub(crate) fn list() -> String {
    let rows: Vec<Vec<String>> = FRAMEWORKS
        .iter()
        .map(|one| {
            let aliases = one.aliases.join(", ");
            Vec::from([one.name, aliases.as_str(), one.title, one.package, one.file].map(str::to_owned))
        })
        .collect();
    show::table(&["NAME", "OR", "FRAMEWORK", "SDK", "FILE"], &rows)
}

/// `docs/FRAMEWORKS.md`.
pub(crate) fn document() -> String {
    let plain = example("127.0.0.1:3401", Some("http://localhost:3401"), "http://127.0.0.1:3401");
    let https = example("latchkey.localhost:3401", None, "https://latchkey.localhost:3401");
    let mut text = include_str!("frameworks/head.md").to_owned();
    text.push_str("| Framework | `latchkey env …` | Plain HTTP | Trusted HTTPS |\n|---|---|---|---|\n");
    for one in FRAMEWORKS {
        let cell = |target: &Target| {
            if one.is_markup {
                return "markup, see below".to_owned();
            }
            let names = one.variables(target).into_iter().map(|(name, _)| format!("`{name}`"));
            let code = if one.code(target).is_empty() { "" } else { "; and in code, see below" };
            format!("{}{code}", names.collect::<Vec<_>>().join(", "))
        };
        let names: Vec<String> =
            std::iter::once(&one.name).chain(one.aliases).map(|name| format!("`{name}`")).collect();
        let (title, package, names) = (one.title, one.package, names.join(", "));
        text.push_str(&format!(
            "| {title} (`{package}`) | {names} | {} | {} |\n",
            cell(&plain),
            cell(&https)
        ));
    }
    text.push_str("\n## Every block\n");
    for one in FRAMEWORKS {
        let (plain, https) = (one.block(&plain), one.block(&https));
        let language = if one.is_markup { "html" } else { "sh" };
        text.push_str(&format!("\n### {}\n\nPlain HTTP:\n\n```{language}\n{plain}\n```\n\n", one.title));
        text.push_str(&match one.has_pages() || plain != https {
            true => format!("Trusted HTTPS:\n\n```{language}\n{https}\n```\n"),
            false => "The same with trusted HTTPS.\n".to_owned(),
        });
    }
    text
}

fn example(host: &str, plain_url: Option<&str>, issuer: &str) -> Target {
    use latchkey_kernel::environment::Environment;
    use latchkey_kernel::instances::keys::publishable_key;
    Target {
        instance: "ins_…".to_owned(),
        api_url: "http://127.0.0.1:3400".to_owned(),
        publishable_key: publishable_key(Environment::Development, host),
        secret_key: Some("sk_test_…".to_owned()),
        issuer: issuer.to_owned(),
        plain_url: plain_url.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_there_once() {
        let mut names: Vec<&str> = FRAMEWORKS
            .iter()
            .flat_map(|one| std::iter::once(&one.name).chain(one.aliases))
            .copied()
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn no_secret_goes_to_browsers() {
        let target = example("127.0.0.1:3401", Some("http://localhost:3401"), "");
        for one in FRAMEWORKS {
            for (name, value) in one.variables(&target) {
                let is_public = ["PUBLIC_", "VITE_"].iter().any(|part| name.contains(part));
                assert!(!is_public || !value.unwrap().starts_with("sk_"), "{name}");
            }
        }
    }

    #[test]
    fn an_instance_below_localhost_says_where_to_open_the_application() {
        let line = "\n# Open the application as http://ab.localhost:<its port>, not as http://localhost.\n";
        let has_line = |host: &str, plain_url: Option<&str>| {
            let target = example(host, plain_url, "");
            FRAMEWORKS.iter().filter(|one| !one.is_markup).all(|one| one.block(&target).contains(line))
        };
        let has_any = |host: &str, plain_url: Option<&str>| {
            let target = example(host, plain_url, "");
            FRAMEWORKS.iter().any(|one| one.block(&target).contains("# Open the application"))
        };
        assert!(has_line("ab.localhost:3401", Some("http://ab.localhost:3401")));
        assert!(has_line("ab.localhost", Some("http://ab.localhost")));
        assert!(!has_any("127.0.0.1:3401", Some("http://localhost:3401")));
        assert!(!has_any("127.0.0.1:3401", Some("http://127.0.0.1:3401")));
        assert!(!has_any("ab.localhost:3401", None));
        assert!(!has_any("clerk.example.com", None));
    }

    #[test]
    fn pages_of_ones_own_are_only_named_on_this_machine() {
        let local = example("latchkey.localhost:3401", None, "https://latchkey.localhost:3401");
        let production = example("clerk.example.com", None, "https://clerk.example.com");
        for name in ["react", "react-5", "vue"] {
            let one = FRAMEWORKS.iter().find(|one| one.name == name).unwrap();
            assert!(one.block(&local).contains("'/sign-in'") || one.block(&local).contains("\"/sign-in\""));
            let block = one.block(&production);
            assert!(block.contains("VITE_CLERK_PUBLISHABLE_KEY") && !block.contains("sign-in"), "{block}");
        }
    }

    /// The SDKs that have telemetry post the publishable key to their vendor, unless an application switches it off.
    #[test]
    fn telemetry_is_switched_off_in_every_block() {
        let targets = [
            example("127.0.0.1:3401", Some("http://localhost:3401"), "http://127.0.0.1:3401"),
            example("latchkey.localhost:3401", None, "https://latchkey.localhost:3401"),
            example("clerk.example.com", None, "https://clerk.example.com"),
        ];
        // As the published packages read it. The SDKs of the other languages have no telemetry.
        let switch = |name: &str| match name {
            "next" => Some("\nNEXT_PUBLIC_CLERK_TELEMETRY_DISABLED=1"),
            "astro" | "svelte" => Some("\nPUBLIC_CLERK_TELEMETRY_DISABLED=1"),
            "react-router" | "tanstack" => {
                Some("\nVITE_CLERK_TELEMETRY_DISABLED=1\nCLERK_TELEMETRY_DISABLED=1")
            }
            "remix" | "express" | "fastify" | "hono" | "node" => Some("\nCLERK_TELEMETRY_DISABLED=1"),
            "react" | "react-5" | "expo" => Some(" telemetry={false}"),
            "vue" => Some(" telemetry: false"),
            "html" => Some("telemetry: false,"),
            "nuxt" => Some("telemetry: { disabled: true }"),
            "python" | "go" | "java" => None,
            _ => panic!("{name}: see in its package how its telemetry is switched off"),
        };
        for one in FRAMEWORKS {
            let Some(switch) = switch(one.name) else { continue };
            for target in &targets {
                let block = one.block(target);
                assert!(block.contains(switch), "{}:\n{block}", one.name);
            }
        }
    }

    #[test]
    fn over_https_two_keys_and_the_api_url_are_enough() {
        let target = example("latchkey.localhost:3401", None, "");
        for one in FRAMEWORKS.iter().filter(|one| one.has_pages()) {
            let names: Vec<&str> = one.variables(&target).into_iter().map(|(name, _)| name).collect();
            let api_url = one.api_url.map(|(ApiUrl::Bare(name) | ApiUrl::Versioned(name))| name);
            // A backend that is to send people to the page for signing in knows no page by itself.
            let page = one.sign_in_url.filter(|_| one.scripts.is_none());
            let known = [one.publishable_key, one.secret_key, api_url, page].into_iter().flatten();
            assert_eq!(names, known.chain(one.telemetry.iter().copied()).collect::<Vec<_>>(), "{}", one.name);
        }
    }
}
