//! The link in the e-mail: where it leads, and joining by signing in and up.

use latchkey_kernel::settings::{Settings, SignUpMode};
use serde_json::{Value, json};

use super::{invitation, kinds, organization, organization_of, response, server, text, ticket};
use crate::me::support::somebody;

const SIGN_INS: &str = "/v1/client/sign_ins";
const SIGN_UPS: &str = "/v1/client/sign_ups";

fn with_ticket(made: &Value) -> Value {
    json!({"strategy": "ticket", "ticket": ticket(made)})
}

#[tokio::test]
async fn whoever_has_an_account_signs_in_and_joins() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let bob = t.user_with_email("bob@example.com").await;
    let other = organization_of(&t, "carl@example.com").await;
    let member = json!({"user_id": bob, "role": "org:member"});
    t.post(&format!("/v1/organizations/{}/memberships", other.id), member).await.ok();
    let mut browser = t.browser();
    browser
        .post(SIGN_UPS, with_ticket(&made))
        .await
        .is_error(400, "organization_invitation_identification_already_exists");
    let sign_in = response(browser.post(SIGN_INS, with_ticket(&made)).await);
    assert_eq!(
        (&sign_in["status"], &sign_in["first_factor_verification"]["strategy"]),
        (&json!("complete"), &json!("ticket"))
    );
    assert!(organization.members(&t).await.contains(&bob));
    let client = response(browser.get("/v1/client").await);
    assert_eq!(client["sessions"][0]["user"]["id"], json!(bob));
    assert_eq!(client["sessions"][0]["last_active_organization_id"], json!(organization.id));
    assert_eq!(organization.shown(&t, &made["id"]).await["status"], "accepted");
    t.browser()
        .post(SIGN_INS, with_ticket(&made))
        .await
        .is_error(400, "organization_invitation_already_accepted");
}

#[tokio::test]
async fn a_ticket_answers_an_attempt_under_way_and_only_that_of_its_user() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let bob = t.user_with_email("bob@example.com").await;
    t.user_with_email("eve@example.com").await;
    let mut browser = t.browser();
    for (identifier, is_theirs) in [("eve@example.com", false), ("bob@example.com", true)] {
        let begun = response(browser.post(SIGN_INS, json!({"identifier": identifier})).await);
        let path = format!("{SIGN_INS}/{}/attempt_first_factor", text(&begun["id"]));
        let answer = browser.post(&path, with_ticket(&made)).await;
        match is_theirs {
            true => assert_eq!(response(answer)["status"], "complete"),
            false => answer.is_error(400, "ticket_invalid_code"),
        }
        assert_eq!(organization.members(&t).await.contains(&bob), is_theirs);
    }
}

#[tokio::test]
async fn a_ticket_is_a_first_factor_and_the_second_one_is_still_asked_for() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let secret = latchkey_jose::totp::base32_encode(b"authenticator 000001");
    let fields = json!({"email_address": ["bob@example.com"], "totp_secret": secret,
        "backup_codes": ["first-code-1"]});
    let bob = t.user(fields).await;
    // Somebody gives up before that.
    let given_up = response(t.browser().post(SIGN_INS, with_ticket(&made)).await);
    assert_eq!(given_up["status"], "needs_second_factor");
    let mut browser = t.browser();
    let sign_in = response(browser.post(SIGN_INS, with_ticket(&made)).await);
    assert_eq!(
        (&sign_in["status"], &sign_in["created_session_id"]),
        (&json!("needs_second_factor"), &Value::Null)
    );
    assert_eq!(response(browser.get("/v1/client").await)["sessions"], json!([]));
    // Whoever only reads the mailbox does not join, and uses nothing up.
    assert!(!organization.members(&t).await.contains(&text(&bob["id"])));
    assert_eq!(organization.shown(&t, &made["id"]).await["status"], "pending");
    let path = format!("{SIGN_INS}/{}/attempt_second_factor", text(&sign_in["id"]));
    let wrong = browser.post(&path, json!({"strategy": "backup_code", "code": "other-code-2"})).await;
    assert_eq!(wrong.status, 422);
    assert!(!organization.members(&t).await.contains(&text(&bob["id"])));
    let right = json!({"strategy": "backup_code", "code": "first-code-1"});
    assert_eq!(response(browser.post(&path, right).await)["status"], "complete");
    assert!(organization.members(&t).await.contains(&text(&bob["id"])));
    assert_eq!(organization.shown(&t, &made["id"]).await["status"], "accepted");
    let session = response(browser.get("/v1/client").await)["sessions"][0].take();
    assert_eq!(session["last_active_organization_id"], json!(organization.id));
}

#[tokio::test]
async fn what_is_revoked_before_the_second_factor_lets_nobody_join() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let fields = json!({"email_address": ["bob@example.com"], "backup_codes": ["first-code-1"],
        "totp_secret": latchkey_jose::totp::base32_encode(b"authenticator 000001")});
    let bob = t.user(fields).await;
    let mut browser = t.browser();
    let sign_in = response(browser.post(SIGN_INS, with_ticket(&made)).await);
    let path = format!("/v1/organizations/{}/invitations/{}/revoke", organization.id, text(&made["id"]));
    t.post(&path, json!({})).await.ok();
    let path = format!("{SIGN_INS}/{}/attempt_second_factor", text(&sign_in["id"]));
    let right = json!({"strategy": "backup_code", "code": "first-code-1"});
    browser.post(&path, right).await.is_error(400, "organization_invitation_revoked_code");
    assert!(!organization.members(&t).await.contains(&text(&bob["id"])));
}

#[tokio::test]
async fn whoever_may_not_sign_in_does_not_join() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let bob = t.user_with_email("bob@example.com").await;
    t.post(&format!("/v1/users/{bob}/ban"), json!({})).await.ok();
    t.browser().post(SIGN_INS, with_ticket(&made)).await.is_error(403, "user_banned");
    assert_eq!(organization.shown(&t, &made["id"]).await["status"], "pending");
    assert!(!organization.members(&t).await.contains(&bob));
}

#[tokio::test]
async fn whoever_has_no_account_signs_up_and_joins_even_where_sign_ups_are_closed() {
    for mode in [SignUpMode::Public, SignUpMode::Restricted, SignUpMode::Waitlist] {
        let t = server(|settings| settings.sign_up.mode = mode).await;
        let organization = organization(&t).await;
        let mut body = invitation("bob@example.com");
        body["public_metadata"] = json!({"team": "a"});
        let made = t.post(&organization.path(), body).await.ok();
        let mut browser = t.browser();
        browser
            .post(SIGN_INS, with_ticket(&made))
            .await
            .is_error(400, "organization_invitation_identification_not_exist");
        let before = t.events().await.len();
        let sign_up = response(browser.post(SIGN_UPS, with_ticket(&made)).await);
        assert_eq!(
            (&sign_up["status"], &sign_up["email_address"]),
            (&json!("complete"), &json!("bob@example.com"))
        );
        assert_eq!(sign_up["verifications"]["email_address"]["strategy"], "ticket");
        let bob = text(&sign_up["created_user_id"]);
        let client = response(browser.get("/v1/client").await);
        assert_eq!(client["sessions"][0]["last_active_organization_id"], json!(organization.id));
        let user = t.shown(&bob).await;
        let verification = &user["email_addresses"][0]["verification"];
        assert_eq!(
            (&verification["status"], &verification["strategy"]),
            (&json!("verified"), &json!("ticket"))
        );
        let listed =
            t.get(&format!("/v1/organizations/{}/memberships?user_id={bob}", organization.id)).await.ok();
        assert_eq!(listed["data"][0]["public_metadata"], json!({"team": "a"}));
        let events = kinds(&t).await.split_off(before);
        let expected = [
            "user.created",
            "organizationMembership.created",
            "organizationInvitation.accepted",
            "session.created",
        ];
        assert_eq!(events, expected, "{mode:?}");
        t.browser()
            .post(SIGN_UPS, with_ticket(&made))
            .await
            .is_error(400, "organization_invitation_already_accepted");
    }
}

#[tokio::test]
async fn what_else_is_asked_for_is_asked_before_anybody_joins() {
    let t = server(|settings| {
        settings.sign_up.mode = SignUpMode::Restricted;
        settings.attributes.first_name.required_at_sign_up = true;
    })
    .await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let mut browser = t.browser();
    let begun = response(browser.post(SIGN_UPS, with_ticket(&made)).await);
    assert_eq!(
        (&begun["status"], &begun["missing_fields"]),
        (&json!("missing_requirements"), &json!(["first_name"]))
    );
    assert_eq!(begun["unverified_fields"], json!([]));
    assert_eq!(organization.shown(&t, &made["id"]).await["status"], "pending");
    let path = format!("{SIGN_UPS}/{}", text(&begun["id"]));
    // The invitation lets in the invited address, and no other one.
    let other = browser.patch(&path, json!({"email_address": "eve@example.com"})).await;
    other.is_problem(422, "form_param_value_invalid", "email_address");
    let mut both = with_ticket(&made);
    both["email_address"] = json!("eve@example.com");
    t.browser().post(SIGN_UPS, both).await.is_problem(422, "form_param_value_invalid", "email_address");
    let same = json!({"email_address": "BOB@example.com", "ticket": ticket(&made), "first_name": "Bob"});
    let done = response(browser.patch(&path, same).await);
    assert_eq!(done["status"], "complete");
    assert_eq!(organization.members(&t).await.len(), 2);
}

#[tokio::test]
async fn an_invitation_that_is_revoked_meanwhile_lets_nobody_in() {
    let t = server(|settings| settings.attributes.first_name.required_at_sign_up = true).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let mut browser = t.browser();
    let begun = response(browser.post(SIGN_UPS, with_ticket(&made)).await);
    t.post(&format!("{}/{}/revoke", organization.path(), text(&made["id"])), json!({})).await.ok();
    let path = format!("{SIGN_UPS}/{}", text(&begun["id"]));
    let refused = browser.patch(&path, json!({"first_name": "Bob"})).await;
    refused.is_error(400, "organization_invitation_revoked_code");
    assert_eq!(t.get("/v1/users?email_address=bob@example.com").await.ok().as_array().unwrap().len(), 0);
    t.browser()
        .post(SIGN_UPS, with_ticket(&made))
        .await
        .is_error(400, "organization_invitation_revoked_code");
}

#[tokio::test]
async fn the_link_leads_to_what_is_left_to_do() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let mut link = invitation("carl@example.com");
    link["redirect_url"] = json!("myapp://join?x=1");
    let elsewhere = t.post(&organization.path(), link).await.ok();
    let path = |made: &Value| format!("/v1/tickets/accept?ticket={}", ticket(made));
    let query =
        |made: &Value, status: &str| format!("__clerk_ticket={}&__clerk_status={status}", ticket(made));
    let mut browser = t.browser();
    let answer = browser.open(&path(&made)).await;
    assert_eq!(answer.status, 303);
    assert_eq!(
        answer.header("location"),
        format!("http://localhost:3401/sign-up?{}", query(&made, "sign_up"))
    );
    let native = browser.open(&path(&elsewhere)).await;
    assert_eq!(native.header("location"), format!("myapp://join?x=1&{}", query(&elsewhere, "sign_up")));
    let mut eve = somebody(&t, "eve@example.com").await;
    let mut bob = somebody(&t, "bob@example.com").await;
    for browser in [&mut browser, &mut eve.browser] {
        let answer = browser.open(&path(&made)).await;
        assert_eq!(
            answer.header("location"),
            format!("http://localhost:3401/sign-in?{}", query(&made, "sign_in"))
        );
    }
    assert_eq!(organization.shown(&t, &made["id"]).await["status"], "pending", "a link uses nothing up");
    for _ in 0..2 {
        let answer = bob.browser.open(&path(&made)).await;
        let there = answer.header("location");
        assert!(there.ends_with(&query(&made, "complete")), "{there}");
        assert!(there.starts_with("http://localhost:3401/default-redirect?"), "{there}");
    }
    assert_eq!(organization.members(&t).await.len(), 2);
    eve.browser.open(&path(&made)).await.is_error(400, "organization_invitation_already_accepted");
}

#[tokio::test]
async fn a_ticket_opens_nothing_in_another_instance_and_none_is_made_up() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    t.user_with_email("bob@example.com").await;
    let genuine = ticket(&made);
    let forged = format!("{}x", genuine);
    let parts: Vec<&str> = genuine.split('.').collect();
    let unsigned = format!("{}.{}.", parts[0], parts[1]);
    for shown in [forged, unsigned] {
        for path in [SIGN_INS, SIGN_UPS] {
            let fields = json!({"strategy": "ticket", "ticket": shown});
            t.browser().post(path, fields).await.is_error(400, "ticket_invalid_code");
        }
        t.browser()
            .open(&format!("/v1/tickets/accept?ticket={shown}"))
            .await
            .is_error(400, "ticket_invalid_code");
    }
    for path in [SIGN_INS, SIGN_UPS] {
        let mut browser = t.browser_at(&t.other);
        browser.origin = None;
        browser.post(path, with_ticket(&made)).await.is_error(400, "ticket_invalid_code");
    }
    assert_eq!(organization.members(&t).await.len(), 1);
}

#[tokio::test]
async fn a_ticket_is_not_stored_readable() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let stored = t.everything().await.join("\n");
    assert!(!stored.contains(&ticket(&made)));
}

/// Whoever signs up with an address that they need not prove may be anybody.
#[tokio::test]
async fn an_account_that_has_not_proven_the_address_is_not_entered_and_does_not_join() {
    let t = server(|settings| settings.attributes.email_address.verify_at_sign_up = false).await;
    let organization = organization(&t).await;
    let mut eve = t.browser();
    let done = response(eve.post(SIGN_UPS, json!({"email_address": "bob@example.com"})).await);
    assert_eq!(done["status"], "complete");
    let made = organization.invite(&t, "bob@example.com").await;
    let link = format!("/v1/tickets/accept?ticket={}", ticket(&made));
    let mut bob = t.browser();
    for browser in [&mut eve, &mut bob] {
        let there = browser.open(&link).await;
        assert!(there.header("location").ends_with("__clerk_status=sign_in"), "{}", there.header("location"));
    }
    let refused = bob.post(SIGN_INS, with_ticket(&made)).await;
    refused.is_problem(422, "form_verification_needed", "ticket");
    let begun = response(bob.post(SIGN_INS, json!({"identifier": "bob@example.com"})).await);
    let path = format!("{SIGN_INS}/{}/attempt_first_factor", text(&begun["id"]));
    bob.post(&path, with_ticket(&made)).await.is_problem(422, "form_verification_needed", "ticket");
    bob.post(SIGN_UPS, with_ticket(&made))
        .await
        .is_error(400, "organization_invitation_identification_already_exists");
    assert_eq!(response(bob.get("/v1/client").await)["sessions"], json!([]));
    assert_eq!(organization.members(&t).await, std::slice::from_ref(&organization.admin));
    assert_eq!(organization.shown(&t, &made["id"]).await["status"], "pending");
    let user = t.shown(done["created_user_id"].as_str().unwrap()).await;
    let address = format!("/v1/email_addresses/{}", text(&user["email_addresses"][0]["id"]));
    t.patch(&address, json!({"verified": true})).await.ok();
    assert_eq!(response(bob.post(SIGN_INS, with_ticket(&made)).await)["status"], "complete");
    assert!(organization.members(&t).await.contains(&text(&user["id"])));
}

#[tokio::test]
async fn a_program_that_looks_at_the_link_does_not_use_the_invitation_up() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let bob = somebody(&t, "bob@example.com").await;
    let link = format!("/v1/tickets/accept?ticket={}", ticket(&made));
    let shown = format!("{link}&__clerk_db_jwt={}", bob.browser.dev_browser.clone().unwrap());
    let mut browser = t.browser();
    browser.headers = vec![("accept", "text/html")];
    let request = axum::http::Request::head(&shown).header("host", &t.tenant.frontend_api);
    let answer = browser.send("HEAD", &link, request.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 204);
    assert_eq!(organization.shown(&t, &made["id"]).await["status"], "pending");
    assert_eq!(organization.members(&t).await.len(), 1);
}

/// The page that a link leads to has no field for the address.
#[tokio::test]
async fn a_refusal_of_the_invited_address_names_no_field() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let made = organization.invite(&t, "bob@example.com").await;
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.restrictions.allowlist = true;
    t.set_settings(settings).await;
    let refused = t.browser().post(SIGN_UPS, with_ticket(&made)).await;
    refused.is_error(403, "not_allowed_access");
    assert_eq!(refused.json["errors"][0]["meta"], json!({"identifiers": ["bob@example.com"]}));
    let typed = t.browser().post(SIGN_UPS, json!({"email_address": "bob@example.com"})).await;
    typed.is_problem(403, "not_allowed_access", "email_address");
}
