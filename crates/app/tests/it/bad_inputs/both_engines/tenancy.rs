//! What belongs to one instance is neither seen nor touched through another, whichever way its id comes
//! in. Ids in paths are tried on every operation in `table.rs`.

use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Tenant, TestServer};
use serde_json::{Value, json};

/// A request as `tenant`.
async fn send(t: &TestServer, tenant: &Tenant, method: &str, path: &str, body: Value) -> (u16, String) {
    let answer = t.call(Some(tenant), method, path, Some(body)).await;
    (answer.status, answer.code().to_owned())
}

#[tokio::test]
async fn ids_in_bodies_reach_nothing_of_another_instance() {
    let t = TestServer::start().await;
    let (victim, own) = (t.person(&t.tenant, 1).await, t.person(&t.other, 2).await);
    let before = t.everything().await;
    let not_found = (404, "resource_not_found".to_owned());
    let no_such = (422, "form_resource_not_found".to_owned());
    let own_user = format!("/v1/users/{}", own.user);
    let own_email = format!("/v1/email_addresses/{}/attempt_verification", own.email);
    let cases = [
        (
            "POST",
            "/v1/email_addresses",
            json!({"user_id": victim.user, "email_address": "e@vil.example"}),
            &not_found,
        ),
        (
            "POST",
            "/v1/phone_numbers",
            json!({"user_id": victim.user, "phone_number": "+4915366666666"}),
            &not_found,
        ),
        ("POST", "/v1/users/ban", json!({"user_ids": [victim.user]}), &not_found),
        ("POST", "/v1/users/ban", json!({"user_ids": [own.user, victim.user]}), &not_found),
        ("POST", "/v1/users/unban", json!({"user_ids": [own.user, victim.user]}), &not_found),
        ("PATCH", &own_user, json!({"primary_email_address_id": victim.email}), &no_such),
        ("PATCH", &own_user, json!({"primary_phone_number_id": victim.phone}), &no_such),
        ("PATCH", &own_user, json!({"primary_web3_wallet_id": victim.wallet}), &no_such),
        ("PATCH", &own_user, json!({"profile_image_id": victim.image}), &(404, "image_not_found".to_owned())),
        ("POST", &own_email, json!({"verification_id": victim.email_verification, "code": "1"}), &not_found),
        // Nor a code for something else of the same user.
        ("POST", &own_email, json!({"verification_id": own.phone_verification, "code": "1"}), &not_found),
    ];
    for (method, path, body, expected) in cases {
        assert_eq!(send(&t, &t.other, method, path, body.clone()).await, *expected, "{method} {path} {body}");
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn identifiers_of_another_user_cannot_be_made_ones_own() {
    let t = TestServer::start().await;
    let (victim, own) = (t.person(&t.tenant, 1).await, t.person(&t.tenant, 2).await);
    let before = t.everything().await;
    let path = format!("/v1/users/{}", own.user);
    for (field, id) in [
        ("primary_email_address_id", &victim.email),
        ("primary_phone_number_id", &victim.phone),
        ("primary_web3_wallet_id", &victim.wallet),
    ] {
        t.patch(&path, json!({field: id})).await.is_error(422, "form_resource_not_found");
    }
    let attempt = format!("/v1/email_addresses/{}/attempt_verification", own.email);
    let body = json!({"verification_id": victim.email_verification, "code": "000000"});
    t.post(&attempt, body).await.is_error(404, "resource_not_found");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn lists_counts_and_searches_show_nothing_of_another_instance() {
    let t = TestServer::start().await;
    let victim = t.person(&t.tenant, 1).await;
    let filters = [
        String::new(),
        "email_address=person1@example.com".to_owned(),
        "phone_number=%2B4915100000001".to_owned(),
        "username=person-1".to_owned(),
        format!("web3_wallet=0x{:040x}", 1),
        "external_id=external-1".to_owned(),
        format!("user_id={}", victim.user),
        format!("user_id=-user_{}", "0".repeat(27)),
        "provider=oauth_google&provider_user_id=google-1".to_owned(),
        "query=person".to_owned(),
        format!("query={}", victim.user),
        "email_address_query=example".to_owned(),
        "phone_number_query=4915".to_owned(),
        "username_query=per".to_owned(),
        "query=pe".to_owned(),
        "banned=false".to_owned(),
        "created_at_after=0".to_owned(),
    ];
    for filter in filters {
        let found = t.call(Some(&t.other), "GET", &format!("/v1/users?{filter}"), None).await.ok();
        assert_eq!(found, json!([]), "{filter}");
        let count = t.call(Some(&t.other), "GET", &format!("/v1/users/count?{filter}"), None).await.ok();
        assert_eq!(count["total_count"], 0, "{filter}");
        let own = t.get(&format!("/v1/users?{filter}")).await.ok();
        let found_at_home = own.as_array().unwrap().iter().any(|user| user["id"] == json!(victim.user));
        assert!(found_at_home, "{filter} finds it at home");
    }
    let cursor = format!("/v1/users?starting_after={}", victim.user);
    t.call(Some(&t.other), "GET", &cursor, None).await.is_error(422, "form_resource_not_found");
}

#[tokio::test]
async fn messages_pictures_and_keys_stay_in_their_instance() {
    let t = TestServer::start().await;
    let victim = t.person(&t.tenant, 1).await;
    assert!(!t.inbox().await.is_empty());
    let neighbour = t.new_tenant(Environment::Development, Settings::default()).await;
    let inbox = t.call(Some(&neighbour), "GET", "/dev/inbox", None).await.ok();
    assert_eq!(inbox["total_count"], 0);
    let all = t.call(Some(&neighbour), "GET", "/dev/inbox?to=person1.b@example.com", None).await.ok();
    assert_eq!(all["total_count"], 0);
    let production = t.call(Some(&t.other), "GET", "/dev/inbox", None).await;
    production.is_error(400, "request_invalid_for_environment");
    t.call(None, "GET", "/dev/inbox", None).await.is_error(401, "could_not_authenticate_request");

    let picture = |tenant: &Tenant| format!("/images/{}/{}", tenant.id, victim.image);
    assert_eq!(t.call(None, "GET", &picture(&t.tenant), None).await.status, 200);
    t.call(None, "GET", &picture(&t.other), None).await.is_error(404, "image_not_found");

    let keys = t.call(Some(&neighbour), "GET", "/v1/jwks", None).await.ok();
    let kids: Vec<&Value> = keys["keys"].as_array().unwrap().iter().map(|key| &key["kid"]).collect();
    assert_eq!(kids, [&json!(neighbour.id.as_str())]);
}

#[tokio::test]
async fn two_instances_may_hold_the_same_identifiers() {
    let t = TestServer::start().await;
    // Same addresses, numbers, username, wallet, external id and connected account.
    let (here, there) = (t.person(&t.tenant, 1).await, t.person(&t.other, 1).await);
    assert_ne!(here.user, there.user);
    t.delete(&format!("/v1/users/{}", here.user)).await.ok();
    t.call(Some(&t.other), "GET", &format!("/v1/users/{}", there.user), None).await.ok();
}

#[tokio::test]
async fn deleting_a_user_leaves_nothing_behind_and_frees_the_identifiers() {
    let t = TestServer::start().await;
    let empty = rows_without_history(t.everything().await);
    let person = t.person(&t.tenant, 1).await;
    t.delete(&format!("/v1/users/{}", person.user)).await.ok();
    // These belong to the instance, not to the user.
    t.delete(&format!("/v1/jwt_templates/{}", person.jwt_template)).await.ok();
    t.delete(&format!("/v1/redirect_urls/{}", person.redirect_url)).await.ok();
    t.delete(&format!("/v1/domains/{}", person.satellite)).await.ok();
    // The number of changes of the settings never goes back by itself.
    let revision = "UPDATE instances SET settings_revision = 1 WHERE id = $1";
    t.run_sql(revision, vec![(&t.tenant.id).into()]).await;
    t.delete(&format!("/v1/organizations/{}", person.organization)).await.ok();
    t.delete(&format!("/v1/allowlist_identifiers/{}", person.allowlist_identifier)).await.ok();
    t.delete(&format!("/v1/blocklist_identifiers/{}", person.blocklist_identifier)).await.ok();
    t.delete(&format!("/v1/waitlist_entries/{}", person.waitlist_entry)).await.ok();
    t.post(&format!("/v1/invitations/{}/revoke", person.application_invitation), json!({})).await.ok();
    for other in [person.colleague, person.newcomer] {
        t.delete(&format!("/v1/users/{other}")).await.ok();
    }
    assert_eq!(rows_without_history(t.everything().await), empty);
    t.person(&t.tenant, 1).await;
}

/// What happened, what was sent and who was invited stays on record; a browser, with what was begun on it, is not its user's; roles and
/// links to an admin portal are the instance's.
fn rows_without_history(rows: Vec<String>) -> Vec<String> {
    let history =
        ["events", "event_heads ", "message", "clients", "handshakes", "sign_ups", "webhook_", "invitations"];
    let of_the_instance = ["organization_access", "organization_counts", "admin_portal_link_tokens"];
    let is_kept = |row: &String| history.iter().chain(&of_the_instance).any(|table| row.starts_with(table));
    rows.into_iter().filter(|row| !is_kept(row)).collect()
}
