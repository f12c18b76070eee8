//! Organizations and their members, as backends see them.

mod both_engines {
    mod removals;
}
mod members;
mod profiles;

use latchkey_testkit::{Answer, Tenant, TestServer};
use serde_json::{Value, json};

/// The id in an answer.
fn id(answer: &Value) -> String {
    answer["id"].as_str().unwrap().to_owned()
}

/// A user with a username made from this name.
async fn user(t: &TestServer, name: &str) -> String {
    let body = json!({"username": format!("user-{name}"), "skip_user_requirement": true, "skip_password_requirement": true});
    id(&t.post("/v1/users", body).await.ok())
}

/// An organization without members.
async fn organization(t: &TestServer, body: Value) -> String {
    id(&t.post("/v1/organizations", body).await.ok())
}

async fn add(t: &TestServer, organization: &str, user: &str, role: &str) -> Answer {
    let path = format!("/v1/organizations/{organization}/memberships");
    t.post(&path, json!({"user_id": user, "role": role})).await
}

/// The kinds of the events of an instance, oldest first, without those about users.
async fn events(t: &TestServer, tenant: &Tenant) -> Vec<String> {
    let page = t.call(Some(tenant), "GET", "/v1/events?limit=500", None).await.ok();
    let kinds =
        page["data"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap().to_owned());
    kinds.filter(|kind| kind.starts_with("organization")).collect()
}
