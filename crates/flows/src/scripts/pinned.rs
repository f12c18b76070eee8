//! The versions of the browser scripts that were tested with this server. The Debian package and `make scripts` fetch the
//! same ones, and browsers that are sent to the public CDN are sent to these.

use super::rules::{self, Package, Wanted};

/// A package in each line: its name, its version, and the digest of its archive in the npm registry.
const LIST: &str = include_str!("../../../../packaging/browser-scripts.txt");

/// A pinned copy of a package.
#[derive(Debug)]
pub struct PinnedCopy {
    /// The name in the npm registry.
    pub name: &'static str,
    pub version: &'static str,
    /// The digest of the archive, as in a `package-lock.json`.
    pub integrity: &'static str,
}

/// Returns all pinned copies.
pub fn copies() -> impl Iterator<Item = PinnedCopy> {
    LIST.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split(' ');
        Some(PinnedCopy { name: words.next()?, version: words.next()?, integrity: words.next()? })
    })
}

/// Returns the pinned version that answers a request for a package.
pub fn version(package: Package, wanted: Wanted) -> Option<&'static str> {
    let major = match wanted {
        Wanted::Major(major) => major,
        Wanted::Newest => package.major_of_pages(),
        Wanted::Unclear => return None,
    };
    let is_pinned =
        |copy: &PinnedCopy| copy.name == package.name() && rules::major(copy.version) == Some(major);
    copies().find(is_pinned).map(|copy| copy.version)
}
