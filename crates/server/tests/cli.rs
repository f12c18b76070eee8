//! The program as an operator uses it: really started, on a directory and a port of its own.
#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests, and so are their helpers")]

mod both_engines {
    mod databases;
    mod webhooks;
}
mod edges;
mod env;
mod instances;
mod keys;
mod reference;
mod refusals;
mod support;
mod tls;
mod trust;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Home, mode, rest, status, text};

const PRODUCTION: [&str; 7] =
    ["instances", "create", "--environment", "production", "--json", "--frontend-api", "clerk.example.com"];

#[test]
fn secrets_in_the_data_directory_are_for_their_owner_only() {
    let home = Home::new();
    home.serve().stop();
    assert_eq!(mode(&home.path("data")), 0o700);
    assert_eq!(mode(&home.path("data/master.key")), 0o600);
    assert_eq!(mode(&home.path("data/development.key")), 0o600);
}

#[test]
fn development_instances_follow_the_listener_and_say_so() {
    let home = Home::new();
    let (first, second) = (free_port(), free_port());
    let host = |port: u16| format!("127.0.0.1:{port}");
    let server = home.serve_with(&["--frontend-listen", &host(first)]);
    let create = ["instances", "create", "--environment", "development", "--json"];
    let (other, _) = home.json(&[&create[..], &["--frontend-listen", &host(first)]].concat());
    let name = other["frontend_api"].as_str().and_then(|api| api.strip_suffix(&format!(":{first}"))).unwrap();
    let (chosen, _) = home.json(&[&create[..], &["--frontend-api", "other.localhost:81"]].concat());
    let before = server.announced("publishable key").to_owned();
    assert!(!server.log().contains("has moved"));
    server.stop();

    let server = home.serve_with(&["--frontend-listen", &host(second)]);
    let after = server.announced("publishable key").to_owned();
    assert_ne!(after, before);
    let said = format!("has moved from {} to {}", host(first), host(second));
    assert!(server.log().contains(&said), "{}", server.log());
    let (keys, _) = home.json(&["keys", "create", "--json"]);
    assert_eq!((&keys["publishable_key"], &keys["frontend_api"]), (&json!(after), &json!(host(second))));
    assert_eq!(status(&server.get_frontend("/v1/environment", &host(second))), 200);
    let said = format!("has moved from {name}:{first} to {name}:{second}");
    assert!(server.log().contains(&said), "{}", server.log());
    let (keys, _) =
        home.json(&["keys", "create", "--json", "--instance", chosen["instance_id"].as_str().unwrap()]);
    assert_eq!(keys["frontend_api"], "other.localhost:81");
    server.stop();

    // A host that was chosen follows nothing but the setting.
    home.serve_with(&["--frontend-listen", &host(second), "--frontend-api", "dev.example.com"]).stop();
    let server = home.serve_with(&["--frontend-listen", &host(first)]);
    assert!(!server.log().contains("to 127.0.0.1"), "{}", server.log());
    let (list, _) = home.json(&["instances", "list", "--json"]);
    assert_eq!(list[0]["frontend_api"], "dev.example.com");
}

/// A port nobody listens on, and which no connection of another test takes meanwhile.
pub(crate) fn free_port() -> u16 {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/free_ports.py");
    let output = Command::new("python3").args([script, "1"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

#[test]
fn instances_are_created_listed_and_deleted_while_the_server_runs() {
    let home = Home::new();
    let server = home.serve();
    let (made, remarks) = home.json(&PRODUCTION);
    let (id, key) = (made["instance_id"].as_str().unwrap(), made["secret_key"].as_str().unwrap());
    assert!(key.starts_with("sk_live_") && remarks.contains("not shown again"), "{key} {remarks}");
    assert!(remarks.contains(&format!("{id} (production) sends no e-mail yet")), "{remarks}");
    assert!(made["publishable_key"].as_str().unwrap().starts_with("pk_live_"));
    assert_eq!(server.status("/v1/jwks", key), 200);

    let (further, _) = home.json(&["keys", "create", "--json", "--instance", id]);
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
fn every_instance_has_a_host_of_its_own() {
    let home = Home::new();
    let create = ["instances", "create", "--json", "--environment"];
    let (first, _) = home.json(&[&create[..], &["development"]].concat());
    assert_eq!(first["frontend_api"], "127.0.0.1");
    let (second, _) = home.json(&[&create[..], &["development"]].concat());
    let name = second["frontend_api"].as_str().unwrap();
    let id = second["instance_id"].as_str().unwrap();
    assert_eq!(name, format!("{}.localhost", id[id.len() - 8..].to_lowercase()));
    let (production, _) = home.json(&PRODUCTION);
    assert_eq!(production["publishable_key"], "pk_live_Y2xlcmsuZXhhbXBsZS5jb20k");

    let mut seen = Vec::new();
    for (line, said) in [
        (&[&create[..], &["production"]].concat(), "--frontend-api"),
        (
            &[&create[..], &["production", "--frontend-api", "Clerk.Example.com"]].concat(),
            "are for the instance",
        ),
        // SDKs look for the hosted pages of the one above there.
        (
            &[&create[..], &["production", "--frontend-api", "accounts.example.com"]].concat(),
            "are for the instance",
        ),
        (&[&create[..], &["development", "--frontend-api", "localhost:1"]].concat(), "no dot"),
        (
            &[&create[..], &["production", "--frontend-api", "https://clerk.example.org/"]].concat(),
            "Write only the host, without https:// and without a path: clerk.example.org",
        ),
    ] {
        let refused = home.run(line);
        seen.push((refused.status.code(), text(&refused.stderr).contains(said)));
    }
    assert_eq!(seen, [(Some(2), true); 5]);

    let (list, _) = home.json(&["instances", "list", "--json"]);
    let hosts: Vec<&str> =
        list.as_array().unwrap().iter().filter_map(|row| row["frontend_api"].as_str()).collect();
    assert_eq!(hosts, ["127.0.0.1", name, "clerk.example.com"]);
    let (keys, _) = home.json(&["keys", "create", "--json", "--instance", id]);
    assert_eq!(keys["publishable_key"], second["publishable_key"]);
    let table = text(&home.run(&["instances", "list"]).stdout);
    let shown = |line: &str| line.contains("  clerk.example.com ") && line.contains("  pk_live_Y2xlcmsu");
    assert!(table.lines().any(shown), "{table}");
}

#[test]
fn settings_are_changed_while_the_server_runs() {
    let home = Home::new();
    let server = home.serve();
    let key = server.announced("secret key").to_owned();
    let get = |path: &str| home.json(&["settings", "get", "--json", path]).0;
    assert_eq!(get("lockout"), json!({"enabled": true, "max_attempts": 100, "duration_minutes": 60}));
    let body = r#"{"username":"ada_lo","skip_password_requirement":true}"#;
    let create = || {
        let mut stream = server.connect();
        let head = format!(
            "POST /v1/users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        status(&rest(&mut stream))
    };
    assert!(home.run(&["settings", "set", "username.min_length=8"]).status.success());
    assert_eq!(create(), 422, "six characters are too few");
    let set = home.run(&[
        "settings",
        "set",
        "username.min_length=6",
        "display.application_name=My app",
        "lockout={\"enabled\":false}",
    ]);
    assert!(set.status.success(), "{}", text(&set.stderr));
    let shown = text(&set.stdout);
    let lines: Vec<&str> = shown.lines().collect();
    let expected = [
        "display.application_name  \"My app\"  (default: \"\")",
        "lockout.enabled           false  (default: true)",
        "username.min_length       6  (default: 4)",
    ];
    assert_eq!(lines, expected);
    assert_eq!(create(), 200);
    assert_eq!(get("lockout.max_attempts"), 100);
    assert_eq!(text(&home.run(&["settings", "get", "username.min_length"]).stdout).trim(), "6");
    let several = home.json(&["settings", "get", "--json", "username.min_length", "sign_up.mode"]).0;
    assert_eq!(several, json!({"username": {"min_length": 6}, "sign_up": {"mode": "public"}}));
    let again = home.run(&["settings", "set", "username.min_length=6"]);
    assert!(again.status.success() && text(&again.stderr).contains("nothing was changed"));

    let reset = home.run(&["settings", "reset", "lockout", "username.min_length"]);
    assert!(reset.status.success(), "{}", text(&reset.stderr));
    let shown = text(&reset.stdout);
    assert_eq!(shown.lines().collect::<Vec<_>>(), ["lockout.enabled      true", "username.min_length  4"]);
    assert_eq!(get("display.application_name"), "My app", "the rest stays");
    for wrong in [&["settings", "reset", "lockouts"][..], &["settings", "reset"]] {
        assert_eq!(home.run(wrong).status.code(), Some(2), "{wrong:?}");
    }

    // What was read can be written, also from the standard input.
    let document = home.run(&["settings", "get", "--json"]).stdout;
    std::fs::write(home.path("settings.json"), &document).unwrap();
    assert!(home.run(&["settings", "set", "--file", "settings.json"]).status.success());
    let mut piped = home.command(&["settings", "set", "--file", "-"]);
    piped.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"username": {"min_length": 5}}"#).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(get("username"), json!({"min_length": 5, "max_length": 64}));
    // A text is a list of one, where a list is meant.
    assert!(home.run(&["settings", "set", "allowed_origins=https://app.example.com"]).status.success());
    assert_eq!(get("allowed_origins"), json!(["https://app.example.com"]));
    assert!(home.run(&["settings", "set", "social.google.scopes=openid"]).status.success());
    assert_eq!(get("social.google.scopes"), json!(["openid"]));

    // What signs must be hard to guess.
    let weak = home.run(&["settings", "set", "messages.sms.webhook.secret=word"]);
    assert_eq!(weak.status.code(), Some(2));
    assert!(text(&weak.stderr).contains("random bytes"), "{}", text(&weak.stderr));
    let strong = "messages.sms.webhook.secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    assert!(home.run(&["settings", "set", strong]).status.success());
}

#[test]
fn provider_is_enabled_by_one_command_in_any_order() {
    let home = Home::new();
    home.serve().stop();
    let secret = r#"{"social": {"github": {"client_secret": "s3cret"}}}"#;
    std::fs::write(home.path("secret.json"), secret).unwrap();
    let (id, enabled) = ("social.github.client_id=abc", "social.github.enabled=true");
    let plain = "social.github.client_secret=s3cret";
    let file = ["--file", "secret.json"];
    for changes in [
        vec![enabled, id, plain],
        vec![plain, enabled, id],
        vec![id, enabled, file[0], file[1]],
        vec![file[0], file[1], enabled, id],
    ] {
        let line: Vec<&str> = ["settings", "set"].into_iter().chain(changes.clone()).collect();
        let output = home.run(&line);
        assert!(output.status.success(), "{changes:?}: {}", text(&output.stderr));
        let provider = home.json(&["settings", "get", "--json", "social.github"]).0;
        assert_eq!((&provider["client_id"], &provider["enabled"]), (&json!("abc"), &json!(true)));
        assert!(home.run(&["settings", "reset", "social.github"]).status.success());
    }
    // The secret may be there before.
    assert!(home.run(&["settings", "set", "--file", "secret.json"]).status.success());
    assert!(home.run(&["settings", "set", id, enabled]).status.success());
    assert!(home.run(&["settings", "reset", "social.github"]).status.success());
    let output = home.run(&["settings", "set", id, enabled]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("Set client_secret too"), "{message}");
}

#[test]
fn wrong_settings_are_refused_together_and_change_nothing() {
    let home = Home::new();
    home.json(&["instances", "create", "--environment", "development", "--json"]);
    let before = home.run(&["settings", "get"]).stdout;
    let refused = home.run(&[
        "settings",
        "set",
        "session.lifetime_second=600",
        "password.min_length=100",
        "sign_up.mode=closed",
        "attributes.email_address.required=\"yes\"",
        "username.min_length=5",
    ]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for expected in [
        "There are 5 problems",
        "session.lifetime_second\n    There is no setting of this name.\n    Did you mean session.lifetime_seconds?",
        "password.min_length\n    It must be from 8 to 72.",
        "sign_up.mode\n    `closed` is not known; it can be `",
        "attributes.email_address.required\n    It must be true or false, not ",
    ] {
        assert!(said.contains(expected), "{expected} is missing in\n{said}");
    }
    assert_eq!(home.run(&["settings", "get"]).stdout, before);
    for (line, hint) in [
        (&["settings", "get", "sesion.lifetime_seconds"][..], "Did you mean session.lifetime_seconds?"),
        (&["settings", "reset", "sesion"], "Did you mean session?"),
        (&["settings", "get", "social.gogle"], "There is no provider `gogle`. Did you mean google?"),
        (&["settings", "reset", "social.gogle.enabled"], "Did you mean google?"),
        (&["settings", "get", "social.google"], "This provider is not configured yet (docs/PROVIDERS.md)."),
        (
            &["settings", "set", "sign_up.mode=public", "display.application_name=My", "Ada's", "Shop"],
            "quotes around the whole: 'display.application_name=My Ada'\\''s Shop'\n",
        ),
        (
            &["settings", "set", "messages.email.smtp.password=hunter", "two"],
            "quotes around the whole: 'messages.email.smtp.password=…'\n",
        ),
    ] {
        let refused = home.run(line);
        let said = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(hint), "{line:?}: {said}");
        assert!(!said.contains("hunter") && !said.contains("two"), "{said}");
    }
    for line in [
        &["settings", "get", "nothing.here"][..],
        &["settings", "set", "no-equals-sign"],
        &["settings", "set", "--file", "no-such-file"],
        &["settings", "set"],
        &["settings", "get", "--instance", "ins_0"],
    ] {
        assert_eq!(home.run(line).status.code(), Some(2), "{line:?}");
    }
}

#[test]
fn signing_keys_follow_each_other_with_an_overlap() {
    let home = Home::new();
    let server = home.serve();
    let key = server.announced("secret key");
    let published = || -> Vec<Value> {
        let answer = server.get("/v1/jwks", key);
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        let jwks: Value = serde_json::from_str(body).unwrap();
        jwks["keys"].as_array().unwrap().iter().map(|key| key["kid"].clone()).collect()
    };
    let states = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|key| key["state"].as_str().unwrap().to_owned()).collect()
    };
    let first = published();
    assert_eq!(first.len(), 1);
    let pem = text(&home.run(&["signing-keys", "public"]).stdout);
    assert!(
        pem.starts_with("-----BEGIN PUBLIC KEY-----\nMII") && pem.ends_with("\n-----END PUBLIC KEY-----\n"),
        "{pem}"
    );
    let (keys, remarks) = home.json(&["signing-keys", "rotate", "--json"]);
    assert!(remarks.contains("is published now and signs from"), "{remarks}");
    assert_eq!(states(&keys), ["announced", "signing"]);
    assert_eq!(keys[1]["kid"], first[0]);
    let day = keys[1]["not_after"].as_i64().unwrap() - keys[0]["active_from"].as_i64().unwrap();
    assert_eq!(day, 24 * 60 * 60 * 1000);
    assert_eq!(published(), [keys[0]["kid"].clone(), first[0].clone()]);

    // In a hurry: the announced key never signs, and nothing of the earlier ones is good any more.
    let hurry = ["signing-keys", "rotate", "--publish-ahead", "0", "--overlap", "0", "--json"];
    let (keys, remarks) = home.json(&hurry);
    assert!(remarks.contains("refused before their time"), "{remarks}");
    assert_eq!(states(&keys), ["signing", "ended", "ended"]);
    assert_eq!(published(), [keys[0]["kid"].clone()]);
    let (after, _) = home.json(&["signing-keys", "rotate", "--json"]);
    assert_eq!(states(&after), ["announced", "signing"], "ended keys are deleted by the next change");
    // The one that signs now is another.
    assert_ne!(text(&home.run(&["signing-keys", "public"]).stdout), pem);
    let table = text(&home.run(&["signing-keys", "list"]).stdout);
    assert_eq!(table.lines().count(), 3, "{table}");
    assert_eq!(home.run(&["signing-keys", "rotate", "--overlap", "soon"]).status.code(), Some(2));
    server.stop();
    home.serve().stop();
}

#[test]
fn a_deleted_development_instance_stays_deleted() {
    let home = Home::new();
    let id = home.json(&PRODUCTION).0["instance_id"].as_str().unwrap().to_owned();
    let (made, _) = home.json(&["instances", "create", "--environment", "development", "--json"]);
    let server = home.serve();
    assert_eq!(server.announced("secret key"), made["secret_key"]);
    let mute = format!("{id} (production) sends no e-mail yet: set messages.email (docs/MESSAGES.md)");
    assert_eq!(server.log().matches(&mute).count(), 1, "{}", server.log());
    server.stop();
    let webhook = r#"messages.email={"transport": "webhook", "webhook": {"url": "https://example.com/mail",
        "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}"#;
    let set = home.run(&["settings", "set", "--instance", &id, webhook]);
    assert!(set.status.success(), "{}", text(&set.stderr));
    assert!(
        home.run(&["instances", "delete", made["instance_id"].as_str().unwrap(), "--yes"]).status.success()
    );
    assert!(!home.path("data/development.key").exists());
    let server = home.serve();
    assert_eq!((server.announced("secret key"), server.announced("instance")), ("", ""));
    assert_eq!(server.announced("frontend url"), "https://clerk.example.com");
    assert!(!server.log().contains("sends no e-mail"), "{}", server.log());
    let refused = home.run(&["keys", "create"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains(&format!("--instance {id} (production)")));
}

#[test]
fn a_provider_that_is_not_configured_yet_can_be_explained() {
    let home = Home::new();
    home.json(&["instances", "create", "--environment", "development", "--json"]);
    for path in ["social.google", "social.custom_acme.enabled", "social"] {
        let output = home.run(&["settings", "get", "--explain", path]);
        assert!(output.status.success() && text(&output.stdout).contains(".enabled = false"), "{path}");
    }
    assert_eq!(home.run(&["settings", "get", "--explain", "social.gogle"]).status.code(), Some(2));
}

#[test]
fn a_second_server_on_the_same_file_is_refused_and_changes_nothing() {
    let home = Home::new();
    if !home.has_file() {
        return;
    }
    let server = home.serve();
    let key = server.announced("publishable key").to_owned();
    let second = home.run(&["serve", "--listen", "127.0.0.1:0", "--frontend-listen", "127.0.0.1:0"]);
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.contains("Another server (process ") && said.contains("--data-dir"), "{said}");
    let (keys, _) = home.json(&["keys", "create", "--json"]);
    assert_eq!(keys["publishable_key"], key);
    // A server that was killed leaves nothing that keeps the next one out.
    drop(server);
    home.serve().stop();
}

#[test]
fn a_body_nobody_asked_for_does_not_cost_the_next_request_its_connection() {
    let home = Home::new();
    let server = home.serve();
    let key = server.announced("secret key").to_owned();
    let mut stream = server.connect();
    for (path, expected) in [
        ("/v1/testing_tokens", 200),
        ("/v1/sessions/sess_unknown/revoke", 404),
        ("/v1/nowhere", 404),
        ("/v1/testing_tokens", 200),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        assert!(
            !is_answered_within(&stream, Duration::from_millis(50)),
            "{path} is answered before its body"
        );
        stream.write_all(b"{}").unwrap();
        let answer = one_answer(&mut stream);
        assert_eq!(status(&answer), expected, "{answer}");
    }
    // A client that waits to be asked for its body is answered, not asked.
    let mut waiting = server.connect();
    let head =
        "POST /v1/nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    waiting.write_all(head.as_bytes()).unwrap();
    let answer = rest(&mut waiting);
    assert_eq!(status(&answer), 404, "{answer}");
    let huge = "POST /v1/users HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 50000000\r\nExpect: 100-continue\r\n";
    stream.write_all(format!("{huge}Authorization: Bearer {key}\r\n\r\n").as_bytes()).unwrap();
    let answer = rest(&mut stream);
    assert_eq!(status(&answer), 413, "{answer}");
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
}

/// Whether something comes back within this time. It stays to be read.
fn is_answered_within(stream: &TcpStream, limit: Duration) -> bool {
    let before = stream.read_timeout().unwrap();
    stream.set_read_timeout(Some(limit)).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_read_timeout(before).unwrap();
    peeked.is_ok()
}

/// Reads one answer from a connection that stays open.
fn one_answer(stream: &mut TcpStream) -> String {
    let (mut answer, mut byte) = (String::new(), [0]);
    let mut wanted = None;
    while wanted.is_none_or(|wanted| answer.len() < wanted) {
        stream.read_exact(&mut byte).unwrap();
        answer.push(char::from(byte[0]));
        if wanted.is_none() && answer.ends_with("\r\n\r\n") {
            let head = answer.to_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
            wanted = Some(answer.len() + length.parse::<usize>().unwrap());
        }
    }
    answer
}

#[test]
fn an_idle_connection_does_not_hold_up_the_end() {
    let home = Home::new();
    let server = home.serve();
    let _idle = server.connect();
    server.stop();
}

#[test]
fn a_start_without_the_master_key_moves_no_instance() {
    let home = Home::new();
    let (first, second) = (free_port(), free_port());
    let host = |port: u16| format!("127.0.0.1:{port}");
    home.serve_with(&["--frontend-listen", &host(first)]).stop();
    std::fs::rename(home.path("data/master.key"), home.path("kept.key")).unwrap();
    let output = home.run(&["serve", "--frontend-listen", &host(second)]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("master key is missing") && !said.contains("has moved"), "{said}");
    let (list, _) = home.json(&["instances", "list", "--json"]);
    assert_eq!(list[0]["frontend_api"], host(first));
    // With the key it moves.
    std::fs::rename(home.path("kept.key"), home.path("data/master.key")).unwrap();
    let server = home.serve_with(&["--frontend-listen", &host(second)]);
    assert!(server.log().contains("has moved"), "{}", server.log());
}

#[test]
fn rate_limits_that_are_off_are_announced() {
    let home = Home::new();
    std::fs::write(home.path("latchkey.toml"), "rate_limits = 'off'\n").unwrap();
    assert!(home.serve().announced("rate limits").starts_with("off"));
}

#[test]
fn commands_about_the_program_itself_touch_no_data() {
    let home = Home::new();
    assert_eq!(text(&home.run(&["version"]).stdout).trim(), concat!("latchkey ", env!("CARGO_PKG_VERSION")));
    for line in [&["openapi", "--api-url", "https://id.example.com"][..], &["openapi", "--frontend"]] {
        let (document, _) = home.json(line);
        assert!(document["paths"].as_object().is_some_and(|paths| !paths.is_empty()), "{line:?}");
    }
    let reference = home.run(&["config"]).stdout;
    std::fs::write(home.path("latchkey.toml"), reference).unwrap();
    assert!(home.run(&["openapi"]).status.success(), "the reference is itself a configuration");
    let help = text(&home.run(&["--help"]).stdout);
    assert!(help.contains("Examples:"));
    assert_eq!(text(&home.run(&["help"]).stdout), help);
    assert!(text(&home.run(&["help", "settings", "set"]).stdout).contains("PATH=JSON"));
    assert_eq!(home.run(&["surve"]).status.code(), Some(2));
    assert!(!home.path("data").exists());
}
