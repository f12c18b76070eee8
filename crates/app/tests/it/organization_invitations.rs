//! Invitations to organizations: made, listed, followed and revoked, on both APIs.

mod backend;
mod both_engines {
    mod races;
}
mod frontend;
mod promises;
mod senders;
mod tickets;

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

/// A server with organizations, whose settings are changed by `change`.
async fn server(change: impl FnOnce(&mut Settings)) -> TestServer {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.attributes.password.required_at_sign_up = false;
    change(&mut settings);
    TestServer::start_with(RateLimits::Off, settings).await
}

/// An organization and the user who manages it.
struct Managed {
    id: String,
    admin: String,
}

/// An organization of a new user with this address, without a limit of members.
async fn organization_of(t: &TestServer, address: &str) -> Managed {
    let admin =
        t.user(json!({"email_address": [address], "first_name": "Ann", "last_name": "Manager"})).await;
    let admin = text(&admin["id"]);
    let slug = address.split('@').next();
    let body = json!({"name": "Engines", "slug": slug, "created_by": admin, "max_allowed_memberships": 0});
    let made = t.post("/v1/organizations", body).await.ok();
    Managed { id: text(&made["id"]), admin }
}

async fn organization(t: &TestServer) -> Managed {
    organization_of(t, "ann@example.com").await
}

impl Managed {
    fn path(&self) -> String {
        format!("/v1/organizations/{}/invitations", self.id)
    }

    async fn invite(&self, t: &TestServer, address: &str) -> Value {
        t.post(&self.path(), invitation(address)).await.ok()
    }

    async fn members(&self, t: &TestServer) -> Vec<String> {
        let listed = t.get(&format!("/v1/organizations/{}/memberships?limit=500", self.id)).await.ok();
        let listed = listed["data"].as_array().unwrap().clone();
        listed.iter().map(|member| text(&member["public_user_data"]["user_id"])).collect()
    }

    async fn shown(&self, t: &TestServer, id: &Value) -> Value {
        t.get(&format!("{}/{}", self.path(), text(id))).await.ok()
    }
}

fn invitation(address: &str) -> Value {
    json!({"email_address": address, "role": "org:member"})
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The ticket in the link of an invitation.
fn ticket(invitation: &Value) -> String {
    invitation["url"].as_str().unwrap().split_once("ticket=").unwrap().1.to_owned()
}

/// The addresses of a list.
fn addresses(listed: &Value) -> Vec<&str> {
    let all = listed["data"].as_array().unwrap();
    all.iter().map(|invitation| invitation["email_address"].as_str().unwrap()).collect()
}

/// The kinds of all events so far, in order.
async fn kinds(t: &TestServer) -> Vec<String> {
    t.events().await.into_iter().map(|event| event.kind).collect()
}

/// What an answer shows.
#[track_caller]
fn response(answer: Answer) -> Value {
    answer.ok()["response"].take()
}
