//! Where browsers and programs look for authorities: the store of the system, and those of browsers that have their
//! own (NSS). What is done to a store is a list of commands, so that it can be shown instead of being done.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::authority::AuthorityCertificate;

/// Programs that bring the system's store up to date, and the directories they read.
const SYSTEMS: [(&str, &str, &[&str]); 2] = [
    ("update-ca-certificates", "/usr/local/share/ca-certificates", &["--fresh"]),
    ("update-ca-trust", "/etc/pki/ca-trust/source/anchors", &[]),
];
/// Directories of Firefox profiles, below a home.
const FIREFOX: [&str; 2] = [".mozilla/firefox", "snap/firefox/common/.mozilla/firefox"];
/// Where Chromium and Chrome keep authorities, below a home; the first is made when it is missing, because a browser
/// that was never started has none yet.
const CHROMIUM: [&str; 2] = [".pki/nssdb", "snap/chromium/current/.pki/nssdb"];
const CERTUTIL: &str = "certutil";

/// One place in which authorities are looked for.
#[derive(Debug, PartialEq)]
pub(crate) enum Store {
    /// The system's, by the program that brings it up to date, its directory and its flags.
    System { program: PathBuf, directory: PathBuf, flags: &'static [&'static str] },
    /// A browser's.
    Nss { certutil: PathBuf, directory: PathBuf },
    /// One that cannot be changed from here, and what to do instead to add an authority and to take it out.
    Unknown { label: &'static str, addition: &'static str, removal: &'static str },
}

/// What came of a change.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Done,
    /// It needs the administrator.
    NeedsRoot,
    /// What a command said when it failed.
    Failed(String),
    /// It cannot be changed from here.
    Impossible,
}

/// All stores of this machine and of the person who runs this.
pub(crate) fn all(path: &str, home: Option<&Path>) -> Vec<Store> {
    let mut stores = vec![system(path)];
    let directories = home.map(browsers).unwrap_or_default();
    match find_program(CERTUTIL, path) {
        Some(certutil) => stores.extend(
            directories.into_iter().map(|directory| Store::Nss { certutil: certutil.clone(), directory }),
        ),
        None if !directories.is_empty() => stores.push(Store::Unknown {
            label: "browsers",
            addition: "certutil is missing: install it with `sudo apt install libnss3-tools` (Debian, Ubuntu) or \
                       `sudo dnf install nss-tools` (Fedora), then run this again",
            removal: "certutil is missing: install it with `sudo apt install libnss3-tools` (Debian, Ubuntu) or \
                      `sudo dnf install nss-tools` (Fedora), then run this again; if no browser was ever told of the \
                      authority, run it with --skip-browsers",
        }),
        None => (),
    }
    stores
}

fn system(path: &str) -> Store {
    let known = SYSTEMS.iter().find_map(|(program, directory, flags)| {
        let program = find_program(program, path)?;
        Path::new(directory).is_dir().then(|| Store::System { program, directory: directory.into(), flags })
    });
    known.unwrap_or(Store::Unknown {
        label: "system",
        addition: "its store is not one that is known here: add the certificate to the authorities it trusts",
        removal: "its store is not one that is known here: take the certificate out of the authorities it trusts if \
                  you added it, then run this again with --skip-system",
    })
}

fn browsers(home: &Path) -> Vec<PathBuf> {
    let profiles = FIREFOX.iter().filter_map(|place| fs::read_dir(home.join(place)).ok()).flatten();
    let profiles = profiles.filter_map(|entry| Some(entry.ok()?.path()));
    let profiles = profiles.filter(|profile| profile.join("cert9.db").exists());
    let chromium = CHROMIUM.iter().enumerate().map(|(number, place)| (number, home.join(place)));
    let chromium = chromium.filter(|(number, place)| *number == 0 || place.exists()).map(|(_, place)| place);
    let mut all: Vec<PathBuf> = chromium.chain(profiles).collect();
    all.sort();
    all
}

impl Store {
    pub(crate) fn is_system(&self) -> bool {
        match self {
            Store::System { .. } => true,
            Store::Nss { .. } => false,
            Store::Unknown { label, .. } => *label == "system",
        }
    }

    /// Which one, for people.
    pub(crate) fn label(&self) -> String {
        match self {
            Store::System { directory, .. } => format!("system ({})", directory.display()),
            Store::Nss { directory, .. } => format!("browser ({})", directory.display()),
            Store::Unknown { label, .. } => (*label).to_owned(),
        }
    }

    /// The commands that let it trust an authority.
    pub(crate) fn additions(&self, authority: &AuthorityCertificate) -> Vec<Vec<String>> {
        let file = authority.path.display().to_string();
        match self {
            Store::System { directory, .. } => {
                let place = installed(directory, authority);
                vec![words(&["install", "-m", "0644", &file, &place]), self.update()]
            }
            Store::Nss { certutil, directory } => {
                let (certutil, database) = (certutil.display().to_string(), database(directory));
                let mut commands = Vec::new();
                if !directory.join("cert9.db").exists() {
                    commands.push(words(&["mkdir", "-p", "-m", "0700", &directory.display().to_string()]));
                    commands.push(words(&[&certutil, "-N", "-d", &database, "--empty-password"]));
                }
                let add =
                    [&*certutil, "-A", "-d", &database, "-t", "C,,", "-n", &authority.name, "-i", &file];
                commands.push(words(&add));
                commands
            }
            Store::Unknown { .. } => Vec::new(),
        }
    }

    /// The commands that take an authority out again; none where it is not. Where a browser's store cannot be read, it
    /// may be in it.
    pub(crate) fn removals(&self, authority: &AuthorityCertificate) -> Vec<Vec<String>> {
        match self {
            Store::System { directory, .. } => {
                let place = installed(directory, authority);
                match Path::new(&place).exists() {
                    true => vec![words(&["rm", "-f", &place]), self.update()],
                    false => Vec::new(),
                }
            }
            Store::Nss { certutil, directory } => {
                let (program, database) = (certutil.display().to_string(), database(directory));
                let list = [&*program, "-L", "-d", &database];
                let may_be_in_it = || {
                    let own = [&list[..], &["-n", &authority.name]].concat();
                    run(&words(&own)).is_ok() || run(&words(&list)).is_err()
                };
                match directory.join("cert9.db").exists() && may_be_in_it() {
                    true => vec![words(&[&program, "-D", "-d", &database, "-n", &authority.name])],
                    false => Vec::new(),
                }
            }
            Store::Unknown { .. } => Vec::new(),
        }
    }

    /// Does it, as far as whoever runs this may.
    pub(crate) fn perform(&self, commands: &[Vec<String>]) -> Outcome {
        match self {
            Store::Unknown { .. } => Outcome::Impossible,
            Store::System { .. } if !commands.is_empty() && !is_root() => Outcome::NeedsRoot,
            _ => match commands.iter().try_for_each(|command| run(command)) {
                Ok(()) => Outcome::Done,
                Err(said) => Outcome::Failed(said),
            },
        }
    }

    fn update(&self) -> Vec<String> {
        match self {
            Store::System { program, flags, .. } => {
                let mut command = vec![program.display().to_string()];
                command.extend(flags.iter().map(|flag| (*flag).to_owned()));
                command
            }
            _ => Vec::new(),
        }
    }
}

/// A command as it is typed, with `sudo` where the administrator is needed.
pub(crate) fn typed(command: &[String], with_sudo: bool) -> String {
    let quoted =
        |word: &String| match word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,@".contains(c)) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        };
    let line = command.iter().map(quoted).collect::<Vec<_>>().join(" ");
    if with_sudo { format!("sudo {line}") } else { line }
}

fn installed(directory: &Path, authority: &AuthorityCertificate) -> String {
    let name = authority.name.to_lowercase().replace(' ', "-");
    directory.join(format!("{name}.crt")).display().to_string()
}

fn database(directory: &Path) -> String {
    format!("sql:{}", directory.display())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn run(command: &[String]) -> Result<(), String> {
    let [program, arguments @ ..] = command else { return Ok(()) };
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("`{}` failed: {}", typed(command, false), said.trim()))
        }
        Err(error) => Err(format!("`{program}` cannot be run: {error}")),
    }
}

/// Where a program lies. Those of administrators are looked for too, although the path of others leaves them out.
fn find_program(name: &str, path: &str) -> Option<PathBuf> {
    let directories = path.split(':').chain(["/usr/sbin", "/sbin"]).filter(|directory| !directory.is_empty());
    directories.map(|directory| Path::new(directory).join(name)).find(|place| place.is_file())
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
