//! Whoever ends a session, its client says that it changed: apps compare tokens with that time.

use std::sync::Arc;

use latchkey_base::Id;
use latchkey_base::kinds::UserId;
use latchkey_base::page::Paging;
use latchkey_base::rng::{Rng, SystemRng};
use latchkey_base::time::Clock;
use latchkey_kernel::settings::Settings;
use latchkey_people::users::store as users;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::store as clients;
use latchkey_presence::sessions::rules::{Entry, begin};
use latchkey_presence::sessions::{activity, store as sessions};
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::frontend::{PASSWORD, sign_in, user};
use crate::sign_ins::server;

const ADDRESS: &str = "ann@example.com";
const NEW: &str = "another horse battery staple";

async fn changed_at(browser: &mut Browser<'_>) -> i64 {
    browser.get("/v1/client").await.ok()["response"]["updated_at"].as_i64().unwrap()
}

async fn last_session(browser: &mut Browser<'_>) -> Value {
    browser.get("/v1/client").await.ok()["response"]["last_active_session_id"].clone()
}

#[tokio::test]
async fn client_moves_whatever_a_backend_does_to_end_its_session() {
    let compromised = json!({"revoke_all_sessions": true});
    let password = json!({"password": NEW, "sign_out_of_other_sessions": true});
    let removed = json!({"sign_out_of_other_sessions": true});
    for (method, path, body) in [
        ("POST", "/ban", json!({})),
        ("POST", "/password/set_compromised", compromised),
        ("PATCH", "", password),
        ("POST", "/remove_password", removed),
        ("DELETE", "", Value::Null),
    ] {
        let t = TestServer::start().await;
        let id = user(&t, ADDRESS).await["id"].as_str().unwrap().to_owned();
        user(&t, "bob@example.com").await;
        let (mut browser, mut other) = (t.browser(), t.browser());
        sign_in(&mut browser, ADDRESS).await;
        sign_in(&mut other, "bob@example.com").await;
        let before = [changed_at(&mut browser).await, changed_at(&mut other).await];
        t.clock.advance_ms(5000);
        let body = Some(body).filter(|body| !body.is_null());
        let path = format!("/v1/users/{id}{path}");
        t.call(Some(&t.tenant), method, &path, body).await.ok();
        assert_eq!(changed_at(&mut browser).await - before[0], 5000, "{method} {path}");
        assert_eq!(last_session(&mut browser).await, Value::Null, "{method} {path}");
        assert_eq!(changed_at(&mut other).await, before[1], "{method} {path}");
    }
}

#[tokio::test]
async fn client_of_several_people_moves_when_all_are_banned() {
    let t = server(|settings| settings.session.single_session = false).await;
    let ann = user(&t, ADDRESS).await["id"].clone();
    let bob = user(&t, "bob@example.com").await["id"].clone();
    let mut browser = t.browser();
    sign_in(&mut browser, ADDRESS).await;
    sign_in(&mut browser, "bob@example.com").await;
    let before = changed_at(&mut browser).await;
    t.clock.advance_ms(5000);
    t.post("/v1/users/ban", json!({"user_ids": [bob, ann]})).await.ok();
    let client = browser.get("/v1/client").await.ok();
    assert_eq!(client["response"]["sessions"], json!([]));
    assert_eq!(client["response"]["last_active_session_id"], Value::Null);
    assert_eq!(changed_at(&mut browser).await - before, 5000);
}

#[tokio::test]
async fn client_moves_when_its_user_ends_the_session_elsewhere() {
    let t = TestServer::start().await;
    user(&t, ADDRESS).await;
    let (mut here, mut there) = (t.browser(), t.browser());
    let mine = sign_in(&mut here, ADDRESS).await;
    let session = sign_in(&mut there, ADDRESS).await;
    let before = [changed_at(&mut here).await, changed_at(&mut there).await];
    t.clock.advance_ms(5000);
    let path = format!("/v1/me/sessions/{session}/revoke");
    for _ in 0..2 {
        let answer = here.post(&path, json!({})).await.ok();
        assert_eq!(answer["response"]["status"], "revoked");
        assert_eq!(answer["client"]["last_active_session_id"], mine);
        assert_eq!(changed_at(&mut there).await - before[1], 5000);
        assert_eq!(changed_at(&mut here).await, before[0]);
    }
    assert_eq!(last_session(&mut there).await, Value::Null);
    // Signing out here that way is told at once.
    let answer = here.post(&format!("/v1/me/sessions/{mine}/revoke"), json!({})).await.ok();
    assert_eq!(answer["client"]["updated_at"].as_i64().unwrap() - before[0], 5000);
    assert_eq!(answer["client"]["sessions"], json!([]));
}

#[tokio::test]
async fn client_moves_when_a_new_password_signs_it_out_and_the_one_that_stays_does_not() {
    let t = TestServer::start().await;
    user(&t, ADDRESS).await;
    let (mut here, mut there) = (t.browser(), t.browser());
    sign_in(&mut here, ADDRESS).await;
    sign_in(&mut there, ADDRESS).await;
    let before = [changed_at(&mut here).await, changed_at(&mut there).await];
    t.clock.advance_ms(5000);
    let form = json!({"current_password": PASSWORD, "new_password": NEW, "sign_out_of_other_sessions": true});
    here.post("/v1/me/change_password", form).await.ok();
    assert_eq!(changed_at(&mut there).await - before[1], 5000);
    assert_eq!(last_session(&mut there).await, Value::Null);
    assert_eq!(changed_at(&mut here).await, before[0]);
}

#[tokio::test]
async fn client_moves_when_a_forgotten_password_is_replaced_elsewhere() {
    let t = TestServer::start().await;
    user(&t, "ann+clerk_test@example.com").await;
    let mut there = t.browser();
    sign_in(&mut there, "ann+clerk_test@example.com").await;
    let before = changed_at(&mut there).await;
    t.clock.advance_ms(5000);
    let mut here = t.browser();
    let form = json!({"identifier": "ann+clerk_test@example.com", "strategy": "reset_password_email_code"});
    let id = here.post("/v1/client/sign_ins", form).await.ok()["response"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/client/sign_ins/{id}");
    let form = json!({"strategy": "reset_password_email_code", "code": "424242"});
    here.post(&format!("{path}/attempt_first_factor"), form).await.ok();
    let form = json!({"password": NEW, "sign_out_of_other_sessions": true});
    let done = here.post(&format!("{path}/reset_password"), form).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(done["client"]["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(changed_at(&mut there).await - before, 5000);
    assert_eq!(last_session(&mut there).await, Value::Null);
}

/// A ticket that signs somebody in.
async fn ticket(t: &TestServer, user: &Value) -> Value {
    t.post("/v1/sign_in_tokens", json!({"user_id": user})).await.ok()["token"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn people_come_and_are_sent_away_at_once_and_nobody_waits_for_ever() {
    let t = Arc::new(server(|settings| settings.session.single_session = false).await);
    let ann = json!(t.user_with_email(ADDRESS).await);
    let bob = json!(t.user_with_email("bob@example.com").await);
    let mut visits = Vec::new();
    for _ in 0..16 {
        let mut browser = t.browser();
        let form = json!({"strategy": "ticket", "ticket": ticket(&t, &ann).await});
        let opened = browser.post("/v1/client/sign_ins", form).await.ok();
        let session = opened["response"]["created_session_id"].as_str().unwrap().to_owned();
        let form = json!({"strategy": "ticket", "ticket": ticket(&t, &bob).await});
        visits.push((browser.cookies.clone(), session, form));
    }
    let mut tasks = JoinSet::new();
    for (cookies, session, form) in visits {
        let here = t.clone();
        tasks.spawn(async move {
            let mut browser = here.browser();
            browser.cookies = cookies;
            browser.post("/v1/client/sign_ins", form).await.status
        });
        for (path, body) in [
            ("/v1/users/ban".to_owned(), json!({"user_ids": [ann, bob]})),
            ("/v1/users/unban".to_owned(), json!({"user_ids": [bob, ann]})),
            (format!("/v1/users/{}/ban", bob.as_str().unwrap()), json!({})),
            (format!("/v1/sessions/{session}/revoke"), json!({})),
        ] {
            let here = t.clone();
            tasks.spawn(async move { here.post(&path, body).await.status });
        }
    }
    let answers = tasks.join_all().await;
    assert!(answers.iter().all(|status| *status < 500), "{answers:?}");
    t.post("/v1/users/ban", json!({"user_ids": [ann, bob]})).await.ok();
    let left = t.get("/v1/sessions?status=active").await.ok();
    assert_eq!(left, json!([]));
}

/// Opens sessions, each on a client of its own, without the way there.
async fn open_many(t: &TestServer, user: &str, count: usize) {
    let (instance, id): (_, UserId) = (t.tenant.id.clone(), Id::parse(user).unwrap());
    let now = t.clock.now();
    let opened = t.db().write(move |tx| {
        Box::pin(async move {
            let user = users::find(tx, &instance, &id).await?.unwrap();
            for _ in 0..count {
                let mut client = Client::new(&instance, now, &SystemRng);
                let seen = activity::seen("", "127.0.0.1", now, &SystemRng);
                let entry = Entry { first_factor: true, ..Entry::default() };
                let session = begin(&user, &client.id, entry, seen, &Settings::default(), now, &SystemRng);
                client.last_active_session = Some(session.id.clone());
                let mut digest = [0; 32];
                SystemRng.fill(&mut digest);
                clients::insert(tx, &client, &digest).await?;
                sessions::insert(tx, &session).await?;
            }
            Ok(())
        })
    });
    opened.await.unwrap();
}

#[tokio::test]
async fn thousands_of_sessions_end_in_one_transaction_with_an_event_each() {
    const COUNT: usize = 2000;
    let t = TestServer::start().await;
    let id = t.user_with_email(ADDRESS).await;
    open_many(&t, &id, COUNT).await;
    t.clock.advance_ms(5000);
    let now = t.clock.now();
    t.post(&format!("/v1/users/{id}/ban"), json!({})).await.ok();
    for (status, expected) in [("revoked", COUNT), ("active", 0)] {
        let path = format!("/v1/sessions?user_id={id}&status={status}&paginated=true&limit=1");
        assert_eq!(t.get(&path).await.ok()["total_count"], json!(expected));
    }
    let told = t.events().await.iter().filter(|event| event.kind == "session.revoked").count();
    assert_eq!(told, COUNT);
    let instance = t.tenant.id.clone();
    let all = clients::list(&mut t.db().read().await.unwrap(), &instance, Paging { limit: 5000, offset: 0 })
        .await
        .unwrap();
    assert_eq!(all.len(), COUNT);
    assert!(all.iter().all(|client| client.updated_at == now && client.last_active_session.is_none()));
}
