//! HTTP/2 as ordinary clients speak it: answers, hosts, and an orderly end.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::raw::Client;
use super::*;

type Sender = SendRequest<Full<Bytes>>;

async fn client() -> (Sender, Client) {
    let mut server = Client::silent(side(LIMITS, None));
    let (other, _) = tokio::io::duplex(1);
    let pipe = std::mem::replace(&mut server.pipe, other);
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(pipe)).await.unwrap();
    tokio::spawn(connection);
    (sender, server)
}

fn get(uri: &str) -> Request<Full<Bytes>> {
    Request::get(uri).body(Full::default()).unwrap()
}

async fn body(response: Response<Incoming>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn many_requests_at_once_are_answered_over_one_connection() {
    let (sender, server) = client().await;
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..80 {
        let mut sender = sender.clone();
        asked.spawn(async move { body(sender.send_request(get("https://a.example/")).await.unwrap()).await });
    }
    assert!(asked.join_all().await.iter().all(|answer| answer == "127.0.0.1:1"));
    assert_eq!(server.side.request_slots.free(), REQUESTS, "all room is given back");
}

#[tokio::test]
async fn large_bodies_travel_both_ways() {
    let (mut sender, _server) = client().await;
    let answer = sender.send_request(get("https://a.example/large")).await.unwrap();
    assert_eq!(body(answer).await.len(), LARGE);
    let sent = Full::from(Bytes::from(vec![b'x'; 1_000_000]));
    let request = Request::post("https://a.example/length").body(sent).unwrap();
    assert_eq!(body(sender.send_request(request).await.unwrap()).await, "1000000");
}

#[tokio::test]
async fn the_host_is_the_authority_and_cookies_are_whole() {
    let (mut sender, _server) = client().await;
    let mut request = get("https://clerk.example.com:8443/host?a=b");
    for cookie in ["a=1", "b=2"] {
        request.headers_mut().append("cookie", cookie.parse().unwrap());
    }
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(body(answer).await, "clerk.example.com:8443 /host?a=b 1");
    let mut request = get("https://a.example/host");
    request.headers_mut().insert("host", "b.example".parse().unwrap());
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_stop_waits_for_requests_and_ends_idle_connections() {
    let (mut sender, mut server) = client().await;
    let answer = sender.send_request(get("https://a.example/large")).await.unwrap();
    let stops = server.stops.take().unwrap();
    let stopped = tokio::spawn(stops.all());
    assert_eq!(body(answer).await.len(), LARGE, "what was asked before is answered whole");
    timeout(LONG, stopped).await.unwrap().unwrap();
    assert!(server.server.await.unwrap().is_ok());
    assert!(sender.send_request(get("https://a.example/")).await.is_err());
}
