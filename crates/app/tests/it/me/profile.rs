//! `/v1/me` and its metadata.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::json;

use super::support::{me, sign_in, somebody};

#[tokio::test]
async fn somebody_signed_in_sees_themselves_and_nobody_else_does() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let shown = me.shown().await;
    assert_eq!(shown["id"], me.user.as_str());
    assert_eq!(shown["email_addresses"][0]["email_address"], "me@example.com");
    assert!(shown.get("private_metadata").is_none());
    t.browser().get("/v1/me").await.is_error(401, "signed_out");
    let other = somebody(&t, "other@example.com").await;
    me.get(&format!("/v1/me?_clerk_session_id={}", other.session)).await.is_error(401, "signed_out");
}

#[tokio::test]
async fn names_and_username_are_changed_and_told_about() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let before = t.events().await.len();
    let fields = json!({"first_name": "Ada", "last_name": "Lovelace", "username": "countess"});
    let answer = me.patch("/v1/me", fields).await.ok();
    let user = &answer["response"];
    assert_eq!((&user["first_name"], &user["username"]), (&json!("Ada"), &json!("countess")));
    assert_eq!(answer["client"]["sessions"][0]["user"]["last_name"], "Lovelace");
    assert_eq!(me.events_after(before).await, ["user.updated"]);
    let cleared = me.patch("/v1/me", json!({"first_name": ""})).await.ok();
    assert_eq!(cleared["response"]["first_name"], json!(null));
    me.patch("/v1/me", json!({"username": "a b"})).await.is_problem(
        422,
        "form_username_invalid_character",
        "username",
    );
    t.user(json!({"username": "taken-name"})).await;
    me.patch("/v1/me", json!({"username": "taken-name"})).await.is_problem(
        422,
        "form_identifier_exists",
        "username",
    );
}

#[tokio::test]
async fn only_what_users_own_is_changed_by_them() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let before = t.shown(&me.user).await;
    let fields = json!({
        "first_name": "Ada", "public_metadata": {"role": "admin"}, "private_metadata": {"role": "admin"},
        "external_id": "x", "banned": true, "locked": true, "created_at": "2020-01-01T00:00:00Z",
        "delete_self_enabled": false, "create_organization_enabled": false, "bypass_client_trust": true,
        "password_digest": "x", "skip_password_checks": true,
        "totp_secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "backup_codes": ["abcdefgh"], "user_id": "user_x",
        "email_address": ["evil@example.com"], "profile_image_id": "img_x", "legal_accepted_at": "2020-01-01T00:00:00Z",
        "notify_primary_email_address_changed": false, "id": "user_x", "instance_id": "ins_x",
    });
    me.patch("/v1/me", fields).await.ok();
    let mut after = t.shown(&me.user).await;
    assert_eq!(after["first_name"], "Ada");
    after["first_name"] = before["first_name"].clone();
    for moving in ["updated_at", "image_url", "profile_image_url"] {
        after[moving] = before[moving].clone();
    }
    assert_eq!(after, before);
}

#[tokio::test]
async fn metadata_is_merged_and_other_metadata_is_out_of_reach() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let before = t.events().await.len();
    me.patch("/v1/me/metadata", json!({"unsafe_metadata": {"a": {"b": 1, "c": 2}, "d": true}})).await.ok();
    let patch =
        json!({"unsafe_metadata": {"a": {"b": null, "e": [1]}, "d": null}, "public_metadata": {"x": 1}});
    let merged = me.patch("/v1/me/metadata", patch).await.ok();
    assert_eq!(merged["response"]["unsafe_metadata"], json!({"a": {"c": 2, "e": [1]}}));
    assert_eq!(merged["response"]["public_metadata"], json!({}));
    assert_eq!(me.events_after(before).await, ["user.updated", "user.updated"]);
    let large = json!({"unsafe_metadata": {"a": "x".repeat(8 * 1024)}});
    me.patch("/v1/me/metadata", large).await.is_problem(
        422,
        "form_param_exceeds_allowed_size",
        "unsafe_metadata",
    );
    me.patch("/v1/me/metadata", json!({})).await.is_problem(422, "form_param_missing", "unsafe_metadata");
    me.patch("/v1/me/metadata", json!({"unsafe_metadata": "[1]"})).await.is_problem(
        422,
        "form_param_type_invalid",
        "unsafe_metadata",
    );
}

#[tokio::test]
async fn updating_a_user_took_metadata_in_older_versions() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.patch("/v1/me/metadata", json!({"unsafe_metadata": {"old": 1}})).await.ok();
    let new = json!({"unsafe_metadata": {"new": 1}});
    me.patch("/v1/me", new.clone()).await.is_problem(422, "form_param_unknown", "unsafe_metadata");
    let replaced = me.patch("/v1/me?__clerk_api_version=2025-11-10", new).await.ok();
    assert_eq!(replaced["response"]["unsafe_metadata"], json!({"new": 1}));
}

#[tokio::test]
async fn the_primary_address_is_a_verified_one_of_ones_own() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let added = me.post("/v1/me/email_addresses", json!({"email_address": "new@example.com"})).await.ok();
    let id = added["response"]["id"].as_str().unwrap().to_owned();
    let param = "primary_email_address_id";
    me.patch("/v1/me", json!({param: id})).await.is_problem(422, "form_verification_needed", param);
    let mut other = somebody(&t, "other@example.com").await;
    let theirs = other.shown().await["primary_email_address_id"].clone();
    me.patch("/v1/me", json!({param: theirs})).await.is_problem(422, "form_resource_not_found", param);
    let verified = me.add_verified("email_address", "second@example.com").await;
    let moved = me.patch("/v1/me", json!({param: verified})).await.ok();
    assert_eq!(moved["response"][param], verified.as_str());
    let told = &t.inbox().await[0];
    assert_eq!(
        (&told["to"], &told["slug"]),
        (&json!("me@example.com"), &json!("primary_email_address_changed"))
    );
}

#[tokio::test]
async fn identifiers_need_a_recent_proof_and_names_do_not() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let second = me.add_verified("email_address", "second@example.com").await;
    me.wait_for_reverification();
    let before = t.shown(&me.user).await;
    for fields in [json!({"username": "countess"}), json!({"primary_email_address_id": second})] {
        let refused = me.patch("/v1/me", fields).await;
        refused.is_error(403, "session_reverification_required");
        assert!(refused.json["meta"]["client"]["id"].is_string(), "{:#}", refused.json);
    }
    assert_eq!(t.shown(&me.user).await, before);
    // What stays as it is may be sent along.
    let fields = json!({"first_name": "Ada", "primary_email_address_id": before["primary_email_address_id"]});
    me.patch("/v1/me", fields).await.ok();
}

#[tokio::test]
async fn what_settings_fix_or_switch_off_is_not_changed() {
    let mut settings = Settings::default();
    settings.attributes.first_name.immutable = true;
    settings.attributes.username.immutable = true;
    settings.attributes.email_address.immutable = true;
    settings.attributes.last_name.enabled = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = t.user(json!({"email_address": ["a@example.com", "b@example.com"]})).await;
    let mut me = sign_in(&t, user["id"].as_str().unwrap()).await;
    me.patch("/v1/me", json!({"first_name": "Ada", "username": "countess"})).await.ok();
    let immutable = "immutable_attribute_modification_not_allowed";
    for (param, value) in [
        ("first_name", json!("Eva")),
        ("first_name", json!(null)),
        ("username", json!("other-name")),
        ("primary_email_address_id", user["email_addresses"][1]["id"].clone()),
    ] {
        me.patch("/v1/me", json!({ param: value })).await.is_problem(403, immutable, param);
    }
    me.patch("/v1/me", json!({"last_name": "L"})).await.is_problem(422, "form_param_unknown", "last_name");
    me.patch("/v1/me", json!({"first_name": "Ada"})).await.ok();
}

#[tokio::test]
async fn a_required_name_is_not_taken_away() {
    let mut settings = Settings::default();
    settings.attributes.first_name.required_at_sign_up = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    me.patch("/v1/me", json!({"first_name": "Ada"})).await.ok();
    me.patch("/v1/me", json!({"first_name": ""})).await.is_problem(422, "form_param_nil", "first_name");
}

#[tokio::test]
async fn people_delete_their_accounts_after_a_recent_proof() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let mut elsewhere = sign_in(&t, &me.user).await;
    me.wait_for_reverification();
    me.delete("/v1/me").await.is_error(403, "session_reverification_required");
    let mut fresh = sign_in(&t, &me.user).await;
    let before = t.events().await.len();
    let gone = fresh.delete("/v1/me").await.ok();
    assert_eq!(gone["response"], json!({"object": "user", "id": me.user, "deleted": true}));
    assert_eq!(gone["client"]["sessions"], json!([]));
    let told = ["session.revoked", "session.revoked", "session.revoked", "user.deleted"];
    assert_eq!(fresh.events_after(before).await, told);
    t.get(&format!("/v1/users/{}", me.user)).await.is_error(404, "resource_not_found");
    elsewhere.get("/v1/me").await.is_error(401, "signed_out");
}

#[tokio::test]
async fn a_password_is_not_changed_like_a_name() {
    let t = TestServer::start().await;
    let mut me = sign_in(&t, &t.user_with_email("a@example.com").await).await;
    let refused = me.patch("/v1/me", json!({"first_name": "Eva", "password": "a-new-long-password"})).await;
    refused.is_problem(403, "updating_user_password_deprecated", "password");
    let shown = me.shown().await;
    assert_eq!((&shown["first_name"], &shown["password_enabled"]), (&json!(null), &json!(false)));
}

#[tokio::test]
async fn who_may_not_delete_themselves_does_not() {
    // What is said of a user goes before what is said of all; otherwise they follow the instance, also later.
    for (of_all, of_user, expected) in
        [(true, None, true), (true, Some(false), false), (false, None, false), (false, Some(true), true)]
    {
        let mut settings = Settings::default();
        settings.actions.delete_self = !of_all;
        let t = TestServer::start_with(RateLimits::Off, settings.clone()).await;
        let user = t.user(json!({"email_address": ["a@example.com"], "delete_self_enabled": of_user})).await;
        settings.actions.delete_self = of_all;
        t.set_settings(settings).await;
        let id = user["id"].as_str().unwrap();
        let mut me = sign_in(&t, id).await;
        let shown = me.get("/v1/me").await.ok();
        assert_eq!(shown["response"]["delete_self_enabled"], expected);
        assert_eq!(shown["client"]["sessions"][0]["user"]["delete_self_enabled"], expected);
        assert_eq!(t.shown(id).await["delete_self_enabled"], expected);
        let deleted = me.delete("/v1/me").await;
        match expected {
            true => drop(deleted.ok()),
            false => deleted.is_error(403, "user_delete_self_not_enabled"),
        }
    }
    // What was said can be taken back.
    let t = TestServer::start().await;
    let user = t.user(json!({"email_address": ["a@example.com"], "delete_self_enabled": false})).await;
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    assert_eq!(t.patch(&path, json!({"delete_self_enabled": null})).await.ok()["delete_self_enabled"], true);
}
