//! What changes of a user end their sessions.

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::open;
use crate::frontend::{sign_in, user};

#[tokio::test]
async fn client_says_that_it_changed_when_a_backend_revokes_its_session() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let before = browser.get("/v1/client").await.ok();
    t.clock.advance_ms(5000);
    for _ in 0..2 {
        t.post(&format!("/v1/sessions/{session}/revoke"), json!({})).await.ok();
        let after = browser.get("/v1/client").await.ok();
        let moved = |client: &Value| client["response"]["updated_at"].as_i64().unwrap();
        assert_eq!(moved(&after) - moved(&before), 5000);
        assert_eq!(after["response"]["last_active_session_id"], Value::Null);
        // To revoke it once more changes nothing.
        t.clock.advance_ms(5000);
    }
}

struct Scene {
    t: TestServer,
    user: String,
    sessions: [String; 2],
    bystander: String,
}

/// A user with two sessions, and somebody else with one.
async fn scene() -> Scene {
    let t = TestServer::start().await;
    let user =
        t.user(json!({"email_address": ["ann@example.com"], "password": "correct horse battery"})).await;
    let user = user["id"].as_str().unwrap().to_owned();
    let other = t.user_with_email("bob@example.com").await;
    let sessions = [open(&t, &user).await, open(&t, &user).await];
    let bystander = open(&t, &other).await;
    Scene { t, user, sessions, bystander }
}

impl Scene {
    async fn status(&self, session: &str) -> Value {
        self.t.get(&format!("/v1/sessions/{session}")).await.ok()["status"].clone()
    }

    /// Checks that the user's sessions are over, with an event each, and nobody else's.
    async fn are_over(&self) {
        for session in &self.sessions {
            assert_eq!(self.status(session).await, "revoked");
        }
        self.told().await;
    }

    async fn told(&self) {
        assert_eq!(self.status(&self.bystander).await, "active");
        let events = self.t.events().await;
        let mut told: Vec<&str> = events
            .iter()
            .filter(|event| event.kind == "session.revoked")
            .map(|event| event.data["id"].as_str().unwrap())
            .collect();
        told.sort_unstable();
        let mut expected: Vec<&str> = self.sessions.iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(told, expected);
    }

    async fn go_on(&self) {
        for session in &self.sessions {
            assert_eq!(self.status(session).await, "active");
        }
    }
}

#[tokio::test]
async fn ban_ends_all_sessions_of_the_user() {
    let scene = scene().await;
    scene.t.post(&format!("/v1/users/{}/ban", scene.user), json!({})).await.ok();
    scene.are_over().await;
    for session in &scene.sessions {
        let answer = scene.t.post(&format!("/v1/sessions/{session}/tokens"), json!({})).await;
        answer.is_error(404, "resource_not_found");
    }
}

#[tokio::test]
async fn ban_of_several_ends_their_sessions() {
    let scene = scene().await;
    scene.t.post("/v1/users/ban", json!({"user_ids": [scene.user]})).await.ok();
    scene.are_over().await;
}

#[tokio::test]
async fn lock_and_unban_leave_sessions_alone() {
    let scene = scene().await;
    for action in ["lock", "unlock", "unban"] {
        scene.t.post(&format!("/v1/users/{}/{action}", scene.user), json!({})).await.ok();
        scene.go_on().await;
    }
}

#[tokio::test]
async fn new_password_ends_sessions_if_wanted() {
    let scene = scene().await;
    let path = format!("/v1/users/{}", scene.user);
    scene.t.patch(&path, json!({"password": "another horse battery"})).await.ok();
    scene.go_on().await;
    let body = json!({"password": "a third horse battery", "sign_out_of_other_sessions": true});
    scene.t.patch(&path, body).await.ok();
    scene.are_over().await;
}

#[tokio::test]
async fn removed_password_ends_sessions_if_wanted() {
    let scene = scene().await;
    let path = format!("/v1/users/{}/remove_password", scene.user);
    scene.t.post(&path, json!({})).await.ok();
    scene.go_on().await;
    scene.t.post(&path, json!({"sign_out_of_other_sessions": true})).await.ok();
    scene.are_over().await;
}

#[tokio::test]
async fn compromised_password_ends_sessions_if_wanted() {
    let scene = scene().await;
    let path = format!("/v1/users/{}/password/set_compromised", scene.user);
    scene.t.post(&path, json!({"revoke_all_sessions": false})).await.ok();
    scene.go_on().await;
    scene.t.post(&path, json!({"revoke_all_sessions": true})).await.ok();
    scene.are_over().await;
}

#[tokio::test]
async fn deleted_user_has_no_sessions() {
    let scene = scene().await;
    scene.t.delete(&format!("/v1/users/{}", scene.user)).await.ok();
    for session in &scene.sessions {
        scene.t.get(&format!("/v1/sessions/{session}")).await.is_error(404, "resource_not_found");
    }
    scene.told().await;
}

/// All sessions of a user end in one transaction when they change their password, so they are not without number.
#[tokio::test]
async fn the_oldest_session_gives_way_when_a_user_has_very_many() {
    let t = TestServer::start().await;
    let user = user(&t, "ann@example.com").await["id"].as_str().unwrap().to_owned();
    let oldest = open(&t, &user).await;
    let second = open(&t, &user).await;
    // 998 more, each a millisecond younger than the last one.
    let sql = "INSERT INTO sessions (instance_id, id, client_id, user_id, status, document, created_at, expire_at, abandon_at) \
               WITH RECURSIVE numbers (n) AS (SELECT 1001 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1998) \
               SELECT instance_id, substr(id, 1, length(id) - 4) || CAST(n AS TEXT), client_id, user_id, status, \
               replace(document, id, substr(id, 1, length(id) - 4) || CAST(n AS TEXT)), created_at + n - 1000, expire_at, \
               abandon_at FROM sessions, numbers WHERE id = $1";
    let like = second.clone();
    let copied =
        t.db().write(move |tx| Box::pin(async move { Ok(tx.run(&[sql], &[like.as_str().into()]).await?) }));
    assert_eq!(copied.await.unwrap(), 998);
    let status = async |id: &str| t.get(&format!("/v1/sessions/{id}")).await.ok()["status"].clone();
    assert_eq!([status(&oldest).await, status(&second).await], ["active", "active"]);
    let newest = open(&t, &user).await;
    assert_eq!([status(&oldest).await, status(&second).await], ["replaced", "active"]);
    assert_eq!(status(&newest).await, "active");
    t.clock.advance_ms(1000);
    sign_in(&mut t.browser(), "ann@example.com").await;
    assert_eq!([status(&second).await, status(&newest).await], ["replaced", "active"]);
}

/// Each session is an event with the whole user, and all of them end in one transaction.
#[tokio::test]
async fn users_with_very_many_sessions_are_not_banned_in_one_call() {
    let scene = scene().await;
    let t = &scene.t;
    let bystander = t.get(&format!("/v1/sessions/{}", scene.bystander)).await.ok()["user_id"].clone();
    let sql = "INSERT INTO sessions (instance_id, id, client_id, user_id, status, document, created_at, expire_at, \
               abandon_at, is_acted) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 666) \
               SELECT instance_id, id || n.i, client_id, user_id, status, document, created_at, expire_at, abandon_at, \
               is_acted FROM sessions, n WHERE status = 'active'";
    t.db().write(move |tx| Box::pin(async move { Ok(tx.run(&[sql], &[]).await?) })).await.unwrap();
    let both = json!({"user_ids": [scene.user, bystander]});
    for what in ["ban", "unban"] {
        let answer = t.post(&format!("/v1/users/{what}"), both.clone()).await;
        match what {
            "ban" => answer.is_problem(400, "form_param_value_invalid", "user_ids"),
            _ => assert_eq!(answer.status, 200, "{:#}", answer.json),
        }
    }
    assert_eq!(t.shown(&scene.user).await["banned"], false);
    assert_eq!(scene.status(&scene.bystander).await, "active");
}
