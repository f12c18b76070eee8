//! What an invitation promises and tells, when things change until it is answered.

use latchkey_kernel::limits::{INVITED_BY_PERSON, INVITED_TO_ORGANIZATION, RateLimits};
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

use super::{Managed, invitation, organization, organization_of, response, server, text, ticket};
use crate::me::support::{Me, sign_in};

const SETS: &str = "/v1/role_sets";

async fn set(t: &TestServer, key: &str, roles: [&str; 3]) {
    let body = json!({"name": key, "key": key, "roles": roles, "creator_role_key": roles[0],
        "default_role_key": roles[2]});
    t.post(SETS, body).await.ok();
}

/// Lets somebody with an account follow an invitation; returns the role they get.
async fn joined(t: &TestServer, organization: &str, made: &Value) -> String {
    let user = t.user_with_email(made["email_address"].as_str().unwrap()).await;
    let fields = json!({"strategy": "ticket", "ticket": ticket(made)});
    t.browser().post("/v1/client/sign_ins", fields).await.ok();
    let path = format!("/v1/organizations/{organization}/memberships?user_id={user}");
    text(&t.get(&path).await.ok()["data"][0]["role"])
}

#[tokio::test]
async fn whoever_was_promised_a_role_gets_the_one_that_took_its_place() {
    let t = server(|_| ()).await;
    for key in ["org:editor", "org:author", "org:writer", "org:guest"] {
        let body = json!({"name": key, "key": key, "permissions": []});
        t.post("/v1/organization_roles", body).await.ok();
    }
    set(&t, "role_set:a", ["org:admin", "org:editor", "org:member"]).await;
    set(&t, "role_set:b", ["org:admin", "org:writer", "org:guest"]).await;
    let admin = t.user_with_email("ann@example.com").await;
    let body = json!({"name": "Engines", "created_by": admin, "role_set_key": "role_set:a"});
    let organization = text(&t.post("/v1/organizations", body).await.ok()["id"]);
    let path = format!("/v1/organizations/{organization}/invitations");
    let invite = async |address: &str, role: &str| {
        t.post(&path, json!({"email_address": address, "role": role})).await.ok()
    };
    let bob = invite("bob@example.com", "org:editor").await;
    let eve = invite("eve@example.com", "org:editor").await;
    let body = json!({"role_key": "org:editor", "to_role_key": "org:author"});
    t.post(&format!("{SETS}/role_set:a/roles/replace"), body).await.ok();
    assert_eq!(joined(&t, &organization, &bob).await, "org:author");
    let carl = invite("carl@example.com", "org:author").await;
    let dora = invite("dora@example.com", "org:member").await;
    let mappings = json!({"org:author": "org:writer", "org:member": "org:admin"});
    let body = json!({"dest_role_set_key": "role_set:b", "reassignment_mappings": mappings});
    t.post(&format!("{SETS}/role_set:a/replace"), body).await.ok();
    assert_eq!(joined(&t, &organization, &carl).await, "org:writer");
    assert_eq!(joined(&t, &organization, &eve).await, "org:writer", "also where two things were replaced");
    assert_eq!(joined(&t, &organization, &dora).await, "org:admin");
}

#[tokio::test]
async fn what_is_pending_is_listed_whole() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    for number in 0..12 {
        organization.invite(&t, &format!("p{number}@example.com")).await;
    }
    let mut admin = sign_in(&t, &organization.admin).await;
    let path = format!("{}/pending", organization.path());
    let counted = |answer: Answer| response(answer).as_array().unwrap().len();
    assert_eq!(counted(admin.get(&path).await), 12);
    assert_eq!(counted(admin.get(&format!("{path}?limit=5&offset=10")).await), 2);
    admin.get(&format!("{path}?limit=501")).await.is_error(422, "form_param_value_too_large");
}

/// Invites ten addresses. They are none, so nothing is signed or sent; they count all the same.
async fn invite_ten(me: &mut Me<'_>, organization: &Managed) -> Answer {
    let body = json!({"email_address": vec!["nobody"; 10], "role": "org:member"});
    // Other limits have shorter windows.
    me.t.clock.advance_ms(1000);
    me.post(&format!("{}/bulk", organization.path()), body).await
}

#[track_caller]
fn is_over(answer: &Answer, most: u32) {
    answer.is_error(429, "too_many_requests");
    let told = text(&answer.json["errors"][0]["long_message"]);
    assert!(told.starts_with(&format!("At most {most} addresses can be invited")), "{told}");
}

#[tokio::test]
async fn addresses_that_browsers_invite_are_counted_for_the_person_and_the_organization() {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    let t = TestServer::start_with(RateLimits::default(), settings).await;
    let one = organization(&t).await;
    let other = organization_of(&t, "carl@example.com").await;
    let admin = json!({"user_id": one.admin, "role": "org:admin"});
    t.post(&format!("/v1/organizations/{}/memberships", other.id), admin).await.ok();
    let (mut ann, mut carl) = (sign_in(&t, &one.admin).await, sign_in(&t, &other.admin).await);
    for _ in 0..INVITED_TO_ORGANIZATION.requests / 10 {
        assert_eq!(invite_ten(&mut ann, &one).await.status, 422);
    }
    is_over(&invite_ten(&mut ann, &one).await, INVITED_TO_ORGANIZATION.requests);
    ann.post(&one.path(), invitation("bob@example.com")).await.is_error(429, "too_many_requests");
    // Whoever has another organization goes on, until it is too much for one person.
    let mut invited = INVITED_TO_ORGANIZATION.requests + 11;
    while invited + 10 <= INVITED_BY_PERSON.requests {
        assert_eq!(invite_ten(&mut ann, &other).await.status, 422);
        invited += 10;
    }
    is_over(&invite_ten(&mut ann, &other).await, INVITED_BY_PERSON.requests);
    assert_eq!(invite_ten(&mut carl, &other).await.status, 422);
    t.clock.advance_ms(INVITED_TO_ORGANIZATION.window_ms);
    is_over(&invite_ten(&mut ann, &one).await, INVITED_BY_PERSON.requests);
    t.clock.advance_ms(INVITED_BY_PERSON.window_ms);
    let mut ann = sign_in(&t, &one.admin).await;
    assert_eq!(invite_ten(&mut ann, &one).await.status, 422);
}
