//! The directory with the unpacked packages, as `npm install` leaves them in `node_modules`.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Deserialize;

use super::rules::{self, Asked, Package};

/// A `package.json` is a few kilobytes; this only bounds what a mistaken directory may cost.
const MANIFEST_MAX: u64 = 1024 * 1024;

/// Where the scripts come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A directory that contains `@clerk/clerk-js` and `@clerk/ui`.
    Directory(PathBuf),
    /// A public CDN, by redirect.
    Cdn,
}

impl Source {
    /// A directory with the packages, or the folder in which `npm install` was run to get them.
    pub fn at(directory: PathBuf) -> Source {
        let inside = directory.join("node_modules");
        match inside.join("@clerk").is_dir() {
            true => Source::Directory(inside),
            false => Source::Directory(directory),
        }
    }

    /// The packages that are missing, for the start of the server to complain about.
    pub fn missing(&self) -> Vec<&'static str> {
        let Source::Directory(directory) = self else { return Vec::new() };
        let is_missing = |package: &Package| version(&directory.join(package.name())).is_none();
        Package::ALL.into_iter().filter(is_missing).map(Package::name).collect()
    }
}

/// A file that is there.
pub struct Found {
    /// The file, open for reading.
    pub file: File,
    /// Its bytes.
    pub length: u64,
    /// The version of its package.
    pub version: String,
    /// Changes when the file does.
    pub tag: String,
}

/// Opens the file that was asked for. Blocks, but not for long.
///
/// The names in `asked` are harmless, but the directory may contain links: what they lead to must lie
/// in the package, and the package in the directory (where package managers link it to another folder).
pub fn open(directory: &Path, asked: &Asked) -> Option<Found> {
    let directory = directory.canonicalize().ok()?;
    let package = inside(&directory, asked.package.name())?;
    let path = inside(&package, &asked.path)?;
    // Opening a pipe would wait for somebody to write to it.
    is_regular(&path.metadata().ok()?)?;
    let file = File::open(&path).ok()?;
    let metadata = file.metadata().ok()?;
    is_regular(&metadata)?;
    let version = version(&package)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis());
    // Registries date all files alike, so the version has to tell them apart.
    let tag = format!("\"{version}-{:x}-{modified:x}\"", metadata.len());
    Some(Found { file, length: metadata.len(), version, tag })
}

/// The place a path leads to, if that is below `root`, which is canonical.
fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    root.join(path).canonicalize().ok().filter(|place| place.starts_with(root))
}

fn is_regular(metadata: &Metadata) -> Option<()> {
    metadata.is_file().then_some(())
}

/// The version of an unpacked package. Read each time, because directories are updated in place.
fn version(package: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Manifest {
        version: String,
    }
    let manifest = package.join("package.json");
    is_regular(&manifest.metadata().ok()?)?;
    let mut text = Vec::new();
    File::open(manifest).ok()?.take(MANIFEST_MAX).read_to_end(&mut text).ok()?;
    let Manifest { version } = serde_json::from_slice(&text).ok()?;
    rules::is_plain(&version).then_some(version)
}
