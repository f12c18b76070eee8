//! The memberships that are shown with a user.

use latchkey_kernel::limits::MEMBERSHIPS_SHOWN;
use serde_json::{Value, json};

use super::{At, join, organization, server, user};

#[tokio::test]
async fn users_see_their_memberships_with_the_organization_and_what_they_may_do() {
    let t = server(|_| ()).await;
    let (ann, ben) = (user(&t, "ann@example.com").await, user(&t, "ben@example.com").await);
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:admin").await;
    join(&t, &engines, &ben, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    let shown = at.shown().await["user"]["organization_memberships"].clone();
    assert_eq!(shown.as_array().unwrap().len(), 1);
    let membership = &shown[0];
    assert_eq!(
        (&membership["object"], &membership["role"]),
        (&json!("organization_membership"), &json!("org:admin"))
    );
    assert_eq!(membership["role_name"], "Admin");
    assert!(membership["permissions"].as_array().unwrap().contains(&json!("org:sys_memberships:manage")));
    assert_eq!(membership["public_user_data"]["user_id"], ann["id"]);
    assert!(membership.get("private_metadata").is_none());
    let organization = &membership["organization"];
    assert_eq!((&organization["id"], &organization["slug"]), (&json!(engines), &json!("engines")));
    assert_eq!(
        (&organization["members_count"], &organization["pending_invitations_count"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(organization["self_serve_sso_enabled"], json!(false));
    assert!(organization.get("private_metadata").is_none());
    let me = at.browser.get("/v1/me").await.ok();
    assert_eq!(me["response"]["organization_memberships"], shown);
    assert_eq!(me["client"]["sessions"][0]["user"]["organization_memberships"], shown);
    let touched = at.touch("").await.ok();
    assert_eq!(touched["response"]["user"]["organization_memberships"], shown);
    let path = format!("/v1/client/sessions/{}", at.session);
    assert_eq!(at.browser.get(&path).await.ok()["response"]["user"]["organization_memberships"], shown);
    let sessions = at.browser.get("/v1/me/sessions").await.ok();
    assert_eq!(
        sessions[0]["user"]["organization_memberships"],
        json!([]),
        "not once more with every session"
    );
    assert_eq!(sessions[0]["last_active_organization_id"], Value::Null);
}

#[tokio::test]
async fn several_people_on_a_browser_see_their_own_memberships() {
    let t = server(|settings| settings.session.single_session = false).await;
    let (ann, ben) = (user(&t, "ann@example.com").await, user(&t, "ben@example.com").await);
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    join(&t, &engines, &ann, "org:admin").await;
    join(&t, &looms, &ben, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    t.clock.advance_ms(1000);
    crate::frontend::sign_in(&mut at.browser, "ben@example.com").await;
    let client = at.browser.get("/v1/client").await.ok();
    for (place, id) in [(0, &engines), (1, &looms)] {
        let session = &client["response"]["sessions"][place];
        let shown = session["user"]["organization_memberships"].as_array().unwrap();
        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0]["organization"]["id"], json!(id));
        assert_eq!(session["last_active_organization_id"], json!(id));
    }
}

#[tokio::test]
async fn every_session_of_a_browser_has_its_role_though_the_roles_are_read_once() {
    let t = server(|settings| settings.session.single_session = false).await;
    let (ann, ben) = (user(&t, "ann@example.com").await, user(&t, "ben@example.com").await);
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    join(&t, &engines, &ann, "org:admin").await;
    join(&t, &looms, &ben, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    t.clock.advance_ms(1000);
    let second = crate::frontend::sign_in(&mut at.browser, "ben@example.com").await;
    let first = std::mem::replace(&mut at.session, second);
    assert_eq!(
        (&at.token().await["o"]["rol"], &at.shown_token().await["o"]["rol"]),
        (&json!("member"), &json!("member"))
    );
    let second = std::mem::replace(&mut at.session, first);
    assert_eq!(
        (&at.token().await["o"]["rol"], &at.shown_token().await["o"]["rol"]),
        (&json!("admin"), &json!("admin"))
    );
    // They also come when the first session works for nobody any more, and when its time is over.
    t.delete(&format!("/v1/organizations/{engines}")).await.ok();
    at.session = second;
    assert_eq!(
        (&at.token().await["o"]["rol"], &at.shown_token().await["o"]["rol"]),
        (&json!("member"), &json!("member"))
    );
    t.run_jobs().await;
}

#[tokio::test]
async fn of_many_memberships_the_newest_are_shown_and_always_the_active_one() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let mut ids = Vec::new();
    for number in 0..MEMBERSHIPS_SHOWN + 5 {
        t.clock.advance_ms(10);
        let id = organization(&t, &format!("organization-{number}")).await;
        join(&t, &id, &ann, "org:member").await;
        ids.push(id);
    }
    let mut at = At::new(&t, "ann@example.com").await;
    let listed = |session: Value| -> Vec<String> {
        let all = session["user"]["organization_memberships"].as_array().unwrap().clone();
        all.iter().map(|it| it["organization"]["id"].as_str().unwrap().to_owned()).collect()
    };
    let newest: Vec<String> = ids.iter().rev().take(MEMBERSHIPS_SHOWN as usize).cloned().collect();
    assert_eq!(listed(at.shown().await), newest);
    at.touch(&ids[0]).await.ok();
    let expected: Vec<String> = newest.iter().chain([&ids[0]]).cloned().collect();
    assert_eq!(listed(at.shown().await), expected);
    assert_eq!(at.token().await["o"]["id"], json!(ids[0]));
    let deleted = ids.last().unwrap();
    t.delete(&format!("/v1/organizations/{deleted}")).await.ok();
    let left = listed(at.shown().await);
    assert!(!left.contains(deleted) && left[..99] == expected[1..100] && left.last() == ids.first());
    t.run_jobs().await;
}
