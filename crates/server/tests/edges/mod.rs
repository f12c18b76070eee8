//! What the server withstands at its edges: requests with two hosts, a disk that takes nothing more, files that are
//! open to others, and those who hold connections and uploads open; and who may read its metrics.

mod crowds;
mod metrics;

use std::fs::{self, Permissions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::PRODUCTION;
use crate::support::{Home, connect, mode, rest, status, until};

fn answer(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    rest(&mut stream)
}

#[test]
fn a_request_that_names_two_hosts_is_refused_by_both_listeners() {
    let home = Home::new();
    let server = home.serve();
    for address in [server.address, server.frontend] {
        for (target, hosts, expected) in [
            ("/healthz", &["a.example"][..], 200),
            ("/healthz", &["a.example", "b.example"], 400),
            ("/healthz", &["a.example", "a.example"], 400),
            ("http://a.example/healthz", &["A.example"], 200),
            ("http://a.example/healthz", &["b.example"], 400),
            ("http://b.example@a.example/healthz", &["a.example"], 400),
        ] {
            let lines: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
            let answer =
                answer(address, &format!("GET {target} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n"));
            assert_eq!(status(&answer), expected, "{target} {hosts:?}\n{answer}");
            assert_eq!(answer.contains("\"host_invalid\""), expected == 400, "{answer}");
        }
    }
}

#[test]
fn an_unknown_host_is_a_page_for_browsers_and_an_error_for_programs() {
    let home = Home::new();
    let server = home.serve();
    home.json(&PRODUCTION);
    let ask = |method: &str, accept: &str| {
        let head = format!("{method} /sign-in HTTP/1.1\r\nHost: nobody.example.org\r\nAccept: {accept}\r\n");
        answer(server.frontend, &format!("{head}Connection: close\r\n\r\n"))
    };
    let page = ask("GET", "text/html,application/xhtml+xml");
    assert_eq!(status(&page), 400, "{page}");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.contains("content-type: text/html; charset=utf-8"), "{head}");
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    assert!(head.contains("clerk-trace-id: "), "{head}");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert!(body.contains("<h1>No instance answers at this host</h1>"), "{body}");
    assert!(body.contains("<code>latchkey settings set development.unknown_hosts=true</code>"), "{body}");
    for program in [ask("GET", "*/*"), ask("POST", "text/html")] {
        assert!(status(&program) == 400 && program.contains("\"host_invalid\""), "{program}");
    }
    let set = home.run(&["settings", "set", "development.unknown_hosts=true"]);
    assert!(set.status.success(), "{set:?}");
    assert_eq!(status(&ask("GET", "text/html")), 200);
}

#[test]
fn files_that_were_open_to_others_are_not_after_a_start() {
    let home = Home::new();
    home.serve().stop();
    let mut names = vec!["data/master.key", "data/development.key"];
    if home.has_file() {
        names.push("data/latchkey.db");
    }
    for name in &names {
        assert_eq!(mode(&home.path(name)), 0o600, "{name}");
        fs::set_permissions(home.path(name), Permissions::from_mode(0o644)).unwrap();
    }
    let _server = home.serve();
    if home.has_file() {
        names.extend(["data/latchkey.db-wal", "data/latchkey.db-shm"]);
    }
    for name in &names {
        assert_eq!(mode(&home.path(name)), 0o600, "{name}");
    }
}

#[test]
fn readiness_fails_while_the_disk_takes_no_writes_and_comes_back() {
    let home = Home::new();
    if !home.has_file() {
        return;
    }
    let server = home.serve_after("trap '' XFSZ");
    let limit_files = |bytes: &str| {
        let (process, limit) = (server.process().to_string(), format!("--fsize={bytes}"));
        let set = Command::new("prlimit").args(["--pid", &process, &limit]).status();
        assert!(set.unwrap().success());
    };
    assert_eq!(server.status("/readyz", ""), 200);
    limit_files("0:unlimited");
    until(|| server.status("/readyz", "") == 503);
    assert_eq!(server.status("/healthz", ""), 200, "it runs");
    limit_files("unlimited:unlimited");
    until(|| server.status("/readyz", "") == 200);
}

#[test]
fn readiness_fails_when_the_database_is_deleted_and_the_stop_says_what_that_means() {
    let home = Home::new();
    if !home.has_file() {
        return;
    }
    let server = home.serve();
    assert_eq!(server.status("/readyz", ""), 200);
    fs::remove_dir_all(home.path("data")).unwrap();
    until(|| server.status("/readyz", "") == 503);
    server.stop();
    let said = fs::read_to_string(home.path("server.log")).unwrap();
    assert!(said.contains("was deleted or replaced") && said.contains("docs/BACKUP.md"), "{said}");
    assert!(!said.contains("nothing is lost"), "{said}");
}
