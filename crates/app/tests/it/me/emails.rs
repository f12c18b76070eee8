//! `/v1/me/email_addresses`

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::support::{MINUTE_MS, Me, me, sign_in, somebody};

const PATH: &str = "/v1/me/email_addresses";

async fn add(me: &mut Me<'_>, address: &str) -> String {
    let added = me.post(PATH, json!({"email_address": address})).await.ok();
    added["response"]["id"].as_str().unwrap().to_owned()
}

async fn prepare(me: &mut Me<'_>, id: &str) -> Value {
    let path = format!("{PATH}/{id}/prepare_verification");
    me.post(&path, json!({"strategy": "email_code"})).await.ok()["response"].clone()
}

fn wrong(code: &str) -> &'static str {
    if code == "000000" { "000001" } else { "000000" }
}

#[tokio::test]
async fn an_address_is_added_proven_and_told_about() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let before = t.events().await.len();
    let id = add(&mut me, "New@Example.com").await;
    let shown = me.get(&format!("{PATH}/{id}")).await.ok();
    assert_eq!(shown["response"]["verification"], json!(null));
    let prepared = prepare(&mut me, &id).await;
    assert_eq!(prepared["verification"]["status"], "unverified");
    assert_eq!(prepared["verification"]["strategy"], "email_code");
    let code = me.code().await;
    let path = format!("{PATH}/{id}/attempt_verification");
    let proven = me.post(&path, json!({"code": code})).await.ok();
    assert_eq!(proven["response"]["verification"]["status"], "verified");
    let all = me.get(PATH).await.ok();
    let list: Vec<&Value> =
        all.as_array().unwrap().iter().map(|one| &one["verification"]["status"]).collect();
    assert_eq!(list, ["verified", "verified"]);
    assert_eq!(me.events_after(before).await, ["email.created", "user.updated", "user.updated"]);
    me.post(&path, json!({"code": code})).await.is_error(400, "verification_already_verified");
    let again = format!("{PATH}/{id}/prepare_verification");
    me.post(&again, json!({"strategy": "email_code"})).await.is_error(400, "verification_already_verified");
}

#[tokio::test]
async fn where_answers_must_not_tell_who_has_an_account_only_the_proof_of_an_address_is_refused() {
    let mut settings = Settings::default();
    settings.attack_protection.enumeration_protection = true;
    settings.attributes.phone_number.enabled = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let other = somebody(&t, "other@example.com").await.user;
    let phone = json!({"user_id": other, "phone_number": "+15555550100", "verified": true});
    t.post("/v1/phone_numbers", phone).await.ok();
    let shown = |mut answer: Value| {
        let added = answer["response"].take();
        [&added["verification"], &added["reserved"], &added["linked_to"]].map(Value::clone)
    };
    let mut add =
        async |path: &str, field: &str, value: &str| shown(me.post(path, json!({field: value})).await.ok());
    let taken = add(PATH, "email_address", "other@example.com").await;
    assert_eq!(taken, add(PATH, "email_address", "nobody@example.com").await);
    let numbers = "/v1/me/phone_numbers";
    let taken = add(numbers, "phone_number", "+15555550100").await;
    assert_eq!(taken, add(numbers, "phone_number", "+15555550101").await);

    let all = me.get(PATH).await.ok();
    let added = all.as_array().unwrap().iter().find(|one| one["email_address"] == "other@example.com");
    let id = added.unwrap()["id"].as_str().unwrap().to_owned();
    prepare(&mut me, &id).await;
    let code = me.code().await;
    let path = format!("{PATH}/{id}/attempt_verification");
    let refused = me.post(&path, json!({"code": code})).await;
    assert_eq!(refused.code(), "identification_claimed", "{:#}", refused.json);
    let holders = t.get("/v1/users?email_address=other@example.com").await.ok();
    let ids: Vec<_> = holders.as_array().unwrap().iter().map(|user| &user["id"]).collect();
    assert_eq!(ids, [&json!(other)], "whoever has not proven it is not found by it");
    let alone = t.get("/v1/users?email_address=nobody@example.com").await.ok();
    assert_eq!(alone[0]["id"], json!(me.user));
}

#[tokio::test]
async fn another_spelling_of_somebodys_mailbox_is_refused_when_it_is_proven_there() {
    for is_guarded in [false, true] {
        let mut settings = Settings::default();
        settings.attack_protection.enumeration_protection = is_guarded;
        settings.restrictions.block_email_subaddresses = true;
        let t = TestServer::start_with(RateLimits::Off, settings).await;
        somebody(&t, "adalovelace@gmail.com").await;
        let mut me = me(&t).await;
        let added = me.post(PATH, json!({"email_address": "ada.lovelace@gmail.com"})).await;
        if !is_guarded {
            assert_eq!(added.status, 403, "{:#}", added.json);
            continue;
        }
        let id = added.ok()["response"]["id"].as_str().unwrap().to_owned();
        prepare(&mut me, &id).await;
        let code = me.code().await;
        let refused = me.post(&format!("{PATH}/{id}/attempt_verification"), json!({"code": code})).await;
        refused.is_error(400, "identification_claimed");
        let shown = me.get(&format!("{PATH}/{id}")).await.ok();
        assert_ne!(shown["response"]["verification"]["status"], "verified");
    }
}

#[tokio::test]
async fn what_is_no_address_or_taken_is_refused() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    somebody(&t, "other@example.com").await;
    let mut add = async |address: &str| me.post(PATH, json!({"email_address": address})).await;
    add("nonsense").await.is_problem(422, "form_param_format_invalid", "email_address");
    add("OTHER@example.com").await.is_problem(422, "form_identifier_exists", "email_address");
    add("me@example.com").await.is_problem(422, "form_identifier_exists", "email_address");
    me.post(PATH, json!({})).await.is_problem(422, "form_param_missing", "email_address");
}

#[tokio::test]
async fn a_wrong_code_counts_and_three_of_them_are_too_many() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let id = add(&mut me, "new@example.com").await;
    let path = format!("{PATH}/{id}/attempt_verification");
    me.post(&path, json!({"code": "000000"})).await.is_error(400, "verification_not_sent");
    prepare(&mut me, &id).await;
    let code = me.code().await;
    for count in 1..=2 {
        me.post(&path, json!({"code": wrong(&code)})).await.is_problem(422, "form_code_incorrect", "code");
        let shown = me.get(&format!("{PATH}/{id}")).await.ok();
        assert_eq!(shown["response"]["verification"]["attempts"], count);
    }
    me.post(&path, json!({"code": wrong(&code)})).await.is_error(400, "verification_failed");
    me.post(&path, json!({"code": code})).await.is_error(400, "verification_failed");
    assert_eq!(me.get(&format!("{PATH}/{id}")).await.ok()["response"]["verification"]["status"], "failed");
    prepare(&mut me, &id).await;
    let code = me.code().await;
    t.clock.advance_ms(10 * MINUTE_MS);
    me.post(&path, json!({"code": code})).await.is_error(400, "verification_expired");
    me.post(&path, json!({})).await.is_problem(422, "form_param_missing", "code");
}

#[tokio::test]
async fn codes_are_not_sent_without_end() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let id = add(&mut me, "new@example.com").await;
    for _ in 0..10 {
        prepare(&mut me, &id).await;
    }
    let path = format!("{PATH}/{id}/prepare_verification");
    let refused = me.post(&path, json!({"strategy": "email_code"})).await;
    refused.is_error(429, "verification_code_too_many_requests");
    assert!(!refused.header("retry-after").is_empty());
    t.clock.advance_ms(24 * 60 * MINUTE_MS);
    prepare(&mut me, &id).await;
}

#[tokio::test]
async fn an_unproven_address_is_never_the_primary_one() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "nobody-knows"})).await;
    let mut me = sign_in(&t, user["id"].as_str().unwrap()).await;
    let id = add(&mut me, "ceo@example.com").await;
    assert_eq!(me.shown().await["primary_email_address_id"], json!(null));
    prepare(&mut me, &id).await;
    let code = me.code().await;
    me.post(&format!("{PATH}/{id}/attempt_verification"), json!({"code": code})).await.ok();
    assert_eq!(me.shown().await["primary_email_address_id"], id.as_str());
}

#[tokio::test]
async fn who_proves_an_address_first_has_it() {
    let t = TestServer::start().await;
    let mut first = me(&t).await;
    let mut second = somebody(&t, "second@example.com").await;
    let (mine, theirs) =
        (add(&mut first, "new@example.com").await, add(&mut second, "new@example.com").await);
    prepare(&mut first, &mine).await;
    let code = first.code().await;
    prepare(&mut second, &theirs).await;
    let other_code = second.code().await;
    first.post(&format!("{PATH}/{mine}/attempt_verification"), json!({"code": code})).await.ok();
    let path = format!("{PATH}/{theirs}/attempt_verification");
    second.post(&path, json!({"code": other_code})).await.is_problem(
        400,
        "identification_claimed",
        "email_address",
    );
}

#[tokio::test]
async fn addresses_of_others_are_not_there() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let mut other = somebody(&t, "other@example.com").await;
    let theirs = add(&mut other, "spare@example.com").await;
    let path = format!("{PATH}/{theirs}");
    me.get(&path).await.is_error(404, "resource_not_found");
    me.delete(&path).await.is_error(404, "resource_not_found");
    let fields = json!({"strategy": "email_code"});
    me.post(&format!("{path}/prepare_verification"), fields).await.is_error(404, "resource_not_found");
    me.post(&format!("{path}/attempt_verification"), json!({"code": "1"}))
        .await
        .is_error(404, "resource_not_found");
    me.get(&format!("{PATH}/nonsense")).await.is_error(404, "resource_not_found");
    other.get(&path).await.ok();
}

#[tokio::test]
async fn adding_and_removing_need_a_recent_proof() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let id = me.add_verified("email_address", "second@example.com").await;
    let pending = add(&mut me, "third@example.com").await;
    me.wait_for_reverification();
    me.post(PATH, json!({"email_address": "new@example.com"}))
        .await
        .is_error(403, "session_reverification_required");
    me.delete(&format!("{PATH}/{id}")).await.is_error(403, "session_reverification_required");
    assert_eq!(me.get(PATH).await.ok().as_array().unwrap().len(), 3);
    // What was added with a proof may be verified without another.
    prepare(&mut me, &pending).await;
    let mut fresh = sign_in(&t, &me.user).await;
    let gone = fresh.delete(&format!("{PATH}/{id}")).await.ok();
    assert_eq!(gone["response"], json!({"object": "email_address", "id": id, "deleted": true}));
}

#[tokio::test]
async fn the_last_proven_address_stays_where_one_is_required() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let mine = me.shown().await["primary_email_address_id"].as_str().unwrap().to_owned();
    let unproven = add(&mut me, "new@example.com").await;
    let last = "last_required_identification_deletion_failed";
    me.delete(&format!("{PATH}/{mine}")).await.is_error(400, last);
    me.delete(&format!("{PATH}/{unproven}")).await.ok();
    let second = me.add_verified("email_address", "second@example.com").await;
    me.delete(&format!("{PATH}/{mine}")).await.ok();
    assert_eq!(me.shown().await["primary_email_address_id"], second.as_str());
}

#[tokio::test]
async fn the_last_identification_stays() {
    let mut settings = Settings::default();
    settings.attributes.email_address.required_at_sign_up = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let mine = me.shown().await["primary_email_address_id"].as_str().unwrap().to_owned();
    me.delete(&format!("{PATH}/{mine}")).await.is_error(400, "identification_deletion_failed");
    // One that proves nothing does not count.
    add(&mut me, "new@example.com").await;
    me.delete(&format!("{PATH}/{mine}")).await.is_error(400, "identification_deletion_failed");
    me.patch("/v1/me", json!({"username": "still-me"})).await.ok();
    me.delete(&format!("{PATH}/{mine}")).await.ok();
}

#[tokio::test]
async fn unproven_addresses_do_not_pile_up() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    for number in 0..5 {
        add(&mut me, &format!("new{number}@example.com")).await;
    }
    let refused = me.post(PATH, json!({"email_address": "one@example.com"})).await;
    refused.is_problem(400, "too_many_unverified_identifications", "email_address");
}

#[tokio::test]
async fn addresses_linked_to_accounts_or_fixed_by_settings_stay() {
    let mut settings = Settings::default();
    settings.attributes.email_address.immutable = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = t.user(json!({"email_address": ["a@example.com", "b@example.com"]})).await;
    let mut me = sign_in(&t, user["id"].as_str().unwrap()).await;
    let immutable = "immutable_attribute_modification_not_allowed";
    let id = user["email_addresses"][1]["id"].as_str().unwrap();
    me.delete(&format!("{PATH}/{id}")).await.is_error(403, immutable);
    me.post(PATH, json!({"email_address": "c@example.com"})).await.is_error(403, immutable);
    let t = TestServer::start().await;
    let user = t.user(json!({"email_address": ["a@example.com", "b@example.com"]})).await;
    let (user, id) = (user["id"].as_str().unwrap(), user["email_addresses"][1]["id"].as_str().unwrap());
    t.edit_document(user, |document| {
        document["email_addresses"]["all"][1]["linked_to"] = json!([{"kind": "oauth_google", "id": id}]);
    })
    .await;
    let mut me = sign_in(&t, user).await;
    me.delete(&format!("{PATH}/{id}")).await.is_error(400, "delete_linked_identification_disallowed");
}

#[tokio::test]
async fn where_addresses_are_switched_off_none_is_added() {
    let mut settings = Settings::default();
    settings.attributes.email_address.enabled = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = t.user(json!({"username": "somebody"})).await;
    let mut me = sign_in(&t, user["id"].as_str().unwrap()).await;
    me.post(PATH, json!({"email_address": "a@example.com"})).await.is_problem(
        422,
        "form_param_unknown",
        "email_address",
    );
}

#[tokio::test]
async fn subaddresses_are_refused_where_settings_say_so() {
    let mut settings = Settings::default();
    settings.restrictions.block_email_subaddresses = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let refused = me.post(PATH, json!({"email_address": "ada+1@example.com"})).await;
    refused.is_problem(403, "not_allowed_access", "email_address");
    add(&mut me, "ada+clerk_test@example.com").await;
}

#[tokio::test]
async fn unknown_ways_to_prove_an_address_are_refused() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let id = add(&mut me, "new@example.com").await;
    let path = format!("{PATH}/{id}/prepare_verification");
    me.post(&path, json!({"strategy": "telepathy"})).await.is_problem(
        422,
        "form_param_value_invalid",
        "strategy",
    );
    me.post(&path, json!({})).await.is_problem(422, "form_param_missing", "strategy");
    let link = json!({"strategy": "email_link", "redirect_url": "http://localhost:3000/"});
    me.post(&path, link).await.is_problem(400, "verification_strategy_invalid", "strategy");
}

fn with_links() -> Settings {
    let mut settings = Settings::default();
    settings.attributes.email_address.verifications = vec![Strategy::EmailLink];
    settings
}

#[tokio::test]
async fn a_link_proves_an_address_once() {
    let t = TestServer::start_with(RateLimits::Off, with_links()).await;
    let mut me = me(&t).await;
    let id = add(&mut me, "new@example.com").await;
    let path = format!("{PATH}/{id}/prepare_verification");
    let fields = json!({"strategy": "email_link", "redirect_url": "http://localhost:3000/done#/x"});
    let asked = me.post(&path, fields).await.ok();
    assert_eq!(asked["response"]["verification"]["strategy"], "email_link");
    let path = format!("{PATH}/{id}/attempt_verification");
    me.post(&path, json!({"code": "000000"})).await.is_error(400, "verification_strategy_invalid");
    let link = t.inbox().await[0]["link"].as_str().unwrap().to_owned();
    let link = link.split_once("/v1/").map(|(_, rest)| format!("/v1/{rest}")).unwrap();
    let opened = me.browser.open(&link).await;
    assert_eq!(opened.status, 303, "{:#}", opened.json);
    assert_eq!(opened.header("location"), "http://localhost:3000/done?__clerk_status=verified#/x");
    let shown = me.get(&format!("{PATH}/{id}")).await.ok();
    assert_eq!(shown["response"]["verification"]["status"], "verified");
    // Opening it again changes nothing, and leads to the same place.
    let before = t.everything().await;
    assert_eq!(t.browser().open(&link).await.header("location"), opened.header("location"));
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_browser_can_open_a_link_where_the_settings_allow_it() {
    let mut settings = with_links();
    settings.attack_protection.email_link_require_same_client = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let id = add(&mut me, "new@example.com").await;
    let path = format!("{PATH}/{id}/prepare_verification");
    me.post(&path, json!({"strategy": "email_link", "redirect_url": "http://localhost:3000/"})).await.ok();
    let link = t.inbox().await[0]["link"].as_str().unwrap().to_owned();
    let link = link.split_once("/v1/").map(|(_, rest)| format!("/v1/{rest}")).unwrap();
    let opened = t.browser().open(&link).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=verified");
}

#[tokio::test]
async fn a_link_opened_elsewhere_shows_a_code_where_a_code_is_a_way_to_prove_an_address() {
    for with_code in [true, false] {
        let mut settings = with_links();
        if with_code {
            settings.attributes.email_address.verifications.push(Strategy::EmailCode);
        }
        let t = TestServer::start_with(RateLimits::Off, settings).await;
        let mut me = me(&t).await;
        let id = add(&mut me, "new@example.com").await;
        let path = format!("{PATH}/{id}/prepare_verification");
        me.post(&path, json!({"strategy": "email_link", "redirect_url": "http://localhost:3000/"}))
            .await
            .ok();
        let link = t.inbox().await[0]["link"].as_str().unwrap().to_owned();
        let link = link.split_once("/v1/").map(|(_, rest)| format!("/v1/{rest}")).unwrap();
        let mut phone = t.browser();
        phone.headers = vec![("accept", "text/html")];
        let opened = phone.open(&link).await;
        assert_eq!(opened.status, 403);
        let page = String::from_utf8(opened.bytes).unwrap();
        let code = page.split_once("<p class=\"code\">").map(|(_, rest)| rest[..6].to_owned());
        assert_eq!(code.is_some(), with_code);
        if let Some(code) = code {
            let attempt = format!("{PATH}/{id}/attempt_verification");
            let proven = me.post(&attempt, json!({"code": code})).await.ok();
            assert_eq!(proven["response"]["verification"]["status"], "verified");
        }
    }
}

#[tokio::test]
async fn a_link_is_bound_to_the_browser_that_asked() {
    let t = TestServer::start_with(RateLimits::Off, with_links()).await;
    let mut me = me(&t).await;
    let mut victim = somebody(&t, "victim@example.com").await;
    let id = add(&mut me, "new@example.com").await;
    let path = format!("{PATH}/{id}/prepare_verification");
    me.post(&path, json!({"strategy": "email_link", "redirect_url": "http://localhost:3000/"})).await.ok();
    let link = t.inbox().await[0]["link"].as_str().unwrap().to_owned();
    let link = link.split_once("/v1/").map(|(_, rest)| format!("/v1/{rest}")).unwrap();
    for browser in [&mut t.browser(), &mut victim.browser] {
        let opened = browser.open(&link).await;
        assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=client_mismatch");
    }
    let opened = me.browser.open(&link).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=verified");
}

#[tokio::test]
async fn a_late_link_says_so_and_a_false_one_leads_nowhere() {
    let t = TestServer::start_with(RateLimits::Off, with_links()).await;
    let mut me = me(&t).await;
    let id = add(&mut me, "new@example.com").await;
    let path = format!("{PATH}/{id}/prepare_verification");
    me.post(&path, json!({"strategy": "email_link"})).await.is_problem(
        422,
        "invalid_redirect_url",
        "redirect_url",
    );
    let evil = json!({"strategy": "email_link", "redirect_url": "javascript:alert(1)"});
    me.post(&path, evil).await.is_problem(422, "invalid_redirect_url", "redirect_url");
    me.post(&path, json!({"strategy": "email_link", "redirect_url": "http://localhost:3000/"})).await.ok();
    let link = t.inbox().await[0]["link"].as_str().unwrap().to_owned();
    let link = link.split_once("/v1/").map(|(_, rest)| format!("/v1/{rest}")).unwrap();
    let mut browser = t.browser();
    browser
        .open(&format!("/v1/verify?token={id}.guess"))
        .await
        .is_error(400, "verification_link_token_invalid");
    t.clock.advance_ms(10 * MINUTE_MS);
    let opened = browser.open(&link).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=expired");
    let shown = me.get(&format!("{PATH}/{id}")).await.ok();
    assert_eq!(shown["response"]["verification"]["status"], "expired");
}
