//! `latchkey trust`: the local certificate authority, made and taken back.

use std::io;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use latchkey_base::time::{Clock, SystemClock};

use crate::config::{Config, variable};
use crate::failure::Failure;
use crate::trust::{self, Authority, AuthorityCertificate, Outcome, Store, typed};
use crate::{files, show};

/// Makes the authority and lets this machine trust it, or shows how, or takes it back.
pub(crate) fn run(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let (stores, skipped) = stores(line);
    match (line.get_flag("remove"), line.get_flag("print")) {
        (true, true) => {
            print_removal(config, &stores);
            Ok(())
        }
        (true, false) => remove(&config.data_dir, &stores, &skipped, Store::perform),
        (false, true) => {
            print(config, &stores);
            Ok(())
        }
        (false, false) => add(config, &stores),
    }
}

/// The stores to change, and those to leave out.
fn stores(line: &ArgMatches) -> (Vec<Store>, Vec<Store>) {
    let home = variable("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let all = trust::all(&variable("PATH").unwrap_or_default(), home.as_deref());
    let (no_system, no_browsers) = (line.get_flag("skip-system"), line.get_flag("skip-browsers"));
    all.into_iter().partition(|store| if store.is_system() { !no_system } else { !no_browsers })
}

fn add(config: &Config, stores: &[Store]) -> Result<(), Failure> {
    files::make_data_dir(&config.data_dir)?;
    if Authority::find(&config.data_dir)?.is_none() {
        Authority::make(&config.data_dir, SystemClock.now())?;
        show::note(&format!("a local certificate authority was made in {}", config.data_dir.display()));
    }
    let authority = certificate(config)?;
    let change = Change { done: "is trusted", commands: &|store| store.additions(&authority) };
    let undone = change.make(stores, Store::perform, addition);
    let failed = [undone.failed, undone.impossible].concat();
    if !failed.is_empty() {
        return Err(Failure::new(
            format!("The authority was made, but these stores do not trust it yet: {}.", failed.join(", ")),
            "Do what is said above and run this again, or leave stores out with --skip-system or --skip-browsers. Until \
             then, `latchkey env FRAMEWORK --plain` prints what works without it; `latchkey trust --remove` takes it back.",
        ));
    }
    show::result(&format!("\n{}", after(config, &authority, !undone.needs_root.is_empty())));
    Ok(())
}

/// What there is to do next.
fn after(config: &Config, authority: &AuthorityCertificate, needs_root: bool) -> String {
    let sudo = needs_root.then(|| "Type the commands above that begin with sudo.".to_owned());
    let mut lines: Vec<String> = sudo.into_iter().collect();
    lines.extend([
        "Start the server again: the Frontend API then speaks HTTPS too, and the publishable key names a host with it."
            .to_owned(),
        "`latchkey env FRAMEWORK` prints the short block for an app; `latchkey trust --remove` takes this back."
            .to_owned(),
        "Programs with a list of authorities of their own, such as Node, need this as well:".to_owned(),
        format!("  export NODE_EXTRA_CA_CERTS={}", typed(&[authority.path.display().to_string()], false)),
        format!(
            "Browsers that block third-party cookies (Firefox, Safari, Debian's Chromium) show nobody signed in: allow \
             these cookies for {}, or use `latchkey env FRAMEWORK --plain`.",
            trust::NAME
        ),
    ]);
    if config.frontend_tls.is_some() {
        lines.push("`frontend_tls_certificate` is set: its certificates are used, and not those of the local authority.".to_owned());
    }
    lines.join("\n")
}

fn print(config: &Config, stores: &[Store]) {
    let authority = trust::find_certificate(&config.data_dir);
    let is_made = authority.is_some();
    let authority = authority.unwrap_or_else(|| AuthorityCertificate {
        path: absolute(config),
        name: "Latchkey local CA XXXXXXXX".to_owned(),
    });
    if !is_made {
        let dir = config.data_dir.display();
        show::result(&format!(
            "# makes {dir}/local-ca.pem and {dir}/local-ca.key; XXXXXXXX stands for its number"
        ));
    }
    commands(stores, |store| store.additions(&authority), addition);
}

fn print_removal(config: &Config, stores: &[Store]) {
    match trust::find_certificate(&config.data_dir) {
        None => note_none(&config.data_dir),
        Some(authority) => {
            let dir = config.data_dir.display();
            show::result(&format!("# deletes {dir}/local-ca.key"));
            commands(stores, |store| store.removals(&authority), removal);
            show::result(&format!("# deletes {dir}/local-ca.pem"));
        }
    }
}

/// The key goes at once. The certificate, which names what to take out, goes when no store has it any more.
fn remove(
    dir: &Path,
    stores: &[Store],
    skipped: &[Store],
    perform: impl Fn(&Store, &[Vec<String>]) -> Outcome,
) -> Result<(), Failure> {
    trust::remove_key(dir).map_err(|error| undeleted(dir, "local-ca.key", &error))?;
    let Some(authority) = trust::find_certificate(dir) else {
        note_none(dir);
        return Ok(());
    };
    let change = Change { done: "no longer trusts it", commands: &|store| store.removals(&authority) };
    let undone = change.make(stores, perform, removal);
    let left: Vec<String> = skipped
        .iter()
        .filter(|store| !store.removals(&authority).is_empty())
        .map(|store| format!("{} (left out)", store.label()))
        .collect();
    let needs_root = !undone.needs_root.is_empty();
    let undone = [undone.failed, undone.needs_root, undone.impossible, left].concat();
    if !undone.is_empty() {
        let first = if needs_root { "Type the commands above that begin with sudo. " } else { "" };
        return Err(Failure::new(
            format!(
                "The key of the authority was deleted, but these stores may still trust it: {}.",
                undone.join(", ")
            ),
            format!(
                "{first}Put right what is said above, then run `latchkey trust --remove` again; {} is kept until then.",
                authority.path.display()
            ),
        ));
    }
    trust::remove_certificate(dir).map_err(|error| undeleted(dir, "local-ca.pem", &error))?;
    show::result(
        "\nThe local certificate authority was taken back. Start the server again: the Frontend API then speaks plain \
         HTTP only, and the publishable key is the earlier one (`latchkey env FRAMEWORK`).",
    );
    Ok(())
}

fn note_none(dir: &Path) {
    show::note(&format!("there is no local certificate authority in {}", dir.display()));
}

fn undeleted(dir: &Path, name: &str, error: &io::Error) -> Failure {
    let path = dir.join(name).display().to_string();
    Failure::new(
        format!("{path} cannot be deleted: {error}."),
        format!(
            "Delete it yourself, then run `latchkey trust --remove` again: {}",
            typed(&["rm".to_owned(), path], false)
        ),
    )
}

fn certificate(config: &Config) -> Result<AuthorityCertificate, Failure> {
    let found = trust::find_certificate(&config.data_dir);
    let found = found.map(|authority| AuthorityCertificate { path: absolute(config), ..authority });
    found.ok_or_else(|| Failure::new("The local certificate authority cannot be read.", "Run this again."))
}

/// The path of the certificate for other programs, which run in other directories.
fn absolute(config: &Config) -> PathBuf {
    let path = trust::path(&config.data_dir);
    std::path::absolute(&path).unwrap_or(path)
}

/// What is done to stores.
struct Change<'a> {
    /// How a store is when it is done.
    done: &'a str,
    commands: &'a dyn Fn(&Store) -> Vec<Vec<String>>,
}

/// The stores that were not changed.
#[derive(Default)]
struct Undone {
    failed: Vec<String>,
    needs_root: Vec<String>,
    impossible: Vec<String>,
}

impl Change<'_> {
    /// Changes every store and says what came of it.
    fn make(
        &self,
        stores: &[Store],
        perform: impl Fn(&Store, &[Vec<String>]) -> Outcome,
        advice: fn(&Store) -> &str,
    ) -> Undone {
        let mut undone = Undone::default();
        for store in stores {
            let (label, commands) = (store.label(), (self.commands)(store));
            match perform(store, &commands) {
                Outcome::Done if commands.is_empty() => show::result(&format!("{label}: does not trust it")),
                Outcome::Done => show::result(&format!("{label}: {}", self.done)),
                Outcome::NeedsRoot => {
                    show::result(&format!("{label}: needs the administrator; type"));
                    commands.iter().for_each(|command| show::result(&format!("  {}", typed(command, true))));
                    undone.needs_root.push(label);
                }
                Outcome::Failed(said) => {
                    show::result(&format!("{label}: {said}"));
                    undone.failed.push(label);
                }
                Outcome::Impossible => {
                    show::result(&format!("{label}: {}", advice(store)));
                    undone.impossible.push(label);
                }
            }
        }
        undone
    }
}

/// What to do by hand to let a store trust the authority, where that is not done from here.
fn addition(store: &Store) -> &str {
    if let Store::Unknown { addition, .. } = store { addition } else { "" }
}

/// What to do by hand to take it out.
fn removal(store: &Store) -> &str {
    if let Store::Unknown { removal, .. } = store { removal } else { "" }
}

fn commands(stores: &[Store], commands: impl Fn(&Store) -> Vec<Vec<String>>, advice: fn(&Store) -> &str) {
    for store in stores {
        match store {
            Store::Unknown { label, .. } => show::result(&format!("# {label}: {}", advice(store))),
            store => {
                show::result(&format!("# {}", store.label()));
                let list = commands(store);
                list.iter().for_each(|command| show::result(&typed(command, store.is_system())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_certificate_stays_until_the_administrator_took_it_out_of_the_system() {
        let (data, system) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Authority::make(data.path(), SystemClock.now()).unwrap();
        let store = Store::System { program: "true".into(), directory: system.path().into(), flags: &[] };
        let authority = trust::find_certificate(data.path()).unwrap();
        let installed = store.additions(&authority)[0].last().unwrap().clone();
        fs::copy(&authority.path, &installed).unwrap();
        let (key, certificate) = (data.path().join("local-ca.key"), data.path().join("local-ca.pem"));

        let stores = [store];
        let failure = remove(data.path(), &stores, &[], |_, _| Outcome::NeedsRoot).unwrap_err();
        assert!(failure.code == 1 && failure.message.contains("sudo"), "{failure:?}");
        assert!(!key.exists() && certificate.exists());
        assert!(
            remove(data.path(), &[], &stores, Store::perform).is_err(),
            "a store that is left out has it"
        );
        assert!(certificate.exists());
        fs::remove_file(installed).unwrap();
        remove(data.path(), &stores, &[], Store::perform).unwrap();
        assert!(!certificate.exists());
    }

    #[test]
    fn a_store_that_is_not_known_is_no_reason_to_add_what_is_to_be_removed() {
        let stores = trust::all("", Some(Path::new("/nowhere")));
        let unknown: Vec<_> = stores.iter().filter(|store| matches!(store, Store::Unknown { .. })).collect();
        assert!(!unknown.is_empty(), "{stores:?}");
        for store in unknown {
            assert!(removal(store).contains("--skip-") && !removal(store).contains("add the certificate"));
        }
    }
}
