//! What happens when many do something to an invitation at once.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::{Managed, invitation, organization, server, text, ticket};
use latchkey_testkit::TestServer;

/// How many do something at once.
const CROWD: usize = 64;

/// Runs the same thing many times at once; returns what came of each.
async fn crowd<T, F, W>(t: &Arc<TestServer>, count: usize, work: W) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send,
    W: Fn(Arc<TestServer>, usize) -> F + Clone + Send + 'static,
    F: 'static,
{
    let tasks: Vec<_> = (0..count).map(|nth| tokio::spawn(work(t.clone(), nth))).collect();
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    all
}

async fn pending(t: &TestServer, organization: &Managed) -> Value {
    t.get(&format!("{}?status=pending", organization.path())).await.ok()["total_count"].clone()
}

#[tokio::test]
async fn of_many_who_follow_one_invitation_at_once_one_joins() {
    let t = Arc::new(server(|_| ()).await);
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let bob = t.user_with_email("bob@example.com").await;
    let fields = json!({"strategy": "ticket", "ticket": ticket(&made)});
    let outcomes = crowd(&t, CROWD, move |t, _| {
        let fields = fields.clone();
        async move {
            let answer = t.browser().post("/v1/client/sign_ins", fields).await;
            (answer.status, answer.code().to_owned())
        }
    })
    .await;
    let joined = outcomes.iter().filter(|(status, _)| *status == 200).count();
    let refused =
        outcomes.iter().filter(|(_, code)| code == "organization_invitation_already_accepted").count();
    assert_eq!((joined, refused), (1, CROWD - 1), "{outcomes:?}");
    let mut expected = vec![organization.admin.clone(), bob];
    let mut members = organization.members(&t).await;
    expected.sort();
    members.sort();
    assert_eq!(members, expected);
    let shown =
        t.get(&format!("/v1/organizations/{}?include_members_count=true", organization.id)).await.ok();
    assert_eq!(shown["members_count"], 2);
    let events = t.events().await;
    let accepted = events.iter().filter(|event| event.kind == "organizationInvitation.accepted").count();
    assert_eq!(accepted, 1);
}

#[tokio::test]
async fn of_many_who_sign_up_by_one_invitation_at_once_one_joins() {
    let t = Arc::new(server(|_| ()).await);
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let fields = json!({"strategy": "ticket", "ticket": ticket(&made)});
    let outcomes = crowd(&t, CROWD, move |t, _| {
        let fields = fields.clone();
        async move { t.browser().post("/v1/client/sign_ups", fields).await.status }
    })
    .await;
    assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|status| *status < 500), "{outcomes:?}");
    assert_eq!(organization.members(&t).await.len(), 2);
    assert_eq!(t.get("/v1/users?email_address=bob@example.com").await.ok().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_invitation_is_accepted_or_revoked_and_never_both() {
    let t = Arc::new(server(|_| ()).await);
    let organization = organization(&t).await;
    for round in 0..8 {
        let address = format!("bob{round}@example.com");
        let made = organization.invite(&t, &address).await;
        let user = t.user_with_email(&address).await;
        let revoke = format!("{}/{}/revoke", organization.path(), text(&made["id"]));
        let fields = json!({"strategy": "ticket", "ticket": ticket(&made)});
        let outcomes = crowd(&t, 16, move |t, nth| {
            let (revoke, fields) = (revoke.clone(), fields.clone());
            async move {
                match nth % 2 == 0 {
                    true => t.post(&revoke, json!({})).await.status,
                    false => t.browser().post("/v1/client/sign_ins", fields).await.status,
                }
            }
        })
        .await;
        assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 1, "{outcomes:?}");
        let status = organization.shown(&t, &made["id"]).await["status"].clone();
        assert_eq!(status == "accepted", organization.members(&t).await.contains(&user), "{status}");
    }
}

#[tokio::test]
async fn places_are_not_given_away_twice_however_many_invite_at_once() {
    let t = Arc::new(server(|_| ()).await);
    let organization = organization(&t).await;
    let limit = json!({"max_allowed_memberships": 5});
    t.patch(&format!("/v1/organizations/{}", organization.id), limit).await.ok();
    let path = organization.path();
    let outcomes = crowd(&t, CROWD, move |t, nth| {
        let path = path.clone();
        async move {
            let address = format!("p{nth}@example.com");
            let answer = match nth % 2 == 0 {
                true => t.post(&path, invitation(&address)).await,
                false => t.post(&format!("{path}/bulk"), json!([invitation(&address)])).await,
            };
            (answer.status, answer.code().to_owned())
        }
    })
    .await;
    assert_eq!(outcomes.iter().filter(|(status, _)| *status == 200).count(), 4, "{outcomes:?}");
    let full = outcomes.iter().filter(|(_, code)| code == "organization_membership_quota_exceeded").count();
    assert_eq!((full, pending(&t, &organization).await), (CROWD - 4, json!(4)));
}

#[tokio::test]
async fn one_address_is_invited_once_however_many_invite_it_at_once() {
    let t = Arc::new(server(|_| ()).await);
    let organization = organization(&t).await;
    let path = organization.path();
    let outcomes = crowd(&t, CROWD, move |t, _| {
        let path = path.clone();
        async move { t.post(&path, invitation("bob@example.com")).await.status }
    })
    .await;
    assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 1, "{outcomes:?}");
    assert_eq!(pending(&t, &organization).await, json!(1));
}
