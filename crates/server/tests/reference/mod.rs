//! What the program says of itself: pages made from the code, explained settings, help, and what may have been meant.

use serde_json::json;

use crate::support::{Home, text};

#[test]
fn the_pages_made_from_the_code_are_up_to_date() {
    let home = Home::new();
    for (page, file) in [("settings", "SETTINGS.md"), ("frameworks", "FRAMEWORKS.md")] {
        let made = text(&home.run(&["docs", page]).stdout);
        let kept =
            std::fs::read_to_string(format!("{}/../../docs/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(made == kept, "docs/{file} is not what the code says: run `make docs`");
    }
}

#[test]
fn settings_are_explained_where_they_are_shown() {
    let home = Home::new();
    home.serve().stop();
    let shown = text(&home.run(&["settings", "get", "--explain", "sign_up.mode"]).stdout);
    for said in [
        "sign_up.mode = \"public\"",
        "Who may sign up.",
        "restricted: Whoever was invited. Backends create users all the same.",
        "Default: \"public\"",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    let all = home.json(&["settings", "get", "--explain", "--json"]).0;
    let plain = text(&home.run(&["settings", "get"]).stdout);
    assert_eq!(all.as_array().unwrap().len(), plain.lines().count());
    let has_meaning = |one: &serde_json::Value| one["meaning"].as_str().is_some_and(|text| !text.is_empty());
    assert!(all.as_array().unwrap().iter().all(has_meaning));
    let unknown = home.run(&["settings", "get", "--explain", "sesion"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn what_was_mistyped_is_answered_with_what_may_have_been_meant() {
    let home = Home::new();
    home.serve().stop();
    for (line, meant) in [
        (&["settings", "set", "sesion.lifetime_seconds=600"][..], "Did you mean session.lifetime_seconds?"),
        (&["settings", "get", "sesion"], "Did you mean session?"),
        (&["settings", "get", "lifetime_seconds"], "Did you mean session.lifetime_seconds?"),
        (&["settings", "set", "sign_up.mode=restriced"], "Did you mean restricted?"),
        (&["settings", "reset", "signup.mode"], "Did you mean sign_up.mode?"),
        (&["serve", "--log-format", "jsno"], "Did you mean json?"),
        (&["env", "nextt"], "'next'"),
        (&["setings", "get"], "'settings'"),
        (&["keys", "revok", "key_1"], "'revoke'"),
    ] {
        let refused = home.run(line);
        let said = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(meant), "{line:?}: {said}");
    }
}

#[test]
fn a_setting_that_needs_what_is_not_built_is_refused_and_changes_nothing() {
    let home = Home::new();
    home.serve().stop();
    let change = "sign_up.captcha_enabled=true";
    let refused = home.run(&["settings", "set", change, "session.lifetime_seconds=86400"]);
    let said = text(&refused.stderr);
    assert!(
        refused.status.code() == Some(2) && said.contains("Latchkey does not have captchas yet."),
        "{said}"
    );
    assert_eq!(home.json(&["settings", "get", "--json", "session.lifetime_seconds"]).0, json!(604_800));
    let enterprise = home.run(&["settings", "set", "enterprise_sso.enabled=true"]);
    let said = text(&enterprise.stderr);
    assert!(said.contains("Latchkey does not have enterprise connections yet."), "{said}");
}
