//! Deleting organizations and users with many members: in bounded transactions, with an event for each.

use latchkey_kernel::background;
use latchkey_organizations::removals::Removals;
use latchkey_outbound::client::Options;
use latchkey_testkit::TestServer;
use serde_json::json;

use super::super::{add, events, organization, user};

#[tokio::test]
async fn what_an_organization_of_few_members_leaves_is_gone_at_once() {
    let t = TestServer::start().await;
    let ada = user(&t, "ada").await;
    let acme = organization(&t, json!({"name": "Acme", "slug": "acme", "created_by": ada})).await;
    let gone = t.delete(&format!("/v1/organizations/{acme}")).await.ok();
    assert_eq!(gone, json!({"object": "organization", "id": acme, "deleted": true}));
    let of_ada = t.get(&format!("/v1/users/{ada}/organization_memberships")).await.ok();
    assert_eq!(of_ada["total_count"], json!(0));
    assert_eq!(t.count_rows("organization_memberships").await, 0);
    assert_eq!(t.count_rows("organization_removals").await, 0);
    let kinds = events(&t, &t.tenant).await;
    assert_eq!(kinds[2..], ["organization.deleted", "organizationMembership.deleted"]);
    organization(&t, json!({"name": "Acme", "slug": "acme"})).await;
}

#[tokio::test]
async fn an_organization_of_many_members_is_deleted_in_steps_with_an_event_for_each() {
    let t = TestServer::start().await;
    let acme = organization(&t, json!({"name": "Acme", "max_allowed_memberships": 0})).await;
    let mut users = Vec::new();
    for number in 0..230 {
        let user = user(&t, &format!("user{number}")).await;
        add(&t, &acme, &user, "org:admin").await.ok();
        users.push(user);
    }
    t.delete(&format!("/v1/organizations/{acme}")).await.ok();
    assert_eq!(t.count_rows("organization_memberships").await, 130, "a transaction removes a hundred");
    // What is left is not shown.
    let of_last = t.get(&format!("/v1/users/{}/organization_memberships", users[229])).await.ok();
    assert_eq!(of_last["total_count"], json!(0));
    assert_eq!(t.get("/v1/organization_memberships").await.ok()["total_count"], json!(0));
    assert_eq!(t.get(&format!("/v1/users/count?organization_id={acme}")).await.ok()["total_count"], json!(0));
    background::run::<Removals>(&t.jobs_with(Options::default())).await.unwrap();
    assert_eq!(t.count_rows("organization_memberships").await, 0);
    assert_eq!(t.count_rows("organization_removals").await, 0);
    assert_eq!(t.count_events("organizationMembership.deleted").await, 230);
}

#[tokio::test]
async fn large_removals_go_on_side_by_side_and_one_that_fails_holds_up_none() {
    let t = TestServer::start().await;
    let broken = "INSERT INTO organization_removals (instance_id, subject_id, document, due_at) \
                  VALUES ($1, 'org_broken', '{}', 0)";
    t.run_sql(broken, vec![(&t.tenant.id).into()]).await;
    let members = "INSERT INTO organization_memberships (instance_id, organization_id, user_id, id, role_id, document, \
                   created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, 0, 0)";
    let (role, document) =
        (format!("role_{:027}", 0), json!({"public_metadata": {}, "private_metadata": {}}).to_string());
    let mut both = Vec::new();
    for name in ["One", "Two"] {
        let id = organization(&t, json!({"name": name, "max_allowed_memberships": 0})).await;
        for number in 0..250 {
            let (user, own) = (format!("user_{number:027}"), format!("orgmem_{number:027}"));
            let texts = [id.as_str(), &user, &own, &role, &document].map(|text| text.to_owned().into());
            t.run_sql(members, [(&t.tenant.id).into()].into_iter().chain(texts).collect()).await;
        }
        t.delete(&format!("/v1/organizations/{id}")).await.ok();
        both.push(id);
    }
    let jobs = t.jobs_with(Options::default());
    let left = async |id: &String| {
        t.count_rows(&format!("organization_memberships WHERE organization_id = '{id}'")).await
    };
    assert_eq!((left(&both[0]).await, left(&both[1]).await), (150, 150));
    // The broken one is first, and waits after that.
    for _ in 0..3 {
        t.clock.advance_ms(1);
        assert!(background::step::<Removals>(&jobs).await.unwrap());
    }
    assert_eq!((left(&both[0]).await, left(&both[1]).await), (50, 50));
    background::run::<Removals>(&jobs).await.unwrap();
    assert_eq!((left(&both[0]).await, left(&both[1]).await), (0, 0));
    assert_eq!(t.count_rows("organization_removals").await, 1);
    // It is tried again, also when the clock was set back meanwhile.
    for moved in [60_000, -3_600_000] {
        t.clock.advance_ms(moved);
        assert!(background::step::<Removals>(&jobs).await.unwrap());
        assert!(!background::step::<Removals>(&jobs).await.unwrap());
    }
}

#[tokio::test]
async fn a_user_in_many_organizations_leaves_them_in_steps() {
    let t = TestServer::start().await;
    let (ada, bob) = (user(&t, "ada").await, user(&t, "bob").await);
    let mut last = String::new();
    for number in 0..120 {
        last = organization(&t, json!({"name": format!("Organization {number}")})).await;
        add(&t, &last, &ada, "org:admin").await.ok();
    }
    add(&t, &last, &bob, "org:member").await.ok();
    t.delete(&format!("/v1/users/{ada}")).await.ok();
    // Each organization is locked while its member is removed, so the request takes few.
    assert_eq!(t.count_rows("organization_memberships").await, 111);
    let listed = t.get(&format!("/v1/organizations/{last}/memberships")).await.ok();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1, "who is gone is not shown");
    background::run::<Removals>(&t.jobs_with(Options::default())).await.unwrap();
    assert_eq!(t.count_rows("organization_memberships").await, 1);
    assert_eq!(t.count_events("organizationMembership.deleted").await, 120);
    let found = t.get(&format!("/v1/organizations/{last}?include_members_count=true")).await.ok();
    assert_eq!(found["members_count"], json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_left_in_an_organization_that_is_deleted_while_they_join() {
    let t = TestServer::start().await;
    for round in 0..4 {
        let acme = organization(&t, json!({"name": "Acme", "max_allowed_memberships": 0})).await;
        let mut users = Vec::new();
        for number in 0..8 {
            users.push(user(&t, &format!("user{round}_{number}")).await);
        }
        let path = format!("/v1/organizations/{acme}");
        let joins =
            futures_util::future::join_all(users.iter().map(|user| add(&t, &acme, user, "org:admin")));
        let (joined, gone) = tokio::join!(joins, t.delete(&path));
        gone.ok();
        for answer in joined {
            assert!([200, 404].contains(&answer.status), "{:#}", answer.json);
        }
        background::run::<Removals>(&t.jobs_with(Options::default())).await.unwrap();
        assert_eq!(t.count_rows("organization_memberships").await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_who_is_removed_while_their_user_is_deleted_is_counted_once() {
    let t = TestServer::start().await;
    let acme = organization(&t, json!({"name": "Acme", "max_allowed_memberships": 0})).await;
    let owner = user(&t, "owner").await;
    add(&t, &acme, &owner, "org:admin").await.ok();
    for round in 0..24 {
        let member = user(&t, &format!("member{round}")).await;
        add(&t, &acme, &member, "org:member").await.ok();
        let (user, membership) =
            (format!("/v1/users/{member}"), format!("/v1/organizations/{acme}/memberships/{member}"));
        let (deleted, removed) = tokio::join!(t.delete(&user), t.delete(&membership));
        deleted.ok();
        assert!([200, 404].contains(&removed.status), "{:#}", removed.json);
    }
    let found = t.get(&format!("/v1/organizations/{acme}?include_members_count=true")).await.ok();
    assert_eq!(found["members_count"], json!(1));
    assert_eq!(t.count_events("organizationMembership.deleted").await, 24);
}
