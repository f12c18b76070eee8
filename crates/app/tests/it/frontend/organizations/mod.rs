//! Organizations as people who are signed in see and change them.

mod both_engines {
    mod races;
}
mod creation;
mod members;
mod permissions;
mod profile;
mod settings;

use axum::body::Body;
use axum::http::Request;
use latchkey_base::kinds::RoleId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::Clock;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::access::model::Role;
use latchkey_organizations::access::store as access;
use latchkey_testkit::{Answer, PICTURE, TestServer};
use serde_json::{Value, json};

use crate::me::support::Me;

/// Settings with organizations, of which everybody may create as many as they like.
pub(super) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.organizations.max_allowed_memberships = 0;
    settings.actions.create_organizations_limit = Some(0);
    settings
}

pub(super) async fn server() -> TestServer {
    TestServer::start_with(RateLimits::Off, settings()).await
}

/// An organization that a user created on the Backend API; its id.
pub(super) async fn organization(t: &TestServer, creator: &str) -> String {
    let body = json!({"name": "Acme", "created_by": creator});
    t.post("/v1/organizations", body).await.ok()["id"].as_str().unwrap().to_owned()
}

/// Makes a user a member, on the Backend API.
pub(super) async fn add(t: &TestServer, organization: &str, user: &str, role: &str) {
    let body = json!({"user_id": user, "role": role});
    t.post(&format!("/v1/organizations/{organization}/memberships"), body).await.ok();
}

/// The roles of the members, by user, as backends see them.
pub(super) async fn roles(t: &TestServer, organization: &str) -> Vec<(String, String)> {
    let listed = t.get(&format!("/v1/organizations/{organization}/memberships?limit=500")).await.ok();
    let members = listed["data"].as_array().unwrap().iter();
    let mut roles: Vec<_> =
        members.map(|member| (text(&member["public_user_data"]["user_id"]), text(&member["role"]))).collect();
    roles.sort();
    roles
}

/// Gives the instance a role that allows this, which members of all organizations can have.
pub(super) async fn role(t: &TestServer, key: &str, permissions: &[&str]) {
    let (instance, now, key) = (t.tenant.id.clone(), t.clock.now(), key.to_owned());
    let permissions: Vec<String> = permissions.iter().map(|&key| key.to_owned()).collect();
    let saved = t.db().write(move |tx| {
        Box::pin(async move {
            let mut held = access::lock(tx, &instance, now).await?;
            let id = RoleId::new(now, &SystemRng);
            let allowed = held.permissions.iter().filter(|it| permissions.contains(&it.key));
            let permissions = allowed.map(|it| it.id.clone()).collect();
            held.role_sets[0].roles.push(id.clone());
            let (name, description) = (key.clone(), None);
            held.roles.push(Role {
                id,
                key,
                name,
                description,
                permissions,
                created_at: now,
                updated_at: now,
            });
            access::save(tx, &held, now).await
        })
    });
    saved.await.unwrap();
}

/// Uploads a logo, as a script does.
pub(super) async fn upload(me: &mut Me<'_>, organization: &str) -> Answer {
    let form = b"--frame\r\nContent-Disposition: form-data; name=\"file\"; filename=\"blob\"\r\n\r\n";
    let body = [form.as_slice(), PICTURE, b"\r\n--frame--\r\n"].concat();
    let token = me.browser.dev_browser.clone().map(|token| format!("&__clerk_db_jwt={token}"));
    let query = format!("__clerk_api_version=2026-05-12&_method=PUT{}", token.unwrap_or_default());
    let uri = format!("/v1/organizations/{organization}/logo?{query}");
    let request = Request::post(&uri)
        .header("host", me.t.tenant.frontend_api.clone())
        .header("content-type", "multipart/form-data; boundary=frame");
    me.browser.send("PUT", &uri, request.body(Body::from(body)).unwrap()).await
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
