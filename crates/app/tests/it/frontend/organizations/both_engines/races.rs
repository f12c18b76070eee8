//! Many at the same moment: an organization keeps a manager, has no more members than it may, and leaves nothing behind.

use std::sync::Arc;

use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::super::{add, organization, roles, server, text};
use crate::me::support::somebody;

/// A browser that somebody is signed in on, for a task of its own.
struct Signed {
    t: Arc<TestServer>,
    user: String,
    dev_browser: Option<String>,
}

async fn signed(t: &Arc<TestServer>, address: &str) -> Signed {
    let me = somebody(t, address).await;
    Signed { t: t.clone(), user: me.user.clone(), dev_browser: me.browser.dev_browser.clone() }
}

impl Signed {
    async fn send(&self, method: &str, path: &str, form: Value) -> Answer {
        let mut browser = self.t.browser();
        browser.dev_browser = self.dev_browser.clone();
        match method {
            "POST" => browser.post(path, form).await,
            "PATCH" => browser.patch(path, form).await,
            _ => browser.delete(path).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_admins_who_demote_or_remove_each_other_leave_one() {
    let t = Arc::new(server().await);
    let (ann, bob) =
        (Arc::new(signed(&t, "ann@example.com").await), Arc::new(signed(&t, "bob@example.com").await));
    for round in 0..24 {
        let id = organization(&t, &ann.user).await;
        add(&t, &id, &bob.user, "org:admin").await;
        let method = if round % 2 == 0 { "PATCH" } else { "DELETE" };
        let mut tasks = JoinSet::new();
        for (by, whom) in [(ann.clone(), bob.user.clone()), (bob.clone(), ann.user.clone())] {
            let path = format!("/v1/organizations/{id}/memberships/{whom}");
            tasks.spawn(async move { by.send(method, &path, json!({"role": "org:member"})).await });
        }
        let answers = tasks.join_all().await;
        let done = answers.iter().filter(|answer| answer.status == 200).count();
        let admins = roles(&t, &id).await.into_iter().filter(|(_, role)| role == "org:admin").count();
        assert_eq!((done, admins), (1, 1), "{method}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_admins_who_leave_at_once_leave_one() {
    let t = Arc::new(server().await);
    let (ann, bob) =
        (Arc::new(signed(&t, "ann@example.com").await), Arc::new(signed(&t, "bob@example.com").await));
    for _ in 0..12 {
        let id = organization(&t, &ann.user).await;
        add(&t, &id, &bob.user, "org:admin").await;
        let mut tasks = JoinSet::new();
        for who in [ann.clone(), bob.clone()] {
            let path = format!("/v1/me/organization_memberships/{id}");
            tasks.spawn(async move { who.send("DELETE", &path, Value::Null).await });
        }
        let answers = tasks.join_all().await;
        let done = answers.iter().filter(|answer| answer.status == 200).count();
        let refused = answers.iter().find(|answer| answer.status != 200).unwrap();
        refused.is_error(400, "organization_minimum_permissions_needed");
        assert_eq!((done, roles(&t, &id).await.len()), (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_added_at_once_are_no_more_than_the_organization_may_have() {
    let t = Arc::new(server().await);
    let ann = Arc::new(signed(&t, "ann@example.com").await);
    let id = organization(&t, &ann.user).await;
    t.patch(&format!("/v1/organizations/{id}"), json!({"max_allowed_memberships": 6})).await.ok();
    let mut tasks = JoinSet::new();
    for number in 0..24 {
        let user = text(&t.user(json!({"email_address": [format!("p{number}@example.com")]})).await["id"]);
        let (ann, t, id) = (ann.clone(), t.clone(), id.clone());
        tasks.spawn(async move {
            let path = format!("/v1/organizations/{id}/memberships");
            let body = json!({"user_id": user, "role": "org:member"});
            // Half by a member, half by a backend.
            match number % 2 {
                0 => ann.send("POST", &path, body).await,
                _ => t.post(&path, body).await,
            }
        });
    }
    let answers = tasks.join_all().await;
    let (done, refused): (Vec<&Answer>, Vec<&Answer>) =
        answers.iter().partition(|answer| answer.status == 200);
    refused.iter().for_each(|answer| answer.is_error(403, "organization_membership_quota_exceeded"));
    assert_eq!(done.len(), 5);
    assert_eq!(roles(&t, &id).await.len(), 6);
    let seen = t.get(&format!("/v1/organizations/{id}?include_members_count=true")).await.ok();
    assert_eq!(seen["members_count"], 6, "the count is what is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organization_that_is_deleted_while_people_join_leaves_no_members() {
    let t = Arc::new(server().await);
    let ann = Arc::new(signed(&t, "ann@example.com").await);
    let mut people = Vec::new();
    for number in 0..16 {
        people.push(text(&t.user(json!({"email_address": [format!("p{number}@example.com")]})).await["id"]));
    }
    for _ in 0..6 {
        let id = organization(&t, &ann.user).await;
        let mut tasks = JoinSet::new();
        for (at, user) in people.iter().cloned().enumerate() {
            let (t, path) = (t.clone(), format!("/v1/organizations/{id}/memberships"));
            tasks.spawn(async move { t.post(&path, json!({"user_id": user, "role": "org:member"})).await });
            if at == people.len() / 2 {
                let (ann, path) = (ann.clone(), format!("/v1/organizations/{id}"));
                tasks.spawn(async move { ann.send("DELETE", &path, Value::Null).await });
            }
        }
        for answer in tasks.join_all().await {
            assert!([200, 404].contains(&answer.status), "{:#}", answer.json);
        }
        t.run_jobs().await;
        let sql = "DELETE FROM organization_memberships WHERE organization_id = $1";
        assert_eq!(t.run_sql(sql, vec![id.as_str().into()]).await, 0, "nothing is left of it");
        t.get(&format!("/v1/organizations/{id}")).await.is_error(404, "resource_not_found");
    }
}
