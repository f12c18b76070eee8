//! How the program makes a database, opens it again and closes it, on either engine.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::{Home, rest, status, text};

#[test]
fn the_first_start_prints_what_an_app_needs_and_the_second_shows_the_same() {
    let home = Home::new();
    let first = home.serve();
    let (key, instance) = (first.announced("secret key").to_owned(), first.announced("instance").to_owned());
    assert!(key.starts_with("sk_test_") && instance.starts_with("ins_"), "{key} {instance}");
    assert!(first.announced("publishable key").starts_with("pk_test_"));
    assert_eq!(first.announced("api reference"), format!("http://{}/reference", first.address));
    assert_eq!(first.announced("data") == "./data/latchkey.db", home.has_file());
    assert!(first.announced("data").ends_with("./data") || home.has_file());
    let frontend = format!("http://localhost:{}", first.frontend.port());
    assert_eq!(first.announced("frontend url"), frontend);
    assert_eq!(first.announced("sign-in page"), format!("{frontend}/sign-in"));
    let inbox = format!("http://{}/dev/inbox#inbox_", first.address);
    assert!(first.announced("inbox").starts_with(&inbox), "{}", first.announced("inbox"));
    assert_eq!(status(&first.get_frontend("/healthz", "localhost")), 200);
    assert_eq!(first.announced("rate limits"), "");
    assert_eq!(first.status("/v1/jwks", &key), 200);
    assert_eq!(first.status("/v1/jwks", "sk_test_guess"), 401);
    assert_eq!(first.status("/readyz", ""), 200);
    assert!(!first.log().contains(&key), "keys do not belong into logs");
    first.stop();

    let second = home.serve();
    assert_eq!(second.announced("secret key"), key);
    assert_eq!(second.announced("instance"), instance);
    assert_eq!(second.status("/v1/jwks", &key), 200);
}

#[test]
fn sigterm_finishes_the_running_request_and_loses_nothing() {
    let home = Home::new();
    let server = home.serve();
    let key = server.announced("secret key").to_owned();
    let body = r#"{"email_address":["last@example.com"],"skip_password_requirement":true}"#;
    let mut stream = server.connect();
    let length = body.len();
    let head = format!(
        "POST /v1/users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server asks for the body when the request is being handled, and not before.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.terminate();
    while [server.address, server.frontend].iter().any(|address| TcpStream::connect(address).is_ok()) {
        std::thread::yield_now();
    }
    stream.write_all(body.as_bytes()).unwrap();
    let answer = rest(&mut stream);
    assert_eq!(status(&answer), 200, "{answer}");
    let log = std::fs::read_to_string(home.path("server.log")).unwrap();
    assert_eq!(server.wait().code(), Some(0), "{log}");
    // Whoever copies the file alone now has all of it.
    let left = std::fs::metadata(home.path("data/latchkey.db-wal")).map_or(0, |file| file.len());
    assert_eq!(left, 0);

    let again = home.serve();
    let id = answer.split("\"id\":\"user_").nth(1).and_then(|rest| rest.get(..27)).unwrap();
    assert_eq!(again.status(&format!("/v1/users/user_{id}"), &key), 200);
}

#[test]
fn migrate_says_what_it_applied() {
    let home = Home::new();
    let first = home.run(&["migrate"]);
    assert!(text(&first.stdout).starts_with("applied 0001_instances\n"));
    // Whoever is in a wrong folder sees it; a database on PostgreSQL was made by somebody else.
    let is_new = home.path("data/latchkey.db").exists();
    assert_eq!(text(&first.stdout).contains("a new one was made"), is_new);
    assert!(text(&home.run(&["migrate"]).stdout).contains("up to date"));
}
