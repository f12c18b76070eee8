//! What an address under `/npm/` asks for, and how long its answer may be kept.

use super::pinned;

/// Where scripts come from when the server has no directory of them. It has the same tree as the registry.
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
    pub const ALL: [Package; 2] = [Package::ClerkJs, Package::Ui];

    /// Its name in the registry, which is also its directory.
    pub const fn name(self) -> &'static str {
        match self {
            Package::ClerkJs => "@clerk/clerk-js",
            Package::Ui => "@clerk/ui",
        }
    }

    /// The major version that the hosted pages use.
    pub const fn major_of_pages(self) -> u64 {
        match self {
            Package::ClerkJs => 6,
            Package::Ui => 1,
        }
    }
}

/// Which version a request is content with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// Any of this major version: `6`, `6.34.1`.
    Major(u64),
    /// The newest there is: a tag such as `latest` or `canary`.
    Newest,
    /// Nobody can tell: a tag with a number in it (`latest-v5`) stands for some older major version.
    Unclear,
}

/// A file of a package, asked for by some version, tag or major.
#[derive(Debug, PartialEq)]
pub struct PackageFile {
    pub package: Package,
    /// The version as it was written: `6.34.1`, `6`, `latest`.
    pub version: String,
    /// The file in the package, by plain names: no part of it is empty or begins with a dot.
    pub path: String,
    /// What the file is.
    pub content_type: &'static str,
}

impl PackageFile {
    /// Returns the address of the file on a public CDN: in the version that was tested, if there is one of the major
    /// version that was asked for.
    pub fn on_cdn(&self) -> String {
        let version = pinned::version(self.package, self.wanted()).unwrap_or(&self.version);
        format!("{CDN}{}@{version}/{}", self.package.name(), self.path)
    }

    /// Which version will do.
    pub fn wanted(&self) -> Wanted {
        match major(&self.version) {
            Some(major) => Wanted::Major(major),
            None if self.version.contains(|c: char| c.is_ascii_digit()) => Wanted::Unclear,
            None => Wanted::Newest,
        }
    }

    /// What to tell somebody who asked for a version that is not here. `present` are those that are.
    pub fn not_here(&self, present: &[String]) -> String {
        let name = self.package.name();
        let here = match present {
            [] => format!("no copy of {name}"),
            _ => format!("{name} {}", present.join(" and ")),
        };
        let wanted = match self.wanted() {
            Wanted::Major(major) => major.to_string(),
            _ => self.package.major_of_pages().to_string(),
        };
        let asked = &self.version;
        format!(
            "{name}@{asked} was asked for, and the server has {here}. Either use an SDK that asks for a version that is \
             there, or unpack it in the directory that the setting scripts_dir names: `mkdir -p {name}@{wanted} && tar \
             -xzf \"$(npm pack --silent {name}@{wanted})\" --strip-components=1 -C {name}@{wanted}`."
        )
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
pub fn package_file(decoded: &str) -> Option<PackageFile> {
    if decoded.len() > PATH_MAX {
        return None;
    }
    let package_and = |package: Package| decoded.strip_prefix(package.name())?.strip_prefix('@');
    let (package, rest) =
        Package::ALL.into_iter().find_map(|package| Some((package, package_and(package)?)))?;
    let (version, path) = rest.split_once('/')?;
    (is_plain(version) && path.split('/').all(is_plain)).then_some(())?;
    let content_type = content_type(path)?;
    Some(PackageFile { package, version: version.to_owned(), path: path.to_owned(), content_type })
}

/// The major version that a version begins with: 6 of `6`, `6.34.1` and `v6.0.0-canary.1`; `None` of tags.
pub fn major(version: &str) -> Option<u64> {
    let number = version.strip_prefix('v').unwrap_or(version);
    let (digits, rest) = number.split_at(number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len()));
    (rest.is_empty() || rest.starts_with(['.', '-'])).then(|| digits.parse().ok())?
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
            let file = package_file(&format!("@clerk/clerk-js@{version}/dist/clerk.browser.js")).unwrap();
            assert_eq!((file.package, file.version.as_str()), (Package::ClerkJs, version));
            assert_eq!(file.path, "dist/clerk.browser.js");
        }
    }

    #[test]
    fn a_version_names_its_major_and_a_tag_none() {
        let wanted = |version: &str| package_file(&format!("@clerk/ui@{version}/a.js")).unwrap().wanted();
        for version in ["5", "5.0.0", "5.x", "v5", "5.118.0", "5.0.0-canary.v20260801", "5-beta", "05"] {
            assert_eq!(wanted(version), Wanted::Major(5), "{version}");
        }
        assert_eq!(wanted("55"), Wanted::Major(55));
        for tag in ["latest", "canary", "snapshot", "next"] {
            assert_eq!(wanted(tag), Wanted::Newest, "{tag}");
        }
        for tag in ["latest-v5", "core-2", "5x", "5_0", "99999999999999999999999"] {
            assert_eq!(wanted(tag), Wanted::Unclear, "{tag}");
        }
    }

    #[test]
    fn a_version_that_is_not_here_is_told_with_what_to_do() {
        let text = package_file("@clerk/clerk-js@5/a.js").unwrap().not_here(&["6.34.1".to_owned()]);
        for part in [
            "@clerk/clerk-js@5 was asked for",
            "has @clerk/clerk-js 6.34.1",
            "npm pack --silent @clerk/clerk-js@5",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(package_file("@clerk/ui@1/a.js").unwrap().not_here(&[]).contains("has no copy of @clerk/ui"));
    }

    #[test]
    fn only_the_exact_version_is_kept_for_long() {
        let exact = package_file("@clerk/ui@1.36.0/dist/ui.browser.js").unwrap();
        assert!(exact.caching("1.36.0").contains("immutable"));
        assert_eq!(exact.caching("1.37.0"), "public, max-age=300");
        assert_eq!(package_file("@clerk/ui@1/dist/a.js").unwrap().caching("1.36.0"), "public, max-age=300");
    }

    #[test]
    fn content_types_are_those_a_browser_insists_on() {
        let of = |file: &str| package_file(&format!("@clerk/ui@1/{file}")).map(|file| file.content_type);
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
            assert_eq!(package_file(written), None, "{written}");
        }
    }

    #[test]
    fn cdn_has_the_same_tree_and_is_asked_for_the_pinned_version() {
        let on_cdn = |asked: &str| package_file(&format!("{asked}/dist/ui.browser.js")).unwrap().on_cdn();
        let expected = |version: &str| format!("https://cdn.jsdelivr.net/npm/{version}/dist/ui.browser.js");
        for asked in ["@clerk/ui@1", "@clerk/ui@1.2.3", "@clerk/ui@latest", "@clerk/ui@1.36.0"] {
            assert_eq!(on_cdn(asked), expected("@clerk/ui@1.36.0"), "{asked}");
        }
        for unknown in ["@clerk/ui@2", "@clerk/ui@latest-v1", "@clerk/clerk-js@4"] {
            assert_eq!(on_cdn(unknown), expected(unknown), "no tested version answers for it");
        }
    }
}
