//! What the program says of itself: pages made from the code, explained settings, help, and what may have been meant.

use std::collections::BTreeSet;

use serde_json::{Value, json};

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

/// A package and a version of it.
type Pin = (String, String);

/// A file of the repository.
fn file(path: &str) -> String {
    std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The SDKs that a folder of tests asks for by itself, as its lock file has them.
fn locked(folder: &str) -> Vec<Pin> {
    let lock: Value = serde_json::from_str(&file(&format!("tests/{folder}/package-lock.json"))).unwrap();
    let wanted = lock["packages"][""]["devDependencies"].as_object().unwrap();
    let pins = wanted.keys().map(|folder| {
        let package = &lock["packages"][format!("node_modules/{folder}")];
        // One that lies in a folder of another name has its own beside it.
        let name = package["name"].as_str().unwrap_or(folder);
        (name.to_owned(), package["version"].as_str().unwrap().to_owned())
    });
    pins.filter(|(name, _)| name.starts_with("@clerk/")).collect()
}

#[test]
fn the_readme_names_the_versions_that_the_tests_use() {
    let mut used: BTreeSet<Pin> = ["apps", "browser", "sdk/js"].into_iter().flat_map(locked).collect();
    let python = file("tests/sdk/py/requirements.txt");
    let pins = python.lines().filter_map(|line| line.split_once("=="));
    used.extend(
        pins.filter(|(name, _)| name.starts_with("clerk"))
            .map(|(name, version)| (name.to_owned(), version.to_owned())),
    );
    let readme = file("README.md");
    let table = readme.split_once("These versions are tested with every change:\n").unwrap().1;
    let rows =
        table.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with('|'));
    let mut named = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let names = cells[0].split('`').skip(1).step_by(2);
        let versions: Vec<&str> = cells[1].split(", ").collect();
        assert_eq!(names.clone().count(), versions.len(), "{row}");
        named.extend(names.zip(versions).map(|(name, version)| (name.to_owned(), version.to_owned())));
    }
    assert!(used.len() > 8, "{used:?}");
    assert_eq!(named, used, "the table of README.md, and the lock files of the tests");
}

#[test]
fn the_commands_for_browser_scripts_are_the_same_on_the_page_and_in_the_documentation() {
    let page = file("crates/flows/src/portal/page.html");
    let commands = page.split_once("const fetching = `").unwrap().1.split_once("`;").unwrap().0;
    assert!(commands.lines().count() == 2 && !commands.contains("${"), "{commands}");
    let block = format!("```sh\n{commands}\n```\n");
    assert!(file("docs/CONFIGURATION.md").contains(&block), "{block}");
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
    let has_meaning = |one: &Value| one["meaning"].as_str().is_some_and(|text| !text.is_empty());
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
        (&["settings", "set", "providers.google.enabled=true"], "Did you mean social.google.enabled?"),
        (&["settings", "get", "enterprise.enabled"], "Latchkey does not have enterprise connections yet."),
        (&["settings", "set", "webhooks.url=https://a.example"], "`latchkey webhooks create URL`"),
        (&["settings", "reset", "api_url"], "set LATCHKEY_API_URL, or api_url in latchkey.toml"),
        (&["settings", "set", "passkeys.enabled=true"], "Did you mean attributes.passkey.enabled?"),
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
