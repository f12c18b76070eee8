//! Invitations to the application: made, listed, revoked by backends; followed by signing up and in.

use std::sync::Arc;

use latchkey_kernel::settings::{Settings, SignUpMode};
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use crate::me::support::somebody;
use crate::sign_ups::server as server_with;

const PATH: &str = "/v1/invitations";
const SIGN_INS: &str = "/v1/client/sign_ins";
const SIGN_UPS: &str = "/v1/client/sign_ups";
const DAY_MS: i64 = 24 * 3_600_000;
/// How many do something at once.
const CROWD: usize = 64;

async fn server(change: impl FnOnce(&mut Settings)) -> TestServer {
    server_with(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        change(settings);
    })
    .await
}

async fn invite(t: &TestServer, address: &str) -> Value {
    t.post(PATH, json!({"email_address": address})).await.ok()
}

fn ticket(made: &Value) -> String {
    made["url"].as_str().unwrap().split_once("ticket=").unwrap().1.to_owned()
}

fn with_ticket(made: &Value) -> Value {
    json!({"strategy": "ticket", "ticket": ticket(made)})
}

async fn status(t: &TestServer, made: &Value) -> String {
    let id = made["id"].as_str().unwrap();
    for filter in ["", "&status=revoked"] {
        let found = t.get(&format!("{PATH}?query={id}{filter}")).await.ok();
        if let Some(one) = found.get(0) {
            return one["status"].as_str().unwrap().to_owned();
        }
    }
    panic!("{id} is not listed")
}

fn addresses(page: &Value) -> Vec<String> {
    let all = page.as_array().unwrap().iter();
    all.map(|one| one["email_address"].as_str().unwrap().split('@').next().unwrap().to_owned()).collect()
}

async fn revoke(t: &TestServer, made: &Value) -> latchkey_testkit::Answer {
    t.post(&format!("{PATH}/{}/revoke", made["id"].as_str().unwrap()), json!({})).await
}

#[tokio::test]
async fn an_invitation_is_made_mailed_and_shown() {
    let t = server(|_| ()).await;
    let body = json!({"email_address": "Ada@Example.com", "public_metadata": {"plan": "gold"},
        "redirect_url": "https://app.example.com/join", "expires_in_days": 3});
    let before = t.events().await.len();
    let made = t.post(PATH, body).await.ok();
    assert_eq!((&made["object"], &made["status"]), (&json!("invitation"), &json!("pending")));
    assert_eq!(made["email_address"], "ada@example.com");
    assert_eq!((made.get("revoked"), &made["public_metadata"]), (None, &json!({"plan": "gold"})));
    let created_at = made["created_at"].as_i64().unwrap();
    assert_eq!(made["expires_at"], json!(created_at + 3 * DAY_MS));
    assert_eq!(t.get(PATH).await.ok(), json!([made]));
    let inbox = t.inbox().await;
    assert_eq!(
        (inbox.len(), &inbox[0]["to"], &inbox[0]["slug"]),
        (1, &json!("ada@example.com"), &json!("invitation"))
    );
    let events: Vec<String> =
        t.events().await.split_off(before).into_iter().map(|event| event.kind).collect();
    assert_eq!(events, ["email.created"], "there is no event of invitations");
    let quiet = json!({"email_address": "bob@example.com", "notify": false});
    t.post(PATH, quiet).await.ok();
    assert_eq!(t.inbox().await.len(), 1);
    let other = json!({"email_address": "carl@example.com", "template_slug": "waitlist_invitation"});
    t.post(PATH, other).await.ok();
    assert_eq!(t.inbox().await[0]["slug"], "waitlist_invitation");
}

#[tokio::test]
async fn what_cannot_be_invited_is_refused() {
    let t = server(|_| ()).await;
    for (body, status, code, param) in [
        (json!({}), 422, "form_param_missing", "email_address"),
        (json!({"email_address": "ada"}), 422, "form_param_format_invalid", "email_address"),
        (
            json!({"email_address": "a@b.test", "redirect_url": "javascript:x"}),
            422,
            "form_param_format_invalid",
            "redirect_url",
        ),
        (
            json!({"email_address": "a@b.test", "template_slug": "other"}),
            422,
            "form_param_value_invalid",
            "template_slug",
        ),
        (json!({"email_address": "a@b.test", "surprise": 1}), 422, "form_param_unknown", "surprise"),
        (
            json!({"email_address": "a@b.test", "public_metadata": {"x": "y".repeat(9000)}}),
            422,
            "form_param_exceeds_allowed_size",
            "public_metadata",
        ),
    ] {
        t.post(PATH, body.clone()).await.is_problem(status, code, param);
        let bulk = t.post(&format!("{PATH}/bulk"), json!([{"email_address": "fine@b.test"}, body])).await;
        assert_eq!((bulk.status, bulk.code()), (status, code));
    }
    for days in [0, 366] {
        let refused = t.post(PATH, json!({"email_address": "a@b.test", "expires_in_days": days})).await;
        assert_eq!((refused.status, refused.param()), (422, "expires_in_days"));
    }
    assert_eq!(t.get(PATH).await.ok(), json!([]), "all or nothing");
    assert_eq!(t.inbox().await.len(), 0);
    let t = server(|settings| {
        settings.attributes.email_address.enabled = false;
        settings.attributes.email_address.required_at_sign_up = false;
    })
    .await;
    t.post(PATH, json!({"email_address": "a@b.test"})).await.is_error(400, "invitations_not_supported");
}

#[tokio::test]
async fn nobody_is_invited_twice_unless_told_to() {
    let t = server(|_| ()).await;
    invite(&t, "ada@example.com").await;
    let again = t.post(PATH, json!({"email_address": "ADA@example.com"})).await;
    again.is_problem(400, "duplicate_record", "email_address");
    assert_eq!(again.json["errors"][0]["meta"]["email_addresses"], json!(["ada@example.com"]));
    t.post(PATH, json!({"email_address": "ada@example.com", "ignore_existing": true})).await.ok();
    t.user_with_email("bob@example.com").await;
    let bob = json!({"email_address": "bob@example.com"});
    t.post(PATH, bob.clone()).await.is_problem(422, "form_identifier_exists", "email_address");
    t.post(PATH, json!({"email_address": "bob@example.com", "ignore_existing": true})).await.ok();
    // In bulk somebody who has an account is never invited, and nobody else then.
    let bulk = json!([{"email_address": "carl@example.com"}, {"email_address": "bob@example.com", "ignore_existing": true}]);
    let refused = t.post(&format!("{PATH}/bulk"), bulk).await;
    refused.is_problem(422, "form_identifier_exists", "email_address");
    let twice = json!([{"email_address": "carl@example.com"}, {"email_address": "Carl@example.com"}]);
    t.post(&format!("{PATH}/bulk"), twice).await.is_problem(400, "duplicate_record", "email_address");
    let beside = json!([{"email_address": "carl@example.com"}, {"email_address": "carl@example.com", "ignore_existing": true}]);
    let made = t.post(&format!("{PATH}/bulk"), beside).await.ok();
    assert_eq!(addresses(&made), ["carl", "carl"]);
    let many: Vec<Value> = (0..11).map(|n| json!({"email_address": format!("p{n}@example.com")})).collect();
    t.post(&format!("{PATH}/bulk"), json!(many)).await.is_error(400, "bulk_size_exceeded");
    assert_eq!(t.get(&format!("{PATH}?paginated=true")).await.ok()["total_count"], 5);
    // What has expired or was revoked is in nobody's way.
    t.clock.advance_ms(31 * DAY_MS);
    let made = invite(&t, "ada@example.com").await;
    revoke(&t, &made).await.ok();
    invite(&t, "ada@example.com").await;
}

#[tokio::test]
async fn lists_are_filtered_ordered_and_paged() {
    let t = server(|_| ()).await;
    let mut made = Vec::new();
    for (name, days) in [("b", 1), ("a", 300), ("d", 20), ("c", 40)] {
        t.clock.advance_ms(1);
        let body =
            json!({"email_address": format!("{name}@example.com"), "expires_in_days": days, "notify": false});
        made.push(t.post(PATH, body).await.ok());
    }
    revoke(&t, &made[2]).await.ok();
    t.browser().post(SIGN_UPS, with_ticket(&made[3])).await.ok();
    t.clock.advance_ms(2 * DAY_MS);
    for (query, expected) in [
        ("", vec!["c", "a", "b"]),
        ("status=pending", vec!["a"]),
        ("status=expired", vec!["b"]),
        ("status=revoked", vec!["d"]),
        ("status=accepted", vec!["c"]),
        ("order_by=created_at", vec!["b", "a", "c"]),
        ("order_by=%2Bemail_address", vec!["a", "b", "c"]),
        ("order_by=-email_address", vec!["c", "b", "a"]),
        ("order_by=-expires_at", vec!["a", "c", "b"]),
        ("limit=1&offset=1", vec!["a"]),
        ("query=A%40EXAMPLE", vec!["a"]),
        ("query=nobody", vec![]),
    ] {
        let page = t.get(&format!("{PATH}?{query}")).await.ok();
        assert_eq!(addresses(&page), expected, "{query}");
        let page = t.get(&format!("{PATH}?{query}&paginated=true")).await.ok();
        assert_eq!(addresses(&page["data"]), expected, "{query}");
    }
    let by_id = t.get(&format!("{PATH}?query={}", made[0]["id"].as_str().unwrap())).await.ok();
    assert_eq!(addresses(&by_id), ["b"]);
    t.get(&format!("{PATH}?order_by=id")).await.is_problem(422, "form_param_value_invalid", "order_by");
    assert_eq!(t.get(&format!("{PATH}?status=other")).await.param(), "status");
    let other = t.call(Some(&t.other), "GET", PATH, None).await.ok();
    assert_eq!(other, json!([]));
}

#[tokio::test]
async fn what_is_revoked_or_followed_is_not_revoked_again() {
    let t = server(|_| ()).await;
    let made = invite(&t, "ada@example.com").await;
    let revoked = revoke(&t, &made).await.ok();
    assert_eq!((&revoked["revoked"], &revoked["status"]), (&json!(true), &json!("revoked")));
    assert_eq!(revoked.get("url"), None);
    revoke(&t, &made).await.is_error(400, "invitation_already_revoked");
    t.browser().post(SIGN_UPS, with_ticket(&made)).await.is_error(400, "revoked_invitation");
    let followed = invite(&t, "bob@example.com").await;
    t.browser().post(SIGN_UPS, with_ticket(&followed)).await.ok();
    revoke(&t, &followed).await.is_error(400, "invitation_already_accepted");
    let expired = invite(&t, "carl@example.com").await;
    t.clock.advance_ms(31 * DAY_MS);
    assert_eq!(revoke(&t, &expired).await.ok()["status"], "revoked");
    let path = format!("{PATH}/{}/revoke", made["id"].as_str().unwrap());
    let other = t.call(Some(&t.other), "POST", &path, Some(json!({}))).await;
    other.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn deleted_invitation_leaves_no_row_no_message_and_no_valid_ticket() {
    let t = server(|_| ()).await;
    let path = |made: &Value| format!("{PATH}/{}", made["id"].as_str().unwrap());
    let pending = invite(&t, "ada@example.com").await;
    let other = invite(&t, "bob@example.com").await;
    t.call(Some(&t.other), "DELETE", &path(&pending), None).await.is_error(404, "resource_not_found");
    let deleted = t.delete(&path(&pending)).await.ok();
    assert_eq!(deleted, json!({"object": "invitation", "id": pending["id"], "deleted": true}));
    t.delete(&path(&pending)).await.is_error(404, "resource_not_found");
    revoke(&t, &pending).await.is_error(404, "resource_not_found");
    let inbox = t.inbox().await;
    assert_eq!((inbox.len(), &inbox[0]["to"]), (1, &json!("bob@example.com")), "the other copy stays");
    assert_eq!(t.get(PATH).await.ok(), json!([other]));
    t.browser().post(SIGN_UPS, with_ticket(&pending)).await.is_error(400, "ticket_invalid_code");
    invite(&t, "ada@example.com").await;
    // Invitations of any status can be deleted. The user who followed one stays.
    let followed = invite(&t, "carl@example.com").await;
    t.browser().post(SIGN_UPS, with_ticket(&followed)).await.ok();
    revoke(&t, &other).await.ok();
    for made in [&followed, &other] {
        t.delete(&path(made)).await.ok();
    }
    assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], 1);
}

#[tokio::test]
async fn whoever_is_invited_signs_up_with_what_they_were_promised() {
    for mode in [SignUpMode::Public, SignUpMode::Restricted, SignUpMode::Waitlist] {
        let t = server(|settings| settings.sign_up.mode = mode).await;
        let body = json!({"email_address": "ada@example.com", "public_metadata": {"plan": "gold"}});
        let made = t.post(PATH, body).await.ok();
        let mut browser = t.browser();
        browser.post(SIGN_INS, with_ticket(&made)).await.is_error(400, "invitation_account_not_exists");
        let done = browser.post(SIGN_UPS, with_ticket(&made)).await.ok()["response"].clone();
        assert_eq!(
            (&done["status"], &done["email_address"]),
            (&json!("complete"), &json!("ada@example.com"))
        );
        assert_eq!(done["public_metadata"], json!({"plan": "gold"}));
        let user = t.shown(done["created_user_id"].as_str().unwrap()).await;
        assert_eq!(user["public_metadata"], json!({"plan": "gold"}));
        assert_eq!(user["email_addresses"][0]["verification"]["strategy"], "ticket");
        assert_eq!(status(&t, &made).await, "accepted");
        t.browser().post(SIGN_UPS, with_ticket(&made)).await.is_error(400, "invitation_already_accepted");
        t.browser().post(SIGN_INS, with_ticket(&made)).await.is_error(400, "invitation_already_accepted");
    }
}

#[tokio::test]
async fn an_invitation_lets_in_its_own_address_and_no_other() {
    let t = server(|settings| {
        settings.sign_up.mode = SignUpMode::Restricted;
        settings.attributes.first_name.required_at_sign_up = true;
    })
    .await;
    let made = invite(&t, "ada@example.com").await;
    let mut browser = t.browser();
    let begun = browser.post(SIGN_UPS, with_ticket(&made)).await.ok()["response"].clone();
    assert_eq!(begun["missing_fields"], json!(["first_name"]));
    assert_eq!(status(&t, &made).await, "pending");
    let path = format!("{SIGN_UPS}/{}", begun["id"].as_str().unwrap());
    let other = browser.patch(&path, json!({"email_address": "eve@example.com"})).await;
    other.is_problem(422, "form_param_value_invalid", "email_address");
    // Revoked meanwhile, it lets nobody in.
    let second = t.post(PATH, json!({"email_address": "bob@example.com"})).await.ok();
    let mut bob = t.browser();
    let begun = bob.post(SIGN_UPS, with_ticket(&second)).await.ok()["response"]["id"].clone();
    revoke(&t, &second).await.ok();
    let refused =
        bob.patch(&format!("{SIGN_UPS}/{}", begun.as_str().unwrap()), json!({"first_name": "Bob"})).await;
    refused.is_error(400, "revoked_invitation");
    let done = browser.patch(&path, json!({"first_name": "Ada"})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
}

#[tokio::test]
async fn whoever_has_an_account_signs_in_by_the_invitation() {
    let t = server(|_| ()).await;
    let ada = t.user(json!({"email_address": ["ada@example.com"], "public_metadata": {"a": 1}})).await;
    let body =
        json!({"email_address": "ada@example.com", "ignore_existing": true, "public_metadata": {"b": 2}});
    let made = t.post(PATH, body.clone()).await.ok();
    t.browser().post(SIGN_UPS, with_ticket(&made)).await.is_error(400, "invitation_account_exists");
    let signed_in = t.browser().post(SIGN_INS, with_ticket(&made)).await.ok();
    assert_eq!(signed_in["response"]["status"], "complete");
    let user = t.shown(ada["id"].as_str().unwrap()).await;
    assert_eq!(user["public_metadata"], json!({"a": 1, "b": 2}));
    assert_eq!(status(&t, &made).await, "accepted");
    // An account that only reserves the address may be a stranger's.
    let reserved =
        json!({"email_address": ["eve@example.com"], "email_address_identification_status": ["reserved"]});
    t.user(reserved).await;
    let body = json!({"email_address": "eve@example.com", "ignore_existing": true});
    let made = t.post(PATH, body).await.ok();
    t.browser().post(SIGN_INS, with_ticket(&made)).await.is_problem(
        422,
        "form_verification_needed",
        "ticket",
    );
    assert_eq!(status(&t, &made).await, "pending");
}

/// Whoever only reads the mailbox gets nothing that was promised, and uses nothing up.
#[tokio::test]
async fn what_was_promised_is_given_after_the_second_factor() {
    let t = server(|_| ()).await;
    let fields = json!({"email_address": ["ada@example.com"], "backup_codes": ["first-code-1"],
        "totp_secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"});
    let ada = t.user(fields).await["id"].as_str().unwrap().to_owned();
    let body =
        json!({"email_address": "ada@example.com", "ignore_existing": true, "public_metadata": {"b": 2}});
    let made = t.post(PATH, body).await.ok();
    for gives_up in [true, false] {
        let mut browser = t.browser();
        let sign_in = browser.post(SIGN_INS, with_ticket(&made)).await.ok()["response"].take();
        assert_eq!(sign_in["status"], "needs_second_factor");
        assert_eq!(t.shown(&ada).await["public_metadata"], json!({}));
        assert_eq!(status(&t, &made).await, "pending");
        if gives_up {
            continue;
        }
        let path = format!("{SIGN_INS}/{}/attempt_second_factor", sign_in["id"].as_str().unwrap());
        let right = json!({"strategy": "backup_code", "code": "first-code-1"});
        assert_eq!(browser.post(&path, right).await.ok()["response"]["status"], "complete");
    }
    assert_eq!(t.shown(&ada).await["public_metadata"], json!({"b": 2}));
    assert_eq!(status(&t, &made).await, "accepted");
    t.browser().post(SIGN_INS, with_ticket(&made)).await.is_error(400, "invitation_already_accepted");
}

#[tokio::test]
async fn the_link_leads_to_what_is_left_to_do() {
    let t = server(|_| ()).await;
    let made = invite(&t, "ada@example.com").await;
    let elsewhere =
        json!({"email_address": "bob@example.com", "redirect_url": "https://app.example.com/join?x=1"});
    let elsewhere = t.post(PATH, elsewhere).await.ok();
    let path = |made: &Value| format!("/v1/tickets/accept?ticket={}", ticket(made));
    let query =
        |made: &Value, status: &str| format!("__clerk_ticket={}&__clerk_status={status}", ticket(made));
    let mut browser = t.browser();
    let there = browser.open(&path(&made)).await;
    assert_eq!(there.status, 303);
    assert_eq!(
        there.header("location"),
        format!("http://localhost:3401/sign-up?{}", query(&made, "sign_up"))
    );
    let there = browser.open(&path(&elsewhere)).await;
    let expected = format!("https://app.example.com/join?x=1&{}", query(&elsewhere, "sign_up"));
    assert_eq!(there.header("location"), expected);
    let mut ada = somebody(&t, "ada@example.com").await;
    let there = browser.open(&path(&made)).await;
    assert_eq!(
        there.header("location"),
        format!("http://localhost:3401/sign-in?{}", query(&made, "sign_in"))
    );
    assert_eq!(status(&t, &made).await, "pending", "a link uses nothing up");
    for _ in 0..2 {
        let there = ada.browser.open(&path(&made)).await.header("location").to_owned();
        assert!(there.ends_with(&query(&made, "complete")), "{there}");
    }
    assert_eq!(status(&t, &made).await, "accepted");
    browser.open(&path(&made)).await.is_error(400, "invitation_already_accepted");
    // Who comes too late signs up like everybody else.
    t.clock.advance_ms(31 * DAY_MS);
    let late = browser.open(&path(&elsewhere)).await;
    assert_eq!((late.status, late.header("location")), (303, "https://app.example.com/join?x=1"));
    t.browser().post(SIGN_UPS, with_ticket(&elsewhere)).await.is_error(400, "ticket_expired_code");
}

#[tokio::test]
async fn tickets_open_nothing_in_another_instance_and_none_is_made_up() {
    let t = server(|_| ()).await;
    let made = invite(&t, "ada@example.com").await;
    let genuine = ticket(&made);
    let parts: Vec<&str> = genuine.split('.').collect();
    for forged in [format!("{genuine}x"), format!("{}.{}.", parts[0], parts[1])] {
        for path in [SIGN_INS, SIGN_UPS] {
            let fields = json!({"strategy": "ticket", "ticket": forged});
            t.browser().post(path, fields).await.is_error(400, "ticket_invalid_code");
        }
    }
    for path in [SIGN_INS, SIGN_UPS] {
        let mut browser = t.browser_at(&t.other);
        browser.origin = None;
        browser.post(path, with_ticket(&made)).await.is_error(400, "ticket_invalid_code");
    }
}

async fn crowd<F, W>(t: &Arc<TestServer>, work: W) -> Vec<(u16, String)>
where
    F: Future<Output = (u16, String)> + Send + 'static,
    W: Fn(Arc<TestServer>, usize) -> F,
{
    let tasks: Vec<_> = (0..CROWD).map(|nth| tokio::spawn(work(t.clone(), nth))).collect();
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    all
}

fn successes(outcomes: &[(u16, String)]) -> usize {
    assert!(outcomes.iter().all(|(status, _)| *status < 500), "{outcomes:?}");
    outcomes.iter().filter(|(status, _)| *status == 200).count()
}

#[tokio::test]
async fn of_many_who_sign_up_by_one_invitation_at_once_one_becomes_a_user() {
    let t = Arc::new(server(|_| ()).await);
    let fields = with_ticket(&invite(&t, "ada@example.com").await);
    let outcomes = crowd(&t, |t, _| {
        let fields = fields.clone();
        async move {
            let answer = t.browser().post(SIGN_UPS, fields).await;
            (answer.status, answer.code().to_owned())
        }
    })
    .await;
    assert_eq!(successes(&outcomes), 1, "{outcomes:?}");
    assert_eq!(t.get("/v1/users").await.ok().as_array().unwrap().len(), 1);
    let created = t.events().await.iter().filter(|event| event.kind == "user.created").count();
    assert_eq!(created, 1);
}

#[tokio::test]
async fn an_invitation_is_followed_or_revoked_and_never_both() {
    let t = Arc::new(server(|_| ()).await);
    for round in 0..4 {
        let address = format!("ada{round}@example.com");
        let made = invite(&t, &address).await;
        let (fields, path) = (with_ticket(&made), format!("{PATH}/{}/revoke", made["id"].as_str().unwrap()));
        let outcomes = crowd(&t, |t, nth| {
            let (fields, path) = (fields.clone(), path.clone());
            async move {
                let answer = match nth % 2 == round % 2 {
                    true => t.post(&path, json!({})).await,
                    false => t.browser().post(SIGN_UPS, fields).await,
                };
                (answer.status, answer.code().to_owned())
            }
        })
        .await;
        assert_eq!(successes(&outcomes), 1, "{outcomes:?}");
        let users = t.get(&format!("/v1/users?email_address={address}")).await.ok();
        let is_followed = status(&t, &made).await == "accepted";
        assert_eq!(users.as_array().unwrap().len(), usize::from(is_followed));
    }
}

#[tokio::test]
async fn of_many_who_invite_one_address_at_once_one_succeeds() {
    let t = Arc::new(server(|_| ()).await);
    let outcomes = crowd(&t, |t, nth| async move {
        let body = json!({"email_address": "ada@example.com"});
        let answer = match nth % 2 == 0 {
            true => t.post(PATH, body).await,
            false => t.post(&format!("{PATH}/bulk"), json!([body])).await,
        };
        (answer.status, answer.code().to_owned())
    })
    .await;
    assert_eq!(successes(&outcomes), 1, "{outcomes:?}");
    assert!(outcomes.iter().filter(|(status, _)| *status != 200).all(|(_, code)| code == "duplicate_record"));
    assert_eq!(t.inbox().await.len(), 1);
}
