//! The environment of apps, as `serve` and `latchkey env` print it.

use serde_json::{Value, json};

use crate::support::{Home, text};
use crate::{PRODUCTION, free_port};

#[test]
fn an_app_gets_its_variables_by_the_names_its_framework_reads() {
    let home = Home::new();
    let (port, frontend_port) = (free_port(), free_port());
    let (api, frontend) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{frontend_port}"));
    let places = ["--listen", &*api, "--frontend-listen", &*frontend];
    let server = home.serve_with(&places);
    let env = |framework: &str, more: &[&str]| {
        home.json(&[&["env", framework, "--json"], &places[..], more].concat()).0
    };
    let (secret, publishable) = (server.announced("secret key"), server.announced("publishable key"));
    let url = format!("http://localhost:{frontend_port}");
    assert_eq!(
        env("next", &[]),
        json!({
            "NEXT_PUBLIC_CLERK_PUBLISHABLE_KEY": publishable,
            "CLERK_SECRET_KEY": secret,
            "CLERK_API_URL": format!("http://{api}"),
            "NEXT_PUBLIC_CLERK_PROXY_URL": url,
            "NEXT_PUBLIC_CLERK_JS_URL": format!("{url}/npm/@clerk/clerk-js@6/dist/clerk.browser.js"),
            "NEXT_PUBLIC_CLERK_UI_URL": format!("{url}/npm/@clerk/ui@1/dist/ui.browser.js"),
            "NEXT_PUBLIC_CLERK_SIGN_IN_URL": format!("{url}/sign-in"),
            "NEXT_PUBLIC_CLERK_SIGN_UP_URL": format!("{url}/sign-up"),
            "NEXT_PUBLIC_CLERK_TELEMETRY_DISABLED": "1",
        })
    );
    assert_eq!(env("nextjs", &[]), env("next", &[]));
    assert_eq!(env("vite", &[])["VITE_CLERK_SIGN_IN_URL"], format!("{url}/sign-in"));
    assert_eq!(env("vite", &[])["CLERK_SECRET_KEY"], Value::Null, "a secret would get into the page");
    assert_eq!(
        env("react-5", &[])["VITE_CLERK_JS_URL"],
        format!("{url}/npm/@clerk/clerk-js@5/dist/clerk.browser.js")
    );
    assert_eq!(
        env("html", &[]),
        json!({
            "CLERK_PUBLISHABLE_KEY": publishable,
            "CLERK_PROXY_URL": url,
            "CLERK_JS_URL": format!("{url}/npm/@clerk/clerk-js@6/dist/clerk.browser.js"),
            "CLERK_UI_URL": format!("{url}/npm/@clerk/ui@1/dist/ui.browser.js"),
        })
    );
    assert_eq!(env("javascript", &[]), env("html", &[]), "what Clerk calls JavaScript runs in browsers");
    let svelte = env("sveltekit", &[]);
    assert_eq!(svelte["PUBLIC_CLERK_API_URL"], format!("http://{api}"));
    assert_eq!(svelte["PUBLIC_CLERK_UI_URL"], format!("{url}/npm/@clerk/ui@1/dist/ui.browser.js"));
    assert_eq!(env("python", &[])["CLERK_API_URL"], format!("http://{api}/v1"));
    assert_eq!(env("go", &[])["CLERK_ISSUER"], format!("http://{frontend}"));
    let further = env("express", &["--new-key"])["CLERK_SECRET_KEY"].as_str().unwrap().to_owned();
    assert_ne!(further, secret);
    assert_eq!(server.status("/v1/jwks", &further), 200);
    let pages = server.get_frontend("/sign-in", &format!("localhost:{frontend_port}"));
    assert!(pages.starts_with("HTTP/1.1 200"), "{pages}");
    let block = text(&home.run(&[&["env", "next"], &places[..]].concat()).stdout);
    assert!(
        block
            .starts_with("# Next.js (@clerk/nextjs): .env.local\nNEXT_PUBLIC_CLERK_PUBLISHABLE_KEY=pk_test_"),
        "{block}"
    );
    let code = text(&home.run(&[&["env", "fastify"], &places[..]].concat()).stdout);
    assert!(code.contains(": .env\n# Start with: node --env-file=.env app.mjs\n"), "{code}");
    assert!(
        code.contains("# In code: app.register(clerkPlugin, { apiUrl: process.env.CLERK_API_URL,"),
        "{code}"
    );
    let page = text(&home.run(&[&["env", "html"], &places[..]].concat()).stdout);
    assert!(page.contains(&format!("data-clerk-publishable-key=\"{publishable}\"")), "{page}");
    assert!(page.contains(&format!("data-clerk-proxy-url=\"{url}\"")), "{page}");
    let refused = home.run(&[&["env", "html", "--new-key"], &places[..]].concat());
    assert!(refused.status.code() == Some(2) && text(&refused.stderr).contains("latchkey keys create"));
    assert!(!block.contains("third-party cookies"), "{block}");
}

#[test]
fn a_command_with_other_addresses_than_the_server_prints_no_block() {
    let home = Home::new();
    let host = |port: u16| format!("127.0.0.1:{port}");
    let (frontend, elsewhere) = (host(free_port()), host(free_port()));
    let server = home.serve_with(&["--frontend-listen", &frontend]);
    let second = home.json(&[
        "instances",
        "create",
        "--environment",
        "development",
        "--json",
        "--frontend-listen",
        &frontend,
    ]);
    let second = second.0["instance_id"].as_str().unwrap().to_owned();
    let count = || home.json(&["keys", "list", "--json"]).0.as_array().unwrap().len();
    let before = count();
    for more in [&["--new-key"][..], &["--json"], &["--instance", &second]] {
        let mixed = home.run(&[&["env", "next", "--frontend-listen", &elsewhere], more].concat());
        let said = text(&mixed.stderr);
        assert_eq!((mixed.status.code(), &*text(&mixed.stdout)), (Some(1), ""), "{said}");
        assert!(said.contains("The publishable key names ") && said.contains("there is none."), "{said}");
        assert!(said.contains("the same --listen and --frontend-listen"), "{said}");
    }
    assert_eq!(count(), before, "no key is made for a block that is not printed");
    // That nothing answers at the address of the Backend API may have other reasons.
    let listen = host(free_port());
    let guess = home.run(&["env", "next", "--listen", &listen, "--frontend-listen", &frontend]);
    assert!(guess.status.success() && text(&guess.stderr).contains("no server answers at"), "{guess:?}");
    server.stop();
    // A start there moves the instance, and then the block is right.
    home.serve_with(&["--frontend-listen", &elsewhere]).stop();
    assert!(home.run(&["env", "next", "--frontend-listen", &elsewhere]).status.success());
}

#[test]
fn a_production_instance_is_reached_by_its_keys_and_its_secret_is_not_made_up() {
    let home = Home::new();
    let _server = home.serve();
    let made = home.json(&PRODUCTION).0;
    let id = made["instance_id"].as_str().unwrap();
    let next = home.json(&["env", "next", "--json", "--instance", id]).0;
    assert_eq!(next["NEXT_PUBLIC_CLERK_PUBLISHABLE_KEY"], made["publishable_key"]);
    assert_eq!(
        (&next["CLERK_SECRET_KEY"], &next["NEXT_PUBLIC_CLERK_PROXY_URL"]),
        (&Value::Null, &Value::Null)
    );
    let block = text(&home.run(&["env", "next", "--instance", id]).stdout);
    assert!(block.contains("# CLERK_SECRET_KEY=…  (only its digest is kept"), "{block}");
    let page = text(&home.run(&["env", "html", "--instance", id]).stdout);
    let script = "src=\"https://clerk.example.com/npm/@clerk/clerk-js@6/dist/clerk.browser.js\"";
    assert!(page.contains(script) && !page.contains("data-clerk-proxy-url"), "{page}");
    for framework in ["react", "react-5", "vue"] {
        let block = text(&home.run(&["env", framework, "--instance", id]).stdout);
        assert!(block.contains("# In code: ") && !block.contains("sign-in"), "{block}");
    }
}

#[test]
fn the_block_of_a_second_instance_says_at_which_host_the_app_is_to_be_opened() {
    let home = Home::new();
    let _server = home.serve();
    let made = home.json(&["instances", "create", "--environment", "development", "--json"]).0;
    let (id, host) = (made["instance_id"].as_str().unwrap(), made["frontend_api"].as_str().unwrap());
    let block = text(&home.run(&["env", "next", "--instance", id]).stdout);
    let line = format!("\n# Open the application as http://{host}:<its port>, not as http://localhost.\n");
    assert!(block.contains(&line), "{block}");
    let first = text(&home.run(&["env", "next"]).stdout);
    assert!(!first.contains("# Open the application"), "{first}");
}

#[test]
fn without_a_framework_all_are_listed_and_without_a_database_nothing_is_made() {
    let home = Home::new();
    let listed = home.run(&["env"]);
    let names = text(&listed.stdout);
    for name in [
        "next",
        "astro",
        "express",
        "fastify",
        "vue",
        "nuxt",
        "svelte",
        "remix",
        "react-router",
        "tanstack",
        "expo",
        "java",
        "html",
    ] {
        assert!(names.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}: {names}");
    }
    assert!(names.lines().any(|line| line.starts_with("react ") && line.contains(" vite ")), "{names}");
    let refused = text(&home.run(&["env", "cobol"]).stderr);
    assert!(refused.contains("next, nextjs, react, vite,"), "{refused}");
    let near = text(&home.run(&["env", "nxt"]).stderr);
    assert!(near.contains("some similar values exist: 'next', 'nuxt'"), "{near}");
    if home.has_file() {
        assert_eq!(home.run(&["env", "next"]).status.code(), Some(1));
        assert!(!home.path("data").exists());
    }
}
