//! Secret keys: made, listed, shown at the start, revoked.

use serde_json::{Value, json};

use crate::support::{Home, Server, status, text};
use crate::{PRODUCTION, free_port};

#[test]
fn a_kept_key_that_is_gone_is_not_made_up() {
    let home = Home::new();
    home.serve().stop();
    std::fs::remove_file(home.path("data/development.key")).unwrap();
    let server = home.serve();
    let shown = server.announced("secret key");
    assert_eq!(shown, "(shown when it was made; run \"latchkey keys create\" for a further one)");
    let id = home.json(&["instances", "list", "--json"]).0[0]["instance_id"].as_str().unwrap().to_owned();
    let block = text(&home.run(&["env", "next"]).stdout);
    let hint = format!("or make a further one: latchkey env next --instance {id} --new-key)");
    assert!(block.contains(&hint), "{block}");
}

#[test]
fn keys_makes_a_further_key_while_the_server_runs() {
    let home = Home::new();
    let server = home.serve();
    let (keys, remarks) = home.json(&["keys", "create", "--json"]);
    assert_eq!(
        remarks.trim(),
        "a further secret key was made; keep it, it is not shown again. Earlier ones keep working"
    );
    let names: Vec<&String> = keys.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "api_url",
            "environment",
            "frontend_api",
            "instance_id",
            "publishable_key",
            "secret_key",
            "secret_key_id"
        ]
    );
    assert_eq!(
        format!("{} (development)", keys["instance_id"].as_str().unwrap()),
        server.announced("instance")
    );
    assert_eq!(keys["publishable_key"], server.announced("publishable key"));
    assert_eq!(
        (keys["environment"].as_str(), keys["frontend_api"].as_str()),
        (Some("development"), Some("127.0.0.1"))
    );
    let further = keys["secret_key"].as_str().unwrap();
    assert_ne!(further, server.announced("secret key"));
    assert_eq!(server.status("/v1/jwks", further), 200);
    assert_eq!(server.status("/v1/jwks", server.announced("secret key")), 200);

    let shown = home.run(&["keys", "create"]);
    let (list, _) = home.json(&["keys", "list", "--json"]);
    let ids: Vec<&str> = list.as_array().unwrap().iter().filter_map(|key| key["id"].as_str()).collect();
    assert_eq!((ids.len(), ids[1]), (3, keys["secret_key_id"].as_str().unwrap()));
    assert!(text(&shown.stdout).contains(ids[2]), "{shown:?}");
}

#[test]
fn without_a_word_no_key_is_made_and_the_word_is_told() {
    let home = Home::new();
    home.serve().stop();
    let bare = home.run(&["keys"]);
    assert_eq!(bare.status.code(), Some(2));
    let said = text(&bare.stderr);
    for word in ["list", "create", "revoke"] {
        assert!(said.lines().any(|line| line.trim_start().starts_with(word)), "{word}: {said}");
    }
    for (line, meant) in [
        (&["keys", "--json"][..], "use `latchkey keys create --json`"),
        (&["keys", "--json", "--instance", "ins_1"], "use `latchkey keys create --instance ins_1 --json`"),
        (&["keys", "--data-dir", "data"], "use `latchkey keys create`"),
        (&["keys", "--instance", "ins_1", "create"], "Use `latchkey keys create --instance ins_1`"),
        (&["keys", "--json", "list"], "Use `latchkey keys list --json`"),
    ] {
        let refused = home.run(line);
        let said = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(meant), "{line:?}: {said}");
        assert!(refused.stdout.is_empty(), "{refused:?}");
    }
    assert_eq!(home.json(&["keys", "list", "--json"]).0.as_array().unwrap().len(), 1);
}

#[test]
fn keys_says_when_no_server_answers_where_it_would_be() {
    let home = Home::new();
    let server = home.serve();
    let free = free_port();
    let create = ["keys", "create", "--json", "--listen"];
    let (_, remarks) = home.json(&[&create[..], &[&format!("127.0.0.1:{free}")]].concat());
    assert!(remarks.contains(&format!("no server answers at http://127.0.0.1:{free} now")), "{remarks}");
    assert!(remarks.contains("give this command the same LATCHKEY_… variables"), "{remarks}");
    let (_, remarks) = home.json(&[&create[..], &[&server.address.to_string()]].concat());
    assert!(!remarks.contains("no server"), "{remarks}");
    let made = ["instances", "create", "--environment", "development", "--json", "--listen"];
    let (_, remarks) = home.json(&[&made[..], &[&format!("127.0.0.1:{free}")]].concat());
    assert!(remarks.contains("no server answers"), "{remarks}");
}

#[test]
fn an_instance_with_its_key_can_be_had_before_the_first_start() {
    let home = Home::new();
    let (keys, remarks) = home.json(&["instances", "create", "--environment", "development", "--json"]);
    let (first, last) = remarks.trim().rsplit_once('\n').unwrap_or(("", remarks.trim()));
    assert_eq!(last, "a development instance was created");
    let says_where =
        first.starts_with("a new database was made at /") && first.ends_with("/data/latchkey.db");
    assert!(if home.has_file() { says_where } else { first.is_empty() }, "{remarks}");
    let server = home.serve();
    assert_eq!(keys["secret_key"], server.announced("secret key"));
    assert_eq!(server.status("/v1/jwks", keys["secret_key"].as_str().unwrap()), 200);
}

#[test]
fn an_instance_in_a_new_database_is_created_with_a_word_of_where_it_is() {
    let home = Home::new();
    let (_, remarks) = home.json(&PRODUCTION);
    let says_where = |line: &str| line.starts_with("a new database was made at /");
    assert_eq!(remarks.lines().any(says_where), home.has_file(), "{remarks}");
    let (_, remarks) = home.json(&["instances", "create", "--environment", "development", "--json"]);
    assert!(!remarks.lines().any(says_where), "{remarks}");
}

#[test]
fn keys_are_listed_and_a_revoked_one_is_refused_at_once() {
    let home = Home::new();
    let server = home.serve();
    let first = server.announced("secret key").to_owned();
    let made = home.json(&["keys", "create", "--json"]).0;
    let second = made["secret_key"].as_str().unwrap().to_owned();
    let (list, _) = home.json(&["keys", "list", "--json"]);
    let hint = |key: &str| format!("sk_test_…{}", &key[key.len() - 4..]);
    assert_eq!(
        (list[0]["key"].as_str(), list[1]["key"].as_str()),
        (Some(&*hint(&first)), Some(&*hint(&second)))
    );
    assert!(list[0]["created_at"].as_i64() <= list[1]["created_at"].as_i64());
    let table = text(&home.run(&["keys", "list"]).stdout);
    assert!(table.starts_with("ID") && table.contains(&hint(&second)) && !table.contains(&second), "{table}");

    let id = list[1]["id"].as_str().unwrap();
    let revoked = home.run(&["keys", "revoke", id]);
    assert!(text(&revoked.stdout).contains(&format!("{id} ({})", hint(&second))), "{revoked:?}");
    assert_eq!(server.status("/v1/jwks", &second), 401);
    assert_eq!(server.status("/v1/jwks", &first), 200);
    assert_eq!(home.json(&["keys", "list", "--json"]).0.as_array().unwrap().len(), 1);
}

#[test]
fn the_key_that_every_start_shows_can_be_revoked_and_replaced() {
    let home = Home::new();
    let server = home.serve();
    let leaked = server.announced("secret key").to_owned();
    // By the key itself: it may be all that is known of it.
    let revoked = home.run(&["keys", "revoke", &leaked]);
    assert!(revoked.status.success() && text(&revoked.stderr).contains("it was the last one"), "{revoked:?}");
    assert!(!text(&revoked.stdout).contains(&leaked), "a secret is not repeated");
    assert_eq!(server.status("/v1/jwks", &leaked), 401);
    assert!(!home.path("data/development.key").exists());
    assert!(text(&home.run(&["keys", "list"]).stderr).contains("has no secret key"));
    let block = text(&home.run(&["env", "next"]).stdout);
    assert!(block.contains("# CLERK_SECRET_KEY=…") && block.contains("--new-key"), "{block}");
    let (made, remarks) = home.json(&["keys", "create", "--json"]);
    assert!(remarks.contains("every start of the server shows it"), "{remarks}");
    let next = made["secret_key"].as_str().unwrap().to_owned();
    server.stop();
    assert_eq!(home.serve().announced("secret key"), next);
}

#[test]
fn keys_of_another_instance_and_unknown_ones_are_not_revoked() {
    let home = Home::new();
    let server = home.serve();
    let production = home.json(&PRODUCTION).0;
    let live = production["secret_key"].as_str().unwrap();
    let instance = production["instance_id"].as_str().unwrap();
    let own = home.json(&["keys", "list", "--json"]).0[0]["id"].as_str().unwrap().to_owned();
    let named = home.json(&["keys", "create", "--json"]).0["instance_id"].as_str().unwrap().to_owned();
    let other = if own.ends_with('x') { 'y' } else { 'x' };
    let mistyped = format!("{}{other}", &own[..own.len() - 1]);
    let hint = format!("Did you mean {own}?");
    for (wrong, said) in [
        (&["keys", "revoke", live, "--instance", &named][..], "does not have this secret key"),
        (&["keys", "revoke", &mistyped], &hint),
    ] {
        let refused = home.run(wrong);
        let message = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && message.contains(said), "{message}");
        assert!(!message.contains(live), "a secret is not repeated");
    }
    assert_eq!(server.status("/v1/jwks", live), 200);
    // It is the key of one instance, which need not be named.
    let revoked = home.run(&["keys", "revoke", live]);
    assert!(revoked.status.success() && text(&revoked.stdout).contains(instance));
    assert!(text(&revoked.stderr).contains(&format!("latchkey keys create --instance {instance}")));
    assert_eq!(server.status("/v1/jwks", live), 401);
}

/// The body of an answer that succeeded.
fn body(answer: &str) -> Value {
    assert_eq!(status(answer), 200, "{answer}");
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// A further key, as JSON.
fn further_key(home: &Home) -> (String, String) {
    let made = home.json(&["keys", "create", "--json"]).0;
    let field = |name: &str| made[name].as_str().unwrap().to_owned();
    (field("secret_key_id"), field("secret_key"))
}

/// What the holder of a leaked key leaves behind: a sign-in token and an actor token for ten years, a link to the webhooks
/// page, and changes of the configuration. Returns the tickets and the token of the link.
fn attack(server: &Server, key: &str) -> ([String; 2], String) {
    let user = body(&server.post("/v1/users", key, &json!({"username": "countess"})));
    let ten_years = 315_360_000;
    let token = json!({"user_id": user["id"], "expires_in_seconds": ten_years});
    let mut acting = token.clone();
    acting["actor"] = json!({"sub": "user_boss"});
    let tickets = [("/v1/sign_in_tokens", token), ("/v1/actor_tokens", acting)]
        .map(|(path, input)| body(&server.post(path, key, &input))["token"].as_str().unwrap().to_owned());
    let link = body(&server.post("/v1/webhooks/svix", key, &json!({})));
    let link = link["svix_url"].as_str().unwrap().split_once('#').unwrap().1.to_owned();
    let endpoint = json!({"url": "https://evil.example/hook"});
    body(&server.post("/v1/webhooks/endpoints", &link, &endpoint));
    body(&server.post("/v1/redirect_urls", key, &json!({"url": "https://evil.example/back"})));
    (tickets, link)
}

/// The kinds of the tickets that can still be used.
fn pending(home: &Home) -> Vec<String> {
    let list = home.json(&["keys", "tickets", "--json"]).0;
    list.as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn revoked_key_ends_its_tickets_and_its_changes_are_listed() {
    let home = Home::new();
    let server = home.serve();
    let (id, leaked) = further_key(&home);
    let (tickets, link) = attack(&server, &leaked);
    assert_eq!(pending(&home), ["sign-in token", "actor token"]);
    let table = text(&home.run(&["keys", "tickets", "--key", &id]).stdout);
    assert!(table.starts_with("KIND") && table.matches(&id).count() == 2, "{table}");
    assert_eq!(server.status("/v1/webhooks/endpoints", &link), 200);

    let revoked = home.run(&["keys", "revoke", &id]);
    assert!(revoked.status.success(), "{revoked:?}");
    let shown = text(&revoked.stdout);
    for expected in [
        "was revoked.",
        "Its tickets ended:",
        "sign-in token",
        "actor token",
        "These changes were made with it and stay:",
        "webhookEndpoint.created",
        "redirectUrl.created",
        "user.created",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    for secret in tickets.iter().chain([&link, &leaked]) {
        assert!(!shown.contains(secret.as_str()), "a secret is not shown");
    }
    assert_eq!(server.status("/v1/webhooks/endpoints", &link), 401);
    assert_eq!(server.status("/v1/users", &leaked), 401);
    assert_eq!(pending(&home), [""; 0]);
    let none = home.run(&["keys", "tickets"]);
    assert!(text(&none.stderr).contains("has no ticket that can still be used"), "{none:?}");
    let feed = body(&server.get("/v1/events?limit=500", server.announced("secret key")));
    let of_key = |kind: &str| {
        let events = feed["data"].as_array().unwrap();
        events
            .iter()
            .find(|event| event["type"] == kind && event["data"]["id"] == id.as_str())
            .unwrap()
            .clone()
    };
    for kind in ["secretKey.created", "secretKey.revoked"] {
        let event = of_key(kind);
        assert_eq!((&event["key_id"], &event["data"]["actor"]), (&Value::Null, &json!("command_line")));
    }
}

#[test]
fn planned_change_of_keys_keeps_tickets() {
    let home = Home::new();
    let server = home.serve();
    let (id, replaced) = further_key(&home);
    let (_, link) = attack(&server, &replaced);
    let (report, _) = home.json(&["keys", "revoke", &id, "--keep-tickets", "--json"]);
    assert_eq!((&report["id"], &report["tickets_kept"]), (&json!(id), &json!(true)));
    let kinds: Vec<&Value> = report["tickets"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["sign-in token", "actor token"]);
    let changes = report["changes"].as_array().unwrap();
    let types: Vec<&Value> = changes.iter().map(|change| &change["type"]).collect();
    assert_eq!(types, ["webhookEndpoint.created", "redirectUrl.created"]);
    assert_eq!(report["other_events"], json!({"user.created": 1}));
    assert_eq!(pending(&home), ["sign-in token", "actor token"]);
    assert_eq!(server.status("/v1/webhooks/endpoints", &link), 200);
    assert_eq!(server.status("/v1/users", &replaced), 401);
}

#[test]
fn changes_on_the_command_line_are_in_the_feed_without_a_key() {
    let home = Home::new();
    let server = home.serve();
    let run = |arguments: &[&str]| assert!(home.run(arguments).status.success(), "{arguments:?}");
    run(&["settings", "set", "test_mode=false", "display.application_name=canary"]);
    let endpoint = home.json(&["webhooks", "create", "http://localhost:3000/hook", "--json"]).0;
    run(&["webhooks", "delete", endpoint["id"].as_str().unwrap(), "--yes"]);
    let feed = body(&server.get("/v1/events?limit=500", server.announced("secret key")));
    let events = feed["data"].as_array().unwrap();
    let types: Vec<&Value> = events.iter().map(|event| &event["type"]).collect();
    assert_eq!(types, ["settings.updated", "webhookEndpoint.created", "webhookEndpoint.deleted"]);
    let changed = events[0]["data"]["changed"].as_array().unwrap();
    for name in ["display.application_name", "test_mode"] {
        assert!(changed.len() == 2 && changed.contains(&json!(name)), "{changed:?}");
    }
    for event in events {
        assert_eq!((&event["key_id"], &event["data"]["actor"]), (&Value::Null, &json!("command_line")));
    }
    assert!(!feed.to_string().contains("canary"));
}

#[test]
fn key_argument_of_tickets_is_not_repeated() {
    let home = Home::new();
    let server = home.serve();
    let secret = server.announced("secret key");
    let refused = home.run(&["keys", "tickets", "--key", secret]);
    let message = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && message.contains("`latchkey keys list`"), "{message}");
    assert!(!message.contains(secret));
}
