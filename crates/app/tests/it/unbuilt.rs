//! Published operations that are not built: what callers are told, and the lists and the page that say so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use latchkey_app::GROUPS;
use latchkey_app::unbuilt::{BACKEND, FRONTEND, Unbuilt, read};
use latchkey_app::{frontend_operations, operations};
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use latchkey_web::api::Operation;
use serde_json::{Value, json};

use crate::contract::{FRONTEND_UNLISTED, OUR_TAGS, UNLISTED, published_versions, repository};

const PAGE: &str = "docs/OPERATIONS.md";
const INTRODUCTION: &str = "# Operations

<!-- Written by `make docs` from the operation table. Do not edit. -->

What this server has of the two published APIs (all versions, up to 2026-05-12), and what it does not have yet. An operation
that is not there yet answers 404 with the code `latchkey_not_implemented` and changes nothing. (Not 501: several of the
published clients repeat every request that is answered with a 5xx, for up to an hour.)
";

/// Published in older versions only, although it is not in the newest.
const FORMERLY_PUBLISHED: &str = "VerifySession";

/// Backend operations of older versions that stand in no published description: only a note says that all paths of billing
/// began with `/commerce/`.
const NAMED_OF_BACKEND: &str = "\
# Commerce
DELETE /v1/commerce/subscription_items/{subscription_item_id} CancelCommerceSubscriptionItem
GET /v1/commerce/plans GetCommercePlanList
GET /v1/commerce/statements GetBillingStatementList
GET /v1/commerce/statements/{statementID} GetBillingStatement
GET /v1/commerce/statements/{statementID}/payment_attempts GetBillingStatementPaymentAttempts
GET /v1/commerce/subscription_items GetCommerceSubscriptionItemList
POST /v1/commerce/subscription_items/{subscription_item_id}/extend_free_trial ExtendBillingSubscriptionItemFreeTrial
";

/// Frontend operations that are named in text and stand in no published description: payment sources, which are payment
/// methods there, and what organizations have as people do. The names are made after theirs.
const NAMED_OF_FRONTEND: &str = "\
# Payment Attempts
GET /v1/organizations/{organizationID}/billing/payment_attempts GetOrganizationPaymentAttempts
GET /v1/organizations/{organizationID}/billing/payment_attempts/{paymentAttemptID} GetOrganizationPaymentAttempt
# Payment Sources
DELETE /v1/me/billing/payment_sources/{paymentSourceID} DeleteUserPaymentSource
DELETE /v1/organizations/{organizationID}/billing/payment_sources/{paymentSourceID} DeleteOrganizationPaymentSource
GET /v1/me/billing/payment_sources GetUserPaymentSources
GET /v1/organizations/{organizationID}/billing/payment_sources GetOrganizationPaymentSources
POST /v1/me/billing/payment_sources CreateUserPaymentSource
POST /v1/me/billing/payment_sources/initialize InitializeUserPaymentSource
POST /v1/organizations/{organizationID}/billing/payment_sources CreateOrganizationPaymentSource
POST /v1/organizations/{organizationID}/billing/payment_sources/initialize InitializeOrganizationPaymentSource
PUT /v1/billing/payers/default_payment_source SetDefaultPaymentSource
PUT /v1/organizations/{organizationID}/billing/payers/default_payment_source SetOrganizationDefaultPaymentSource
# Subscription Items
DELETE /v1/organizations/{organizationID}/billing/subscription_items DeleteOrganizationBillingSubscriptionItems
";

/// One of the two APIs.
struct Face {
    title: &'static str,
    file: &'static str,
    list: &'static str,
    named: &'static str,
    spec: &'static str,
    prefix: &'static str,
    /// The ids of operations that are not published.
    unlisted: &'static [&'static str],
    built: Vec<Operation>,
}

fn faces() -> [Face; 2] {
    [
        Face {
            title: "Backend API",
            file: "backend",
            list: BACKEND,
            named: NAMED_OF_BACKEND,
            spec: "bapi",
            prefix: "/v1",
            unlisted: &UNLISTED,
            built: operations(GROUPS),
        },
        Face {
            title: "Frontend API",
            file: "frontend",
            list: FRONTEND,
            named: NAMED_OF_FRONTEND,
            spec: "fapi",
            prefix: "",
            unlisted: &FRONTEND_UNLISTED,
            built: frontend_operations(GROUPS),
        },
    ]
}

/// A path without the names of its parameters, which the two sides need not share.
fn shape(path: &str) -> String {
    let parts = path.split('/').map(|part| match part.split_once('{') {
        Some((before, rest)) => format!("{before}{{}}{}", rest.split_once('}').unwrap().1),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

/// A method and the shape of a path.
type Call = (String, String);

/// A published operation.
struct Published {
    group: String,
    method: String,
    path: String,
    id: String,
}

impl Published {
    fn call(&self) -> Call {
        (self.method.clone(), shape(&self.path))
    }

    fn of_document(document: &Value, prefix: &str) -> Vec<Published> {
        let paths = document["paths"].as_object().unwrap().iter();
        let all = paths.flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(move |(method, entry)| (path, method, entry))
        });
        let operation = |(path, method, entry): (&String, &String, &Value)| {
            let tags = entry["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
            Some(Published {
                id: entry["operationId"].as_str()?.to_owned(),
                group: tags.last().and_then(Value::as_str).unwrap_or("Other").to_owned(),
                method: method.to_uppercase(),
                path: format!("{prefix}{path}"),
            })
        };
        all.filter_map(operation).collect()
    }

    fn of_list(list: &'static str) -> Vec<Published> {
        let operation = |it: Unbuilt| Published {
            group: it.group.to_owned(),
            method: it.method.to_owned(),
            path: it.path.to_owned(),
            id: it.id.to_owned(),
        };
        read(list).into_iter().map(operation).collect()
    }
}

impl Face {
    fn calls(&self) -> BTreeSet<Call> {
        self.built.iter().map(|it| (it.method.to_string(), shape(&it.path))).collect()
    }

    /// All published operations: as the newest version that has one describes it, then those that are only named. Nothing
    /// when the descriptions are not here.
    fn published(&self) -> Option<BTreeMap<Call, Published>> {
        let documents = published_versions(self.spec)?;
        let described = documents.iter().rev().flat_map(|it| Published::of_document(it, self.prefix));
        let mut all = BTreeMap::new();
        for it in described.chain(Published::of_list(self.named)) {
            all.entry(it.call()).or_insert(it);
        }
        Some(all)
    }

    /// The list as it should be. Without the published descriptions: what is in it and has not been built since.
    fn expected(&self) -> String {
        let calls = self.calls();
        let all = match self.published() {
            Some(published) => published.into_values().collect(),
            None => Published::of_list(self.list),
        };
        let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for it in all.into_iter().filter(|it| !calls.contains(&it.call())) {
            groups.entry(it.group).or_default().insert(format!("{} {} {}", it.method, it.path, it.id));
        }
        let written = groups.iter().map(|(group, lines)| {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            format!("# {group}\n{}\n", lines.join("\n"))
        });
        written.collect::<Vec<_>>().concat()
    }

    /// Whether an operation is in no published description.
    fn is_ours(&self, built: &Operation) -> bool {
        let is_unlisted = OUR_TAGS.contains(&built.tag) || self.unlisted.contains(&built.id);
        is_unlisted && built.id != FORMERLY_PUBLISHED
    }

    /// The part of the page about this API.
    fn page(&self) -> String {
        let missing: Vec<Unbuilt> = read(self.list);
        let mut groups: BTreeMap<&str, Vec<(String, &str, &str)>> = BTreeMap::new();
        for built in &self.built {
            let call = format!("{} {}", built.method, built.path);
            let here = if self.is_ours(built) { "yes, not published" } else { "yes" };
            groups.entry(built.tag).or_default().push((call, built.id, here));
        }
        for it in &missing {
            let call = format!("{} {}", it.method, it.path);
            groups.entry(it.group).or_default().push((call, it.id, "not yet"));
        }
        let ours = self.built.iter().filter(|built| self.is_ours(built)).count();
        let here = self.built.len() - ours;
        let mut page = format!(
            "\n## {}\n\n{here} of {} published operations are here, {} are not yet; {ours} more are not in the published \
             description.\n\n| Group | Here | Not yet |\n|---|---|---|\n",
            self.title,
            here + missing.len(),
            missing.len()
        );
        for (group, rows) in &groups {
            let here = rows.iter().filter(|(_, _, is_here)| is_here.starts_with("yes")).count();
            writeln!(page, "| {group} | {here} | {} |", rows.len() - here).unwrap();
        }
        for (group, rows) in &groups {
            write!(page, "\n### {}: {group}\n\n| Operation | Call | Here |\n|---|---|---|\n", self.title)
                .unwrap();
            for (call, id, is_here) in rows {
                writeln!(page, "| {id} | `{call}` | {is_here} |").unwrap();
            }
        }
        page
    }
}

/// Compares a file with what it should be, or writes it when asked to.
#[expect(clippy::disallowed_methods, reason = "asked to write the files rather than to compare them")]
fn is_current(name: &str, expected: &str) {
    let path = repository().join(name);
    if std::env::var("UPDATE_OPERATIONS").is_ok_and(|wanted| wanted == "1") {
        std::fs::write(&path, expected).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stored == expected, "{name} is out of date; `make docs` writes it anew");
}

#[test]
fn lists_of_unbuilt_operations_are_what_is_published_and_not_in_the_operation_table() {
    for face in faces() {
        is_current(&format!("crates/app/src/unbuilt/{}.txt", face.file), &face.expected());
    }
}

#[test]
fn operations_that_are_not_published_are_known_as_such() {
    for face in faces() {
        let Some(published) = face.published() else { return };
        for built in &face.built {
            let is_published = published.contains_key(&(built.method.to_string(), shape(&built.path)));
            assert_eq!(face.is_ours(built), !is_published, "{} {}", built.method, built.path);
        }
    }
}

#[test]
fn operations_page_says_what_is_here_and_what_is_not() {
    let parts: Vec<String> = faces().iter().map(Face::page).collect();
    is_current(PAGE, &format!("{INTRODUCTION}{}", parts.concat()));
}

/// A path somebody could call.
fn example(path: &str) -> String {
    shape(path).replace("{}", "x1")
}

#[tokio::test]
async fn every_published_operation_that_is_not_built_says_so_and_changes_nothing() {
    let t = TestServer::start().await;
    let before = t.everything().await;
    for it in read(BACKEND) {
        let body = (it.method != "GET").then(|| json!({"name": "x"}));
        for tenant in [Some(&t.tenant), None] {
            let answer = t.call(tenant, it.method, &example(it.path), body.clone()).await;
            assert_eq!((answer.status, answer.code()), (404, "latchkey_not_implemented"), "{it:?}");
            let text = answer.json["errors"][0]["long_message"].as_str().unwrap();
            assert!(text.contains("Latchkey does not have"), "{text}");
        }
    }
    let mut browser = t.browser();
    for it in read(FRONTEND) {
        let path = example(it.path);
        let answer = match it.method {
            "GET" => browser.get(&path).await,
            "POST" => browser.post(&path, json!({"name": "x"})).await,
            method => browser.post(&format!("{path}?_method={method}"), json!({"name": "x"})).await,
        };
        assert_eq!((answer.status, answer.code()), (404, "latchkey_not_implemented"), "{it:?}");
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn each_api_knows_only_its_own_unbuilt_operations() {
    let t = TestServer::start().await;
    t.get("/v1/machines").await.is_error(404, "latchkey_not_implemented");
    t.browser().get("/v1/machines").await.is_error(404, "route_not_found");
    t.browser().get("/v1/me/billing/statements").await.is_error(404, "latchkey_not_implemented");
    t.get("/v1/me/billing/statements").await.is_error(404, "route_not_found");
    // The published path has no version, and clerk-js asks there.
    let mut browser = t.browser();
    browser.post("/api_keys", json!({"name": "x"})).await.is_error(404, "latchkey_not_implemented");
    browser.post("/v1/api_keys", json!({"name": "x"})).await.is_error(404, "route_not_found");
    for path in ["/v1/machines/", "/v1/machines/a/b/c", "/machines", "/v2/machines"] {
        let answer = t.get(path).await;
        answer.is_error(404, "route_not_found");
        let text = answer.json["errors"][0]["long_message"].as_str().unwrap();
        assert_eq!(text.contains("paths begin with /v1."), !path.starts_with("/v1/"), "{text}");
    }
    t.delete("/v1/machines").await.is_error(404, "route_not_found");
}

#[tokio::test]
async fn backend_paths_that_sdks_call_without_version_answer_that_they_are_not_built() {
    let t = TestServer::start().await;
    let calls = [
        ("POST", "/api_keys"),
        ("GET", "/api_keys?subject=user_1"),
        ("POST", "/api_keys/verify"),
        ("POST", "/api_keys/ak_1/revoke"),
        ("POST", "/m2m_tokens"),
        ("POST", "/m2m_tokens/verify"),
        ("POST", "/oauth_applications/access_tokens/verify"),
    ];
    for (method, path) in calls {
        let body = (method == "POST").then(|| json!({"name": "x"}));
        let answer = t.call(Some(&t.tenant), method, path, body).await;
        answer.is_error(404, "latchkey_not_implemented");
    }
    // Other paths have their version.
    for path in ["/oauth_applications", "/machines", "/api_keys/a/b/c"] {
        t.get(path).await.is_error(404, "route_not_found");
    }
}

#[tokio::test]
async fn pages_of_other_origins_can_read_that_an_operation_is_not_built() {
    let t = TestServer::start().await;
    let request = axum::http::Request::post("/v1/me/billing/checkouts")
        .header("host", &t.tenant.frontend_api)
        .header("origin", "http://localhost:3000")
        .body(axum::body::Body::empty())
        .unwrap();
    let answer = t.browser().send("POST", "/v1/me/billing/checkouts", request).await;
    answer.is_error(404, "latchkey_not_implemented");
    assert_eq!(answer.header("access-control-allow-origin"), "http://localhost:3000");
}

#[tokio::test]
async fn unbuilt_operations_take_nothing_from_the_limit_of_the_instance() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    for _ in 0..150 {
        t.get("/v1/machines").await.is_error(404, "latchkey_not_implemented");
    }
    let answer: Value = t.get("/v1/users/count").await.ok();
    assert_eq!(answer["total_count"], 0);
}
