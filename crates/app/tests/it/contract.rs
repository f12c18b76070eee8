//! Our OpenAPI document against its copy in the repository, and against the published description of
//! the API we are compatible with.

mod compare;
mod deviations;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use latchkey_app::{GROUPS, document, frontend_document};
use serde_json::Value;

use compare::{differences, operations};
use deviations::{OF_BACKEND, OF_FRONTEND};

/// The tags whose operations all exist here.
const TAGS: &[&str] = &[
    "Actor Tokens",
    "Admin Portal Link Tokens",
    "Allow-list / Block-list",
    "Beta Features",
    "Clients",
    "Domains",
    "Email & SMS Templates",
    "Email Addresses",
    "Instance Settings",
    "Invitations",
    "JWKS",
    "JWT Templates",
    "Miscellaneous",
    "Organization Domains",
    "Organization Invitations",
    "Organization Memberships",
    "Organization Permissions",
    "Organization Roles",
    "Organizations",
    "Phone Numbers",
    "Proxy Checks",
    "Redirect URLs",
    "Role Sets",
    "Sessions",
    "Sign Ups",
    "Sign-in Tokens",
    "Testing Tokens",
    "Users",
    "Waitlist Entries",
    "Webhooks",
];

/// The tags of operations that are ours: nothing is published to compare them with.
pub(crate) const OUR_TAGS: &[&str] = &["Webhook Endpoints"];

/// Operations that SDKs call although the newest description does not list them.
pub(crate) const UNLISTED: [&str; 10] = [
    "ChangeDomain",
    "DeleteInvitation",
    "DeleteTemplateLocale",
    "GetHandshakePayload",
    "GetTemplateLocale",
    "ListEvents",
    "ListInboxMessages",
    "ListTemplateLocales",
    "PutTemplateLocale",
    "VerifySession",
];

/// Operations of the Frontend API that scripts call although the newest description does not list them.
pub(crate) const FRONTEND_UNLISTED: [&str; 3] =
    ["enableEnvironmentSetting", "postEnableEnvironmentSetting", "touchClient"];

/// Operations of those groups that come with another group.
const LATER: [&str; 6] = [
    "GetUserBillingSubscription",
    "GetUserBillingCreditBalance",
    "AdjustUserBillingCreditBalance",
    "GetOrganizationBillingSubscription",
    "GetOrganizationBillingCreditBalance",
    "AdjustOrganizationBillingCreditBalance",
];

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
#[expect(clippy::disallowed_methods, reason = "asked to write the files rather than to compare them")]
fn contracts_in_the_repository_are_what_the_code_says() {
    let documents = [
        ("contract/backend.json", document("http://127.0.0.1:3400", GROUPS)),
        ("contract/frontend.json", frontend_document("http://localhost:3401", GROUPS)),
    ];
    for (name, document) in documents {
        let path = repository().join(name);
        if std::env::var("UPDATE_CONTRACT").is_ok_and(|wanted| wanted == "1") {
            let text = serde_json::to_string_pretty(&document).unwrap();
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, format!("{text}\n")).unwrap();
        }
        let stored: Value =
            serde_json::from_slice(&std::fs::read(path).unwrap_or_default()).unwrap_or_default();
        assert!(stored == document, "{name} is out of date; `make contract` writes it anew");
    }
}

#[test]
fn contracts_agree_with_the_published_descriptions() {
    let faces = [
        ("bapi", "/v1", document("http://127.0.0.1:3400", GROUPS), OF_BACKEND),
        ("fapi", "", frontend_document("http://localhost:3401", GROUPS), OF_FRONTEND),
    ];
    for (face, prefix, mut ours, deviations) in faces {
        let Some(published) = published_of(face) else { return };
        assert_eq!(ours["security"], published["security"], "{face}: what callers show");
        without_our_own(&mut ours);
        let found = differences(&ours, &published, prefix);
        let explains = |(pattern, _): &(&str, _), difference: &str| is_like(pattern, difference);
        let unexplained: Vec<&String> =
            found.iter().filter(|it| !deviations.iter().any(|line| explains(line, it))).collect();
        let outdated: Vec<_> =
            deviations.iter().filter(|line| !found.iter().any(|it| explains(line, it))).collect();
        assert!(unexplained.is_empty(), "{face}: differs from the published description:\n{unexplained:#?}");
        assert!(outdated.is_empty(), "{face}: no longer differs:\n{outdated:#?}");
    }
}

/// Whether a difference starts as a pattern says, in which one `*` may stand for anything.
fn is_like(pattern: &str, difference: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, rest)) => difference.strip_prefix(start).is_some_and(|more| more.contains(rest)),
        None => difference.starts_with(pattern),
    }
}

/// Takes out the operations of groups that are ours.
fn without_our_own(document: &mut Value) {
    for methods in document["paths"].as_object_mut().unwrap().values_mut() {
        methods.as_object_mut().unwrap().retain(|_, entry| !is_ours(entry));
    }
}

#[test]
fn every_published_operation_of_these_groups_is_here() {
    let Some(published) = published() else { return };
    let ours = document("http://127.0.0.1:3400", GROUPS);
    let names = |document: &Value, wanted: &dyn Fn(&Value) -> bool| -> BTreeSet<String> {
        let all = operations(document);
        let wanted = all.values().filter(|entry| wanted(entry));
        wanted.map(|entry| entry["operationId"].as_str().unwrap().to_owned()).collect()
    };
    let in_groups = |entry: &Value| {
        let tags = entry["tags"].as_array().unwrap();
        tags.iter().any(|tag| TAGS.iter().any(|built| tag == built))
    };
    let mut wanted = names(&published, &in_groups);
    for later in LATER {
        assert!(wanted.remove(later), "{later} is not published");
    }
    let is_listed =
        |entry: &Value| !is_ours(entry) && !UNLISTED.iter().any(|unlisted| entry["operationId"] == *unlisted);
    assert_eq!(names(&ours, &is_listed), wanted);
}

fn is_ours(entry: &Value) -> bool {
    OUR_TAGS.iter().any(|tag| entry["tags"][0] == *tag)
}

/// What stands between backticks in the table of open bodies in `docs/BACKENDS.md`.
fn listed_as_open() -> BTreeSet<String> {
    let page = std::fs::read_to_string(repository().join("docs/BACKENDS.md")).unwrap();
    let (_, rest) = page.split_once("These bodies are open; all others are closed:").unwrap();
    let table =
        rest.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    table.flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn open_bodies_of_the_backend_api_are_listed_for_its_users() {
    let ours = document("http://127.0.0.1:3400", GROUPS);
    let is_open = |entry: &Value| compare::is_body_open(&ours, entry);
    let open = operations(&ours).into_iter().filter(|(_, entry)| is_open(entry));
    let open: BTreeSet<String> =
        open.map(|((method, path), _)| format!("{} {path}", method.to_uppercase())).collect();
    assert_eq!(open, listed_as_open());
}

#[test]
fn what_the_published_descriptions_advise_against_is_marked_here_too() {
    let faces = [
        ("bapi", "/v1", document("http://127.0.0.1:3400", GROUPS)),
        ("fapi", "", frontend_document("http://localhost:3401", GROUPS)),
    ];
    for (face, prefix, ours) in faces {
        let Some(published) = published_of(face) else { return };
        let listed = operations(&published);
        for ((method, path), entry) in operations(&ours) {
            let public_path = path.strip_prefix(prefix).unwrap();
            let Some(theirs) = listed.get(&(method, public_path)) else { continue };
            assert_eq!(entry["deprecated"], theirs["deprecated"], "{face}: {method} {path}");
        }
    }
}

/// The published description, when it lies beside the repository.
fn published() -> Option<Value> {
    published_of("bapi")
}

fn published_of(face: &str) -> Option<Value> {
    let mut files = descriptions(face);
    files.pop().map(|newest| read_description(&newest))
}

/// The published descriptions of all versions, the oldest first.
pub(crate) fn published_versions(face: &str) -> Option<Vec<Value>> {
    let files = descriptions(face);
    (!files.is_empty()).then(|| files.iter().map(|file| read_description(file)).collect())
}

fn descriptions(face: &str) -> Vec<PathBuf> {
    let folder = repository().join(format!("../shared/spec/{face}"));
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "yml"));
    files.sort();
    if files.is_empty() {
        say("the published description is not here: nothing was compared");
    }
    files
}

fn read_description(file: &Path) -> Value {
    yaml_serde::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[expect(clippy::disallowed_macros, reason = "a note for whoever reads the test's output")]
fn say(text: &str) {
    println!("{text}");
}
