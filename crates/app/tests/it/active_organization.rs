//! The organization that somebody works for in a session: chosen, shown in tokens and clients, and gone with the membership.

mod choices;
mod claims;
mod shown;
mod tasks;
mod tickets;

use latchkey_base::kinds::PermissionId;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::access::model::Permission;
use latchkey_organizations::access::store as access;
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use crate::frontend::{claims, sign_in, user};

/// A server where users can be members of organizations.
async fn server(change: impl FnOnce(&mut Settings)) -> TestServer {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.organizations.max_allowed_memberships = 0;
    change(&mut settings);
    TestServer::start_with(RateLimits::Off, settings).await
}

/// An organization without members; its id.
async fn organization(t: &TestServer, name: &str) -> String {
    let made = t.post("/v1/organizations", json!({ "name": name, "slug": name })).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

/// Makes a user a member.
async fn join(t: &TestServer, organization: &str, user: &Value, role: &str) {
    let body = json!({ "user_id": user["id"], "role": role });
    t.post(&format!("/v1/organizations/{organization}/memberships"), body).await.ok();
}

/// Ends a membership.
async fn remove(t: &TestServer, organization: &str, user: &Value) {
    let user = user["id"].as_str().unwrap();
    t.delete(&format!("/v1/organizations/{organization}/memberships/{user}")).await.ok();
}

/// Adds permissions of the application to a role of the instance.
async fn permit(t: &TestServer, role: &'static str, keys: &'static [&'static str]) {
    let act = t.act(&t.tenant);
    let written = t.db().write(move |tx| {
        Box::pin(async move {
            let mut access = access::lock(tx, &act.instance, act.now).await?;
            for key in keys {
                let id = PermissionId::new(act.now, &*act.rng);
                let position = access.roles.iter().position(|it| it.key == role).unwrap();
                access.roles[position].permissions.push(id.clone());
                access.permissions.push(Permission {
                    id,
                    key: (*key).to_owned(),
                    name: String::new(),
                    description: String::new(),
                    created_at: act.now,
                    updated_at: act.now,
                });
            }
            access::save(tx, &access, act.now).await
        })
    });
    written.await.unwrap();
}

/// Somebody signed in on a browser, with the id of the session.
struct At<'a> {
    browser: Browser<'a>,
    session: String,
}

impl<'a> At<'a> {
    async fn new(t: &'a TestServer, email: &str) -> At<'a> {
        let mut browser = t.browser();
        let session = sign_in(&mut browser, email).await;
        At { browser, session }
    }

    /// Uses the session for an organization; the answer.
    async fn touch(&mut self, organization: &str) -> latchkey_testkit::Answer {
        let path = format!("/v1/client/sessions/{}/touch", self.session);
        self.browser.post(&path, json!({ "active_organization_id": organization })).await
    }

    /// The claims of a new token.
    async fn token(&mut self) -> Value {
        self.token_for(json!({})).await
    }

    async fn token_for(&mut self, form: Value) -> Value {
        let path = format!("/v1/client/sessions/{}/tokens", self.session);
        let answer = self.browser.post(&path, form).await.ok();
        claims(answer["jwt"].as_str().unwrap())
    }

    /// The session as the client shows it.
    async fn shown(&mut self) -> Value {
        let client = self.browser.get("/v1/client").await.ok();
        let sessions = client["response"]["sessions"].as_array().unwrap();
        sessions.iter().find(|session| session["id"] == self.session).unwrap().clone()
    }

    /// The claims of the token that comes with the client.
    async fn shown_token(&mut self) -> Value {
        claims(self.shown().await["last_active_token"]["jwt"].as_str().unwrap())
    }
}

/// Somebody who acts as a user, by an actor token that is made of this.
async fn acting(t: &TestServer, actor_token: Value) -> At<'_> {
    let token = t.post("/v1/actor_tokens", actor_token).await.ok();
    let mut browser = t.browser();
    let form = json!({ "strategy": "ticket", "ticket": token["token"] });
    let answer = browser.post("/v1/client/sign_ins", form).await.ok();
    let session = answer["response"]["created_session_id"].as_str().unwrap().to_owned();
    At { browser, session }
}

/// The events about sessions, in order.
async fn session_events(t: &TestServer) -> Vec<String> {
    let kinds = t.events().await.into_iter().map(|event| event.kind);
    kinds.filter(|kind| kind.starts_with("session.")).collect()
}

#[tokio::test]
async fn touching_a_session_chooses_the_organization_by_id_or_slug_and_empty_leaves_it() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    let mut at = At::new(&t, "ann@example.com").await;
    join(&t, &engines, &ann, "org:admin").await;
    join(&t, &looms, &ann, "org:member").await;
    assert_eq!(at.shown().await["last_active_organization_id"], Value::Null);
    assert!(at.token().await.get("o").is_none());
    let touched = at.touch(&engines).await.ok();
    assert_eq!(touched["response"]["last_active_organization_id"], json!(engines));
    assert_eq!(touched["client"]["sessions"][0]["last_active_organization_id"], json!(engines));
    let told = claims(touched["response"]["last_active_token"]["jwt"].as_str().unwrap());
    assert_eq!((&told["o"]["id"], &told["o"]["rol"]), (&json!(engines), &json!("admin")));
    let session = t.get(&format!("/v1/sessions/{}", at.session)).await.ok();
    assert_eq!(session["last_active_organization_id"], json!(engines));
    at.touch("looms").await.ok();
    assert_eq!(at.token().await["o"], json!({"id": looms, "slg": "looms", "rol": "member"}));
    // Touching without a word leaves it as it is.
    let path = format!("/v1/client/sessions/{}/touch", at.session);
    at.browser.post(&path, json!({ "intent": "focus" })).await.ok();
    assert_eq!(at.token().await["o"]["id"], json!(looms));
    at.touch("").await.ok();
    assert!(at.token().await.get("o").is_none());
    assert_eq!(at.shown().await["last_active_organization_id"], Value::Null);
}

#[tokio::test]
async fn an_organization_of_others_cannot_be_chosen_and_looks_like_none() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (mine, strange) = (organization(&t, "mine").await, organization(&t, "strange").await);
    join(&t, &mine, &ann, "org:member").await;
    let elsewhere = json!({ "name": "elsewhere" });
    let elsewhere = t.call(Some(&t.other), "POST", "/v1/organizations", Some(elsewhere)).await;
    let elsewhere = elsewhere.json["id"].as_str().unwrap_or("org_000000000000000000000000000").to_owned();
    let mut at = At::new(&t, "ann@example.com").await;
    at.touch(&mine).await.ok();
    let path = format!("/v1/client/sessions/{}/tokens", at.session);
    let long = "x".repeat(5000);
    for other in [&strange, "strange", &elsewhere, "org_000000000000000000000000000", "nobody", "Mine", &long]
    {
        at.touch(other).await.is_error(404, "organization_not_found_or_unauthorized");
        let answer = at.browser.post(&path, json!({ "organization_id": other })).await;
        answer.is_error(404, "organization_not_found_or_unauthorized");
    }
    assert_eq!(at.token().await["o"]["id"], json!(mine), "and the choice stands");
}

#[tokio::test]
async fn without_organizations_none_counts_and_none_can_be_chosen() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    assert_eq!(at.token().await["o"]["id"], json!(engines));
    t.set_settings(Settings::default()).await;
    assert!(at.token().await.get("o").is_none());
    assert_eq!(at.shown().await["last_active_organization_id"], Value::Null);
    assert_eq!(at.shown().await["user"]["organization_memberships"], json!([]));
    for id in [engines.as_str(), "engines"] {
        at.touch(id).await.is_error(404, "organization_not_found_or_unauthorized");
        let path = format!("/v1/client/sessions/{}/tokens", at.session);
        let answer = at.browser.post(&path, json!({ "organization_id": id })).await;
        answer.is_error(404, "organization_not_found_or_unauthorized");
    }
    at.touch("").await.ok();
    let named = json!({ "user_id": ann["id"], "active_organization_id": engines });
    // The published operation has no 403.
    t.post("/v1/sessions", named).await.is_error(422, "organization_not_enabled_in_instance");
    let named = json!({ "user_id": ann["id"], "org_id": engines });
    t.post("/v1/sign_in_tokens", named).await.is_error(403, "organization_not_enabled_in_instance");
}

#[tokio::test]
async fn the_organization_goes_with_the_membership_and_with_the_organization() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    let mut at = At::new(&t, "ann@example.com").await;
    for (id, is_deleted) in [(&engines, false), (&looms, true)] {
        join(&t, id, &ann, "org:member").await;
        at.touch(id).await.ok();
        assert_eq!(at.shown_token().await["o"]["id"], json!(id));
        match is_deleted {
            true => t.delete(&format!("/v1/organizations/{id}")).await.ok(),
            false => {
                remove(&t, id, &ann).await;
                Value::Null
            }
        };
        assert!(at.token().await.get("o").is_none());
        assert!(at.shown_token().await.get("o").is_none(), "nor in the token of a moment ago");
        assert_eq!(at.shown().await["last_active_organization_id"], Value::Null);
        assert_eq!(at.shown().await["user"]["organization_memberships"], json!([]));
        let session = t.get(&format!("/v1/sessions/{}", at.session)).await.ok();
        assert_eq!(session["last_active_organization_id"], Value::Null);
        let listed = t.get(&format!("/v1/sessions?user_id={}", ann["id"].as_str().unwrap())).await.ok();
        assert_eq!(listed[0]["last_active_organization_id"], Value::Null);
        let path = format!("/v1/client/sessions/{}/tokens", at.session);
        let answer = at.browser.post(&path, json!({ "organization_id": id })).await;
        answer.is_error(404, "organization_not_found_or_unauthorized");
        t.run_jobs().await;
    }
}

#[tokio::test]
async fn another_role_is_in_the_next_token() {
    let t = server(|_| ()).await;
    let (ann, ben) = (user(&t, "ann@example.com").await, user(&t, "ben@example.com").await);
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:admin").await;
    join(&t, &engines, &ben, "org:admin").await;
    let mut at = At::new(&t, "ann@example.com").await;
    assert_eq!(at.shown_token().await["o"]["rol"], "admin");
    let path = format!("/v1/organizations/{engines}/memberships/{}", ann["id"].as_str().unwrap());
    t.patch(&path, json!({ "role": "org:member" })).await.ok();
    assert_eq!(at.shown_token().await["o"]["rol"], "member", "no token of a moment ago is handed out");
    assert_eq!(at.token().await["o"]["rol"], "member");
    // What the role may do, too.
    permit(&t, "org:member", &["org:boilers:heat"]).await;
    let told = at.shown_token().await;
    assert_eq!((&told["fea"], &told["o"]["per"]), (&json!("o:boilers"), &json!("heat")));
}
