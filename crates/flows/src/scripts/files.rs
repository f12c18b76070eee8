//! The directory with the unpacked packages, as `npm install` leaves them in `node_modules`.

use std::cmp::Reverse;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Deserialize;

use super::rules::{self, Package, PackageFile, Wanted};

/// A `package.json` is a few kilobytes; this only bounds what a mistaken directory may cost.
const MANIFEST_MAX: u64 = 1024 * 1024;

/// Where the scripts come from.
#[derive(Clone, Debug)]
pub enum ScriptSource {
    /// A directory that contains the packages: `@clerk/clerk-js`, as `npm install` leaves it, and a folder for each
    /// further major version, `@clerk/clerk-js@5`.
    Directory(PathBuf),
    /// A public CDN, by redirect.
    Cdn,
}

impl ScriptSource {
    /// A directory with the packages, or the folder in which `npm install` was run to get them.
    pub fn at(directory: PathBuf) -> ScriptSource {
        let inside = directory.join("node_modules");
        match inside.join("@clerk").is_dir() {
            true => ScriptSource::Directory(inside),
            false => ScriptSource::Directory(directory),
        }
    }

    /// What the hosted pages need and the directory does not have, for the start of the server to complain about.
    pub fn missing(&self) -> Vec<String> {
        let ScriptSource::Directory(directory) = self else { return Vec::new() };
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.clone());
        let is_missing = |package: &Package| {
            unpacked(&directory, *package).iter().all(|copy| copy.major != package.major_of_pages())
        };
        let named = |package: Package| format!("{}@{}", package.name(), package.major_of_pages());
        Package::ALL.into_iter().filter(is_missing).map(named).collect()
    }
}

/// One unpacked copy of a package.
struct Copy {
    major: u64,
    version: String,
    place: PathBuf,
}

/// Why there is no file to serve.
#[derive(Debug, PartialEq)]
pub enum NoFile {
    /// The package is there in the version that was asked for, and has no such file.
    Unknown,
    /// The package is there in other versions only, or not at all.
    OtherVersions(Vec<String>),
}

/// A file that is there.
pub struct OpenFile {
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
/// A request that names a major version is answered by a copy of that major version and by no other: scripts of one do
/// not work with pages written for another. One that names none (`latest`) gets the newest copy.
///
/// The names in `requested` are harmless, but the directory may contain links: what they lead to must lie
/// in the package, and the package in the directory (where package managers link it to another folder).
pub fn open(directory: &Path, requested: &PackageFile) -> Result<OpenFile, NoFile> {
    let directory = directory.canonicalize().map_err(|_| NoFile::OtherVersions(Vec::new()))?;
    let copies = unpacked(&directory, requested.package);
    let is_asked_for = |copy: &&Copy| match requested.wanted() {
        Wanted::Major(major) => copy.major == major,
        Wanted::Newest => true,
        Wanted::Unclear => false,
    };
    let Some(copy) = copies.iter().find(is_asked_for) else {
        return Err(NoFile::OtherVersions(copies.into_iter().map(|copy| copy.version).collect()));
    };
    open_in(copy, &requested.path).ok_or(NoFile::Unknown)
}

fn open_in(copy: &Copy, path: &str) -> Option<OpenFile> {
    let path = inside(&copy.place, path)?;
    // Opening a pipe would wait for somebody to write to it.
    is_regular(&path.metadata().ok()?)?;
    let file = File::open(&path).ok()?;
    let metadata = file.metadata().ok()?;
    is_regular(&metadata)?;
    let version = copy.version.clone();
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis());
    // Registries date all files alike, so the version has to tell them apart.
    let tag = format!("\"{version}-{:x}-{modified:x}\"", metadata.len());
    Some(OpenFile { file, length: metadata.len(), version, tag })
}

/// The copies of a package below a directory, which is canonical: the newest major version first, and of two copies of
/// one the folder without a version. A folder that is named after another version than it has is none of them.
fn unpacked(directory: &Path, package: Package) -> Vec<Copy> {
    let (scope, name) = package.name().split_once('/').unwrap_or(("", package.name()));
    let entries = std::fs::read_dir(directory.join(scope)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut copies: Vec<(bool, Copy)> = names
        .filter_map(|folder| {
            let named = match folder.strip_prefix(name)? {
                "" => None,
                rest => Some(rest.strip_prefix('@')?.parse::<u64>().ok()?),
            };
            let place = inside(directory, &format!("{scope}/{folder}"))?;
            let version = version(&place)?;
            let major = rules::major(&version)?;
            let is_right = named.is_none_or(|named| named == major);
            is_right.then_some((named.is_some(), Copy { major, version, place }))
        })
        .collect();
    copies.sort_by_key(|(is_named, copy)| (Reverse(copy.major), *is_named));
    copies.into_iter().map(|(_, copy)| copy).collect()
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
