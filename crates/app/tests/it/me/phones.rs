//! `/v1/me/phone_numbers`

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::support::{Me, me, sign_in, somebody};

const PATH: &str = "/v1/me/phone_numbers";

async fn set(me: &mut Me<'_>, id: &str, fields: Value) -> latchkey_testkit::Answer {
    me.patch(&format!("{PATH}/{id}"), fields).await
}

/// Makes a verified number a second factor and returns the backup codes.
async fn reserve(me: &mut Me<'_>, id: &str) -> Value {
    set(me, id, json!({"reserved_for_second_factor": true})).await.ok()["response"]["backup_codes"].clone()
}

#[tokio::test]
async fn a_number_is_added_proven_and_removed() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let before = t.events().await.len();
    let id = me.add_verified("phone_number", "+4915112345678").await;
    let shown = me.get(&format!("{PATH}/{id}")).await.ok();
    assert_eq!(shown["response"]["verification"]["strategy"], "phone_code");
    assert_eq!(me.shown().await["primary_phone_number_id"], id.as_str());
    assert_eq!(me.get(PATH).await.ok().as_array().unwrap().len(), 1);
    let gone = me.delete(&format!("{PATH}/{id}")).await.ok();
    assert_eq!(gone["response"], json!({"object": "phone_number", "id": id, "deleted": true}));
    assert_eq!(
        me.events_after(before).await,
        ["sms.created", "user.updated", "user.updated", "user.updated"]
    );
}

#[tokio::test]
async fn what_is_no_number_or_taken_is_refused() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    t.user(json!({"phone_number": ["+4915100000000"]})).await;
    let added = me.post(PATH, json!({"phone_number": "+49 (151) 12-34.56 99"})).await.ok();
    assert_eq!(added["response"]["phone_number"], "+4915112345699");
    me.post(PATH, json!({"phone_number": "12"})).await.is_problem(
        422,
        "form_param_format_invalid",
        "phone_number",
    );
    me.post(PATH, json!({"phone_number": "+4915100000000"})).await.is_problem(
        422,
        "form_identifier_exists",
        "phone_number",
    );
}

#[tokio::test]
async fn a_number_can_be_added_as_second_factor_and_is_one_once_it_is_proven() {
    let mut settings = Settings::default();
    settings.sign_in.second_factor_required = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    assert_eq!(me.shown_session().await["status"], "pending");
    let wanted = json!({"phone_number": "+4915112345678", "reserved_for_second_factor": true});
    let added = me.post(PATH, wanted).await.ok()["response"].clone();
    assert_eq!(
        (&added["reserved_for_second_factor"], &added["default_second_factor"]),
        (&json!(true), &json!(false))
    );
    // Until then it is worth nothing: the session still waits for a second factor.
    let id = added["id"].as_str().unwrap();
    assert_eq!(me.shown().await["two_factor_enabled"], false);
    assert_eq!(me.shown_session().await["status"], "pending");
    set(&mut me, id, json!({"default_second_factor": true}))
        .await
        .is_error(400, "identification_update_second_factor_unverified");
    me.post(&format!("{PATH}/{id}/prepare_verification"), json!({"strategy": "phone_code"})).await.ok();
    let code = me.code().await;
    let proven = me.post(&format!("{PATH}/{id}/attempt_verification"), json!({"code": code})).await.ok();
    assert_eq!(proven["response"]["default_second_factor"], true);
    assert_eq!(proven["response"]["backup_codes"].as_array().unwrap().len(), 10);
    assert_eq!(me.shown().await["two_factor_enabled"], true);
    assert_eq!(me.shown_session().await["status"], "active");
    assert!(t.inbox().await.iter().any(|message| message["slug"] == "mfa_enabled"));
}

#[tokio::test]
async fn a_number_that_is_only_wanted_takes_no_place_of_a_second_factor() {
    let mut settings = Settings::default();
    settings.sign_in.second_factor_required = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    me.enroll_totp().await;
    let wanted = json!({"phone_number": "+4915112345678", "reserved_for_second_factor": true});
    let id = me.post(PATH, wanted).await.ok()["response"]["id"].as_str().unwrap().to_owned();
    me.delete("/v1/me/totp").await.is_error(400, "second_factor_deletion_not_allowed");
    // The wish can be taken back; then the proof makes it a number like any other.
    set(&mut me, &id, json!({"reserved_for_second_factor": false})).await.ok();
    me.post(&format!("{PATH}/{id}/prepare_verification"), json!({"strategy": "phone_code"})).await.ok();
    let code = me.code().await;
    let proven = me.post(&format!("{PATH}/{id}/attempt_verification"), json!({"code": code})).await.ok();
    assert_eq!(proven["response"]["reserved_for_second_factor"], false);
}

#[tokio::test]
async fn a_number_that_somebody_else_takes_as_proven_is_no_second_factor() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let wanted = json!({"phone_number": "+4915112345678", "reserved_for_second_factor": true});
    let id = me.post(PATH, wanted).await.ok()["response"]["id"].as_str().unwrap().to_owned();
    t.patch(&format!("/v1/phone_numbers/{id}"), json!({"verified": true})).await.ok();
    let shown = me.shown().await;
    let number =
        shown["phone_numbers"].as_array().unwrap().iter().find(|number| number["id"] == *id).unwrap();
    assert_eq!(number["verification"]["status"], "verified");
    assert_eq!(number["reserved_for_second_factor"], false, "nobody gave its owner backup codes");
    assert_eq!(shown["two_factor_enabled"], false);
}

#[tokio::test]
async fn no_number_is_added_as_second_factor_where_numbers_are_none() {
    let mut settings = Settings::default();
    settings.attributes.phone_number.used_for_second_factor = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let wanted = json!({"phone_number": "+4915112345678", "reserved_for_second_factor": true});
    me(&t).await.post(PATH, wanted).await.is_error(403, "feature_not_enabled");
}

#[tokio::test]
async fn texts_to_one_number_keep_their_distance() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let added = me.post(PATH, json!({"phone_number": "+4915112345678"})).await.ok();
    let path = format!("{PATH}/{}/prepare_verification", added["response"]["id"].as_str().unwrap());
    me.post(&path, json!({"strategy": "phone_code"})).await.ok();
    me.post(&path, json!({"strategy": "phone_code"}))
        .await
        .is_error(429, "verification_code_too_many_requests");
    me.post(&path, json!({"strategy": "email_code"})).await.is_problem(
        422,
        "form_param_value_invalid",
        "strategy",
    );
    t.clock.advance_ms(30_000);
    me.post(&path, json!({"strategy": "phone_code"})).await.ok();
}

#[tokio::test]
async fn test_numbers_receive_nothing_and_take_the_known_code() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let added = me.post(PATH, json!({"phone_number": "+12015550100"})).await.ok();
    let path = format!("{PATH}/{}", added["response"]["id"].as_str().unwrap());
    me.post(&format!("{path}/prepare_verification"), json!({"strategy": "phone_code"})).await.ok();
    assert!(t.inbox().await.is_empty());
    let attempt = format!("{path}/attempt_verification");
    me.post(&attempt, json!({"code": "424241"})).await.is_error(422, "form_code_incorrect");
    me.post(&attempt, json!({"code": "424242"})).await.ok();
}

#[tokio::test]
async fn the_first_second_factor_comes_with_backup_codes() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let first = me.add_verified("phone_number", "+4915112345678").await;
    let second = me.add_verified("phone_number", "+4915112345679").await;
    let codes = reserve(&mut me, &first).await;
    assert_eq!(codes.as_array().unwrap().len(), 10);
    let told = &t.inbox().await[0];
    assert_eq!((&told["to"], &told["slug"]), (&json!("me@example.com"), &json!("mfa_enabled")));
    let shown = me.shown().await;
    assert_eq!((&shown["two_factor_enabled"], &shown["backup_code_enabled"]), (&json!(true), &json!(true)));
    assert_eq!(shown["phone_numbers"][0]["default_second_factor"], true);
    assert_eq!(shown["phone_numbers"][0]["backup_codes"], json!(null));
    // From now on, sensitive changes need the second factor, which was not proven here.
    set(&mut me, &second, json!({"reserved_for_second_factor": true}))
        .await
        .is_error(403, "session_reverification_required");
}

#[tokio::test]
async fn only_the_first_second_factor_is_told() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let number = me.add_verified("phone_number", "+4915112345678").await;
    me.enroll_totp().await;
    reserve(&mut me, &number).await;
    let inbox = t.inbox().await;
    assert_eq!(inbox.iter().filter(|message| message["slug"] == "mfa_enabled").count(), 1);
}

#[tokio::test]
async fn which_number_is_asked_first_can_be_chosen() {
    let mut settings = Settings::default();
    settings.session.reverification = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let first = me.add_verified("phone_number", "+4915112345678").await;
    let second = me.add_verified("phone_number", "+4915112345679").await;
    reserve(&mut me, &first).await;
    assert_eq!(reserve(&mut me, &second).await, json!(null));
    set(&mut me, &second, json!({"default_second_factor": true})).await.ok();
    let shown = me.shown().await;
    assert_eq!(shown["phone_numbers"][0]["default_second_factor"], false);
    assert_eq!(shown["phone_numbers"][0]["reserved_for_second_factor"], true);
    assert_eq!(shown["phone_numbers"][1]["default_second_factor"], true);
    let refused = set(&mut me, &second, json!({"default_second_factor": false})).await;
    refused.is_problem(422, "form_disable_default_second_factor_not_allowed", "default_second_factor");
    set(&mut me, &second, json!({"reserved_for_second_factor": false})).await.ok();
    assert_eq!(me.shown().await["phone_numbers"][0]["default_second_factor"], true);
    // With the last second factor the backup codes go.
    set(&mut me, &first, json!({"reserved_for_second_factor": false})).await.ok();
    assert_eq!(me.shown().await["backup_code_enabled"], false);
}

#[tokio::test]
async fn only_proven_numbers_of_ones_own_are_second_factors() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let added = me.post(PATH, json!({"phone_number": "+4915112345678"})).await.ok();
    let id = added["response"]["id"].as_str().unwrap();
    let refused = set(&mut me, id, json!({"reserved_for_second_factor": true})).await;
    refused.is_problem(400, "identification_update_second_factor_unverified", "reserved_for_second_factor");
    let mut other = somebody(&t, "other@example.com").await;
    set(&mut other, id, json!({"reserved_for_second_factor": true}))
        .await
        .is_error(404, "resource_not_found");
    other.get(&format!("{PATH}/{id}")).await.is_error(404, "resource_not_found");
    other.delete(&format!("{PATH}/{id}")).await.is_error(404, "resource_not_found");
    set(&mut me, id, json!({"reserved_for_second_factor": "maybe"}))
        .await
        .is_error(422, "form_param_type_invalid");
}

#[tokio::test]
async fn changing_second_factors_needs_a_recent_proof() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let id = me.add_verified("phone_number", "+4915112345678").await;
    me.wait_for_reverification();
    set(&mut me, &id, json!({"reserved_for_second_factor": true}))
        .await
        .is_error(403, "session_reverification_required");
    set(&mut me, &id, json!({"default_second_factor": true}))
        .await
        .is_error(403, "session_reverification_required");
    me.delete(&format!("{PATH}/{id}")).await.is_error(403, "session_reverification_required");
    me.post(PATH, json!({"phone_number": "+4915112345679"}))
        .await
        .is_error(403, "session_reverification_required");
    set(&mut me, &id, json!({"reserved_for_second_factor": false})).await.ok();
}

#[tokio::test]
async fn a_required_second_factor_stays() {
    let mut settings = Settings::default();
    settings.sign_in.second_factor_required = true;
    settings.session.reverification = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let id = me.add_verified("phone_number", "+4915112345678").await;
    reserve(&mut me, &id).await;
    let refused = "second_factor_deletion_not_allowed";
    set(&mut me, &id, json!({"reserved_for_second_factor": false})).await.is_error(400, refused);
    me.delete(&format!("{PATH}/{id}")).await.is_error(400, refused);
    let user = me.user.clone();
    assert_eq!(sign_in(&t, &user).await.shown().await["backup_code_enabled"], true);
}

#[tokio::test]
async fn where_numbers_are_no_second_factor_none_becomes_one() {
    let mut settings = Settings::default();
    settings.attributes.phone_number.used_for_second_factor = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let id = me.add_verified("phone_number", "+4915112345678").await;
    set(&mut me, &id, json!({"reserved_for_second_factor": true})).await.is_error(403, "feature_not_enabled");
}
