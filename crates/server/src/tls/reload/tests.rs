//! What becomes of files that change.

use std::path::PathBuf;

use tempfile::TempDir;

use super::super::testing::{Issued, issue};
use super::*;

const NOW: Time = Time::from_ms(1_767_225_600_000);

/// A listener with one certificate, whose files can be changed.
struct Listener {
    directory: TempDir,
    pair: Pair,
    watch: Watch,
    shown: Arc<Shown>,
}

impl Listener {
    fn new(issued: &Issued) -> Listener {
        let directory = tempfile::tempdir().unwrap();
        let pair = issued.write(directory.path(), "a");
        let (watch, shown) = Watch::begin("Test API", &TlsFiles::of(vec![pair.clone()]), NOW).unwrap();
        Listener { directory, pair, watch, shown }
    }

    fn shows(&self, issued: &Issued) -> bool {
        self.shown.choose(None).unwrap().key.cert[0] == issued.certificate
    }
}

/// What is wrong with files that are given at the start.
fn problems(pairs: Vec<Pair>) -> Vec<String> {
    let files = TlsFiles::of(pairs);
    Watch::begin("Test API", &files, NOW).err().unwrap().iter().map(Problem::to_string).collect()
}

#[test]
fn a_change_is_used_once_the_files_rest() {
    let (first, second) = (issue(&["a.example"], 2090), issue(&["a.example"], 2091));
    let mut listener = Listener::new(&first);
    std::fs::write(&listener.pair.certificate, &second.pem).unwrap();
    listener.watch.look(NOW);
    assert!(listener.shows(&first));
    std::fs::write(&listener.pair.key, &second.key_pem).unwrap();
    listener.watch.look(NOW);
    assert!(listener.shows(&first), "the second file has just changed");
    listener.watch.look(NOW);
    assert!(listener.shows(&second));
}

#[test]
fn files_behind_links_are_found_again() {
    let (first, second) = (issue(&["a.example"], 2090), issue(&["a.example"], 2091));
    let directory = tempfile::tempdir().unwrap();
    // As Kubernetes does it: the files are links through a link to a directory, which is swapped.
    for (version, issued) in [("1", &first), ("2", &second)] {
        std::fs::create_dir(directory.path().join(version)).unwrap();
        issued.write(&directory.path().join(version), "a");
    }
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(from, directory.path().join(to)).unwrap();
    link("1", "data");
    link("data/a.pem", "a.pem");
    link("data/a.key", "a.key");
    let pair = Pair { certificate: directory.path().join("a.pem"), key: directory.path().join("a.key") };
    let (mut watch, shown) = Watch::begin("Test API", &TlsFiles::of(vec![pair]), NOW).unwrap();
    link("2", "next");
    std::fs::rename(directory.path().join("next"), directory.path().join("data")).unwrap();
    watch.look(NOW);
    watch.look(NOW);
    assert_eq!(shown.choose(None).unwrap().key.cert[0], second.certificate);
}

#[test]
fn broken_files_keep_the_present_certificate_until_they_are_put_right() {
    let (first, second) = (issue(&["a.example"], 2090), issue(&["a.example"], 2091));
    let mut listener = Listener::new(&first);
    let half = &second.pem[..second.pem.len() / 2];
    for broken in [half, "", "no PEM"] {
        std::fs::write(&listener.pair.certificate, broken).unwrap();
        listener.watch.look(NOW);
        listener.watch.look(NOW);
        assert!(listener.shows(&first), "{broken}");
    }
    std::fs::remove_file(&listener.pair.key).unwrap();
    listener.watch.look(NOW);
    listener.watch.look(NOW);
    assert!(listener.shows(&first));
    second.write(listener.directory.path(), "a");
    listener.watch.look(NOW);
    listener.watch.look(NOW);
    assert!(listener.shows(&second));
}

#[test]
fn one_broken_pair_does_not_keep_others_from_changing() {
    let (first, second) = (issue(&["a.example"], 2090), issue(&["b.example"], 2090));
    let third = issue(&["b.example"], 2091);
    let directory = tempfile::tempdir().unwrap();
    let pairs = vec![first.write(directory.path(), "a"), second.write(directory.path(), "b")];
    let (mut watch, shown) = Watch::begin("Test API", &TlsFiles::of(pairs.clone()), NOW).unwrap();
    std::fs::write(&pairs[0].key, "broken").unwrap();
    third.write(directory.path(), "b");
    watch.look(NOW);
    watch.look(NOW);
    assert_eq!(shown.choose(Some("a.example")).unwrap().key.cert[0], first.certificate);
    assert_eq!(shown.choose(Some("b.example")).unwrap().key.cert[0], third.certificate);
}

#[test]
fn all_problems_of_all_pairs_are_told_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let good = issue(&["a.example"], 2090).write(directory.path(), "good");
    let other = issue(&["b.example"], 2090).write(directory.path(), "other");
    std::fs::write(path("empty"), "").unwrap();
    let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    std::fs::write(path("locked"), locked).unwrap();
    let pair =
        |certificate: &PathBuf, key: &PathBuf| Pair { certificate: certificate.clone(), key: key.clone() };
    let found = problems(vec![
        pair(&path("none"), &good.key),
        pair(&good.key, &good.certificate),
        pair(&good.certificate, &other.key),
        pair(&good.certificate, &path("empty")),
        pair(&good.certificate, &path("locked")),
    ]);
    let expected = [
        ("tls_certificate", "none cannot be read", "Name a file that exists."),
        ("tls_certificate", "There is no certificate in", "Name a PEM file"),
        ("tls_key", "other.key does not belong to the first certificate in", "in the same order"),
        ("tls_key", "There is no private key in", "PKCS#8, PKCS#1 or SEC1"),
        ("tls_key", "protected by a passphrase", "openssl pkey"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, (setting, what, right)) in found.iter().zip(expected) {
        assert!(found.starts_with(&format!("{setting}, from the file test.toml")), "{found}");
        assert!(found.contains(what) && found.contains(right), "{found}");
    }
}
