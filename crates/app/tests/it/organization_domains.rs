//! Domains of organizations: who may have which, how they are proven, and how people join by them.

mod backend;
mod both_engines {
    mod enrollment;
    mod races;
}
mod frontend;
mod ownership;
mod reasons;

use latchkey_kernel::background;
use latchkey_organizations::enrollments::Enrollments;
use latchkey_outbound::client::Options;
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};

/// The id in an answer.
fn id(answer: &Value) -> String {
    answer["id"].as_str().unwrap().to_owned()
}

/// A user with this address, proven.
async fn user(t: &TestServer, address: &str) -> String {
    t.user_with_email(address).await
}

/// An organization with as many members as it likes.
async fn organization(t: &TestServer, name: &str) -> String {
    let body = json!({"name": name, "max_allowed_memberships": 0});
    id(&t.post("/v1/organizations", body).await.ok())
}

async fn add(t: &TestServer, organization: &str, user: &str, role: &str) {
    let path = format!("/v1/organizations/{organization}/memberships");
    t.post(&path, json!({"user_id": user, "role": role})).await.ok();
}

/// An organization with an admin, by their ids.
async fn with_admin(t: &TestServer, name: &str) -> (String, String) {
    let organization = organization(t, name).await;
    let admin = user(t, &format!("admin@{}.test", name.to_lowercase())).await;
    add(t, &organization, &admin, "org:admin").await;
    (organization, admin)
}

/// Names a domain as a backend.
async fn domain(t: &TestServer, organization: &str, body: Value) -> Answer {
    t.post(&format!("/v1/organizations/{organization}/domains"), body).await
}

/// A browser in which somebody is signed in.
async fn browser<'a>(t: &'a TestServer, user: &str) -> Browser<'a> {
    let presence = t.signed_in(&t.tenant, user).await;
    let mut browser = t.browser();
    browser.origin = None;
    browser.cookies.insert("__client".to_owned(), presence.client_token);
    browser
}

/// The addresses of the invitations that wait for somebody, with the ids of the organizations.
async fn invitations(t: &TestServer, user: &str) -> Vec<(String, String)> {
    let page = browser(t, user).await.get("/v1/me/organization_invitations?status=pending").await.ok();
    let all = page["response"]["data"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.map(|it| (text(&it["email_address"]), text(&it["public_organization_data"]["id"]))).collect()
}

/// What is suggested to somebody.
async fn suggestions(t: &TestServer, user: &str) -> Vec<Value> {
    let page = browser(t, user).await.get("/v1/me/organization_suggestions").await.ok();
    page["response"]["data"].as_array().unwrap().clone()
}

/// Lets the job do all that is left.
async fn run_job(t: &TestServer) {
    background::run::<Enrollments>(&t.jobs_with(Options::default())).await.unwrap();
}

/// The events about domains, oldest first.
async fn events(t: &TestServer) -> Vec<(String, Value)> {
    let all = t.events().await.into_iter().filter(|event| event.kind.starts_with("organizationDomain."));
    all.map(|event| (event.kind["organizationDomain.".len()..].to_owned(), event.data)).collect()
}
