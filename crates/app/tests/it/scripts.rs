//! The browser scripts: what is served, how, and what never is.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response};
use axum::middleware::{Next, from_fn};
use http_body_util::BodyExt;
use latchkey_base::rng::SeededRng;
use latchkey_flows::scripts::files::ScriptSource;
use latchkey_flows::scripts::{frontend, pinned};
use latchkey_web::edge::Edge;
use latchkey_web::unsent::AnswerBudget;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

use crate::contract::repository;

const SCRIPT: &str = "console.log('here')";

/// A directory with both packages, and a secret beside them.
fn packages() -> TempDir {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    for (name, version) in [("clerk-js", "6.34.1"), ("ui", "1.36.0")] {
        let package = root.join("modules/@clerk").join(name);
        std::fs::create_dir_all(package.join("dist/types")).unwrap();
        let manifest = format!(r#"{{"name":"@clerk/{name}","version":"{version}"}}"#);
        std::fs::write(package.join("package.json"), manifest).unwrap();
        for file in ["a.js", "a.mjs", "a.css", "a.js.map", "a.wasm", "a.html", "a.d.ts"] {
            std::fs::write(package.join("dist").join(file), SCRIPT).unwrap();
        }
    }
    std::fs::write(root.join("secret.js"), "secret").unwrap();
    std::fs::write(root.join("modules/secret.js"), "secret").unwrap();
    folder
}

fn site(source: ScriptSource) -> Router {
    let (rng, answers) = (Arc::new(SeededRng::new(1)), AnswerBudget::new(1024 * 1024));
    let edge = Arc::new(Edge::new(Arc::new(Vec::new()), Duration::from_secs(30), rng, answers));
    frontend::routes::<()>(source).layer(from_fn(move |request: Request, next: Next| {
        let edge = edge.clone();
        async move { edge.handle(request, next).await }
    }))
}

fn site_of(folder: &TempDir) -> Router {
    site(ScriptSource::Directory(folder.path().join("modules")))
}

async fn ask(site: &Router, method: Method, path: &str, tag: Option<&str>) -> (Response<()>, Vec<u8>) {
    let request = Request::builder().method(method).uri(path);
    let request = tag.into_iter().fold(request, |request, tag| request.header("if-none-match", tag));
    let (head, body) = site.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes().to_vec();
    (Response::from_parts(head, ()), bytes)
}

async fn get(site: &Router, path: &str) -> (Response<()>, Vec<u8>) {
    ask(site, Method::GET, path, None).await
}

fn header<'a>(response: &'a Response<()>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn every_tag_and_version_of_its_major_is_the_unpacked_package() {
    let folder = packages();
    let site = site_of(&folder);
    for version in ["6", "6.34.1", "6.0.0", "latest", "canary"] {
        let (response, bytes) = get(&site, &format!("/npm/@clerk/clerk-js@{version}/dist/a.js")).await;
        assert_eq!((response.status().as_u16(), bytes.as_slice()), (200, SCRIPT.as_bytes()), "{version}");
        assert_eq!(header(&response, "content-type"), "text/javascript; charset=utf-8");
        assert_eq!(header(&response, "access-control-allow-origin"), "*");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff");
        assert_eq!(header(&response, "content-length"), SCRIPT.len().to_string());
        let is_exact = version == "6.34.1";
        assert_eq!(header(&response, "cache-control").contains("immutable"), is_exact, "{version}");
    }
    assert_eq!(get(&site, "/npm/%40clerk/ui%401/dist/a.css").await.0.status(), 200);
}

/// Adds a copy of clerk-js whose script is its version.
fn add_copy(folder: &TempDir, name: &str, version: &str) {
    let package = folder.path().join("modules/@clerk").join(name);
    std::fs::create_dir_all(package.join("dist")).unwrap();
    std::fs::write(package.join("package.json"), format!(r#"{{"version":"{version}"}}"#)).unwrap();
    std::fs::write(package.join("dist/a.js"), version).unwrap();
}

#[tokio::test]
async fn a_major_version_is_never_answered_with_another() {
    let folder = packages();
    let site = site_of(&folder);
    for version in [
        "5",
        "5.118.0",
        "7",
        "v5",
        "5.x",
        "5.0.0-canary.1",
        "latest-v5",
        "core-2",
        "60",
        "66666666666666666666",
    ] {
        let (response, bytes) = get(&site, &format!("/npm/@clerk/clerk-js@{version}/dist/a.js")).await;
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(response.status(), 404, "{version}: {text}");
        let expected = format!("@clerk/clerk-js@{version} was asked for");
        assert!(text.contains(&expected) && text.contains("6.34.1") && text.contains("npm pack"), "{text}");
    }
}

#[tokio::test]
async fn each_major_version_has_a_folder_of_its_own() {
    let folder = packages();
    add_copy(&folder, "clerk-js@5", "5.118.0");
    add_copy(&folder, "clerk-js@6", "6.1.0");
    add_copy(&folder, "clerk-js@7", "7.0.0-canary.1");
    // Named after one version, with another in it: it answers for neither.
    add_copy(&folder, "clerk-js@4", "3.0.0");
    add_copy(&folder, "clerk-js@latest", "9.0.0");
    let site = site_of(&folder);
    let served = async |version: &str| {
        let (response, bytes) = get(&site, &format!("/npm/@clerk/clerk-js@{version}/dist/a.js")).await;
        (response.status() == 200).then(|| String::from_utf8(bytes).unwrap())
    };
    assert_eq!(served("5").await.as_deref(), Some("5.118.0"));
    assert_eq!(served("5.1.0").await.as_deref(), Some("5.118.0"));
    assert_eq!(served("6").await.as_deref(), Some(SCRIPT), "what npm installed comes first");
    assert_eq!(served("7").await.as_deref(), Some("7.0.0-canary.1"));
    assert_eq!(served("latest").await.as_deref(), Some("7.0.0-canary.1"));
    for version in ["3", "4", "9"] {
        assert_eq!(served(version).await, None, "{version}");
    }
}

#[tokio::test]
async fn package_that_was_updated_in_place_is_not_kept_under_its_old_version() {
    let folder = packages();
    let site = site_of(&folder);
    let exact = "/npm/@clerk/ui@1.36.0/dist/a.js";
    let (before, _) = get(&site, exact).await;
    assert!(header(&before, "cache-control").contains("immutable"));
    let manifest = folder.path().join("modules/@clerk/ui/package.json");
    std::fs::write(manifest, r#"{"version":"1.37.0"}"#).unwrap();
    let (after, _) = get(&site, exact).await;
    assert_eq!(header(&after, "cache-control"), "public, max-age=300");
    assert_ne!(header(&after, "etag"), header(&before, "etag"));
}

#[tokio::test]
async fn known_file_is_not_sent_again_and_head_sends_none() {
    let folder = packages();
    let site = site_of(&folder);
    let path = "/npm/@clerk/ui@1/dist/a.js";
    let (first, _) = get(&site, path).await;
    let tag = header(&first, "etag").to_owned();
    let (again, bytes) = ask(&site, Method::GET, path, Some(&tag)).await;
    assert_eq!((again.status().as_u16(), bytes.len()), (304, 0));
    assert_eq!(header(&again, "access-control-allow-origin"), "*");
    let (head, bytes) = ask(&site, Method::HEAD, path, Some("\"other\"")).await;
    assert_eq!((head.status().as_u16(), bytes.len()), (200, 0));
    assert_eq!(header(&head, "content-length"), SCRIPT.len().to_string());
}

#[tokio::test]
async fn large_file_arrives_whole() {
    let folder = packages();
    let large: Vec<u8> = (0..1_000_003_u32).map(|number| number as u8).collect();
    std::fs::write(folder.path().join("modules/@clerk/ui/dist/large.js"), &large).unwrap();
    let (_, bytes) = get(&site_of(&folder), "/npm/@clerk/ui@1/dist/large.js").await;
    assert!(bytes == large, "{} bytes", bytes.len());
}

#[tokio::test]
async fn nothing_outside_of_the_packages_is_served() {
    let folder = packages();
    let dist = folder.path().join("modules/@clerk/ui/dist");
    symlink(folder.path().join("secret.js"), dist.join("out.js")).unwrap();
    symlink("../../../secret.js", dist.join("up.js")).unwrap();
    symlink(folder.path(), dist.join("away")).unwrap();
    symlink("../../clerk-js/dist/a.js", dist.join("sibling.js")).unwrap();
    symlink("a.js", dist.join("within.js")).unwrap();
    let site = site_of(&folder);
    let paths = [
        "out.js",
        "up.js",
        "away/secret.js",
        "sibling.js",
        "../../../secret.js",
        "..%2f..%2f..%2fsecret.js",
        "%2e%2e/%2e%2e/%2e%2e/secret.js",
        "%252e%252e/%252e%252e/secret.js",
        "..%5c..%5csecret.js",
        "/etc/hosts.js",
        "%2fetc/hosts.js",
        "a.js%00",
        "a.js%00.map",
        "%00a.js",
        "a.js%ff",
        "a.js%",
        "a.html",
        "a.d.ts",
        "types",
        "missing.js",
        "",
    ];
    for path in paths {
        let (response, bytes) = get(&site, &format!("/npm/@clerk/ui@1/dist/{path}")).await;
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(response.status(), 404, "{path}: {text}");
        assert!(text.contains("resource_not_found") && !text.contains("secret\""), "{path}: {text}");
    }
    for path in
        ["@clerk/backend@1/dist/a.js", "@clerk/../secret.js", "../secret.js", "secret.js", "@clerk/ui@1"]
    {
        assert_eq!(get(&site, &format!("/npm/{path}")).await.0.status(), 404, "{path}");
    }
    assert_eq!(get(&site, "/npm/@clerk/ui@1/dist/within.js").await.0.status(), 200);
}

#[tokio::test]
async fn only_regular_files_are_opened() {
    let folder = packages();
    let dist = folder.path().join("modules/@clerk/ui/dist");
    std::fs::create_dir(dist.join("folder.js")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(dist.join("pipe.js")).status().unwrap();
    assert!(made.success());
    let site = site_of(&folder);
    for name in ["folder.js", "pipe.js"] {
        assert_eq!(get(&site, &format!("/npm/@clerk/ui@1/dist/{name}")).await.0.status(), 404, "{name}");
    }
}

#[tokio::test]
async fn packages_linked_within_the_directory_are_found_and_others_are_not() {
    let folder = packages();
    let modules = folder.path().join("modules");
    // As pnpm lays them out.
    move_and_link(&modules.join("@clerk/ui"), &modules.join("elsewhere"));
    assert_eq!(get(&site_of(&folder), "/npm/@clerk/ui@1/dist/a.js").await.0.status(), 200);
    move_and_link(&modules.join("@clerk/clerk-js"), &folder.path().join("outside"));
    assert_eq!(get(&site_of(&folder), "/npm/@clerk/clerk-js@6/dist/a.js").await.0.status(), 404);
}

fn move_and_link(from: &Path, to: &Path) {
    std::fs::rename(from, to).unwrap();
    symlink(to, from).unwrap();
}

#[tokio::test]
async fn without_a_directory_browsers_are_sent_to_the_cdn() {
    let site = site(ScriptSource::Cdn);
    let (response, bytes) = get(&site, "/npm/@clerk/clerk-js@6/dist/clerk.browser.js?x=//evil.example").await;
    assert_eq!((response.status().as_u16(), bytes.len()), (307, 0));
    let location = header(&response, "location");
    assert_eq!(location, "https://cdn.jsdelivr.net/npm/@clerk/clerk-js@6.40.0/dist/clerk.browser.js");
    assert_eq!(header(&response, "access-control-allow-origin"), "*");
    for path in
        ["/npm/@clerk/ui@1/../../../evil.js", "/npm/@clerk/ui@1@evil.example/a.js", "/npm//evil.example/a.js"]
    {
        assert_eq!(get(&site, path).await.0.status(), 404, "{path}");
    }
}

/// A JSON file of the repository.
fn json_file(path: &str) -> Value {
    let path = repository().join(path);
    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
}

#[tokio::test]
async fn pinned_scripts_are_those_that_are_tested_and_redirected_to() {
    let (browser, apps) = (json_file("tests/browser/package.json"), json_file("tests/apps/package.json"));
    let lock = json_file("tests/apps/package-lock.json");
    let cdn = site(ScriptSource::Cdn);
    let mut named = Vec::new();
    for copy in pinned::copies() {
        let (name, version) = (copy.name, copy.version);
        let major = version.split_once('.').unwrap().0;
        // npm installs one version of a package under its own name.
        let installed = match (name, major) {
            ("@clerk/clerk-js", "5") => "clerk-js-5",
            _ => name,
        };
        let expected = match installed {
            "clerk-js-5" => format!("npm:{name}@{version}"),
            _ => version.to_owned(),
        };
        assert_eq!(apps["devDependencies"][installed], expected, "tests/apps");
        if installed == name {
            assert_eq!(browser["devDependencies"][name], version, "tests/browser");
        }
        assert_eq!(
            lock["packages"][format!("node_modules/{installed}")]["integrity"],
            copy.integrity,
            "{name}"
        );
        for asked in [major, version] {
            let (response, _) = get(&cdn, &format!("/npm/{name}@{asked}/dist/a.js")).await;
            let location = header(&response, "location");
            assert_eq!(location, format!("https://cdn.jsdelivr.net/npm/{name}@{version}/dist/a.js"));
        }
        named.push(format!("{name}@{major}"));
    }
    named.sort();
    assert_eq!(named, ["@clerk/clerk-js@5", "@clerk/clerk-js@6", "@clerk/ui@1"]);
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    for copy in pinned::copies() {
        assert!(readme.contains(copy.version), "the README names {} {}", copy.name, copy.version);
    }
}

#[test]
fn missing_packages_are_named() {
    let folder = packages();
    let source = |folder: &TempDir| ScriptSource::Directory(folder.path().join("modules"));
    assert!(source(&folder).missing().is_empty());
    assert!(ScriptSource::Cdn.missing().is_empty());
    std::fs::write(folder.path().join("modules/@clerk/ui/package.json"), "{}").unwrap();
    assert_eq!(source(&folder).missing(), ["@clerk/ui@1"]);
    let manifest = folder.path().join("modules/@clerk/clerk-js/package.json");
    std::fs::write(manifest, r#"{"version":"5.118.0"}"#).unwrap();
    assert_eq!(
        source(&folder).missing(),
        ["@clerk/clerk-js@6", "@clerk/ui@1"],
        "pages need this major version"
    );
    assert_eq!(ScriptSource::Directory("/nowhere".into()).missing(), ["@clerk/clerk-js@6", "@clerk/ui@1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_piece_of_a_file_is_never_lost() {
    let folder = packages();
    // Three pieces, the last of which is read quickly.
    let file = folder.path().join("modules/@clerk/clerk-js/dist/a.js");
    std::fs::write(file, vec![b' '; 131_072 + 1]).unwrap();
    let site = site_of(&folder);
    for _ in 0..5000 {
        let (_, bytes) = get(&site, "/npm/@clerk/clerk-js@6/dist/a.js").await;
        assert_eq!(bytes.len(), 131_072 + 1);
    }
}
