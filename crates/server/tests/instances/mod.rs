//! `latchkey instances create --from`: many instances from one file.

use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Home, text};

/// A file with what the vendor's browser tests need of their instances: settings of every kind, secrets, roles with
/// permissions of the application, and hosts.
const FILE: &str = r#"
[[instances]]
name = "with-email-codes"
[instances.settings]
organizations.enabled = true
session.single_session = false
test_mode = true
actions.delete_self = true
sign_in.preferred_strategy = "password"
attributes.phone_number = { enabled = true, used_for_first_factor = true, verify_at_sign_up = true }
attributes.username = { enabled = true, used_for_first_factor = true }
"social.custom_e2e" = { enabled = true, name = "E2E OAuth Provider", client_id = "e2e", client_secret = "e2e-client-secret", discovery_url = "https://idp.example.com/.well-known/openid-configuration" }

[[instances]]
name = "with-custom-roles"
host = "roles.example.dev"
[instances.settings.organizations]
enabled = true
force_selection = true
[[instances.permissions]]
key = "org:posts:manage"
name = "Manage posts"
[[instances.roles]]
key = "org:admin"
permissions = ["org:posts:manage"]
[[instances.roles]]
key = "org:viewer"
name = "Viewer"
permissions = ["org:sys_memberships:read"]

[[instances]]
name = "sessions-prod-1"
environment = "production"
host = "clerk.example.com"
settings = { allowed_origins = ["https://app.example.com:8443"], "sign_up.mode" = "waitlist" }
"#;

fn create(home: &Home, file: &str, flags: &[&str]) -> Output {
    std::fs::write(home.path("instances.toml"), file).unwrap();
    home.run(&[&["instances", "create", "--from", "instances.toml"], flags].concat())
}

fn count(home: &Home) -> usize {
    home.json(&["instances", "list", "--json"]).0.as_array().unwrap().len()
}

/// Asserts that a file is rejected with these texts and that no instance was made.
fn is_rejected(home: &Home, file: &str, texts: &[&str]) {
    let before = count(home);
    let rejected = create(home, file, &[]);
    let told = text(&rejected.stderr);
    assert_eq!(rejected.status.code(), Some(2), "{told}");
    for text in texts {
        assert!(told.contains(text), "{text} in {told}");
    }
    assert!(rejected.stdout.is_empty());
    assert_eq!(count(home), before, "{told}");
}

#[test]
fn instances_of_a_file_are_all_created_with_their_settings_and_roles() {
    let home = Home::new();
    let server = home.serve();
    let created = create(&home, FILE, &["--json"]);
    assert!(created.status.success(), "{}", text(&created.stderr));
    let made: Value = serde_json::from_slice(&created.stdout).unwrap();
    let names: Vec<&String> = made.as_object().unwrap().keys().collect();
    assert_eq!(names, ["sessions-prod-1", "with-custom-roles", "with-email-codes"]);
    for keys in made.as_object().unwrap().values() {
        assert_eq!(server.status("/v1/jwks", keys["secret_key"].as_str().unwrap()), 200);
    }
    assert_eq!(made["with-custom-roles"]["frontend_api"], "roles.example.dev");
    assert_eq!(made["sessions-prod-1"]["environment"], "production");
    assert!(made["sessions-prod-1"]["publishable_key"].as_str().unwrap().starts_with("pk_live_"));

    let setting = |name: &str, path: &str| {
        let id = made[name]["instance_id"].as_str().unwrap();
        home.json(&["settings", "get", path, "--instance", id, "--json"]).0
    };
    assert_eq!(setting("with-email-codes", "session.single_session"), json!(false));
    assert_eq!(setting("with-email-codes", "attributes.phone_number.used_for_first_factor"), json!(true));
    assert_eq!(setting("with-email-codes", "social.custom_e2e.name"), json!("E2E OAuth Provider"));
    assert_eq!(setting("with-email-codes", "social.custom_e2e.client_secret"), json!("(set)"));
    assert_eq!(setting("sessions-prod-1", "sign_up.mode"), json!("waitlist"));
    assert_eq!(setting("sessions-prod-1", "session.single_session"), json!(true));

    let key = made["with-custom-roles"]["secret_key"].as_str().unwrap();
    let answer = server.get("/v1/organization_roles?limit=100", key);
    let roles: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let held = |key: &str| -> Vec<&str> {
        let role = roles["data"].as_array().unwrap().iter().find(|role| role["key"] == key).unwrap();
        let held = role["permissions"].as_array().unwrap().iter();
        held.map(|permission| permission["key"].as_str().unwrap()).collect()
    };
    assert_eq!(held("org:viewer"), ["org:sys_memberships:read"]);
    assert!(held("org:admin").contains(&"org:posts:manage"));
    assert!(held("org:admin").contains(&"org:sys_profile:delete"));
}

#[test]
fn instances_of_a_file_are_printed_by_name_in_columns() {
    let home = Home::new();
    let created = create(&home, FILE, &[]);
    assert!(created.status.success(), "{}", text(&created.stderr));
    let shown = text(&created.stdout);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 4, "{shown}");
    let at = lines[0].find("SECRET KEY").unwrap();
    assert!(lines[1..].iter().all(|line| line[at..].starts_with("sk_")), "{shown}");
    assert!(lines[3].starts_with("with-email-codes  "), "{shown}");
    // The first development instance is the one that the server starts with.
    let server = home.serve();
    assert!(shown.contains(server.announced("secret key")), "{shown}");
}

#[test]
fn mistake_in_one_instance_of_a_file_creates_none() {
    let home = Home::new();
    let server = home.serve();
    let third = |line: &str| FILE.replace("\"sign_up.mode\" = \"waitlist\"", line);
    let named = ["No instance was created", "instance \"sessions-prod-1\""];
    let cases = [
        ("\"sign_up.moed\" = 1", "settings.sign_up.moed", "Did you mean sign_up.mode?"),
        ("\"sign_up.mode\" = \"closed\"", "settings.sign_up.mode", "closed"),
        ("\"session.lifetime_seconds\" = 1", "settings.session.lifetime_seconds", "300"),
    ];
    for (line, key, reason) in cases {
        is_rejected(&home, &third(line), &[named[0], named[1], key, reason]);
    }
    let host = FILE.replace("host = \"clerk.example.com\"", "");
    is_rejected(&home, &host, &[named[1], "host", "needs a host of its own"]);
    let host = FILE.replace("clerk.example.com", "roles.example.dev");
    is_rejected(&home, &host, &[named[1], "host", "roles.example.dev"]);
    let field = FILE.replace("environment = \"production\"", "enviroment = \"production\"");
    is_rejected(&home, &field, &[named[1], "enviroment"]);
    let environment = FILE.replace("\"production\"", "\"staging\"");
    is_rejected(&home, &environment, &[named[1], "environment"]);
    let role =
        format!("{FILE}\n[[instances.roles]]\nkey = \"org:editor\"\npermissions = [\"org:pages:edit\"]\n");
    is_rejected(&home, &role, &[named[1], "org:editor", "org:pages:edit"]);
    // Nothing is left of any of them.
    drop(server);
    assert!(create(&home, FILE, &[]).status.success());
}

#[test]
fn errors_of_a_file_name_the_place_and_no_value() {
    let home = Home::new();
    home.serve().stop();
    let unclosed = "[[instances]]\nname = \"a\"\nsettings.password = \"canary\n";
    let wrong_type = "[[instances]]\nname = \"a\"\nsettings = \"canary\"\n";
    for (file, place) in [(unclosed, "line 3"), (wrong_type, "instance \"a\"")] {
        is_rejected(&home, file, &[place]);
        assert!(!text(&create(&home, file, &[]).stderr).contains("canary"), "{file}");
    }
}

#[test]
fn name_that_two_instances_of_a_file_have_is_rejected() {
    let home = Home::new();
    home.serve().stop();
    let twice = FILE.replace("sessions-prod-1", "with-email-codes");
    is_rejected(&home, &twice, &["instance \"with-email-codes\": name", "Two instances have this name."]);
    is_rejected(&home, "", &["describes no instance"]);
    is_rejected(&home, "[[instances]]\n", &["instance \"number 1\"", "name"]);
    is_rejected(&home, "[[instances]\n", &["cannot be used"]);
    let both = home.run(&["instances", "create", "--from", "x", "--environment", "production"]);
    assert_eq!(both.status.code(), Some(2));
}
