//! What an address under `/npm/` asks for, and how long its answer may be kept.

/// Where scripts come from when no directory is configured. It has the same tree as the registry.
const CDN: &str = "https://cdn.jsdelivr.net/npm/";
/// Longest name of a file in a package, and of a version. The longest so far has 100 characters.
const PATH_MAX: usize = 300;

/// A package that may be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Package {
    /// `@clerk/clerk-js`
    ClerkJs,
    /// `@clerk/ui`
    Ui,
}

impl Package {
    /// All of them.
    pub const ALL: [Package; 2] = [Package::ClerkJs, Package::Ui];

    /// Its name in the registry, which is also its directory.
    pub const fn name(self) -> &'static str {
        match self {
            Package::ClerkJs => "@clerk/clerk-js",
            Package::Ui => "@clerk/ui",
        }
    }
}

/// A file of a package, asked for by some version, tag or major.
#[derive(Debug, PartialEq)]
pub struct Asked {
    /// The package.
    pub package: Package,
    /// The version as it was written: `6.34.1`, `6`, `latest`.
    pub version: String,
    /// The file in the package, by plain names: no part of it is empty or begins with a dot.
    pub path: String,
    /// What the file is.
    pub content_type: &'static str,
}

impl Asked {
    /// Where a public CDN has the file.
    pub fn on_cdn(&self) -> String {
        format!("{CDN}{}@{}/{}", self.package.name(), self.version, self.path)
    }

    /// How long the answer may be kept when the package has this version.
    pub fn caching(&self, version: &str) -> &'static str {
        match self.version == version {
            true => "public, max-age=31536000, immutable",
            false => "public, max-age=300",
        }
    }
}

/// Reads what follows `/npm/`, decoded. `None` is a path that nothing can have: only names made of few
/// characters are understood, so nothing is left that could lead out of a directory or to another host.
pub fn asked(decoded: &str) -> Option<Asked> {
    if decoded.len() > PATH_MAX {
        return None;
    }
    let package_and = |package: Package| decoded.strip_prefix(package.name())?.strip_prefix('@');
    let (package, rest) =
        Package::ALL.into_iter().find_map(|package| Some((package, package_and(package)?)))?;
    let (version, path) = rest.split_once('/')?;
    (is_plain(version) && path.split('/').all(is_plain)).then_some(())?;
    let content_type = content_type(path)?;
    Some(Asked { package, version: version.to_owned(), path: path.to_owned(), content_type })
}

/// Whether one part of a path is a name and nothing else.
pub fn is_plain(part: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') && part.chars().all(is_allowed)
}

/// What a browser must be told a file is. Other kinds of files are of no use to one.
fn content_type(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    match extension {
        "js" | "mjs" | "cjs" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "map" | "json" => Some("application/json"),
        "wasm" => Some("application/wasm"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_tag_and_major_name_the_same_file() {
        for version in ["6.34.1", "6", "latest", "6.0.0-canary.v20260801"] {
            let asked = asked(&format!("@clerk/clerk-js@{version}/dist/clerk.browser.js")).unwrap();
            assert_eq!((asked.package, asked.version.as_str()), (Package::ClerkJs, version));
            assert_eq!(asked.path, "dist/clerk.browser.js");
        }
    }

    #[test]
    fn only_the_exact_version_is_kept_for_long() {
        let exact = asked("@clerk/ui@1.36.0/dist/ui.browser.js").unwrap();
        assert!(exact.caching("1.36.0").contains("immutable"));
        assert_eq!(exact.caching("1.37.0"), "public, max-age=300");
        assert_eq!(asked("@clerk/ui@1/dist/a.js").unwrap().caching("1.36.0"), "public, max-age=300");
    }

    #[test]
    fn content_types_are_those_a_browser_insists_on() {
        let of = |file: &str| asked(&format!("@clerk/ui@1/{file}")).map(|asked| asked.content_type);
        assert_eq!(of("dist/a.js"), Some("text/javascript; charset=utf-8"));
        assert_eq!(of("dist/a.mjs"), Some("text/javascript; charset=utf-8"));
        assert_eq!(of("dist/a.css"), Some("text/css; charset=utf-8"));
        assert_eq!(of("dist/a.js.map"), Some("application/json"));
        assert_eq!(of("package.json"), Some("application/json"));
        assert_eq!(of("dist/a.wasm"), Some("application/wasm"));
        assert_eq!(of("LICENSE"), None);
        assert_eq!(of("dist/index.html"), None);
        assert_eq!(of("dist/a.svg"), None);
    }

    #[test]
    fn nothing_but_plain_names_of_the_two_packages_is_understood() {
        let long = format!("@clerk/ui@1/{}.js", "a".repeat(300));
        let refused = [
            "",
            "@clerk/ui",
            "@clerk/ui@",
            "@clerk/ui@1",
            "@clerk/ui@1/",
            "@clerk/ui@/dist/a.js",
            "@clerk/uix@1/dist/a.js",
            "@clerk/backend@1/dist/a.js",
            "react@19/index.js",
            "@clerk/ui@1/../clerk-js/a.js",
            "@clerk/ui@1/dist/../../a.js",
            "@clerk/ui@1/dist/%2e%2e/a.js",
            "@clerk/ui@1/dist/..\\a.js",
            "@clerk/ui@1//etc/a.js",
            "@clerk/ui@1/dist//a.js",
            "@clerk/ui@1/dist/.hidden.js",
            "@clerk/ui@1/dist/a\0.js",
            "@clerk/ui@1/dist/a\r\nx.js",
            "@clerk/ui@1/dist/a b.js",
            "@clerk/ui@1/dist/ä.js",
            "@clerk/ui@../dist/a.js",
            "@clerk/ui@1?x/dist/a.js",
            "@clerk/ui@1/dist/C:/a.js",
            "@clerk/ui@1/dist/a.js/",
            &long,
        ];
        for written in refused {
            assert_eq!(asked(written), None, "{written}");
        }
    }

    #[test]
    fn cdn_has_the_same_tree() {
        let asked = asked("@clerk/ui@1/dist/ui.browser.js").unwrap();
        assert_eq!(asked.on_cdn(), "https://cdn.jsdelivr.net/npm/@clerk/ui@1/dist/ui.browser.js");
    }
}
