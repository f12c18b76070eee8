//! What the outbox holds after each operation: exactly the events that belong to it, or none.

use std::collections::HashSet;

use axum::body::Body;
use axum::http::Request;
use latchkey_testkit::{EventRow, TestServer};
use serde_json::{Value, json};

const NOBODY: &str = "user_000000000000000000000000000";
const NOTHING: &str = "idn_000000000000000000000000000";
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

/// Remembers which events were seen, and hands out new ones.
#[derive(Default)]
struct Log(HashSet<String>);

impl Log {
    async fn fresh(&mut self, t: &TestServer) -> Vec<EventRow> {
        t.events().await.into_iter().filter(|event| self.0.insert(event.id.clone())).collect()
    }
}

type Call = (&'static str, String, Value);

/// A user with something of everything, and the ids of their parts.
async fn rich(t: &TestServer, name: &str) -> Value {
    let user = t
        .user(json!({
            "username": name, "external_id": name, "password": "vexed-quilt-27", "totp_secret": "JBSWY3DPEHPK3PXP",
            "backup_codes": ["first-code", "second-code"],
            "email_address": [format!("{name}@example.com"), format!("{name}@example.org")],
            "phone_number": ["+14155552671", "+14155552672"],
            "web3_wallet": ["0x0000000000000000000000000000000000000001", "0x0000000000000000000000000000000000000002"]
        }))
        .await;
    t.edit_document(id(&user), |document| {
        document["passkeys"] = json!([{"id": NOTHING, "name": "key", "last_used_at": 1, "rp_id": "localhost",
            "verification": {"strategy": "passkey"}, "created_at": 1, "updated_at": 1}]);
        document["external_accounts"] = json!([{
            "id": "eac_000000000000000000000000000", "identification": "idn_000000000000000000000000001",
            "provider": "oauth_google", "provider_user_id": "42", "approved_scopes": "email", "email_address": "a@b.de",
            "first_name": "", "last_name": "", "verified_at": 1, "created_at": 1, "updated_at": 1
        }]);
        document["trusted_devices"] = json!([{
            "id": "tdv_000000000000000000000000000", "platform": "ios", "app_identifier": "app", "created_at": 1, "updated_at": 1
        }]);
    })
    .await;
    t.shown(id(&user)).await
}

async fn call(t: &TestServer, (method, path, body): &Call) -> latchkey_testkit::Answer {
    t.clock.advance_ms(1);
    let body = (*method != "DELETE" && *method != "GET").then(|| body.clone());
    t.call(Some(&t.tenant), method, path, body).await
}

#[tokio::test]
async fn creating_a_user_says_so_once() {
    let t = TestServer::start().await;
    let mut log = Log::default();
    let user = t
        .user(json!({
            "email_address": ["ada@example.com"], "private_metadata": {"a": 1}, "password": "vexed-quilt-27",
            "totp_secret": "JBSWY3DPEHPK3PXP", "locked": true
        }))
        .await;
    let events = log.fresh(&t).await;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].kind.as_str(), events[0].subject.as_str()), ("user.created", id(&user)));
    assert_eq!(events[0].data, user);
    assert!(events[0].id.starts_with("msg_"));
}

#[tokio::test]
async fn deleting_a_user_says_so_once() {
    let t = TestServer::start().await;
    let with_external_id = t.user(json!({"username": "first", "external_id": "crm-7"})).await;
    let without = t.user(json!({"username": "second"})).await;
    let mut log = Log::default();
    log.fresh(&t).await;
    for (user, data) in [
        (
            &with_external_id,
            json!({"object": "user", "id": id(&with_external_id), "deleted": true, "external_id": "crm-7"}),
        ),
        (&without, json!({"object": "user", "id": id(&without), "deleted": true})),
    ] {
        t.delete(&format!("/v1/users/{}", id(user))).await.ok();
        let events = log.fresh(&t).await;
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].kind.as_str(), events[0].subject.as_str()), ("user.deleted", id(user)));
        assert_eq!(events[0].data, data);
    }
}

#[tokio::test]
async fn every_change_says_once_that_the_user_was_updated() {
    let t = TestServer::start().await;
    let user = rich(&t, "ada_l").await;
    let path = format!("/v1/users/{}", id(&user));
    let (mail, phone) = (&user["email_addresses"][1], &user["phone_numbers"][1]);
    let (mail, phone) =
        (format!("/v1/email_addresses/{}", id(mail)), format!("/v1/phone_numbers/{}", id(phone)));
    let at = |tail: &str| format!("{path}/{tail}");
    let calls: Vec<Call> = vec![
        ("PATCH", path.clone(), json!({"first_name": "Ada"})),
        ("PATCH", path.clone(), json!({"username": "countess"})),
        ("PATCH", path.clone(), json!({"primary_email_address_id": user["email_addresses"][1]["id"]})),
        ("PATCH", path.clone(), json!({"password": "orchid-mambo-91"})),
        ("PATCH", path.clone(), json!({"totp_secret": "KRSXG5CTMVRXEZLU"})),
        ("PATCH", path.clone(), json!({"backup_codes": ["third-code"]})),
        ("PATCH", at("metadata"), json!({"private_metadata": {"a": 1}})),
        ("PUT", at("metadata"), json!({"unsafe_metadata": {"a": 1}})),
        (
            "POST",
            "/v1/email_addresses".into(),
            json!({"user_id": id(&user), "email_address": "new@example.com"}),
        ),
        ("PATCH", mail.clone(), json!({"verified": false})),
        ("PATCH", mail.clone(), json!({"verified": true})),
        ("DELETE", mail, json!(null)),
        ("PUT", at("email_address"), json!({"email_address": "only@example.com"})),
        ("POST", "/v1/phone_numbers".into(), json!({"user_id": id(&user), "phone_number": "+14155552679"})),
        ("PATCH", phone.clone(), json!({"reserved_for_second_factor": true})),
        ("PATCH", phone.clone(), json!({"primary": true})),
        ("DELETE", phone, json!(null)),
        ("PUT", at("phone_number"), json!({"phone_number": "+14155552678"})),
        ("POST", at("ban"), json!({})),
        ("POST", at("unban"), json!({})),
        ("POST", at("lock"), json!({})),
        ("POST", at("unlock"), json!({})),
        ("POST", at("password/set_compromised"), json!({})),
        ("POST", at("password/unset_compromised"), json!({})),
        ("POST", at("remove_password"), json!({})),
        (
            "PATCH",
            path.clone(),
            json!({"password_digest": "3cb4e732631f47e6eb961f34554b7cde", "password_hasher": "md5"}),
        ),
        ("DELETE", at("backup_code"), json!(null)),
        ("DELETE", at("totp"), json!(null)),
        ("PATCH", path.clone(), json!({"totp_secret": "JBSWY3DPEHPK3PXP", "backup_codes": ["last-code"]})),
        ("DELETE", at("mfa"), json!(null)),
        ("DELETE", at(&format!("web3_wallets/{}", id(&user["web3_wallets"][1]))), json!(null)),
        ("DELETE", at(&format!("passkeys/{NOTHING}")), json!(null)),
        ("DELETE", at("external_accounts/eac_000000000000000000000000000"), json!(null)),
        ("DELETE", at("trusted_devices/tdv_000000000000000000000000000"), json!(null)),
    ];
    let mut log = Log::default();
    log.fresh(&t).await;
    for one in calls {
        let answer = call(&t, &one).await;
        assert_eq!(answer.status, 200, "{one:?}: {:#}", answer.json);
        let mut events = log.fresh(&t).await;
        // Whoever loses a passkey is told by mail.
        let told = events.len();
        events.retain(|event| event.kind != "email.created");
        assert_eq!(told - events.len(), usize::from(one.1.contains("/passkeys/")), "{one:?}");
        assert_eq!(events.len(), 1, "{one:?}");
        assert_eq!(
            (events[0].kind.as_str(), events[0].subject.as_str()),
            ("user.updated", id(&user)),
            "{one:?}"
        );
        let shown = t.shown(id(&user)).await;
        assert_eq!(events[0].data, shown, "{one:?}");
        let now = latchkey_base::time::Clock::now(&*t.clock).ms();
        assert_eq!(shown["updated_at"], now, "{one:?}");
    }
}

#[tokio::test]
async fn pictures_and_proven_addresses_update_the_user() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l"})).await;
    let mail = t
        .post(
            "/v1/email_addresses",
            json!({"user_id": id(&user), "email_address": "a+clerk_test@example.com"}),
        )
        .await
        .ok();
    let mut log = Log::default();
    log.fresh(&t).await;
    let prepared =
        t.post(&format!("/v1/email_addresses/{}/prepare_verification", id(&mail)), json!({})).await.ok();
    let attempt = |code: &str| json!({"verification_id": prepared["id"], "code": code});
    let path = format!("/v1/email_addresses/{}/attempt_verification", id(&mail));
    t.post(&path, attempt("000000")).await.ok();
    assert_eq!(log.fresh(&t).await, []);
    t.post(&path, attempt("424242")).await.ok();
    let events = log.fresh(&t).await;
    assert_eq!((events.len(), &events[0].data), (1, &t.shown(id(&user)).await));

    let picture = crate::pictures::decoded(PNG);
    crate::pictures::upload(&t, id(&user), "picture.png", &picture).await.ok();
    let events = log.fresh(&t).await;
    assert_eq!((events.len(), &events[0].data), (1, &t.shown(id(&user)).await));
    assert_eq!(events[0].data["has_image"], true);
    t.delete(&format!("/v1/users/{}/profile_image", id(&user))).await.ok();
    assert_eq!(log.fresh(&t).await[0].data["has_image"], false);
    t.delete(&format!("/v1/users/{}/profile_image", id(&user))).await.ok();
    assert_eq!(log.fresh(&t).await, []);
}

#[tokio::test]
async fn what_changes_nothing_says_nothing() {
    let t = TestServer::start().await;
    let user = rich(&t, "ada_l").await;
    let plain = t.user(json!({"username": "charles"})).await;
    let path = format!("/v1/users/{}", id(&user));
    let at = |tail: &str| format!("{path}/{tail}");
    let bare = |tail: &str| format!("/v1/users/{}/{tail}", id(&plain));
    let mail = format!("/v1/email_addresses/{}", id(&user["email_addresses"][0]));
    let phone = format!("/v1/phone_numbers/{}", id(&user["phone_numbers"][0]));
    let calls: Vec<Call> = vec![
        ("PATCH", path.clone(), json!({})),
        ("PATCH", path.clone(), json!({"username": "ada_l", "external_id": "ada_l", "first_name": null})),
        ("PATCH", path.clone(), json!({"primary_email_address_id": user["primary_email_address_id"]})),
        ("PATCH", at("metadata"), json!({"public_metadata": {"absent": null}})),
        ("PUT", at("metadata"), json!({"public_metadata": {}})),
        ("PATCH", mail.clone(), json!({"verified": true, "primary": true})),
        ("POST", format!("{mail}/prepare_verification"), json!({})),
        (
            "PATCH",
            phone.clone(),
            json!({"verified": true, "primary": true, "reserved_for_second_factor": false}),
        ),
        ("POST", format!("{phone}/prepare_verification"), json!({})),
        ("POST", at("unban"), json!({})),
        ("POST", at("unlock"), json!({})),
        ("POST", at("password/unset_compromised"), json!({})),
        ("POST", at("verify_password"), json!({"password": "vexed-quilt-27"})),
        ("POST", at("verify_totp"), json!({"code": "first-code"})),
        ("POST", bare("remove_password"), json!({})),
        ("DELETE", bare("mfa"), json!(null)),
        ("DELETE", bare("totp"), json!(null)),
        ("DELETE", bare("backup_code"), json!(null)),
        ("DELETE", bare("profile_image"), json!(null)),
        ("POST", "/v1/users/unban".into(), json!({"user_ids": [id(&user), id(&plain)]})),
        ("GET", path.clone(), json!(null)),
    ];
    let mut log = Log::default();
    log.fresh(&t).await;
    let before = [t.shown(id(&user)).await, t.shown(id(&plain)).await];
    for one in calls {
        let answer = call(&t, &one).await;
        assert_eq!(answer.status, 200, "{one:?}: {:#}", answer.json);
        // A code that is sent is told of by itself.
        let mut told = log.fresh(&t).await;
        told.retain(|event| event.kind != "email.created" && event.kind != "sms.created");
        assert_eq!(told, [], "{one:?}");
        assert_eq!([t.shown(id(&user)).await, t.shown(id(&plain)).await], before, "{one:?}");
    }
}

#[tokio::test]
async fn what_is_refused_says_nothing_and_changes_nothing() {
    let t = TestServer::start().await;
    let user = rich(&t, "ada_l").await;
    let plain = t.user(json!({"username": "charles", "external_id": "crm-1"})).await;
    let path = format!("/v1/users/{}", id(&user));
    let at = |tail: &str| format!("{path}/{tail}");
    let bare = |tail: &str| format!("/v1/users/{}/{tail}", id(&plain));
    let mail = format!("/v1/email_addresses/{}", id(&user["email_addresses"][0]));
    let calls: Vec<Call> = vec![
        ("POST", "/v1/users".into(), json!({"email_address": ["ada_l@example.com"], "username": "new-name"})),
        ("POST", "/v1/users".into(), json!({"username": "new-name", "external_id": "crm-1"})),
        ("POST", "/v1/users".into(), json!({"username": "new-name", "password": "short"})),
        ("PATCH", path.clone(), json!({"first_name": "Ada", "username": "charles"})),
        ("PATCH", path.clone(), json!({"first_name": "Ada", "external_id": "crm-1"})),
        ("PATCH", path.clone(), json!({"first_name": "Ada", "primary_email_address_id": NOTHING})),
        (
            "PATCH",
            path.clone(),
            json!({"password": "orchid-mambo-91", "profile_image_id": "img_000000000000000000000000000"}),
        ),
        ("PATCH", path.clone(), json!({"totp_secret": null, "username": "charles"})),
        (
            "PATCH",
            at("metadata"),
            json!({"public_metadata": {"a": "x".repeat(9000)}, "private_metadata": {"a": 1}}),
        ),
        (
            "POST",
            "/v1/email_addresses".into(),
            json!({"user_id": id(&plain), "email_address": "ada_l@example.com", "verified": true}),
        ),
        (
            "PUT",
            bare("email_address"),
            json!({"email_address": "ada_l@example.com", "notify_primary_email_address_changed": true}),
        ),
        ("PUT", bare("phone_number"), json!({"phone_number": "+14155552671"})),
        ("POST", "/v1/users/ban".into(), json!({"user_ids": [id(&user), NOBODY]})),
        ("POST", at("verify_password"), json!({"password": "wrong"})),
        ("POST", at("verify_totp"), json!({"code": "wrong-code"})),
        ("POST", bare("password/set_compromised"), json!({})),
        ("DELETE", at(&format!("web3_wallets/{NOTHING}")), json!(null)),
        ("DELETE", at("passkeys/idn_000000000000000000000000009"), json!(null)),
        ("DELETE", at("external_accounts/eac_000000000000000000000000009"), json!(null)),
        (
            "POST",
            format!("{mail}/attempt_verification"),
            json!({"verification_id": "ver_000000000000000000000000000", "code": "1"}),
        ),
        ("DELETE", format!("/v1/users/{NOBODY}"), json!(null)),
    ];
    let mut log = Log::default();
    log.fresh(&t).await;
    let before = t.get("/v1/users").await.ok();
    for one in calls {
        let answer = call(&t, &one).await;
        assert!((400..500).contains(&answer.status), "{one:?}: {}", answer.status);
        assert_eq!(log.fresh(&t).await, [], "{one:?}");
        assert_eq!(t.get("/v1/users").await.ok(), before, "{one:?}");
    }
    t.post(&at("verify_password"), json!({"password": "vexed-quilt-27"})).await.ok();
    assert_eq!(t.inbox().await, [Value::Null; 0]);
}

#[tokio::test]
async fn banning_several_says_so_for_each_who_was_not_banned() {
    let t = TestServer::start().await;
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(t.user_with_email(&format!("user{number}@example.com")).await);
    }
    t.post(&format!("/v1/users/{}/ban", ids[1]), json!({})).await.ok();
    let mut log = Log::default();
    log.fresh(&t).await;
    t.clock.advance_ms(1);
    t.post("/v1/users/ban", json!({"user_ids": ids})).await.ok();
    let mut events = log.fresh(&t).await;
    events.sort_by(|left, right| left.subject.cmp(&right.subject));
    let mut expected = [ids[0].clone(), ids[2].clone()];
    expected.sort();
    assert_eq!(events.iter().map(|event| event.subject.clone()).collect::<Vec<_>>(), expected);
    for event in events {
        assert_eq!((event.kind.as_str(), &event.data), ("user.updated", &t.shown(&event.subject).await));
    }
}

#[tokio::test]
async fn the_last_backup_code_updates_the_user() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l", "backup_codes": ["first-code", "second-code"]})).await;
    let mut log = Log::default();
    log.fresh(&t).await;
    let path = format!("/v1/users/{}/verify_totp", id(&user));
    t.post(&path, json!({"code": "first-code"})).await.ok();
    assert_eq!(log.fresh(&t).await, []);
    t.post(&path, json!({"code": "second-code"})).await.ok();
    let events = log.fresh(&t).await;
    assert_eq!((events.len(), &events[0].data), (1, &t.shown(id(&user)).await));
}

#[tokio::test]
async fn events_hold_the_newest_view_whatever_version_the_caller_speaks() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l"})).await;
    let mut log = Log::default();
    log.fresh(&t).await;
    let body = json!({"public_metadata": {"a": 1}});
    t.call_version("2021-02-05", "PATCH", &format!("/v1/users/{}", id(&user)), Some(body)).await.ok();
    assert_eq!(log.fresh(&t).await[0].data, t.shown(id(&user)).await);
}

#[tokio::test]
async fn events_remember_who_asked() {
    let t = TestServer::start().await;
    let agent = "x".repeat(300);
    let request = Request::builder()
        .method("POST")
        .uri("/v1/users")
        .header("authorization", format!("Bearer {}", t.tenant.key))
        .header("content-type", "application/json")
        .header("user-agent", &agent)
        .body(Body::from(json!({"username": "ada_l"}).to_string()))
        .unwrap();
    t.send(request).await.ok();
    let mut tx = t.db().read().await.unwrap();
    let kept = tx.all(&["SELECT user_agent FROM events"], &[], |row| row.text(0)).await.unwrap();
    assert_eq!(kept, [&agent[..256]]);
}

#[tokio::test]
async fn events_belong_to_the_instance_that_caused_them() {
    let t = TestServer::start().await;
    t.call(Some(&t.other), "POST", "/v1/users", Some(json!({"username": "ada_l"}))).await.ok();
    assert_eq!(t.events().await, []);
    let mut tx = t.db().read().await.unwrap();
    let sql = "SELECT count(*) FROM events WHERE instance_id = $1";
    assert_eq!(tx.all(&[sql], &[(&t.other.id).into()], |row| row.int(0)).await.unwrap(), [1]);
}
