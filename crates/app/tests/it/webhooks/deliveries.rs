//! The delivery log, and sending again.

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{create, cursor, path};

/// What a delivery in the log says besides the event.
struct Entry {
    seq: i64,
    status: &'static str,
    next_at: Option<i64>,
    log: &'static str,
}

const ANSWERED: &str = r#"[{"at":1,"status_code":500,"duration_ms":7,"response":"no","error":null},
    {"at":2,"status_code":null,"duration_ms":9,"response":"","error":"There was no complete answer in time."}]"#;

/// Puts a delivery of an event of the instance into the log, as the worker would.
async fn deliver(t: &TestServer, endpoint: &Value, entry: Entry) {
    t.run_sql(
        "INSERT INTO webhook_deliveries (instance_id, endpoint_id, seq, event_id, kind, subject_id, status, attempts, \
         next_at, log, created_at, updated_at) SELECT instance_id, $2, seq, id, kind, subject_id, $4, 2, $5, $6, \
         created_at, created_at FROM events WHERE instance_id = $1 AND seq = $3",
        vec![
            (&t.tenant.id).into(),
            endpoint["id"].as_str().unwrap().into(),
            entry.seq.into(),
            entry.status.into(),
            entry.next_at.into(),
            entry.log.into(),
        ],
    )
    .await;
}

/// An endpoint that got three events, a second apart: one well, one badly, one not yet.
async fn busy(t: &TestServer) -> (Value, Vec<String>) {
    let endpoint = create(t, json!({"disabled": true})).await.ok();
    for name in ["a", "b", "c"] {
        t.user_with_email(&format!("{name}@example.com")).await;
        t.clock.advance_ms(1000);
    }
    let ids: Vec<String> = t.events().await.into_iter().map(|event| event.id).collect();
    assert_eq!(ids.len(), 3);
    // The first event is that of the endpoint itself.
    deliver(t, &endpoint, Entry { seq: 2, status: "succeeded", next_at: None, log: "[]" }).await;
    deliver(t, &endpoint, Entry { seq: 3, status: "failed", next_at: None, log: ANSWERED }).await;
    deliver(t, &endpoint, Entry { seq: 4, status: "pending", next_at: Some(5), log: "[]" }).await;
    let sql = "UPDATE webhook_endpoints SET cursor_seq = 4 WHERE instance_id = $1";
    t.run_sql(sql, vec![(&t.tenant.id).into()]).await;
    (endpoint, ids)
}

fn events(list: &Value) -> Vec<String> {
    list["data"].as_array().unwrap().iter().map(|it| it["event_id"].as_str().unwrap().to_owned()).collect()
}

async fn statuses(t: &TestServer, endpoint: &Value) -> Vec<String> {
    let list = t.get(&format!("{}/deliveries", path(endpoint))).await.ok();
    list["data"].as_array().unwrap().iter().map(|it| it["status"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn log_is_newest_first_filtered_and_paged() {
    let t = TestServer::start().await;
    let (endpoint, ids) = busy(&t).await;
    let list = async |query: &str| t.get(&format!("{}/deliveries{query}", path(&endpoint))).await.ok();
    let all = list("").await;
    assert_eq!(
        (events(&all), &all["total_count"]),
        (vec![ids[2].clone(), ids[1].clone(), ids[0].clone()], &json!(3))
    );
    assert_eq!(events(&list("?status=failed").await), [ids[1].clone()]);
    assert_eq!(list("?type=user.deleted").await, json!({"data": [], "total_count": 0}));
    assert_eq!(list("?type=user.created&status=succeeded").await["total_count"], 1);
    assert_eq!(events(&list("?limit=1&offset=1").await), [ids[1].clone()]);
    assert_eq!(events(&list("?before_seq=3").await), [ids[0].clone()]);
    let answer = t.get(&format!("{}/deliveries?status=lost", path(&endpoint))).await;
    answer.is_problem(422, "form_param_value_invalid", "status");
    let answer = t.get(&format!("{}/deliveries?type=user.lost", path(&endpoint))).await;
    answer.is_problem(422, "form_param_value_invalid", "type");
    let health = t.get(&path(&endpoint)).await.ok()["health"].clone();
    assert_eq!(health, json!({"pending": 1, "unread": 0, "recent": ["pending", "failed", "succeeded"]}));
}

#[tokio::test]
async fn a_delivery_shows_every_attempt_and_what_is_sent() {
    let t = TestServer::start().await;
    let (endpoint, ids) = busy(&t).await;
    let shown = t.get(&format!("{}/deliveries/{}", path(&endpoint), ids[1])).await.ok();
    assert_eq!(
        (&shown["status"], &shown["attempts"], &shown["seq"]),
        (&json!("failed"), &json!(2), &json!(3))
    );
    assert_eq!(shown["log"][0]["status_code"], 500);
    assert_eq!((&shown["log"][0]["succeeded"], &shown["log"][0]["response"]), (&json!(false), &json!("no")));
    assert_eq!(shown["last_attempt"], shown["log"][1]);
    let event = &t.events().await[1];
    let payload = &shown["payload"];
    assert_eq!((&payload["type"], &payload["object"]), (&json!("user.created"), &json!("event")));
    assert_eq!((&payload["data"], &payload["instance_id"]), (&event.data, &json!(t.tenant.id)));
    // What was sent may be forgotten before the log is.
    t.run_sql("DELETE FROM events WHERE instance_id = $1", vec![(&t.tenant.id).into()]).await;
    let shown = t.get(&format!("{}/deliveries/{}", path(&endpoint), ids[1])).await.ok();
    assert_eq!(shown["payload"], json!(null));
    let answer = t.post(&format!("{}/deliveries/{}/replay", path(&endpoint), ids[1]), json!({})).await;
    answer.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn one_delivery_is_sent_again() {
    let t = TestServer::start().await;
    let (endpoint, ids) = busy(&t).await;
    let answer = t.post(&format!("{}/deliveries/{}/replay", path(&endpoint), ids[0]), json!({})).await.ok();
    assert_eq!((&answer["status"], &answer["attempts"]), (&json!("pending"), &json!(0)));
    assert_eq!(answer["next_attempt_at"], super::NOW + 3000);
    assert_eq!(statuses(&t, &endpoint).await, ["pending", "failed", "pending"]);
    // The other endpoint of the instance never had it.
    let other = create(&t, json!({})).await.ok();
    let answer = t.post(&format!("{}/deliveries/{}/replay", path(&other), ids[0]), json!({})).await;
    answer.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn what_has_not_arrived_since_a_time_is_sent_again() {
    let t = TestServer::start().await;
    let (endpoint, _) = busy(&t).await;
    let replay = async |since: i64| {
        let body = json!({"since": since, "only_failed": true});
        t.post(&format!("{}/replay", path(&endpoint)), body).await.ok()["events"].clone()
    };
    assert_eq!(replay(super::NOW + 2001).await, 0);
    assert_eq!(statuses(&t, &endpoint).await, ["pending", "failed", "succeeded"]);
    // What waits for its next attempt has not arrived either.
    assert_eq!(replay(super::NOW + 1000).await, 2);
    assert_eq!(statuses(&t, &endpoint).await, ["pending", "pending", "succeeded"]);
    assert_eq!(cursor(&t, &endpoint).await, 4);
}

#[tokio::test]
async fn everything_since_a_time_is_sent_again_in_order() {
    let t = TestServer::start().await;
    let (endpoint, _) = busy(&t).await;
    let replay = async |since: i64| {
        t.post(&format!("{}/replay", path(&endpoint)), json!({"since": since})).await.ok()["events"].clone()
    };
    assert_eq!((replay(super::NOW + 2001).await, cursor(&t, &endpoint).await), (json!(0), 4));
    assert_eq!((replay(super::NOW + 2000).await, cursor(&t, &endpoint).await), (json!(1), 3));
    assert_eq!((replay(0).await, cursor(&t, &endpoint).await), (json!(3), 0));
    // It never goes forward.
    assert_eq!((replay(super::NOW + 2000).await, cursor(&t, &endpoint).await), (json!(0), 0));
    for (body, code, param) in [
        (json!({}), "form_param_missing", "since"),
        (json!({"since": "yesterday"}), "form_param_type_invalid", "since"),
        (json!({"since": -1}), "form_param_value_invalid", "since"),
    ] {
        t.post(&format!("{}/replay", path(&endpoint)), body).await.is_problem(422, code, param);
    }
}

/// The time of an event is that of its request, its number that of its commit: a slow request's event may
/// come after later ones.
#[tokio::test]
async fn an_event_of_a_slow_request_hides_none() {
    let t = TestServer::start().await;
    let (endpoint, _) = busy(&t).await;
    let sql = "UPDATE events SET created_at = $2 WHERE instance_id = $1 AND seq = 3";
    t.run_sql(sql, vec![(&t.tenant.id).into(), (super::NOW - 20_000).into()]).await;
    let body = json!({"since": super::NOW});
    assert_eq!(t.post(&format!("{}/replay", path(&endpoint)), body).await.ok()["events"], 4);
}

#[tokio::test]
async fn skipping_what_was_missed_gives_up_what_waits() {
    let t = TestServer::start().await;
    let (endpoint, _) = busy(&t).await;
    t.patch(&path(&endpoint), json!({"disabled": false, "skip_missed": true})).await.ok();
    assert_eq!(statuses(&t, &endpoint).await, ["failed", "failed", "succeeded"]);
}

#[tokio::test]
async fn deliveries_of_another_instance_are_not_found() {
    let t = TestServer::start().await;
    let (endpoint, ids) = busy(&t).await;
    let before = t.everything().await;
    let one = format!("{}/deliveries/{}", path(&endpoint), ids[1]);
    for (method, path, body) in [
        ("GET", format!("{}/deliveries", path(&endpoint)), None),
        ("GET", one.clone(), None),
        ("POST", format!("{one}/replay"), None),
        ("POST", format!("{}/replay", path(&endpoint)), Some(json!({"since": 0}))),
        ("POST", format!("{}/replay", path(&endpoint)), Some(json!({"since": 0, "only_failed": true}))),
    ] {
        t.call(Some(&t.other), method, &path, body).await.is_error(404, "resource_not_found");
    }
    assert_eq!(t.everything().await, before);
}
