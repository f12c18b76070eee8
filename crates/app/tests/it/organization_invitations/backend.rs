//! What backends do with invitations.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{Managed, addresses, invitation, kinds, organization, organization_of, server, text, ticket};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What an event tells of an invitation, but for the organization.
fn without_data(told: &Value) -> Value {
    let mut told = told.clone();
    told.as_object_mut().unwrap().remove("data");
    told
}

#[tokio::test]
async fn an_invitation_shows_who_is_invited_by_whom_and_where_to_go() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let before = t.events().await.len();
    let body = json!({
        "email_address": "Bob@Example.com", "role": "org:admin", "inviter_user_id": organization.admin,
        "public_metadata": {"team": "a"}, "private_metadata": {"cost": 1}, "expires_in_days": 7,
        "redirect_url": "https://example.com/join",
    });
    let made = t.post(&organization.path(), body).await.ok();
    assert_eq!(made["object"], "organization_invitation");
    assert_eq!((&made["email_address"], &made["status"]), (&json!("bob@example.com"), &json!("pending")));
    assert_eq!((&made["role"], &made["role_name"]), (&json!("org:admin"), &json!("Admin")));
    assert_eq!(
        (&made["organization_id"], &made["inviter_id"]),
        (&json!(organization.id), &json!(organization.admin))
    );
    let inviter = &made["public_inviter_data"];
    assert_eq!(
        (&inviter["user_id"], &inviter["identifier"]),
        (&json!(organization.admin), &json!("ann@example.com"))
    );
    assert_eq!((&inviter["first_name"], &inviter["has_image"]), (&json!("Ann"), &json!(false)));
    assert_eq!(
        (&made["public_metadata"], &made["private_metadata"]),
        (&json!({"team": "a"}), &json!({"cost": 1}))
    );
    let created_at = made["created_at"].as_i64().unwrap();
    assert_eq!(made["expires_at"], created_at + 7 * DAY_MS);
    assert!(text(&made["url"]).starts_with("http://localhost:3401/v1/tickets/accept?ticket="));
    assert_eq!(organization.shown(&t, &made["id"]).await, made, "the link is shown as long as it is good");
    let events = t.events().await.split_off(before);
    let created = events.iter().find(|event| event.kind == "organizationInvitation.created").unwrap();
    assert_eq!((without_data(&created.data), &created.subject), (made.clone(), &organization.id));
    let letter = &t.inbox().await[0];
    assert_eq!((&letter["to"], &letter["link"]), (&json!("bob@example.com"), &made["url"]));
    assert_eq!(letter["subject"], "You are invited to Engines at Latchkey");
    assert!(text(&letter["body"]).contains("Ann Manager invites you"), "{letter:#}");
}

#[tokio::test]
async fn what_is_not_given_has_its_default_and_no_mail_is_sent_to_whom_is_not_to_be_told() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let body = json!({"email_address": "bob@example.com", "role": "basic_member", "notify": false, "inviter_user_id": null,
        "redirect_url": null, "expires_in_days": null, "public_metadata": null});
    let made = t.post(&organization.path(), body).await.ok();
    assert_eq!((&made["inviter_id"], &made["public_inviter_data"]), (&Value::Null, &Value::Null));
    assert_eq!((&made["role"], &made["public_metadata"]), (&json!("org:member"), &json!({})));
    assert_eq!(made["expires_at"], made["created_at"].as_i64().unwrap() + 30 * DAY_MS);
    assert_eq!(t.inbox().await, Vec::<Value>::new());
    assert!(!kinds(&t).await.contains(&"email.created".to_owned()));
}

#[tokio::test]
async fn what_cannot_be_invited_is_refused_by_name_and_leaves_nothing() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let path = organization.path();
    let with = |name: &str, value: Value| {
        let mut body = invitation("bob@example.com");
        body[name] = value;
        body
    };
    for (name, value, status, code) in [
        ("email_address", json!("nonsense"), 422, "form_param_format_invalid"),
        ("email_address", json!(1), 422, "form_param_type_invalid"),
        ("role", json!("org:nothing"), 404, "resource_not_found"),
        ("expires_in_days", json!(0), 422, "form_param_value_invalid"),
        ("expires_in_days", json!(366), 422, "form_param_value_too_large"),
        ("redirect_url", json!("/join"), 422, "form_param_format_invalid"),
        ("redirect_url", json!("javascript:alert(1)"), 422, "form_param_format_invalid"),
        ("notify", json!("yes"), 422, "form_param_type_invalid"),
        ("public_metadata", json!({"a": "x".repeat(9000)}), 422, "form_param_exceeds_allowed_size"),
    ] {
        let refused = t.post(&path, with(name, value)).await;
        assert_eq!(refused.problems()[0].1, name, "{:#}", refused.json);
        if name != "role" {
            assert_eq!((refused.status, refused.code()), (status, code), "{name}");
        }
    }
    let stranger = t.user_with_email("eve@example.com").await;
    for (id, code) in
        [(stranger.as_str(), "not_a_member_in_organization"), ("nobody", "not_a_member_in_organization")]
    {
        t.post(&path, with("inviter_user_id", json!(id))).await.is_error(403, code);
    }
    let member = json!({"user_id": stranger, "role": "org:member"});
    t.post(&format!("/v1/organizations/{}/memberships", organization.id), member).await.ok();
    let refused = t.post(&path, with("inviter_user_id", json!(stranger))).await;
    refused.is_error(403, "missing_organization_permission");
    assert_eq!(refused.json["errors"][0]["meta"]["permissions"], json!(["org:sys_memberships:manage"]));
    t.post(&path, invitation("EVE@example.com")).await.is_error(400, "already_a_member_in_organization");
    assert_eq!(t.get(&path).await.ok()["total_count"], 0);
    assert_eq!(t.inbox().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_address_is_invited_once_until_its_invitation_is_over() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let first = organization.invite(&t, "bob@example.com").await;
    let again = t.post(&organization.path(), invitation("BOB@example.com")).await;
    again.is_problem(400, "organization_invitation_not_unique", "email_address");
    let other = organization_of(&t, "carl@example.com").await;
    other.invite(&t, "bob@example.com").await;
    let revoke = format!("{}/{}/revoke", organization.path(), text(&first["id"]));
    t.post(&revoke, json!({})).await.ok();
    organization.invite(&t, "bob@example.com").await;
    t.clock.advance_ms(30 * DAY_MS);
    organization.invite(&t, "bob@example.com").await;
}

#[tokio::test]
async fn members_and_pending_invitations_share_the_places_of_an_organization() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let limit = json!({"max_allowed_memberships": 3});
    t.patch(&format!("/v1/organizations/{}", organization.id), limit).await.ok();
    let one = organization.invite(&t, "one@example.com").await;
    organization.invite(&t, "two@example.com").await;
    let full = async || t.post(&organization.path(), invitation("three@example.com")).await;
    full().await.is_error(403, "organization_membership_quota_exceeded");
    t.post(&format!("{}/{}/revoke", organization.path(), text(&one["id"])), json!({})).await.ok();
    full().await.ok();
    full().await.is_error(400, "organization_invitation_not_unique");
    t.clock.advance_ms(30 * DAY_MS);
    organization.invite(&t, "four@example.com").await;
}

#[tokio::test]
async fn several_are_invited_all_or_none() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let path = format!("{}/bulk", organization.path());
    let many = |count: usize| {
        json!((0..count).map(|nth| invitation(&format!("p{nth}@example.com"))).collect::<Vec<_>>())
    };
    let bad = |last: Value| json!([invitation("x@example.com"), last]);
    for (body, status, code) in [
        (json!([]), 422, "form_param_value_invalid"),
        (many(11), 400, "bulk_size_exceeded"),
        (bad(invitation("X@example.com")), 400, "organization_invitation_not_unique"),
        (bad(invitation("ann@example.com")), 400, "already_a_member_in_organization"),
        (bad(json!({"email_address": "y@example.com"})), 422, "form_param_missing"),
        (bad(json!("y@example.com")), 400, "request_body_invalid"),
        (invitation("x@example.com"), 400, "request_body_invalid"),
    ] {
        let refused = t.post(&path, body.clone()).await;
        assert_eq!((refused.status, refused.code()), (status, code), "{body} {:#}", refused.json);
    }
    assert_eq!(t.get(&organization.path()).await.ok()["total_count"], 0, "none of them was made");
    assert_eq!(t.inbox().await.len(), 0);
    let mut body = many(10);
    body[0]["role"] = json!("org:admin");
    body[1]["notify"] = json!(false);
    let made = t.post(&path, body).await.ok();
    assert_eq!((&made["total_count"], made["data"].as_array().unwrap().len()), (&json!(10), 10));
    assert_eq!(
        (&made["data"][0]["role"], &made["data"][1]["role"]),
        (&json!("org:admin"), &json!("org:member"))
    );
    assert_eq!(t.inbox().await.len(), 9);
    let limit = json!({"max_allowed_memberships": 12});
    t.patch(&format!("/v1/organizations/{}", organization.id), limit).await.ok();
    let two = json!([invitation("x@example.com"), invitation("y@example.com")]);
    t.post(&path, two).await.is_error(403, "organization_membership_quota_exceeded");
    assert_eq!(t.get(&organization.path()).await.ok()["total_count"], 10);
}

/// Four invitations, one of each status, oldest first: `accepted@`, `revoked@`, `expired@`, `pending@example.com`.
async fn one_of_each(t: &TestServer) -> Managed {
    let organization = organization(t).await;
    let accepted = organization.invite(t, "accepted@example.com").await;
    t.clock.advance_ms(1);
    let revoked = organization.invite(t, "revoked@example.com").await;
    let mut brief = invitation("expired@example.com");
    brief["expires_in_days"] = json!(1);
    t.clock.advance_ms(1);
    t.post(&organization.path(), brief).await.ok();
    t.user_with_email("accepted@example.com").await;
    let fields = json!({"strategy": "ticket", "ticket": ticket(&accepted)});
    t.browser().post("/v1/client/sign_ins", fields).await.ok();
    t.post(&format!("{}/{}/revoke", organization.path(), text(&revoked["id"])), json!({})).await.ok();
    t.clock.advance_ms(2 * DAY_MS);
    organization.invite(t, "pending@example.com").await;
    organization
}

#[tokio::test]
async fn lists_are_filtered_by_status_and_address_and_ordered() {
    let t = server(|_| ()).await;
    let organization = one_of_each(&t).await;
    let listed = async |query: &str| t.get(&format!("{}{query}", organization.path())).await.ok();
    let newest =
        ["pending@example.com", "expired@example.com", "revoked@example.com", "accepted@example.com"];
    assert_eq!(addresses(&listed("").await), newest);
    for status in ["pending", "expired", "revoked", "accepted"] {
        let found = listed(&format!("?status={status}")).await;
        assert_eq!(
            (addresses(&found), &found["total_count"]),
            (vec![&*format!("{status}@example.com")], &json!(1))
        );
        assert_eq!(found["data"][0]["status"], status);
        assert_eq!(found["data"][0]["url"].is_string(), status == "pending");
    }
    assert_eq!(addresses(&listed("?status=pending&status=revoked").await), [newest[0], newest[2]]);
    assert_eq!(addresses(&listed("?email_address=Revoked@example.com").await), ["revoked@example.com"]);
    let by_address =
        ["accepted@example.com", "expired@example.com", "pending@example.com", "revoked@example.com"];
    for order in ["email_address", "%2Bemail_address", "+email_address"] {
        assert_eq!(addresses(&listed(&format!("?order_by={order}")).await), by_address);
    }
    let backwards: Vec<_> = by_address.into_iter().rev().collect();
    assert_eq!(addresses(&listed("?order_by=-email_address").await), backwards);
    assert_eq!(
        addresses(&listed("?order_by=created_at&limit=2&offset=1").await),
        ["revoked@example.com", "expired@example.com"]
    );
    assert_eq!(listed("?limit=1").await["total_count"], 4);
    for (query, param) in [("?status=unknown", "status"), ("?order_by=role", "order_by")] {
        t.get(&format!("{}{query}", organization.path())).await.is_problem(
            422,
            "form_param_value_invalid",
            param,
        );
    }
    let pending = t.get(&format!("{}/pending", organization.path())).await.ok();
    assert_eq!((addresses(&pending), &pending["total_count"]), (vec!["pending@example.com"], &json!(1)));
}

#[tokio::test]
async fn lists_of_the_instance_and_of_a_user_name_the_organization() {
    let t = server(|_| ()).await;
    let organization = one_of_each(&t).await;
    let other = organization_of(&t, "carl@example.com").await;
    t.clock.advance_ms(1);
    other.invite(&t, "pending@example.com").await;
    let all = t.get("/v1/organization_invitations?limit=500").await.ok();
    assert_eq!((addresses(&all).len(), &all["total_count"]), (5, &json!(5)));
    let data = &all["data"][0]["public_organization_data"];
    assert_eq!(
        (&data["id"], &data["name"], &data["has_image"]),
        (&json!(other.id), &json!("Engines"), &json!(false))
    );
    let found = t.get("/v1/organization_invitations?query=ENDING@&order_by=created_at").await.ok();
    assert_eq!(addresses(&found), ["pending@example.com", "pending@example.com"]);
    assert_eq!(found["data"][0]["organization_id"], json!(organization.id));
    let found = t
        .get("/v1/organization_invitations?status=expired&status=accepted&order_by=email_address")
        .await
        .ok();
    assert_eq!(addresses(&found), ["accepted@example.com", "expired@example.com"]);
    assert_eq!(t.get("/v1/organization_invitations?query=%25").await.ok()["total_count"], 0);
    // A user's are those of addresses that are proven to be theirs.
    let user = t.user_with_email("pending@example.com").await;
    let path = format!("/v1/users/{user}/organization_invitations");
    let mine = t.get(&path).await.ok();
    assert_eq!(mine["total_count"], 2);
    assert_eq!(mine["data"][0]["public_organization_data"]["id"], json!(other.id));
    assert_eq!(t.get(&format!("{path}?status=accepted")).await.ok()["total_count"], 0);
    let unproven = json!({"user_id": user, "email_address": "expired@example.com", "verified": false});
    t.post("/v1/email_addresses", unproven).await.ok();
    assert_eq!(t.get(&path).await.ok()["total_count"], 2);
    let nobody = t.user(json!({"username": "nobody_here", "skip_user_requirement": true, "skip_password_requirement": true})).await;
    assert_eq!(
        t.get(&format!("/v1/users/{}/organization_invitations", text(&nobody["id"]))).await.ok()["total_count"],
        0
    );
}

#[tokio::test]
async fn only_what_is_pending_is_revoked_and_by_those_who_may() {
    let t = server(|_| ()).await;
    let organization = one_of_each(&t).await;
    let all = t.get(&organization.path()).await.ok();
    let path = |nth: usize| format!("{}/{}/revoke", organization.path(), text(&all["data"][nth]["id"]));
    for nth in [1, 2, 3] {
        t.post(&path(nth), json!({})).await.is_error(404, "organization_invitation_not_pending");
    }
    let stranger = t.user_with_email("eve@example.com").await;
    let refused = t.post(&path(0), json!({"requesting_user_id": stranger})).await;
    refused.is_error(403, "not_a_member_in_organization");
    let other = organization_of(&t, "carl@example.com").await;
    let elsewhere = format!("{}/{}", other.path(), text(&all["data"][0]["id"]));
    t.get(&elsewhere).await.is_error(404, "resource_not_found");
    t.post(&format!("{elsewhere}/revoke"), json!({})).await.is_error(404, "resource_not_found");
    let before = t.events().await.len();
    let revoked = t.post(&path(0), json!({"requesting_user_id": organization.admin})).await.ok();
    assert_eq!((&revoked["status"], &revoked["url"]), (&json!("revoked"), &Value::Null));
    let events = t.events().await.split_off(before);
    assert_eq!(events[0].kind, "organizationInvitation.revoked");
    assert_eq!(without_data(&events[0].data), revoked);
}

#[tokio::test]
async fn nothing_is_left_of_the_invitations_to_a_deleted_organization() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let user = t.user_with_email("bob@example.com").await;
    t.delete(&format!("/v1/organizations/{}", organization.id)).await.ok();
    assert_eq!(t.get("/v1/organization_invitations").await.ok()["total_count"], 0);
    assert_eq!(t.get(&format!("/v1/users/{user}/organization_invitations")).await.ok()["total_count"], 0);
    let fields = json!({"strategy": "ticket", "ticket": ticket(&made)});
    t.browser().post("/v1/client/sign_ins", fields).await.is_error(400, "ticket_invalid_code");
}

#[tokio::test]
async fn an_inviter_who_is_gone_is_still_named() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let second = t.user_with_email("second@example.com").await;
    let member = json!({"user_id": second, "role": "org:admin"});
    t.post(&format!("/v1/organizations/{}/memberships", organization.id), member).await.ok();
    let mut body = invitation("bob@example.com");
    body["inviter_user_id"] = json!(second);
    let made = t.post(&organization.path(), body).await.ok();
    t.delete(&format!("/v1/users/{second}")).await.ok();
    let shown = organization.shown(&t, &made["id"]).await;
    assert_eq!((&shown["inviter_id"], &shown["public_inviter_data"]), (&json!(second), &Value::Null));
}

#[tokio::test]
async fn invitations_need_addresses_and_organizations() {
    let t = server(|settings| {
        settings.attributes.email_address.enabled = false;
        settings.attributes.email_address.required_at_sign_up = false;
    })
    .await;
    let made = t.post("/v1/organizations", json!({"name": "Engines"})).await.ok();
    let path = format!("/v1/organizations/{}/invitations", text(&made["id"]));
    t.post(&path, invitation("bob@example.com")).await.is_error(400, "invitations_not_supported");
}

#[tokio::test]
async fn an_instance_makes_no_more_invitations_in_an_hour_than_published() {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    let t = TestServer::start_with(RateLimits::default(), settings).await;
    let (one, other) = ("org_2bXYdLLi0ERyyNfrPdBLKKMNNNO", "org_2bXYdLLi0ERyyNfrPdBLKKMNNNA");
    for (suffix, most) in [("", 250), ("/bulk", 50)] {
        let path = |id: &str| format!("/v1/organizations/{id}/invitations{suffix}");
        for nth in 0..most {
            let id = if nth % 2 == 0 { one } else { other };
            let body = if suffix.is_empty() {
                invitation("a@example.com")
            } else {
                json!([invitation("a@example.com")])
            };
            assert_eq!(t.post(&path(id), body).await.status, 404, "{nth}");
            // What an instance may ask for in ten seconds is another limit.
            t.clock.advance_ms(200);
        }
        let refused = t.post(&path(one), json!({})).await;
        refused.is_error(429, "too_many_requests");
        assert!(refused.header("retry-after").parse::<i64>().unwrap() > 3000);
    }
}
