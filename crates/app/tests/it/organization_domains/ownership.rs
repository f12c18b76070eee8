//! The TXT record that proves the ownership of a domain, looked up at a name server of the test.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use latchkey_kernel::group::Group;
use latchkey_kernel::limits::TXT_CHALLENGE_MS;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::domains::ownership::RegisteredTxtSource;
use latchkey_outbound::dns::NameServers;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{browser, domain, events, id, with_admin};

/// What the name server of the tests knows: names and texts.
static ZONE: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
static SERVER: OnceLock<std::net::SocketAddr> = OnceLock::new();

/// Starts the name server, once for all tests, on a thread of its own: each test has a runtime of its own.
fn name_server() -> std::net::SocketAddr {
    *SERVER.get_or_init(|| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                socket.send_to(&answer(&buffer[..length]), from).unwrap();
            }
        });
        address
    })
}

/// An answer with the records of the zone (RFC 1035).
fn answer(question: &[u8]) -> Vec<u8> {
    let (mut labels, mut at) = (Vec::new(), 12);
    while question[at] != 0 {
        let end = at + 1 + usize::from(question[at]);
        labels.push(String::from_utf8(question[at + 1..end].to_vec()).unwrap());
        at = end;
    }
    let name = labels.join(".");
    let zone = ZONE.lock().unwrap();
    let texts: Vec<&String> = zone.iter().filter(|(known, _)| *known == name).map(|(_, text)| text).collect();
    let mut bytes = question[..at + 5].to_vec();
    (bytes[2], bytes[3], bytes[7], bytes[11]) = (0x81, 0x80, texts.len() as u8, 0);
    for text in texts {
        bytes.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, text.len() as u8 + 1, text.len() as u8]);
        bytes.extend(text.as_bytes());
    }
    bytes
}

const LOCAL_NAMES: Group = Group {
    register: |registry| {
        let servers = NameServers::at(vec![name_server()], Duration::from_secs(5));
        registry.add(RegisteredTxtSource(Arc::new(servers)));
    },
    ..Group::named("local names")
};

async fn start() -> TestServer {
    TestServer::start_with_groups_and(&[LOCAL_NAMES], Settings::default()).await
}

fn publish(proof: &Value) {
    let text = |name: &str| proof[name].as_str().unwrap().to_owned();
    ZONE.lock().unwrap().push((text("txt_record_name"), text("txt_record_value")));
}

#[tokio::test]
async fn a_published_record_proves_the_ownership() {
    let t = start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let made = id(&domain(&t, &acme, json!({"name": "single.test", "verified": false})).await.ok());
    let path = format!("/v1/organizations/{acme}/domains/{made}");
    let (prepare, attempt) =
        (format!("{path}/prepare_ownership_verification"), format!("{path}/attempt_ownership_verification"));
    let mut page = browser(&t, &admin).await;
    page.post(&attempt, json!({})).await.is_error(400, "verification_missing");
    let first = page.post(&prepare, json!({})).await.ok()["response"]["ownership_verification"].clone();
    assert_eq!(
        (&first["status"], &first["strategy"], &first["attempts"]),
        (&json!("unverified"), &json!("txt"), &json!(0))
    );
    assert_eq!(first["txt_record_name"], json!("_latchkey-challenge.single.test"));
    let again = page.post(&prepare, json!({})).await.ok()["response"]["ownership_verification"].clone();
    assert_ne!(first["txt_record_value"], again["txt_record_value"]);
    // What was asked for first counts no more.
    publish(&first);
    let not_yet = page.post(&attempt, json!({})).await.ok()["response"]["ownership_verification"].clone();
    assert_eq!((&not_yet["status"], &not_yet["attempts"]), (&json!("unverified"), &json!(1)));
    assert_eq!(not_yet["txt_record_value"], again["txt_record_value"]);
    let read = page.get(&path).await.ok()["response"]["ownership_verification"].clone();
    assert_eq!(read, not_yet);
    publish(&again);
    let count = events(&t).await.len();
    let proven = page.post(&attempt, json!({})).await.ok()["response"].clone();
    let proof = &proven["ownership_verification"];
    assert_eq!(
        (&proof["status"], &proof["attempts"], &proof["verified_at"]),
        (&json!("verified"), &json!(2), &proven["updated_at"])
    );
    assert_eq!((&proof["txt_record_name"], &proof["txt_record_value"]), (&Value::Null, &Value::Null));
    // Another proof than that of the affiliation.
    assert_eq!(proven["verification"], Value::Null);
    assert_eq!(events(&t).await.len(), count + 1);
    assert_eq!(page.post(&attempt, json!({})).await.ok()["response"], proven);
    assert_eq!(page.post(&prepare, json!({})).await.ok()["response"], proven);
    assert_eq!(events(&t).await.len(), count + 1);
    // The value is not told to the world.
    let told = events(&t).await.iter().map(|(_, data)| data.to_string()).collect::<String>();
    assert!(!told.contains("latchkey-verification="));
}

#[tokio::test]
async fn a_record_is_waited_for_some_days() {
    let t = start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let made = id(&domain(&t, &acme, json!({"name": "late.test"})).await.ok());
    let path = format!("/v1/organizations/{acme}/domains/{made}");
    let mut page = browser(&t, &admin).await;
    let asked = page.post(&format!("{path}/prepare_ownership_verification"), json!({})).await.ok();
    let asked = asked["response"]["ownership_verification"].clone();
    publish(&asked);
    t.clock.advance_ms(TXT_CHALLENGE_MS);
    let mut page = browser(&t, &admin).await;
    let late = page.get(&path).await.ok()["response"]["ownership_verification"].clone();
    assert_eq!((&late["status"], &late["txt_record_value"]), (&json!("expired"), &Value::Null));
    let refused = page.post(&format!("{path}/attempt_ownership_verification"), json!({})).await;
    refused.is_error(400, "verification_expired");
}

#[tokio::test]
async fn several_domains_are_proven_at_once_each_for_itself() {
    let t = start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let (other, _) = with_admin(&t, "Other").await;
    let mut page = browser(&t, &admin).await;
    let names = json!({"names": ["b1.test", "B1.test", "b2.test", "b2.test", "gmail.com", "no", "b3.test"]});
    let made =
        page.post(&format!("/v1/organizations/{acme}/domains/bulk"), names).await.ok()["response"].clone();
    let ids: Vec<String> = made["data"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(ids.len(), 3);
    let expected = json!([{"name": "gmail.com", "code": "organization_domain_common"}, {"name": "no", "code": "form_param_format_invalid"}]);
    assert_eq!(made["errors"], expected);
    let foreign = id(&domain(&t, &other, json!({"name": "foreign.test"})).await.ok());
    let base = format!("/v1/organizations/{acme}/domains");
    let body = json!({"organization_domain_ids": [&ids[0], &ids[1], &ids[1], &foreign, "x"]});
    let asked = page.post(&format!("{base}/prepare_ownership_verification/bulk"), body).await.ok();
    assert_eq!(asked["response"]["data"].as_array().unwrap().len(), 2);
    let expected =
        json!([{"id": foreign, "code": "resource_not_found"}, {"id": "x", "code": "resource_not_found"}]);
    assert_eq!(asked["response"]["errors"], expected);
    publish(&asked["response"]["data"][1]["ownership_verification"]);
    let body = json!({"organization_domain_ids": [&ids[0], &ids[1], &ids[2], &foreign]});
    let tried =
        page.post(&format!("{base}/attempt_ownership_verification/bulk"), body).await.ok()["response"]
            .clone();
    let states: Vec<&Value> =
        tried["data"].as_array().unwrap().iter().map(|it| &it["ownership_verification"]["status"]).collect();
    assert_eq!(states, [&json!("unverified"), &json!("verified")]);
    let expected = json!([{"id": ids[2], "code": "verification_missing"}, {"id": foreign, "code": "resource_not_found"}]);
    assert_eq!(tried["errors"], expected);
    let many = vec!["x.test"; 11];
    page.post(&format!("{base}/bulk"), json!({"names": many}))
        .await
        .is_error(422, "form_param_array_size_exceeded");
}
