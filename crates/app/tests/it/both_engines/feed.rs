//! The feed of events, and the number every change answers with.

use latchkey_kernel::events::Event;
use latchkey_kernel::limits::FEED_WAITERS;
use latchkey_testkit::{Answer, TestServer, until};
use serde_json::{Value, json};

fn seq(answer: &Answer) -> Option<i64> {
    answer.headers.get("latchkey-event-seq").map(|value| value.to_str().unwrap().parse().unwrap())
}

fn numbers(feed: &Value) -> Vec<i64> {
    feed["data"].as_array().unwrap().iter().map(|event| event["seq"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn every_change_answers_with_the_number_of_the_last_event_it_caused() {
    let t = TestServer::start().await;
    let created = t.post("/v1/users", json!({"username": "countess"})).await;
    assert_eq!(seq(&created), Some(1));
    let id = created.json["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/users/{id}");
    let changed = t.patch(&path, json!({"first_name": "Ada"})).await;
    assert_eq!(seq(&changed), Some(2));
    // Nothing happened, so there is nothing to name.
    assert_eq!(seq(&t.patch(&path, json!({"first_name": "Ada"})).await), None);
    assert_eq!(seq(&t.get(&path).await), None);
    assert_eq!(seq(&t.post("/v1/users", json!({"username": "countess"})).await), None);
    t.post("/v1/sessions", json!({"user_id": id})).await.ok();
    // The session is revoked, then the user deleted.
    assert_eq!(seq(&t.delete(&path).await), Some(5));
}

#[tokio::test]
async fn feed_goes_on_behind_an_event_that_cannot_be_read() {
    let t = TestServer::start().await;
    let first = t.user(json!({"username": "first"})).await;
    t.user(json!({"username": "second"})).await;
    let third = t.user(json!({"username": "third"})).await;
    // As after a change of the master key.
    let sql = "UPDATE events SET data = '', data_sealed = $1 WHERE seq = 2";
    assert_eq!(t.run_sql(sql, vec![b"sealed with another key"[..].into()]).await, 1);
    let feed = t.get("/v1/events").await.ok();
    assert_eq!(numbers(&feed), [1, 2, 3]);
    assert_eq!((&feed["data"][0]["data"], feed["data"][0].get("unreadable")), (&first, None));
    let lost = &feed["data"][1];
    assert_eq!((&lost["data"], &lost["unreadable"]), (&json!(null), &json!(true)));
    assert_eq!((&lost["type"], &lost["object"]), (&json!("user.created"), &json!("event")));
    assert!(lost["id"].as_str().unwrap().starts_with("msg_"));
    assert_eq!(feed["data"][2]["data"], third);
    assert_eq!(feed["last_seq"], 3);
}

#[tokio::test]
async fn feed_has_every_event_in_order_as_receivers_see_it() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "countess", "private_metadata": {"a": 1}})).await;
    let id = user["id"].as_str().unwrap();
    let session = t.post("/v1/sessions", json!({"user_id": id})).await.ok();
    t.delete(&format!("/v1/users/{id}")).await.ok();
    let feed = t.get("/v1/events").await.ok();
    assert_eq!(
        (&feed["object"], &feed["last_seq"], &feed["has_more"]),
        (&json!("list"), &json!(4), &json!(false))
    );
    assert_eq!(numbers(&feed), [1, 2, 3, 4]);
    let kinds: Vec<&str> =
        feed["data"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user.created", "session.created", "session.revoked", "user.deleted"]);
    let first = &feed["data"][0];
    assert_eq!((&first["data"], &first["object"]), (&user, &json!("event")));
    assert_eq!(
        (&first["instance_id"], &first["timestamp"]),
        (&json!(t.tenant.id.as_str()), &user["created_at"])
    );
    assert!(first["id"].as_str().unwrap().starts_with("msg_"));
    assert!(first["event_attributes"]["http_request"]["client_ip"].is_string());
    assert_eq!(feed["data"][1]["data"]["id"], session["id"]);
    assert_eq!(feed["data"][1]["data"]["user"]["id"], json!(id));
}

#[tokio::test]
async fn feed_goes_on_where_the_caller_stopped() {
    let t = TestServer::start().await;
    for number in 0..5 {
        t.user(json!({"username": format!("user{number}")})).await;
    }
    let page = t.get("/v1/events?after=1&limit=2").await.ok();
    assert_eq!((numbers(&page), &page["last_seq"], &page["has_more"]), (vec![2, 3], &json!(3), &json!(true)));
    let rest = t.get("/v1/events?after=3&limit=2").await.ok();
    assert_eq!((numbers(&rest), &rest["has_more"]), (vec![4, 5], &json!(false)));
    let end = t.get("/v1/events?after=5").await.ok();
    assert_eq!((numbers(&end), &end["last_seq"], &end["has_more"]), (vec![], &json!(5), &json!(false)));
}

#[tokio::test]
async fn feed_of_an_instance_has_numbers_and_events_of_its_own() {
    let t = TestServer::start().await;
    t.user(json!({"username": "someone"})).await;
    let there =
        t.call(Some(&t.other), "POST", "/v1/users", Some(json!({"email_address": ["b@example.com"]}))).await;
    assert_eq!(seq(&there), Some(1));
    let feed = t.call(Some(&t.other), "GET", "/v1/events", None).await.ok();
    assert_eq!(numbers(&feed), [1]);
    assert_eq!(feed["data"][0]["data"]["id"], there.json["id"]);
}

#[tokio::test]
async fn numbers_beyond_the_feed_are_refused_at_either_end() {
    let t = TestServer::start().await;
    for number in 0..3 {
        t.user(json!({"username": format!("user{number}")})).await;
    }
    t.get("/v1/events?after=4").await.is_problem(422, "form_param_value_invalid", "after");
    let far = format!("/v1/events?after={}", i64::MAX);
    t.get(&far).await.is_problem(422, "form_param_value_invalid", "after");
    t.get("/v1/events?after=-1").await.is_problem(422, "form_param_value_invalid", "after");
    t.get("/v1/events?limit=0").await.is_problem(422, "form_param_value_invalid", "limit");
    t.get("/v1/events?wait=26").await.is_problem(422, "form_param_value_invalid", "wait");
    t.run_sql("DELETE FROM events WHERE seq < 3", vec![]).await;
    t.get("/v1/events?after=0").await.is_error(410, "events_gone");
    t.get("/v1/events?after=1").await.is_error(410, "events_gone");
    assert_eq!(numbers(&t.get("/v1/events?after=2").await.ok()), [3]);
    assert_eq!(numbers(&t.get("/v1/events").await.ok()), [3]);
    t.run_sql("DELETE FROM events WHERE seq = 3", vec![]).await;
    t.get("/v1/events?after=2").await.is_error(410, "events_gone");
    assert_eq!(numbers(&t.get("/v1/events?after=3").await.ok()), Vec::<i64>::new());
    // Whoever begins when all of it was deleted follows from here on.
    let empty = t.get("/v1/events").await.ok();
    assert_eq!(empty, json!({"object": "list", "data": [], "last_seq": 3, "has_more": false}));
    // Numbers go on, whatever was deleted.
    assert_eq!(seq(&t.post("/v1/users", json!({"username": "later"})).await), Some(4));
    assert_eq!(numbers(&t.get("/v1/events?after=3").await.ok()), [4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_is_told_as_soon_as_something_happens() {
    let t = std::sync::Arc::new(TestServer::start().await);
    let waiting = tokio::spawn({
        let t = t.clone();
        async move { t.get("/v1/events?after=0&wait=20s").await.ok() }
    });
    until(|| t.app.feed_places.free() < FEED_WAITERS).await;
    t.user(json!({"username": "countess"})).await;
    assert_eq!(numbers(&waiting.await.unwrap()), [1]);
    let empty = t.get("/v1/events?after=1&wait=0").await.ok();
    assert_eq!(numbers(&empty), Vec::<i64>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_have_no_gap_and_no_twin_under_many_writers() {
    let t = std::sync::Arc::new(TestServer::start().await);
    let user = t.user_with_email("a@example.com").await;
    let tasks: Vec<_> = (0..48)
        .map(|number| {
            let (t, user) = (t.clone(), user.clone());
            tokio::spawn(async move {
                match number % 3 {
                    0 => t.post("/v1/users", json!({"username": format!("user{number}")})).await,
                    // Most of them are refused, and leave no gap.
                    1 => t.post("/v1/users", json!({"username": "wanted"})).await,
                    _ => {
                        t.patch(&format!("/v1/users/{user}"), json!({"first_name": format!("n{number}")}))
                            .await
                    }
                }
            })
        })
        .collect();
    let mut told = vec![1];
    for task in tasks {
        told.extend(seq(&task.await.unwrap()));
    }
    told.sort_unstable();
    let all: Vec<i64> = (1..=told.len() as i64).collect();
    assert_eq!(told, all);
    assert_eq!(numbers(&t.get("/v1/events").await.ok()), all);
}

/// What the published description of webhooks says that cannot be meant: an event about a session has a
/// `user`, but a session may have nothing beside its own fields; and `pending` is a status since then.
pub(crate) fn mended(mut document: Value) -> Value {
    let session = &mut document["components"]["schemas"]["Session"];
    session.as_object_mut().unwrap().remove("additionalProperties");
    session["properties"]["status"]["enum"].as_array_mut().unwrap().push(json!("pending"));
    document
}

/// What a schema of a document has against a value.
pub(crate) fn complaints(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let whole = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&whole).unwrap();
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[tokio::test]
async fn every_kind_of_event_that_happens_looks_as_published() {
    let Some(document) = crate::environment::described("webhooks/2025-04-15.yml") else { return };
    let document = mended(document);
    let t = TestServer::start().await;
    let people = [t.person(&t.tenant, 1).await, t.person(&t.tenant, 2).await];
    t.clock.advance_ms(60_000);
    for id in [&people[0].email, &people[0].phone] {
        let kind = if *id == people[0].email { "email_addresses" } else { "phone_numbers" };
        t.post(&format!("/v1/{kind}/{id}/prepare_verification"), json!({})).await.ok();
    }
    for person in &people {
        let session = t.post("/v1/sessions", json!({"user_id": person.user})).await.ok();
        let session = session["id"].as_str().unwrap();
        t.post(&format!("/v1/sessions/{session}/revoke"), json!({})).await.ok();
        t.patch(&format!("/v1/users/{}", person.user), json!({"first_name": "Ada"})).await.ok();
        t.delete(&format!("/v1/users/{}", person.user)).await.ok();
    }
    let mut seen = std::collections::BTreeSet::new();
    for event in t.get("/v1/events?limit=500").await.ok()["data"].as_array().unwrap() {
        let kind = event["type"].as_str().unwrap();
        // Changes of the configuration are ours.
        if Event::is_feed_only(kind) {
            continue;
        }
        let entry =
            &document["x-webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]["schema"];
        assert!(entry.is_object(), "{kind} is not published");
        let said = complaints(&document, entry, event);
        assert!(said.is_empty(), "{kind}: {said:#?}");
        seen.insert(kind.to_owned());
    }
    let expected = [
        "email.created",
        "session.created",
        "session.revoked",
        "sms.created",
        "user.created",
        "user.deleted",
        "user.updated",
    ];
    for kind in expected {
        assert!(seen.contains(kind), "{kind} did not happen: {seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_up_to_date_is_never_told_that_something_is_gone() {
    let t = std::sync::Arc::new(TestServer::start().await);
    let writer = tokio::spawn({
        let t = t.clone();
        async move {
            for number in 0..60 {
                t.user(json!({"username": format!("user{number}")})).await;
            }
        }
    });
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let t = t.clone();
            tokio::spawn(async move {
                let mut last = 0;
                while last < 60 {
                    let page = t.get(&format!("/v1/events?after={last}&wait=5")).await.ok();
                    let found = numbers(&page);
                    assert_eq!(found, (last + 1..=last + found.len() as i64).collect::<Vec<_>>());
                    last += found.len() as i64;
                }
            })
        })
        .collect();
    writer.await.unwrap();
    for reader in readers {
        reader.await.unwrap();
    }
}

#[tokio::test]
async fn large_events_make_short_pages() {
    let t = TestServer::start().await;
    for number in 0..130 {
        t.user(json!({"username": format!("user{number}")})).await;
    }
    let large = "x".repeat(200_000);
    let sql = "UPDATE events SET data = '{\"large\":\"' || $1 || '\"}' WHERE seq < 129";
    t.run_sql(sql, vec![large.into()]).await;
    let (mut after, mut pages) = (0, 0);
    while after < 130 {
        let page = t.get(&format!("/v1/events?after={after}&limit=500")).await.ok();
        assert_eq!(page["has_more"], json!(page["last_seq"] != json!(130)));
        after = page["last_seq"].as_i64().unwrap();
        pages += 1;
    }
    assert_eq!(pages, 3);
}
