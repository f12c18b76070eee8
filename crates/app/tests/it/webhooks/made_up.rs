//! Made-up events, sent to receivers that really listen.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_events::webhooks::samples;
use latchkey_jose::digest::hmac_sha256;
use latchkey_kernel::events::Event;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{NOW, SECRET, create, path};

const NOTHING: [&str; 0] = [];

/// What a receiver was sent.
struct Received {
    headers: BTreeMap<String, String>,
    body: String,
}

/// A receiver that takes one request and answers it.
async fn receiver(answer: &'static str) -> (String, JoinHandle<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?x=1", listener.local_addr().unwrap());
    let work = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let received = loop {
            let mut part = [0; 4096];
            let length = stream.read(&mut part).await.unwrap();
            bytes.extend_from_slice(&part[..length]);
            if let Some(received) = parse(&String::from_utf8_lossy(&bytes)) {
                break received;
            }
        };
        stream.write_all(answer.as_bytes()).await.unwrap();
        received
    });
    (url, work)
}

fn parse(text: &str) -> Option<Received> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<String, String> =
        lines.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    (body.len() >= length).then(|| Received { headers, body: body.to_owned() })
}

async fn send(t: &TestServer, endpoint: &Value, kind: &str) -> Value {
    t.post(&format!("{}/test", path(endpoint)), json!({"type": kind})).await.ok()
}

#[tokio::test]
async fn a_test_event_arrives_signed_with_every_good_secret() {
    let t = TestServer::start().await;
    let (url, received) = receiver("HTTP/1.1 202 Accepted\r\nContent-Length: 6\r\n\r\nthanks").await;
    let endpoint = create(&t, json!({"url": url, "secret": SECRET})).await.ok();
    t.post(&format!("{}/secret/rotate", path(&endpoint)), json!({})).await.ok();
    let answer = send(&t, &endpoint, "user.created").await;
    let attempt = &answer["attempt"];
    assert_eq!((&attempt["status_code"], &attempt["succeeded"]), (&json!(202), &json!(true)));
    assert_eq!((&attempt["response"], &attempt["error"]), (&json!("thanks"), &json!(null)));
    let received = received.await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&received.body).unwrap(), answer["payload"]);
    assert_eq!(answer["payload"]["data"]["object"], "user");
    assert_eq!(received.headers["content-type"], "application/json");
    let id = &received.headers["svix-id"];
    let signed = format!("{id}.{}.{}", received.headers["svix-timestamp"], received.body);
    let key = STANDARD.decode(SECRET.strip_prefix("whsec_").unwrap()).unwrap();
    let expected = format!("v1,{}", STANDARD.encode(hmac_sha256(&key, signed.as_bytes())));
    let signatures: Vec<&str> = received.headers["svix-signature"].split(' ').collect();
    assert!(id.starts_with("msg_") && signatures.len() == 2 && signatures[1] == expected, "{signatures:?}");
    assert!(t.events().await.is_empty(), "it did not happen");
}

#[tokio::test]
async fn an_answer_that_is_no_success_is_told() {
    let t = TestServer::start().await;
    for (answer, status) in [
        ("HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nno\0!", 500),
        ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 302),
    ] {
        let (url, received) = receiver(answer).await;
        let endpoint = create(&t, json!({"url": url})).await.ok();
        let attempt = send(&t, &endpoint, "session.created").await["attempt"].clone();
        assert_eq!((&attempt["status_code"], &attempt["succeeded"]), (&json!(status), &json!(false)));
        received.await.unwrap();
    }
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_is_told() {
    let t = TestServer::start().await;
    let endpoint = create(&t, json!({"url": "http://127.0.0.1:1/", "disabled": true})).await.ok();
    let attempt = send(&t, &endpoint, "user.deleted").await["attempt"].clone();
    assert_eq!((&attempt["status_code"], &attempt["succeeded"]), (&json!(null), &json!(false)));
    assert!(attempt["error"].as_str().unwrap().contains("127.0.0.1"), "{attempt}");
    let answer = t.post(&format!("{}/test", path(&endpoint)), json!({"type": "user.lost"})).await;
    answer.is_problem(422, "form_param_value_invalid", "type");
}

/// The samples against the published description, when it lies beside the repository.
#[test]
fn samples_look_as_published() {
    let Some(document) = crate::environment::described("webhooks/2025-04-15.yml") else { return };
    let document = mended(crate::both_engines::feed::mended(document));
    let kinds = document["x-webhooks"].as_object().unwrap();
    assert_eq!(kinds.len(), Event::ALL.len() - 1, "one kind is ours");
    for (kind, entry) in kinds {
        let data = samples::data(Event::parse(kind).unwrap()).unwrap();
        let event = json!({"object": "event", "type": kind, "timestamp": NOW, "instance_id": "ins_1", "data": data,
            "event_attributes": {"http_request": {"client_ip": "192.0.2.10", "user_agent": "x"}}});
        let schema = &entry["post"]["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(crate::both_engines::feed::complaints(&document, schema, &event), NOTHING, "{kind}");
    }
}

/// What the description says of an accepted invitation cannot be meant: who accepted it has no place beside its own
/// fields, and it names its envelope once more. Its example has the former and not the latter.
fn mended(mut document: Value) -> Value {
    let schemas = &mut document["components"]["schemas"];
    let mut accepted = schemas["OrganizationInvitation"].clone();
    accepted["properties"]["user_id"] = json!({"type": "string"});
    accepted["required"].as_array_mut().unwrap().push(json!("user_id"));
    schemas["OrganizationInvitationAcceptedPayload"] = accepted;
    document
}
