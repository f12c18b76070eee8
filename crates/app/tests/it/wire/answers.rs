//! Answers that nobody reads.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use http_body_util::BodyExt;
use latchkey_kernel::limits::BACKEND_ANSWERS_BYTES;
use latchkey_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn answers_that_nobody_reads_take_a_bounded_part_of_the_memory() {
    let t = TestServer::start().await;
    for number in 0..400 {
        let mut user = json!({"username": format!("user_{number}")});
        for kind in ["public_metadata", "private_metadata", "unsafe_metadata"] {
            user[kind] = json!({"text": "x".repeat(8000)});
        }
        t.user(user).await;
    }
    let ask = async |address: [u8; 4]| {
        let mut request = Request::get("/v1/users?limit=500")
            .header("authorization", format!("Bearer {}", t.tenant.key))
            .body(Body::empty())
            .unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from((address, 4711))));
        t.unread(request).await
    };
    let (mut held, mut bytes) = (Vec::new(), 0);
    let refusal = loop {
        let answer = ask([10, 0, 0, 1]).await;
        if answer.status() != 200 {
            break answer;
        }
        bytes += usize::try_from(http_body::Body::size_hint(answer.body()).exact().unwrap()).unwrap();
        assert!(bytes < BACKEND_ANSWERS_BYTES / 3, "{bytes}");
        held.push(answer);
    };
    assert!(bytes > BACKEND_ANSWERS_BYTES / 5, "{bytes}");
    assert_eq!((refusal.status().as_u16(), &refusal.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    let refusal = refusal.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&refusal).contains("wait to be read"));
    // What was done is told all the same.
    let user = t.get("/v1/users?limit=1").await.ok()[0]["id"].as_str().unwrap().to_owned();
    let mut request = Request::patch(format!("/v1/users/{user}"))
        .header("authorization", format!("Bearer {}", t.tenant.key))
        .header("content-type", "application/json")
        .body(Body::from(r#"{"first_name": "Ada"}"#))
        .unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 1], 4711))));
    assert_eq!(t.unread(request).await.status(), 200);
    // Others are served, and whoever reads again is too.
    assert_eq!(ask([10, 0, 0, 2]).await.status(), 200);
    held.pop();
    assert_eq!(ask([10, 0, 0, 1]).await.status(), 200);
}
