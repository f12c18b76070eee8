//! The program as an operator uses it: really started, on a directory and a port of its own.
#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests, and so are their helpers")]

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use support::{Home, mode, rest, status, text};

#[test]
fn the_first_start_prints_what_an_app_needs_and_the_second_shows_the_same() {
    let home = Home::new();
    let first = home.serve();
    let (key, instance) = (first.announced("secret key").to_owned(), first.announced("instance").to_owned());
    assert!(key.starts_with("sk_test_") && instance.starts_with("ins_"), "{key} {instance}");
    assert!(first.announced("publishable key").starts_with("pk_test_"));
    assert_eq!(first.announced("api reference"), format!("http://{}/reference", first.address));
    assert_eq!(first.announced("data"), "./data/latchkey.db");
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
fn secrets_in_the_data_directory_are_for_their_owner_only() {
    let home = Home::new();
    home.serve().stop();
    assert_eq!(mode(&home.path("data")), 0o700);
    assert_eq!(mode(&home.path("data/master.key")), 0o600);
    assert_eq!(mode(&home.path("data/development.key")), 0o600);
}

#[test]
fn a_kept_key_that_is_gone_is_not_made_up() {
    let home = Home::new();
    home.serve().stop();
    std::fs::remove_file(home.path("data/development.key")).unwrap();
    let server = home.serve();
    let shown = server.announced("secret key");
    assert_eq!(shown, "(shown when it was made; run \"latchkey keys\" for a further one)");
}

#[test]
fn keys_makes_a_further_key_while_the_server_runs() {
    let home = Home::new();
    let server = home.serve();
    let (keys, remarks) = home.json(&["keys", "--json"]);
    assert_eq!(remarks.trim(), "a further secret key was made; earlier ones keep working");
    let names: Vec<&String> = keys.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["api_url", "environment", "frontend_api", "instance_id", "publishable_key", "secret_key"]
    );
    assert_eq!(
        format!("{} (development)", keys["instance_id"].as_str().unwrap()),
        server.announced("instance")
    );
    assert_eq!(keys["publishable_key"], server.announced("publishable key"));
    assert_eq!(
        (keys["environment"].as_str(), keys["frontend_api"].as_str()),
        (Some("development"), Some("127.0.0.1:3401"))
    );
    let further = keys["secret_key"].as_str().unwrap();
    assert_ne!(further, server.announced("secret key"));
    assert_eq!(server.status("/v1/jwks", further), 200);
    assert_eq!(server.status("/v1/jwks", server.announced("secret key")), 200);
}

#[test]
fn keys_works_before_the_first_start() {
    let home = Home::new();
    let (keys, remarks) = home.json(&["keys", "--json"]);
    assert_eq!(remarks.trim(), "a development instance and its first secret key were made");
    let server = home.serve();
    assert_eq!(keys["secret_key"], server.announced("secret key"));
    assert_eq!(server.status("/v1/jwks", keys["secret_key"].as_str().unwrap()), 200);
}

#[test]
fn instances_are_created_listed_and_deleted_while_the_server_runs() {
    let home = Home::new();
    let server = home.serve();
    let (made, remarks) = home.json(&["instances", "create", "--environment", "production", "--json"]);
    let (id, key) = (made["instance_id"].as_str().unwrap(), made["secret_key"].as_str().unwrap());
    assert!(key.starts_with("sk_live_") && remarks.contains("not shown again"), "{key} {remarks}");
    assert!(made["publishable_key"].as_str().unwrap().starts_with("pk_live_"));
    assert_eq!(server.status("/v1/jwks", key), 200);

    let (further, _) = home.json(&["keys", "--json", "--instance", id]);
    assert!(further["secret_key"].as_str().unwrap().starts_with("sk_live_"));
    let (list, _) = home.json(&["instances", "list", "--json"]);
    assert_eq!(list.as_array().unwrap().len(), 2);
    let table = text(&home.run(&["instances", "list"]).stdout);
    assert_eq!(
        table
            .lines()
            .filter(|line| line.contains(id) && line.contains("production") && line.ends_with('Z'))
            .count(),
        1
    );

    let refused = home.run(&["instances", "delete", id]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--yes"));
    assert_eq!(server.status("/v1/jwks", key), 200);
    assert!(home.run(&["instances", "delete", id, "--yes"]).status.success());
    assert_eq!(server.status("/v1/jwks", key), 401);
    assert_eq!(home.run(&["instances", "delete", id, "--yes"]).status.code(), Some(2));
}

#[test]
fn a_deleted_development_instance_stays_deleted() {
    let home = Home::new();
    home.json(&["instances", "create", "--environment", "production", "--json"]);
    let (made, _) = home.json(&["instances", "create", "--environment", "development", "--json"]);
    let server = home.serve();
    assert_eq!(server.announced("secret key"), made["secret_key"]);
    server.stop();
    assert!(
        home.run(&["instances", "delete", made["instance_id"].as_str().unwrap(), "--yes"]).status.success()
    );
    assert!(!home.path("data/development.key").exists());
    let server = home.serve();
    assert_eq!((server.announced("secret key"), server.announced("instance")), ("", ""));
    assert_eq!(home.run(&["keys"]).status.code(), Some(2));
}

#[test]
fn all_problems_of_the_configuration_are_reported_at_once() {
    let home = Home::new();
    std::fs::write(home.path("latchkey.toml"), "lisen = '127.0.0.1:1'\n").unwrap();
    let output = home
        .command(&["serve", "--log-level", "loud"])
        .env("LATCHKEY_MASTER_KEY", "hunter2")
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for expected in [
        "There are 3 problems",
        "Did you mean `listen`?",
        "log_level, from the flag --log-level",
        "master_key, from the environment variable LATCHKEY_MASTER_KEY",
    ] {
        assert!(said.contains(expected), "{expected} is missing in\n{said}");
    }
    assert!(!said.contains("hunter2") && !home.path("data").exists());
    let missing = home.run(&["serve", "--config", "none.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("none.toml"));
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
    while TcpStream::connect(server.address).is_ok() {
        std::thread::yield_now();
    }
    stream.write_all(body.as_bytes()).unwrap();
    let answer = rest(&mut stream);
    assert_eq!(status(&answer), 200, "{answer}");
    let log = std::fs::read_to_string(home.path("server.log")).unwrap();
    assert_eq!(server.wait().code(), Some(0), "{log}");

    let again = home.serve();
    let id = answer.split("\"id\":\"user_").nth(1).and_then(|rest| rest.get(..27)).unwrap();
    assert_eq!(again.status(&format!("/v1/users/user_{id}"), &key), 200);
}

#[test]
fn an_idle_connection_does_not_hold_up_the_end() {
    let home = Home::new();
    let server = home.serve();
    let _idle = server.connect();
    server.stop();
}

#[test]
fn a_taken_address_is_named_and_leaves_no_trace() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = home.run(&["serve", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(&address) && text(&output.stderr).contains("--listen"));
    assert!(!home.path("data").exists());
}

#[test]
fn another_master_key_is_refused_and_a_lost_one_is_not_replaced() {
    let home = Home::new();
    home.serve().stop();
    let other = format!("{}=", "A".repeat(43));
    let output = home.command(&["serve"]).env("LATCHKEY_MASTER_KEY", &other).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("another master key") && !text(&output.stderr).contains("AAAA"));
    std::fs::remove_file(home.path("data/master.key")).unwrap();
    let output = home.run(&["serve"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no master.key"));
    assert!(!home.path("data/master.key").exists());
}

#[test]
fn rate_limits_that_are_off_are_announced() {
    let home = Home::new();
    std::fs::write(home.path("latchkey.toml"), "rate_limits = 'off'\n").unwrap();
    assert!(home.serve().announced("rate limits").starts_with("off"));
}

#[test]
fn migrate_says_what_it_applied() {
    let home = Home::new();
    assert!(text(&home.run(&["migrate"]).stdout).starts_with("applied 0001_instances\n"));
    assert!(text(&home.run(&["migrate"]).stdout).contains("up to date"));
}

#[test]
fn commands_about_the_program_itself_touch_no_data() {
    let home = Home::new();
    assert_eq!(text(&home.run(&["version"]).stdout).trim(), concat!("latchkey ", env!("CARGO_PKG_VERSION")));
    let (document, _) = home.json(&["openapi", "--api-url", "https://id.example.com"]);
    assert!(document["paths"].as_object().is_some_and(|paths| !paths.is_empty()));
    let reference = home.run(&["config"]).stdout;
    std::fs::write(home.path("latchkey.toml"), reference).unwrap();
    assert!(home.run(&["openapi"]).status.success(), "the reference is itself a configuration");
    assert!(text(&home.run(&["--help"]).stdout).contains("Examples:"));
    assert_eq!(home.run(&["surve"]).status.code(), Some(2));
    assert!(!home.path("data").exists());
}
