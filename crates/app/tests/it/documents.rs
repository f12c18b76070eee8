//! The documents for operators.

use std::fs;

use crate::contract::repository;

/// Other users of a machine can read the command lines of all processes.
#[test]
fn documents_give_no_secrets_on_the_command_line() {
    let folder = fs::read_dir(repository().join("docs")).unwrap();
    let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    assert!(paths.len() > 10, "{paths:?}");
    paths.extend([repository().join("README.md"), repository().join("crates/server/src/cli.rs")]);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        for secret in [
            "Authorization: Bearer $",
            "Authorization: Bearer sk_",
            "client_secret=",
            "private_key=",
            ".password=",
            ".auth_token=",
            ".secret=",
        ] {
            assert!(!text.contains(secret), "{} has `{secret}`", path.display());
        }
    }
}

/// Without a default server nginx passes `Host: localhost` on to the development instance.
#[test]
fn nginx_recipes_answer_no_other_names() {
    for name in ["README.md", "docs/PRODUCTION.md"] {
        let text = fs::read_to_string(repository().join(name)).unwrap();
        let recipes = text.split("```nginx").skip(1).map(|rest| rest.split("```").next().unwrap());
        for recipe in recipes.filter(|recipe| recipe.contains("proxy_pass")) {
            let (_, server) = recipe.split_once(" default_server;").expect(name);
            assert!(server.split('}').next().unwrap().contains("return 444;"), "{name}: {recipe}");
        }
    }
}
