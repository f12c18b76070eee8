//! Headers nobody means to send.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::HeaderValue;
use latchkey_base::rng::{Rng, SeededRng, bytes};
use latchkey_testkit::{Answer, TestServer};

async fn with_header(t: &TestServer, name: &'static str, value: HeaderValue) -> Answer {
    let mut request = Request::get("/v1/users").body(Body::empty()).unwrap();
    if name != "authorization" {
        let key = HeaderValue::from_str(&format!("Bearer {}", t.tenant.key)).unwrap();
        request.headers_mut().insert("authorization", key);
    }
    request.headers_mut().insert(name, value);
    t.send(request).await
}

/// Up to 63 bytes a header may carry.
fn noise(rng: &dyn Rng) -> Vec<u8> {
    let [length] = bytes::<1>(rng);
    let mut noise = vec![0; usize::from(length % 64)];
    rng.fill(&mut noise);
    noise.into_iter().filter(|byte| HeaderValue::from_bytes(&[*byte]).is_ok()).collect()
}

#[tokio::test]
async fn malformed_authorization_header_is_unauthenticated_and_never_a_failure() {
    let t = TestServer::start().await;
    let rng = SeededRng::new(7);
    let mut headers: Vec<Vec<u8>> = (0..400).map(|_| noise(&rng)).collect();
    headers.extend((0..400).map(|_| [b"Bearer ".to_vec(), noise(&rng)].concat()));
    headers.extend([b"Bearer \xff\xfe".to_vec(), b"Bearer ".repeat(1000), vec![b'a'; 100_000]]);
    for header in headers {
        let answer = with_header(&t, "authorization", HeaderValue::from_bytes(&header).unwrap()).await;
        assert_eq!(answer.status, 401, "{:?}", String::from_utf8_lossy(&header));
    }
}

#[tokio::test]
async fn other_malformed_headers_are_refused_or_ignored_and_never_a_failure() {
    let t = TestServer::start().await;
    let rng = SeededRng::new(8);
    for name in [
        "clerk-api-version",
        "content-type",
        "accept",
        "user-agent",
        "x-forwarded-for",
        "clerk-trace-id",
        "host",
        "origin",
        "cookie",
    ] {
        for _ in 0..50 {
            let answer = with_header(&t, name, HeaderValue::from_bytes(&noise(&rng)).unwrap()).await;
            let expected = if name == "clerk-api-version" { 400 } else { 200 };
            assert_eq!(answer.status, expected, "{name}");
        }
    }
}

#[tokio::test]
async fn trace_id_is_ours_whatever_the_caller_sends() {
    let t = TestServer::start().await;
    let answer =
        with_header(&t, "clerk-trace-id", HeaderValue::from_static("00000000000000000000000000000000")).await;
    assert_ne!(answer.header("clerk-trace-id"), "00000000000000000000000000000000");
}
