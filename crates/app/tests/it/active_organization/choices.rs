//! Which organization a new session begins with.

use latchkey_kernel::limits::{MEMBERSHIPS_SHOWN, MEMBERSHIPS_UNCHOSEN};
use latchkey_testkit::{Answer, TestServer, escape};
use serde_json::{Value, json};

use super::{At, acting, join, organization, remove, server, user};

/// An organization that Eve manages.
async fn of_eve(t: &TestServer, eve: &Value) -> String {
    let made = t.post("/v1/organizations", json!({ "name": "Traps", "created_by": eve["id"] })).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

/// Eve adds somebody as a member does, whom nobody asked.
async fn add_unasked(at: &mut At<'_>, organization: &str, user: &Value) -> Answer {
    let body = json!({ "user_id": user["id"], "role": "org:member" });
    at.browser.post(&format!("/v1/organizations/{organization}/memberships"), body).await
}

/// The organization that a new session begins with, on a browser of its own.
async fn next(t: &TestServer) -> Value {
    let mut at = At::new(t, "ann@example.com").await;
    let shown = at.shown().await;
    assert_eq!(
        at.token().await.get("o").map(|o| o["id"].clone()).unwrap_or_default(),
        shown["last_active_organization_id"]
    );
    shown["last_active_organization_id"].clone()
}

#[tokio::test]
async fn a_session_begins_with_the_organization_that_was_joined_or_chosen_last() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    assert_eq!(next(&t).await, Value::Null);
    join(&t, &engines, &ann, "org:admin").await;
    assert_eq!(next(&t).await, json!(engines));
    join(&t, &looms, &ann, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    assert_eq!(at.shown().await["last_active_organization_id"], json!(looms));
    at.touch(&engines).await.ok();
    assert_eq!(next(&t).await, json!(engines), "an explicit choice counts");
    at.touch("").await.ok();
    assert_eq!(next(&t).await, Value::Null, "also that of none");
    at.touch(&engines).await.ok();
    remove(&t, &looms, &ann).await;
    join(&t, &looms, &ann, "org:member").await;
    assert_eq!(next(&t).await, json!(looms), "whatever came last");
    // A page that comes into view again repeats what it has; that is no choice.
    at.touch(&engines).await.ok();
    assert_eq!(next(&t).await, json!(looms));
    remove(&t, &looms, &ann).await;
    assert_eq!(next(&t).await, Value::Null, "and no organization that one has left");
}

#[tokio::test]
async fn whoever_creates_an_organization_begins_with_it() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let made = t.post("/v1/organizations", json!({ "name": "Engines", "created_by": ann["id"] })).await.ok();
    assert_eq!(next(&t).await, made["id"]);
}

#[tokio::test]
async fn where_one_must_be_chosen_the_only_one_is() {
    let t = server(|settings| settings.organizations.force_selection = true).await;
    let ann = user(&t, "ann@example.com").await;
    let ids = [organization(&t, "a").await, organization(&t, "b").await, organization(&t, "c").await];
    for id in &ids {
        join(&t, id, &ann, "org:member").await;
    }
    // The last one joined was the choice; it is gone, and two are left.
    remove(&t, &ids[2], &ann).await;
    assert_eq!(next(&t).await, Value::Null);
    remove(&t, &ids[1], &ann).await;
    assert_eq!(next(&t).await, json!(ids[0]));
}

#[tokio::test]
async fn what_somebody_chooses_who_acts_as_a_user_is_not_the_choice_of_the_user() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    for id in [&engines, &looms] {
        join(&t, id, &ann, "org:member").await;
    }
    assert_eq!(next(&t).await, json!(looms));
    // By the token that lets somebody in,
    let actor = json!({ "user_id": ann["id"], "actor": { "sub": "user_admin" }, "org_id": engines });
    let mut acting = acting(&t, actor).await;
    assert_eq!(acting.shown().await["last_active_organization_id"], json!(engines));
    assert_eq!(next(&t).await, json!(looms));
    // in the session,
    acting.touch("").await.ok();
    assert_eq!(acting.shown().await["last_active_organization_id"], Value::Null);
    assert_eq!(next(&t).await, json!(looms));
    // or with a handshake.
    let back = escape("http://localhost:3000/page");
    let path = format!("/v1/client/handshake?redirect_url={back}&organization_id=engines");
    assert_eq!(acting.browser.open(&path).await.status, 307);
    assert_eq!(acting.shown().await["last_active_organization_id"], json!(engines));
    assert_eq!(next(&t).await, json!(looms));
}

#[tokio::test]
async fn whoever_was_removed_and_is_added_again_chooses_again() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let engines = organization(&t, "engines").await;
    for is_used_meanwhile in [false, true] {
        join(&t, &engines, &ann, "org:member").await;
        let mut at = At::new(&t, "ann@example.com").await;
        assert_eq!(at.token().await["o"]["id"], json!(engines));
        remove(&t, &engines, &ann).await;
        if is_used_meanwhile {
            let path = format!("/v1/client/sessions/{}/touch", at.session);
            at.browser.post(&path, json!({})).await.ok();
        }
        join(&t, &engines, &ann, "org:member").await;
        assert!(at.token().await.get("o").is_none(), "used meanwhile: {is_used_meanwhile}");
        assert_eq!(at.shown().await["last_active_organization_id"], Value::Null);
        at.touch(&engines).await.ok();
        assert_eq!(at.token().await["o"]["id"], json!(engines));
        remove(&t, &engines, &ann).await;
    }
}

#[tokio::test]
async fn whom_a_member_adds_begins_with_the_organization_of_their_own_choice() {
    for is_forced in [false, true] {
        let t = server(|settings| {
            settings.organizations.force_selection = is_forced;
            settings.actions.create_organizations_limit = Some(0);
        })
        .await;
        let (ann, eve) = (user(&t, "ann@example.com").await, user(&t, "eve@example.com").await);
        let mut by_eve = At::new(&t, "eve@example.com").await;
        let (first, second) = (of_eve(&t, &eve).await, of_eve(&t, &eve).await);
        by_eve.touch(&first).await.ok();
        add_unasked(&mut by_eve, &first, &ann).await.ok();
        assert_eq!(next(&t).await, Value::Null, "forced: {is_forced}");
        let engines = organization(&t, "engines").await;
        join(&t, &engines, &ann, "org:member").await;
        t.run_sql("DELETE FROM organization_choices", vec![]).await;
        add_unasked(&mut by_eve, &second, &ann).await.ok();
        assert_eq!(next(&t).await, if is_forced { json!(engines) } else { Value::Null });
        let mut at = At::new(&t, "ann@example.com").await;
        let back = escape("http://localhost:3000/page");
        let link = format!("/v1/client/handshake?redirect_url={back}&organization_id={second}");
        assert_eq!(at.browser.open(&link).await.status, 307);
        assert_eq!(at.shown().await["last_active_organization_id"], json!(second));
        let expected = if is_forced { json!(engines) } else { Value::Null };
        assert_eq!(next(&t).await, expected, "a link that anybody may have sent them is no choice");
        At::new(&t, "ann@example.com").await.touch(&second).await.ok();
        assert_eq!(next(&t).await, json!(second), "what they choose themselves counts");
        remove(&t, &second, &ann).await;
        add_unasked(&mut by_eve, &second, &ann).await.ok();
        assert_eq!(next(&t).await, expected, "as long as they are a member");
    }
}

#[tokio::test]
async fn members_add_nobody_to_many_organizations_they_never_chose() {
    let t = server(|settings| settings.actions.create_organizations_limit = Some(0)).await;
    let (ann, eve) = (user(&t, "ann@example.com").await, user(&t, "eve@example.com").await);
    let mut by_eve = At::new(&t, "eve@example.com").await;
    let mut last = String::new();
    for _ in 0..MEMBERSHIPS_UNCHOSEN {
        last = of_eve(&t, &eve).await;
        add_unasked(&mut by_eve, &last, &ann).await.ok();
    }
    let one_more = of_eve(&t, &eve).await;
    let quota = "organization_membership_quota_exceeded";
    add_unasked(&mut by_eve, &one_more, &ann).await.is_error(403, quota);
    let of_backend = organization(&t, "engines").await;
    join(&t, &of_backend, &ann, "org:member").await;
    At::new(&t, "ann@example.com").await.touch(&last).await.ok();
    add_unasked(&mut by_eve, &one_more, &ann).await.ok();
    add_unasked(&mut by_eve, &of_backend, &ann).await.is_error(404, "organization_not_found_or_unauthorized");
    add_unasked(&mut by_eve, &of_eve(&t, &eve).await, &ann).await.is_error(403, quota);
}

#[tokio::test]
async fn members_take_nobody_the_claim_of_all_their_organizations() {
    let added = json!({ "all": "{{user.organizations}}" });
    let t = server(|settings| {
        settings.session.token_claims = added.as_object().unwrap().clone();
        settings.actions.create_organizations_limit = Some(0);
    })
    .await;
    let (ann, eve) = (user(&t, "ann@example.com").await, user(&t, "eve@example.com").await);
    for number in 0..MEMBERSHIPS_SHOWN {
        join(&t, &organization(&t, &format!("organization-{number}")).await, &ann, "org:member").await;
    }
    let (mut by_eve, of_eve) = (At::new(&t, "eve@example.com").await, of_eve(&t, &eve).await);
    let quota = "organization_membership_quota_exceeded";
    add_unasked(&mut by_eve, &of_eve, &ann).await.is_error(403, quota);
    let told = At::new(&t, "ann@example.com").await.token().await;
    assert_eq!(told["all"].as_object().unwrap().len() as i64, MEMBERSHIPS_SHOWN);
}
