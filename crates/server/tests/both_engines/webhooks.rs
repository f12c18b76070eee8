//! `latchkey webhooks`: endpoints are managed while the server runs, and while it does not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::support::{Home, text};

/// A receiver that takes one request, answers it, and tells what it was sent.
fn receiver(answer: &'static str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let work = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        while !String::from_utf8_lossy(&bytes).ends_with('}') {
            let length = stream.read(&mut part).unwrap();
            bytes.extend_from_slice(&part[..length]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(bytes).unwrap()
    });
    (url, work)
}

fn webhooks(home: &Home, arguments: &[&str]) -> Value {
    home.json(&[&["webhooks"], arguments, &["--json"]].concat()).0
}

fn refused(home: &Home, arguments: &[&str], words: &str) {
    let output = home.run(&[&["webhooks"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    let message = text(&output.stderr);
    assert!(message.contains(words), "{arguments:?}: {message}");
    assert!(message.trim_end().lines().count() >= 2, "it says what to do next: {message}");
}

#[test]
fn endpoints_are_created_changed_and_deleted_while_the_server_runs() {
    let home = Home::new();
    let server = home.serve();
    assert_eq!(webhooks(&home, &["list"]), json!([]));
    let create = [
        "create",
        "https://example.com/hook",
        "--description",
        "ours",
        "--event-types",
        "user.created,user.deleted",
    ];
    let made = webhooks(&home, &create);
    let id = made["id"].as_str().unwrap();
    assert_eq!(made["event_types"], json!(["user.created", "user.deleted"]));
    let answer = server.get(&format!("/v1/webhooks/endpoints/{id}"), server.announced("secret key"));
    assert!(answer.contains("https://example.com/hook"), "the server knows it at once: {answer}");
    let table = text(&home.run(&["webhooks", "list"]).stdout);
    assert!(table.starts_with("ID ") && table.contains(id) && table.contains("enabled"), "{table}");

    assert_eq!(webhooks(&home, &["update", id, "--all-events"])["event_types"], json!([]));
    assert_eq!(
        webhooks(&home, &["update", id, "--url", "http://localhost:1/"])["url"],
        "http://localhost:1/"
    );
    assert_eq!(webhooks(&home, &["disable", id])["disabled"], true);
    assert_eq!(webhooks(&home, &["enable", id, "--skip-missed"])["disabled"], false);
    let shown = text(&home.run(&["webhooks", "show", id]).stdout);
    assert!(shown.contains("events") && shown.contains("all"), "{shown}");
    refused(&home, &["delete", id], "--yes");
    assert!(home.run(&["webhooks", "delete", id, "--yes"]).status.success());
    assert_eq!(webhooks(&home, &["list"]), json!([]));
}

#[test]
fn secrets_are_shown_and_rotated() {
    let home = Home::new();
    home.serve().stop();
    let own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    std::fs::write(home.path("secret"), format!("{own}\n")).unwrap();
    let made = webhooks(&home, &["create", "http://localhost:1/", "--secret-file", "secret"]);
    let id = made["id"].as_str().unwrap();
    assert_eq!(webhooks(&home, &["secret", id])["secret"], own);
    let rotated = webhooks(&home, &["rotate", id, "--overlap", "1h"]);
    assert_eq!(rotated["secrets"].as_array().unwrap().len(), 2);
    assert_eq!(rotated["secrets"][1]["secret"], own);
    let table = text(&home.run(&["webhooks", "secret", id]).stdout);
    assert!(table.starts_with("SECRET") && table.lines().count() == 3, "{table}");
    refused(&home, &["rotate", id, "--overlap", "soon"], "is not a time");
    refused(&home, &["rotate", id, "--overlap", "8d"], "7d");
    let plain = home.run(&["webhooks", "create", "http://localhost:2/"]);
    assert!(text(&plain.stdout).contains("  secret         whsec_"), "{}", text(&plain.stdout));
    let made = webhooks(&home, &["create", "http://localhost:3/"]);
    let id = made["id"].as_str().unwrap();
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"), "{made}");
    assert_eq!(webhooks(&home, &["secret", id])["secret"], made["secret"]);
    assert_eq!(webhooks(&home, &["show", id]).get("secret"), None);
}

#[test]
fn a_test_event_is_sent_and_its_answer_shown() {
    let home = Home::new();
    home.serve().stop();
    let (url, received) = receiver("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nthanks");
    let made = webhooks(&home, &["create", &url]);
    let id = made["id"].as_str().unwrap();
    let sent = home.run(&["webhooks", "test", id, "--event", "session.created"]);
    assert!(sent.status.success() && text(&sent.stdout).contains("thanks"), "{}", text(&sent.stderr));
    let request = received.join().unwrap();
    assert!(request.contains("svix-signature: v1,") && request.contains("session.created"), "{request}");
    // Nobody listens any more.
    let failed = home.run(&["webhooks", "test", id]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("did not take the event"), "{}", text(&failed.stderr));
    refused(&home, &["test", id, "--event", "user.lost"], "user.lost");
}

#[test]
fn deliveries_are_listed_and_sent_again() {
    let home = Home::new();
    home.serve().stop();
    let made = webhooks(&home, &["create", "http://localhost:1/", "--disabled"]);
    let id = made["id"].as_str().unwrap();
    assert_eq!(webhooks(&home, &["deliveries", id, "--status", "failed"]), json!([]));
    let none = home.run(&["webhooks", "deliveries", id]);
    assert!(none.status.success() && text(&none.stderr).contains("webhooks test"));
    assert_eq!(webhooks(&home, &["replay", id, "--since", "2h"])["events"], 0);
    assert_eq!(webhooks(&home, &["replay", id, "--failed"])["events"], 0);
    let nothing = format!("msg_{}", "0".repeat(27));
    refused(&home, &["deliveries", id, &nothing], "No delivery");
    refused(&home, &["replay", id, &nothing], "No delivery");
    refused(&home, &["replay", id, "--since", "yesterday"], "no time");
    refused(&home, &["replay", id, "evt_1"], "not the id of an event");
    refused(&home, &["deliveries", id, "--event-type", "user.lost"], "user.lost");
    assert_eq!(home.run(&["webhooks", "replay", id]).status.code(), Some(2), "one must say what");
}

#[test]
fn the_types_of_events_are_listed_without_a_database() {
    let home = Home::new();
    let types = webhooks(&home, &["events"]);
    let names: Vec<&str> = types.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"user.created") && names.contains(&"session.ended"), "{names:?}");
    let table = text(&home.run(&["webhooks", "events"]).stdout);
    assert!(table.starts_with("TYPE ") && table.lines().count() == names.len() + 1, "{table}");
    let is_marked =
        |name: &str| table.lines().any(|line| line.starts_with(name) && line.ends_with("(not yet)"));
    assert!(is_marked("subscription.created ") && !is_marked("user.created "), "{table}");
    assert!(!home.path("data").exists());
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let home = Home::new();
    home.serve().stop();
    refused(&home, &["create", "nowhere"], "whole URL");
    refused(&home, &["create", "https://example.com", "--events", "user.lost"], "user.lost");
    refused(&home, &["show", "x"], "not the id of an endpoint");
    refused(&home, &["show", &format!("ep_{}", "0".repeat(27))], "No webhook endpoint");
    refused(&home, &["create", "https://example.com", "--secret-file", "missing"], "cannot be read");
    assert_eq!(home.run(&["webhooks", "update", "x"]).status.code(), Some(2));
}
