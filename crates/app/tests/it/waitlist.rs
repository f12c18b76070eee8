//! The waitlist: joined in browsers, filled and decided by backends, left by signing up.

use std::sync::Arc;

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{Settings, SignUpMode};
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

use crate::sign_ups::server as server_with;

const PATH: &str = "/v1/waitlist_entries";
const BULK: &str = "/v1/waitlist_entries/bulk";
const JOIN: &str = "/v1/waitlist";
const SIGN_INS: &str = "/v1/client/sign_ins";
const SIGN_UPS: &str = "/v1/client/sign_ups";
const BLOCKED: &str = "/v1/blocklist_identifiers";
/// How many do something at once.
const CROWD: usize = 64;

fn waiting(settings: &mut Settings) {
    settings.sign_up.mode = SignUpMode::Waitlist;
    settings.attributes.password.required_at_sign_up = false;
}

async fn server(change: impl FnOnce(&mut Settings)) -> TestServer {
    server_with(|settings| {
        waiting(settings);
        change(settings);
    })
    .await
}

async fn join(t: &TestServer, address: &str) -> Answer {
    t.browser().post(JOIN, json!({"email_address": address})).await
}

async fn put(t: &TestServer, address: &str) -> Value {
    t.post(PATH, json!({"email_address": address, "notify": false})).await.ok()
}

fn path(entry: &Value, action: &str) -> String {
    let id = entry["id"].as_str().unwrap();
    if action.is_empty() { format!("{PATH}/{id}") } else { format!("{PATH}/{id}/{action}") }
}

async fn invite(t: &TestServer, entry: &Value) -> Answer {
    t.post(&path(entry, "invite"), json!({})).await
}

/// Shows the ticket of the invitation of an entry.
async fn show_ticket(t: &TestServer, at: &str, invited: &Value) -> Answer {
    let ticket = invited["invitation"]["url"].as_str().unwrap().split_once("ticket=").unwrap().1;
    t.browser().post(at, json!({"strategy": "ticket", "ticket": ticket})).await
}

async fn found(t: &TestServer, entry: &Value) -> Value {
    let page = t.get(&format!("{PATH}?query={}", entry["id"].as_str().unwrap())).await.ok();
    page["data"][0].clone()
}

/// What was told of entries, in order.
async fn told(t: &TestServer) -> Vec<(String, Value)> {
    let events = t.events().await.into_iter();
    events.filter(|event| event.kind.starts_with("waitlist")).map(|event| (event.kind, event.data)).collect()
}

async fn slugs(t: &TestServer) -> Vec<String> {
    t.inbox().await.iter().map(|message| message["slug"].as_str().unwrap().to_owned()).collect()
}

fn names(page: &Value) -> Vec<String> {
    let all = page.as_array().unwrap().iter();
    all.map(|one| one["email_address"].as_str().unwrap().split('@').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn from_joining_to_having_an_account() {
    let t = server(|_| ()).await;
    let joined = join(&t, "Ada@Example.com").await.ok();
    let page = t.get(PATH).await.ok();
    let entry = page["data"][0].clone();
    assert_eq!((&page["total_count"], &entry["id"]), (&json!(1), &joined["id"]));
    assert_eq!(joined, json!({"object": "waitlist_entry", "id": entry["id"]}));
    assert_eq!(entry["email_address"], "ada@example.com");
    assert_eq!((&entry["status"], &entry["invitation"]), (&json!("pending"), &Value::Null));
    assert_eq!(slugs(&t).await, ["waitlist_confirmation"]);
    assert_eq!(told(&t).await, [("waitlistEntry.created".to_owned(), entry.clone())]);

    t.clock.advance_ms(1000);
    let refused = t.browser().post(SIGN_UPS, json!({"email_address": "ada@example.com"})).await;
    refused.is_error(403, "sign_up_restricted_waitlist");
    let invited = invite(&t, &entry).await.ok();
    assert_eq!(
        (&invited["status"], &invited["invitation"]["status"]),
        (&json!("invited"), &json!("pending"))
    );
    assert_eq!(invited["invitation"]["email_address"], "ada@example.com");
    assert_eq!(invited["updated_at"], json!(entry["updated_at"].as_i64().unwrap() + 1000));
    assert_eq!(slugs(&t).await, ["waitlist_invitation", "waitlist_confirmation"]);
    let link = t.inbox().await[0]["link"].clone();
    assert_eq!(link, invited["invitation"]["url"]);
    assert_eq!(t.get("/v1/invitations").await.ok(), json!([invited["invitation"]]));
    assert_eq!(told(&t).await[1], ("waitlistEntry.updated".to_owned(), invited.clone()));
    assert_eq!(found(&t, &entry).await, invited);

    let done = show_ticket(&t, SIGN_UPS, &invited).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    let completed = found(&t, &entry).await;
    assert_eq!(
        (&completed["status"], &completed["invitation"]["status"]),
        (&json!("completed"), &json!("accepted"))
    );
    assert_eq!(told(&t).await[2], ("waitlistEntry.updated".to_owned(), completed));
    assert_eq!(told(&t).await.len(), 3);
    // Joining anew changes nothing.
    assert_eq!(join(&t, "ada@example.com").await.ok(), joined);
    assert_eq!((told(&t).await.len(), t.inbox().await.len()), (3, 2));
}

#[tokio::test]
async fn whoever_is_on_the_list_is_answered_as_before_and_mailed_once() {
    let t = server(|_| ()).await;
    t.user_with_email("bob@example.com").await;
    for address in ["ada@example.com", "bob@example.com"] {
        let first = join(&t, address).await.ok();
        t.clock.advance_ms(5000);
        assert_eq!(join(&t, &address.to_uppercase()).await.ok(), first);
        let by_backend = t.post(PATH, json!({"email_address": address})).await.ok();
        assert_eq!(by_backend["id"], first["id"]);
    }
    assert_eq!(slugs(&t).await, ["waitlist_confirmation", "waitlist_confirmation"]);
    assert_eq!(t.get(PATH).await.ok()["total_count"], 2);
    assert_eq!(told(&t).await.len(), 2);
}

#[tokio::test]
async fn nobody_learns_who_waits_where_that_is_not_to_be_learnt() {
    let t = server(|settings| {
        settings.attack_protection.enumeration_protection = true;
        settings.restrictions.block_email_subaddresses = true;
    })
    .await;
    let first = join(&t, "ada@example.com").await;
    t.clock.advance_ms(60_000);
    let (again, other) = (join(&t, "ada@example.com").await, join(&t, "bob@example.com").await);
    let mut names: Vec<Vec<String>> = Vec::new();
    for answer in [&first, &again, &other] {
        assert_eq!((answer.status, answer.header("latchkey-event-seq")), (200, ""));
        names.push(answer.json.as_object().unwrap().keys().cloned().collect());
    }
    assert_eq!((&names[0], &names[1]), (&names[1], &names[2]));
    // An id begins with the time at which it was made.
    let time = |answer: &Answer| answer.json["id"].as_str().unwrap()[.."wle_00000".len()].to_owned();
    assert_eq!(time(&again), time(&other));
    assert_ne!(time(&first), time(&other));
    t.user_with_email("jsmith@gmail.com").await;
    join(&t, "j.smith@gmail.com").await.ok();
    assert_eq!(t.get(PATH).await.ok()["total_count"], 3);
}

#[tokio::test]
async fn people_join_only_where_there_is_a_waitlist_and_backends_always() {
    for mode in [SignUpMode::Public, SignUpMode::Restricted] {
        let t = server(|settings| settings.sign_up.mode = mode).await;
        join(&t, "ada@example.com").await.is_error(403, "waitlist_not_accepting_entries");
        assert_eq!(t.get(PATH).await.ok()["total_count"], 0);
        put(&t, "ada@example.com").await;
        assert_eq!(t.get(PATH).await.ok()["total_count"], 1);
    }
}

#[tokio::test]
async fn an_address_with_which_nobody_could_sign_up_does_not_join() {
    let t = server(|settings| {
        settings.restrictions.blocklist = true;
        settings.restrictions.block_email_subaddresses = true;
        settings.restrictions.block_disposable_email_domains = true;
    })
    .await;
    t.user_with_email("jsmith@gmail.com").await;
    t.post(BLOCKED, json!({"identifier": "*@blocked.test"})).await.ok();
    for address in ["ada@blocked.test", "ada+1@example.com", "ada@mailinator.com", "j.smith@gmail.com"] {
        let refused = join(&t, address).await;
        refused.is_problem(403, "not_allowed_access", "email_address");
        assert_eq!(refused.json["errors"][0]["meta"]["identifiers"], json!([address]));
    }
    for (fields, code) in [
        (json!({}), "form_param_missing"),
        (json!({"email_address": ""}), "form_param_format_invalid"),
        (json!({"email_address": "ada"}), "form_param_format_invalid"),
    ] {
        t.browser().post(JOIN, fields).await.is_problem(422, code, "email_address");
    }
    assert_eq!(t.get(PATH).await.ok()["total_count"], 0);
    assert_eq!(t.inbox().await.len(), 0);
    join(&t, "ada@example.com").await.ok();
}

#[tokio::test]
async fn one_network_does_not_fill_the_list() {
    let mut settings = Settings::default();
    waiting(&mut settings);
    let t = TestServer::start_with(RateLimits::default(), settings).await;
    for number in 0..5 {
        join(&t, &format!("p{number}@example.com")).await.ok();
    }
    join(&t, "p5@example.com").await.is_error(429, "too_many_requests");
}

#[tokio::test]
async fn one_mailbox_is_not_filled_with_confirmations() {
    let t = server(|_| ()).await;
    for number in 0..10 {
        join(&t, &format!("ada+{number}@example.com")).await.ok();
    }
    let refused = join(&t, "ada+10@example.com").await;
    assert_eq!(refused.status, 429);
    assert_eq!(t.get(PATH).await.ok()["total_count"], 10);
    t.clock.advance_ms(3_600_000);
    join(&t, "ada+10@example.com").await.ok();
}

#[tokio::test]
async fn backends_put_addresses_on_the_list_all_or_none() {
    let t = server(|_| ()).await;
    let known = put(&t, "carl@example.com").await;
    let body = json!([
        {"email_address": "zoe@example.com"}, {"email_address": "Carl@example.com"},
        {"email_address": "ada@example.com", "notify": false},
    ]);
    let made = t.post(BULK, body).await.ok();
    assert_eq!(names(&made), ["zoe", "carl", "ada"]);
    assert_eq!(made[1], known);
    let inbox = t.inbox().await;
    assert_eq!((inbox.len(), &inbox[0]["to"]), (1, &json!("zoe@example.com")));
    for (bad, status, code) in [
        (json!({"email_address": "nobody"}), 422, "form_param_format_invalid"),
        (json!({}), 422, "form_param_missing"),
        (json!({"email_address": "x@example.com", "surprise": 1}), 422, "form_param_unknown"),
        (json!({"email_address": "NEW@example.com"}), 400, "duplicate_record"),
    ] {
        let refused = t.post(BULK, json!([{"email_address": "new@example.com"}, bad])).await;
        assert_eq!((refused.status, refused.code()), (status, code));
    }
    let many: Vec<Value> = (0..51).map(|n| json!({"email_address": format!("p{n}@example.com")})).collect();
    t.post(BULK, json!(many)).await.is_error(400, "bulk_size_exceeded");
    t.post(BULK, json!([])).await.is_error(422, "form_param_value_invalid");
    assert_eq!(t.get(PATH).await.ok()["total_count"], 3, "all or none");
    assert_eq!(t.post(BULK, json!(many[..50])).await.ok().as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn every_status_refuses_what_is_not_possible_any_more() {
    let t = server(|_| ()).await;
    let mut entries = Vec::new();
    for name in ["invited", "completed", "rejected"] {
        entries.push(put(&t, &format!("{name}@example.com")).await);
    }
    invite(&t, &entries[0]).await.ok();
    let invited = invite(&t, &entries[1]).await.ok();
    show_ticket(&t, SIGN_UPS, &invited).await.ok();
    let rejected = t.post(&path(&entries[2], "reject"), json!({})).await.ok();
    assert_eq!((&rejected["status"], &rejected["invitation"]), (&json!("rejected"), &Value::Null));
    let (kind, data) = told(&t).await.pop().unwrap();
    assert_eq!((kind.as_str(), data), ("waitlistEntry.updated", rejected));
    let before = (told(&t).await.len(), t.inbox().await.len());
    for (entry, code) in entries.iter().zip([
        "waitlist_entry_already_invited",
        "waitlist_entry_already_completed",
        "waitlist_entry_already_rejected",
    ]) {
        invite(&t, entry).await.is_error(409, code);
        t.post(&path(entry, "reject"), json!({})).await.is_error(409, code);
        t.delete(&path(entry, "")).await.is_error(409, code);
    }
    assert_eq!((told(&t).await.len(), t.inbox().await.len()), before);
    let pending = put(&t, "pending@example.com").await;
    let gone = t.delete(&path(&pending, "")).await.ok();
    assert_eq!(gone, json!({"object": "waitlist_entry", "id": pending["id"], "deleted": true}));
    t.delete(&path(&pending, "")).await.is_error(404, "resource_not_found");
    invite(&t, &pending).await.is_error(404, "resource_not_found");
    assert_ne!(put(&t, "pending@example.com").await["id"], pending["id"]);
}

#[tokio::test]
async fn what_stands_in_the_way_of_an_invitation_is_told_and_can_be_ignored() {
    let t = server(|_| ()).await;
    t.user_with_email("bob@example.com").await;
    t.post("/v1/invitations", json!({"email_address": "ada@example.com"})).await.ok();
    let (ada, bob) = (put(&t, "ada@example.com").await, put(&t, "bob@example.com").await);
    invite(&t, &ada).await.is_problem(400, "duplicate_record", "email_address");
    invite(&t, &bob).await.is_problem(422, "form_identifier_exists", "email_address");
    for entry in [&ada, &bob] {
        assert_eq!(found(&t, entry).await["status"], "pending");
    }
    let anyway = json!({"ignore_existing": true});
    let first = t.post(&path(&ada, "invite"), anyway.clone()).await.ok();
    // Whoever lost the mail is invited anew, and may follow either link.
    let second = t.post(&path(&ada, "invite"), anyway.clone()).await.ok();
    assert_ne!(first["invitation"]["id"], second["invitation"]["id"]);
    assert_eq!(found(&t, &ada).await["invitation"]["id"], second["invitation"]["id"]);
    show_ticket(&t, SIGN_UPS, &first).await.ok();
    let completed = found(&t, &ada).await;
    assert_eq!(
        (&completed["status"], &completed["invitation"]["id"]),
        (&json!("completed"), &first["invitation"]["id"])
    );
    // Whoever has an account signs in by it.
    let invited = t.post(&path(&bob, "invite"), anyway).await.ok();
    assert_eq!(show_ticket(&t, SIGN_INS, &invited).await.ok()["response"]["status"], "complete");
    assert_eq!(found(&t, &bob).await["status"], "completed");
}

#[tokio::test]
async fn an_invitation_from_elsewhere_says_nothing_about_those_who_wait() {
    let t = server(|_| ()).await;
    let (pending, rejected) = (put(&t, "ada@example.com").await, put(&t, "eve@example.com").await);
    t.post(&path(&rejected, "reject"), json!({})).await.ok();
    for (entry, status) in [(&pending, "pending"), (&rejected, "rejected")] {
        let made = t.post("/v1/invitations", json!({"email_address": entry["email_address"]})).await.ok();
        show_ticket(&t, SIGN_UPS, &json!({ "invitation": made })).await.ok();
        assert_eq!(found(&t, entry).await["status"], status);
    }
}

#[tokio::test]
async fn without_e_mail_nobody_is_invited() {
    let t = server_with(|settings| {
        settings.attributes.email_address.enabled = false;
        settings.attributes.email_address.required_at_sign_up = false;
    })
    .await;
    let entry = put(&t, "ada@example.com").await;
    invite(&t, &entry).await.is_error(400, "invitations_not_supported");
}

#[tokio::test]
async fn lists_are_filtered_ordered_and_paged() {
    let t = server(|_| ()).await;
    let mut made = Vec::new();
    for name in ["b", "a", "d", "c"] {
        t.clock.advance_ms(1);
        made.push(put(&t, &format!("{name}@example.com")).await);
    }
    for nth in [1, 0] {
        t.clock.advance_ms(1);
        made[nth] = invite(&t, &made[nth]).await.ok();
    }
    show_ticket(&t, SIGN_UPS, &made[0]).await.ok();
    t.post(&path(&made[2], "reject"), json!({})).await.ok();
    for (query, expected, total) in [
        ("", vec!["c", "d", "a", "b"], 4),
        ("status=pending", vec!["c"], 1),
        ("status=invited", vec!["a"], 1),
        ("status=completed", vec!["b"], 1),
        ("status=rejected", vec!["d"], 1),
        ("order_by=created_at", vec!["b", "a", "d", "c"], 4),
        ("order_by=%2Bemail_address", vec!["a", "b", "c", "d"], 4),
        ("order_by=-email_address", vec!["d", "c", "b", "a"], 4),
        ("limit=2&order_by=invited_at", vec!["a", "b"], 4),
        ("limit=2&order_by=-invited_at", vec!["b", "a"], 4),
        ("limit=1&offset=1", vec!["d"], 4),
        ("query=A%40EXAMPLE", vec!["a"], 1),
        ("query=example&status=rejected", vec!["d"], 1),
        ("query=nobody", vec![], 0),
    ] {
        let page = t.get(&format!("{PATH}?{query}")).await.ok();
        assert_eq!(
            (names(&page["data"]), &page["total_count"]),
            (expected.into_iter().map(str::to_owned).collect(), &json!(total)),
            "{query}"
        );
    }
    assert_eq!(names(&json!([found(&t, &made[3]).await])), ["c"]);
    t.get(&format!("{PATH}?order_by=id")).await.is_problem(422, "form_param_value_invalid", "order_by");
    assert_eq!(t.get(&format!("{PATH}?status=other")).await.param(), "status");
    let other = t.call(Some(&t.other), "GET", PATH, None).await.ok();
    assert_eq!(other, json!({"data": [], "total_count": 0}));
}

#[tokio::test]
async fn the_list_of_one_instance_is_none_of_another() {
    let t = server(|_| ()).await;
    let entry = put(&t, "ada@example.com").await;
    let body = Some(json!({"email_address": "ada@example.com"}));
    let other = t.call(Some(&t.other), "POST", PATH, body).await.ok();
    assert_ne!(other["id"], entry["id"]);
    for action in ["invite", "reject"] {
        let answer = t.call(Some(&t.other), "POST", &path(&entry, action), Some(json!({}))).await;
        answer.is_error(404, "resource_not_found");
    }
    t.call(Some(&t.other), "DELETE", &path(&entry, ""), None).await.is_error(404, "resource_not_found");
    assert_eq!(found(&t, &entry).await, entry);
}

#[tokio::test]
async fn browsers_are_told_of_the_waitlist() {
    let t = server(|settings| {
        settings.display.waitlist_url = Some("https://app.example.com/wait".to_owned());
        settings.display.after_join_waitlist_url = Some("https://app.example.com/thanks".to_owned());
    })
    .await;
    let seen = t.browser().get("/v1/environment").await.ok();
    assert_eq!(seen["user_settings"]["sign_up"]["mode"], "waitlist");
    assert_eq!(seen["display_config"]["waitlist_url"], "https://app.example.com/wait");
    assert_eq!(seen["display_config"]["after_join_waitlist_url"], "https://app.example.com/thanks");
    let page = t.browser().open("/waitlist").await;
    let html = String::from_utf8(page.bytes).unwrap();
    assert!(html.contains(r#""afterJoinWaitlistUrl":"https://app.example.com/thanks""#), "{html}");
}

async fn crowd<F, W>(t: &Arc<TestServer>, work: W) -> Vec<(u16, String)>
where
    F: Future<Output = Answer> + Send + 'static,
    W: Fn(Arc<TestServer>, usize) -> F,
{
    let tasks: Vec<_> = (0..CROWD).map(|nth| tokio::spawn(work(t.clone(), nth))).collect();
    let mut all = Vec::new();
    for task in tasks {
        let answer = task.await.unwrap();
        assert!(answer.status < 500, "{:#}", answer.json);
        let said = if answer.status == 200 { answer.json["id"].as_str() } else { Some(answer.code()) };
        all.push((answer.status, said.unwrap_or_default().to_owned()));
    }
    all
}

fn successes(outcomes: &[(u16, String)]) -> usize {
    outcomes.iter().filter(|(status, _)| *status == 200).count()
}

#[tokio::test]
async fn one_address_that_joins_many_times_at_once_has_one_entry() {
    let t = Arc::new(server(|_| ()).await);
    let outcomes = crowd(&t, |t, nth| async move {
        match nth % 3 {
            0 => t.post(PATH, json!({"email_address": "ada@example.com"})).await,
            _ => t.browser().post(JOIN, json!({"email_address": "ada@example.com"})).await,
        }
    })
    .await;
    assert_eq!(successes(&outcomes), CROWD, "{outcomes:?}");
    assert!(outcomes.iter().all(|(_, id)| *id == outcomes[0].1), "{outcomes:?}");
    assert_eq!(t.get(PATH).await.ok()["total_count"], 1);
    assert_eq!((told(&t).await.len(), t.inbox().await.len()), (1, 1));
}

#[tokio::test]
async fn many_lists_of_the_same_addresses_in_other_orders_all_succeed() {
    let t = Arc::new(server(|_| ()).await);
    let outcomes = crowd(&t, |t, nth| async move {
        let mut list: Vec<Value> =
            (0..5).map(|n| json!({"email_address": format!("p{n}@example.com")})).collect();
        list.rotate_left(nth % 5);
        t.post(BULK, json!(list)).await
    })
    .await;
    assert_eq!(successes(&outcomes), CROWD, "{outcomes:?}");
    assert_eq!((t.get(PATH).await.ok()["total_count"].as_i64(), told(&t).await.len()), (Some(5), 5));
}

#[tokio::test]
async fn of_many_who_invite_somebody_at_once_one_succeeds() {
    let t = Arc::new(server(|_| ()).await);
    let entry = put(&t, "ada@example.com").await;
    let invite = path(&entry, "invite");
    let outcomes = crowd(&t, |t, _| {
        let invite = invite.clone();
        async move { t.post(&invite, json!({})).await }
    })
    .await;
    assert_eq!(successes(&outcomes), 1, "{outcomes:?}");
    let refusals: Vec<_> = outcomes.iter().filter(|(status, _)| *status != 200).collect();
    assert!(refusals.iter().all(|(_, code)| code == "waitlist_entry_already_invited"), "{outcomes:?}");
    assert_eq!(t.get("/v1/invitations").await.ok().as_array().unwrap().len(), 1);
    assert_eq!(slugs(&t).await, ["waitlist_invitation"]);
}

#[tokio::test]
async fn somebody_is_invited_or_rejected_or_deleted_and_never_two_of_these() {
    let t = Arc::new(server(|_| ()).await);
    for round in 0..4 {
        let entry = put(&t, &format!("ada{round}@example.com")).await;
        let paths = [path(&entry, "invite"), path(&entry, "reject"), path(&entry, "")];
        let outcomes = crowd(&t, |t, nth| {
            let action = (nth + round) % 3;
            let path = paths[action].clone();
            async move {
                match action {
                    2 => t.delete(&path).await,
                    _ => t.post(&path, json!({})).await,
                }
            }
        })
        .await;
        assert_eq!(successes(&outcomes), 1, "{outcomes:?}");
        let address = entry["email_address"].as_str().unwrap();
        let invitations = t.get(&format!("/v1/invitations?query={address}")).await.ok();
        let is_invited = found(&t, &entry).await["status"] == "invited";
        assert_eq!(invitations.as_array().unwrap().len(), usize::from(is_invited));
    }
}

#[tokio::test]
async fn whoever_signs_up_while_being_invited_anew_waits_no_more() {
    let t = Arc::new(server(|_| ()).await);
    let entry = put(&t, "ada@example.com").await;
    let invited = invite(&t, &entry).await.ok();
    let again = path(&entry, "invite");
    let outcomes = crowd(&t, |t, nth| {
        let (again, invited) = (again.clone(), invited.clone());
        async move {
            match nth % 2 {
                0 => t.post(&again, json!({"ignore_existing": true})).await,
                _ => show_ticket(&t, SIGN_UPS, &invited).await,
            }
        }
    })
    .await;
    let signed_up = outcomes.iter().skip(1).step_by(2).filter(|(status, _)| *status == 200).count();
    assert_eq!(signed_up, 1, "{outcomes:?}");
    let completed = found(&t, &entry).await;
    assert_eq!(completed["status"], "completed");
    assert_eq!(completed["invitation"]["id"], invited["invitation"]["id"]);
}
