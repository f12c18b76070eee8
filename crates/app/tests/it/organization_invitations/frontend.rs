//! What people do with invitations in their browsers.

use serde_json::{Value, json};

use super::{Managed, addresses, invitation, organization, organization_of, response, server, text, ticket};
use crate::me::support::{Me, sign_in, somebody};

/// The admin of an organization, signed in.
async fn admin<'a>(t: &'a latchkey_testkit::TestServer, organization: &Managed) -> Me<'a> {
    sign_in(t, &organization.admin).await
}

#[tokio::test]
async fn members_who_may_invite_and_never_see_the_ticket() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let mut admin = admin(&t, &organization).await;
    let path = organization.path();
    let answer = admin.post(&path, invitation("Bob@example.com")).await.ok();
    assert_eq!(answer["client"]["object"], "client");
    let made = &answer["response"];
    assert_eq!(
        (&made["object"], &made["email_address"]),
        (&json!("organization_invitation"), &json!("bob@example.com"))
    );
    assert_eq!(
        (&made["status"], &made["role"], &made["role_name"]),
        (&json!("pending"), &json!("org:member"), &json!("Member"))
    );
    assert_eq!(made["public_organization_data"]["id"], json!(organization.id));
    assert_eq!(made["url"], Value::Null, "it opens the account of whoever has the address");
    assert!(!answer.to_string().contains("tickets/accept"));
    let as_backend = organization.shown(&t, &made["id"]).await;
    assert_eq!(as_backend["inviter_id"], json!(organization.admin));
    let letter = &t.inbox().await[0];
    assert_eq!((&letter["to"], &letter["link"]), (&json!("bob@example.com"), &as_backend["url"]));
    let mut silent = invitation("silent@example.com");
    silent["notify"] = json!(false);
    admin.post(&path, silent).await.ok();
    assert_eq!(t.inbox().await.len(), 1);
    admin
        .post(&path, invitation("bob@example.com"))
        .await
        .is_error(400, "organization_invitation_not_unique");
    admin.post(&path, invitation("ann@example.com")).await.is_error(400, "already_a_member_in_organization");
    admin.post(&path, invitation("x")).await.is_problem(422, "form_param_format_invalid", "email_address");
    admin.post(&path, json!({"role": "org:member"})).await.is_problem(
        422,
        "form_param_missing",
        "email_address",
    );
}

#[tokio::test]
async fn several_addresses_are_invited_at_once_all_or_none() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let mut admin = admin(&t, &organization).await;
    let path = format!("{}/bulk", organization.path());
    let many = |addresses: Vec<String>| json!({"email_address": addresses, "role": "org:admin"});
    let named = |count: usize| (0..count).map(|nth| format!("p{nth}@example.com")).collect::<Vec<_>>();
    let made = response(admin.post(&path, many(named(10))).await);
    let made = made.as_array().unwrap();
    assert_eq!(
        (made.len(), &made[9]["email_address"], &made[9]["role"]),
        (10, &json!("p9@example.com"), &json!("org:admin"))
    );
    admin.post(&path, many(named(11))).await.is_error(400, "bulk_size_exceeded");
    admin.post(&path, many(vec![])).await.is_error(422, "form_param_missing");
    let twice = many(vec!["new@example.com".into(), "p1@example.com".into()]);
    admin.post(&path, twice).await.is_error(400, "organization_invitation_not_unique");
    assert_eq!(response(admin.get(&organization.path()).await)["total_count"], 10);
}

/// The invitation component splits its field at commas. A comma at the end sends an empty address.
#[tokio::test]
async fn bulk_invitation_ignores_empty_addresses() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let mut admin = admin(&t, &organization).await;
    let path = format!("{}/bulk", organization.path());
    let mut addresses: Vec<String> = (0..10).map(|nth| format!("p{nth}@example.com")).collect();
    addresses.insert(3, " ".to_owned());
    addresses.push(String::new());
    let body = json!({"email_address": addresses, "role": "org:member"});
    let created = response(admin.post(&path, body).await);
    assert_eq!(created.as_array().unwrap().len(), 10);
    assert_eq!(t.inbox().await.len(), 10);
    let body = json!({"email_address": ["", ""], "role": "org:member"});
    admin.post(&path, body).await.is_problem(422, "form_param_value_invalid", "email_address");
    assert_eq!(response(admin.get(&organization.path()).await)["total_count"], 10);
}

#[tokio::test]
async fn members_list_what_is_pending_and_what_became_of_the_rest() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let mut admin = admin(&t, &organization).await;
    let path = organization.path();
    let first = response(admin.post(&path, invitation("first@example.com")).await);
    admin.post(&path, invitation("second@example.com")).await.ok();
    let revoked = response(admin.post(&format!("{path}/{}/revoke", text(&first["id"])), json!({})).await);
    assert_eq!((&revoked["id"], &revoked["status"]), (&first["id"], &json!("revoked")));
    let again = admin.post(&format!("{path}/{}/revoke", text(&first["id"])), json!({})).await;
    again.is_error(404, "organization_invitation_not_pending");
    let listed = async |me: &mut Me<'_>, query: &str| response(me.get(&format!("{path}{query}")).await);
    assert_eq!(addresses(&listed(&mut admin, "").await), ["second@example.com", "first@example.com"]);
    assert_eq!(addresses(&listed(&mut admin, "?status=pending").await), ["second@example.com"]);
    assert_eq!(
        addresses(&listed(&mut admin, "?status=revoked&status=pending&limit=1").await),
        ["second@example.com"]
    );
    for status in ["completed", "invalid", "expired", "accepted"] {
        assert_eq!(listed(&mut admin, &format!("?status={status}")).await["total_count"], 0);
    }
    admin.get(&format!("{path}?status=x")).await.is_error(422, "form_param_value_invalid");
    let pending = listed(&mut admin, "/pending").await;
    assert_eq!(
        (pending.as_array().unwrap().len(), &pending[0]["email_address"]),
        (1, &json!("second@example.com"))
    );
    let other = organization_of(&t, "carl@example.com").await;
    let elsewhere = other.invite(&t, "x@example.com").await;
    let refused = admin.post(&format!("{path}/{}/revoke", text(&elsewhere["id"])), json!({})).await;
    refused.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn every_operation_of_members_is_for_those_who_may_manage_them() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let mut member = somebody(&t, "member@example.com").await;
    let mut stranger = somebody(&t, "stranger@example.com").await;
    let body = json!({"user_id": member.user, "role": "org:member"});
    t.post(&format!("/v1/organizations/{}/memberships", organization.id), body).await.ok();
    let path = organization.path();
    let revoke = format!("{path}/{}/revoke", text(&made["id"]));
    for (me, status, code) in [
        (&mut member, 403, "missing_organization_permission"),
        (&mut stranger, 404, "organization_not_found_or_unauthorized"),
    ] {
        me.get(&path).await.is_error(status, code);
        me.get(&format!("{path}/pending")).await.is_error(status, code);
        me.post(&path, invitation("new@example.com")).await.is_error(status, code);
        let many = json!({"email_address": ["new@example.com"], "role": "org:member"});
        me.post(&format!("{path}/bulk"), many).await.is_error(status, code);
        me.post(&revoke, json!({})).await.is_error(status, code);
    }
    let left = t.get(&path).await.ok();
    assert_eq!((&left["total_count"], &left["data"][0]["status"]), (&json!(1), &json!("pending")));
}

#[tokio::test]
async fn whoever_is_invited_sees_it_and_joins_with_what_it_gives() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let mut body = invitation("bob@example.com");
    body["inviter_user_id"] = json!(organization.admin);
    body["public_metadata"] = json!({"team": "a"});
    body["private_metadata"] = json!({"cost": 1});
    t.post(&organization.path(), body).await.ok();
    let mut bob = somebody(&t, "bob@example.com").await;
    let listed = response(bob.get("/v1/me/organization_invitations?status=pending").await);
    assert_eq!(listed["total_count"], 1);
    let mine = &listed["data"][0];
    assert_eq!((&mine["public_organization_data"]["name"], &mine["url"]), (&json!("Engines"), &Value::Null));
    assert!(mine.get("private_metadata").is_none());
    let before = t.events().await.len();
    let path = format!("/v1/me/organization_invitations/{}/accept", text(&mine["id"]));
    let accepted = response(bob.post(&path, json!({})).await);
    assert_eq!((&accepted["id"], &accepted["status"]), (&mine["id"], &json!("accepted")));
    let listed =
        t.get(&format!("/v1/organizations/{}/memberships?user_id={}", organization.id, bob.user)).await.ok();
    let member = &listed["data"][0];
    assert_eq!((&member["role"], &member["public_metadata"]), (&json!("org:member"), &json!({"team": "a"})));
    assert_eq!(member["private_metadata"], json!({"cost": 1}));
    let events = t.events().await.split_off(before);
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["organizationMembership.created", "organizationInvitation.accepted", "email.created"]);
    assert_eq!(
        (&events[1].data["user_id"], &events[1].data["status"]),
        (&json!(bob.user), &json!("accepted"))
    );
    assert_eq!(events[1].data["data"]["public_organization_data"]["id"], json!(organization.id));
    let letter = &t.inbox().await[0];
    assert_eq!(
        (&letter["to"], &letter["subject"]),
        (&json!("ann@example.com"), &json!("bob@example.com joined Engines"))
    );
    bob.post(&path, json!({})).await.is_error(400, "organization_invitation_already_accepted");
    assert_eq!(response(bob.get("/v1/me/organization_invitations?status=pending").await)["total_count"], 0);
    assert_eq!(response(bob.get("/v1/me/organization_invitations?status=accepted").await)["total_count"], 1);
}

#[tokio::test]
async fn invitations_of_others_and_of_addresses_that_are_not_proven_are_not_there() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let mut eve = somebody(&t, "eve@example.com").await;
    let unproven = json!({"user_id": eve.user, "email_address": "bob@example.com", "verified": false});
    t.post("/v1/email_addresses", unproven).await.ok();
    assert_eq!(response(eve.get("/v1/me/organization_invitations").await)["total_count"], 0);
    let path = format!("/v1/me/organization_invitations/{}/accept", text(&made["id"]));
    eve.post(&path, json!({})).await.is_error(404, "organization_invitation_not_found");
    assert_eq!(organization.members(&t).await, std::slice::from_ref(&organization.admin));
}

#[tokio::test]
async fn what_is_over_cannot_be_accepted() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let revoked = organization.invite(&t, "bob@example.com").await;
    let mut bob = somebody(&t, "bob@example.com").await;
    let accept = |made: &Value| format!("/v1/me/organization_invitations/{}/accept", text(&made["id"]));
    t.post(&format!("{}/{}/revoke", organization.path(), text(&revoked["id"])), json!({})).await.ok();
    bob.post(&accept(&revoked), json!({})).await.is_error(400, "organization_invitation_revoked_code");
    let expired = organization.invite(&t, "bob@example.com").await;
    t.clock.advance_ms(29 * 24 * 60 * 60 * 1000);
    let mut bob = sign_in(&t, &bob.user).await;
    t.clock.advance_ms(24 * 60 * 60 * 1000);
    bob.post(&accept(&expired), json!({})).await.is_error(400, "ticket_expired_code");
    let fields = json!({"strategy": "ticket", "ticket": ticket(&expired)});
    t.browser().post("/v1/client/sign_ins", fields).await.is_error(400, "ticket_expired_code");
}

#[tokio::test]
async fn whoever_became_a_member_in_another_way_only_uses_the_invitation_up() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let mut bob = somebody(&t, "bob@example.com").await;
    let body = json!({"user_id": bob.user, "role": "org:admin"});
    t.post(&format!("/v1/organizations/{}/memberships", organization.id), body).await.ok();
    let path = format!("/v1/me/organization_invitations/{}/accept", text(&made["id"]));
    assert_eq!(response(bob.post(&path, json!({})).await)["status"], "accepted");
    let members = t.get(&format!("/v1/organizations/{}/memberships", organization.id)).await.ok();
    assert_eq!((&members["total_count"], &members["data"][0]["role"]), (&json!(2), &json!("org:admin")));
}

#[tokio::test]
async fn a_mailbox_gets_no_flood_of_invitations_from_browsers() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let mut admin = admin(&t, &organization).await;
    let mut refused = None;
    for _ in 0..100 {
        let answer = admin.post(&organization.path(), invitation("bob@example.com")).await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
        let revoke = format!("{}/{}/revoke", organization.path(), text(&response(answer)["id"]));
        admin.post(&revoke, json!({})).await.ok();
    }
    let refused = refused.expect("somebody can have any number of mails sent to a stranger");
    refused.is_error(429, "verification_code_too_many_requests");
    assert_eq!(
        response(admin.get(&format!("{}?status=pending", organization.path())).await)["total_count"],
        0
    );
}

/// Support staff who act as a user must not bind the user.
#[tokio::test]
async fn actor_session_joins_and_deletes_nothing_unless_the_setting_allows_it() {
    for is_allowed in [false, true] {
        let t = server(|settings| settings.organizations.actor_changes = is_allowed).await;
        let other = organization_of(&t, "carl@example.com").await;
        let organization = organization(&t).await;
        let made = other.invite(&t, "ann@example.com").await;
        let token = json!({"user_id": organization.admin, "actor": {"sub": "user_staff"}});
        let token = t.post("/v1/actor_tokens", token).await.ok();
        let mut browser = t.browser();
        let fields = json!({"strategy": "ticket", "ticket": token["token"]});
        browser.post("/v1/client/sign_ins", fields).await.ok();
        browser.get(&format!("/v1/tickets/accept?ticket={}", ticket(&made))).await;
        assert_eq!(other.members(&t).await.len(), 1, "a link joins nothing");
        let again = json!({"strategy": "ticket", "ticket": ticket(&made)});
        browser.post("/v1/client/sign_ins", again).await.is_error(400, "session_exists");
        let accept = format!("/v1/me/organization_invitations/{}/accept", text(&made["id"]));
        let accepted = browser.post(&accept, json!({})).await;
        let deleted = browser.delete(&format!("/v1/organizations/{}", organization.id)).await;
        if is_allowed {
            accepted.ok();
            deleted.ok();
        } else {
            accepted.is_error(403, "feature_not_enabled");
            deleted.is_error(403, "feature_not_enabled");
            t.get(&format!("/v1/organizations/{}", organization.id)).await.ok();
        }
        assert_eq!(other.members(&t).await.len(), if is_allowed { 2 } else { 1 });
    }
}
