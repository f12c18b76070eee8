//! Request bodies: what counts as none, as JSON, as too much.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::http::Request;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use http_body::{Frame, SizeHint};
use latchkey_base::kinds::SecretKeyId;
use latchkey_jose::digest::sha256;
use latchkey_kernel::instances::store;
use latchkey_testkit::{TestServer, until};
use serde_json::json;
use tokio::time;

use super::{TEXT_MAX, ada, bearer, post_raw, send};

/// A request to the Backend API from the address that browsers have in tests.
fn to_backend(t: &TestServer, body: Body) -> Request<Body> {
    let request = Request::post("/v1/users")
        .header("authorization", bearer(t))
        .header("content-type", "application/json");
    let mut request = request.body(body).unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 40_000))));
    request
}

#[tokio::test]
async fn bodies_held_at_one_api_take_no_room_from_the_other() {
    const HELD: usize = 300;
    let t = TestServer::start().await.unchecked();
    let arrived = Arc::new(AtomicUsize::new(0));
    let endless = || {
        let arrived = arrived.clone();
        let rest = async move {
            arrived.fetch_add(1, Relaxed);
            pending::<io::Result<Bytes>>().await
        };
        let first = Bytes::from(vec![b' '; TEXT_MAX - 1]);
        Body::from_stream(stream::once(ready(Ok(first))).chain(stream::once(rest)))
    };
    let held = join_all((0..HELD).map(|_| t.send_unchecked(to_backend(&t, endless()))));
    let others = async {
        until(|| arrived.load(Relaxed) == HELD).await;
        let refused = t.send_unchecked(to_backend(&t, vec![b' '; TEXT_MAX].into())).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
        let small = to_backend(&t, r#"{"username": "countess"}"#.into());
        assert_eq!(t.send_unchecked(small).await.status, 200);
        let large = json!({"identifier": "x".repeat(TEXT_MAX - 1024)});
        assert_eq!(t.browser().post("/v1/client/sign_ins", large).await.status, 422);
    };
    tokio::select! {
        _ = held => panic!("the bodies never end"),
        () = others => (),
    }
}

/// A body of spaces that comes in parts, and says how long it is.
struct Spaces {
    left: usize,
}

impl HttpBody for Spaces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.left.min(64 * 1024);
        self.left -= length;
        Poll::Ready((length > 0).then(|| Ok(Frame::data(vec![b' '; length].into()))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left as u64)
    }
}

#[tokio::test]
async fn a_body_longer_than_any_is_refused_for_its_length() {
    let t = TestServer::start().await.unchecked();
    let large = || Body::new(Spaces { left: 70 * 1024 * 1024 });
    let refused = t.send_unchecked(to_backend(&t, large())).await;
    assert_eq!((refused.status, refused.code()), (413, "request_body_too_large"));
    let request = Request::post("/v1/client/sign_ins")
        .header("host", &t.tenant.frontend_api)
        .header("content-type", "application/json")
        .body(large());
    let refused = t.browser().send("POST", "/v1/client/sign_ins", request.unwrap()).await;
    assert_eq!((refused.status, refused.code()), (413, "request_body_too_large"));
}

#[tokio::test]
async fn a_key_that_is_revoked_while_a_body_is_held_back_changes_nothing() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let picture =
        "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\nPNG\r\n--x--\r\n";
    let cases = [
        ("/v1/users".to_owned(), "application/json", r#"{"username": "late"}"#),
        (format!("/v1/users/{user}/profile_image"), "multipart/form-data; boundary=x", picture),
    ];
    for (path, content_type, body) in cases {
        let (id, instance) = (SecretKeyId::new(t.app.clock.now(), &*t.app.rng), t.tenant.id.clone());
        let (key, now) = (format!("sk_test_{}", id.as_str()), t.app.clock.now());
        let digest = sha256(key.as_bytes());
        let made = (id.clone(), instance.clone());
        let insert = t.db().write(move |tx| {
            let (made, digest) = (made.clone(), digest);
            Box::pin(async move { store::insert_key(tx, &made.1, &made.0, &digest, "late", now).await })
        });
        insert.await.unwrap();
        let db = t.db().clone();
        let rest = async move {
            let delete = db.write(move |tx| {
                let (id, instance) = (id.clone(), instance.clone());
                Box::pin(async move { store::delete_key(tx, &instance, &id).await })
            });
            delete.await.unwrap();
            // Bodies that come sooner are as good as those that come at once.
            time::pause();
            time::advance(Duration::from_millis(150)).await;
            time::resume();
            Ok::<_, io::Error>(Bytes::from_static(&body.as_bytes()[4..]))
        };
        let first = Bytes::from_static(&body.as_bytes()[..4]);
        let request = Request::post(path)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", content_type)
            .body(Body::from_stream(stream::once(ready(Ok(first))).chain(stream::once(rest))));
        t.send_unchecked(request.unwrap()).await.is_error(401, "clerk_key_invalid");
    }
    let users = t.get("/v1/users?username=late").await.ok();
    assert_eq!(users, json!([]));
}

#[tokio::test]
async fn empty_null_and_empty_object_bodies_mean_the_same() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}/remove_password", ada(&t).await);
    let mut answers = Vec::new();
    for body in ["", "null", "{}", " \r\n\t", " null ", "\n{ }\n"] {
        answers.push(post_raw(&t, &path, body).await.ok());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    // Without a body nothing needs to be said about its type.
    send(&t, "POST", &path, &[("authorization", &bearer(&t))], "").await.ok();
}

#[tokio::test]
async fn operation_without_a_body_does_not_mind_an_empty_one() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}/ban", ada(&t).await);
    for body in ["", "null", "{}"] {
        post_raw(&t, &path, body).await.ok();
    }
}

#[tokio::test]
async fn body_without_the_json_content_type_is_refused() {
    let t = TestServer::start().await;
    let key = bearer(&t);
    let body = r#"{"username": "somebody"}"#;
    let without = send(&t, "POST", "/v1/users", &[("authorization", &key)], body).await;
    without.is_error(415, "unsupported_content_type");
    for bad in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json"]
    {
        let answer =
            send(&t, "POST", "/v1/users", &[("authorization", &key), ("content-type", bad)], body).await;
        answer.is_error(415, "unsupported_content_type");
    }
}

#[tokio::test]
async fn json_content_type_is_read_in_any_case_and_with_parameters() {
    let t = TestServer::start().await;
    let key = bearer(&t);
    let good =
        ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json;x"];
    for (number, content_type) in good.into_iter().enumerate() {
        let headers = [("authorization", key.as_str()), ("content-type", content_type)];
        let body = json!({"username": format!("somebody-{number}")}).to_string();
        send(&t, "POST", "/v1/users", &headers, body).await.ok();
    }
}

#[tokio::test]
async fn picture_sent_as_anything_but_a_form_is_refused() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}/profile_image", ada(&t).await);
    post_raw(&t, &path, "{}").await.is_error(415, "unsupported_content_type");
    let key = bearer(&t);
    for content_type in ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; x=y"]
    {
        let headers = [("authorization", key.as_str()), ("content-type", content_type)];
        send(&t, "POST", &path, &headers, "x").await.is_error(400, "request_body_invalid");
    }
}

#[tokio::test]
async fn body_over_256_kilobytes_is_too_large() {
    let t = TestServer::start().await;
    let padded = |length: usize| {
        let body = r#"{"username": "somebody"}"#;
        format!("{body}{}", " ".repeat(length - body.len()))
    };
    post_raw(&t, "/v1/users", padded(TEXT_MAX + 1)).await.is_error(413, "request_body_too_large");
    post_raw(&t, "/v1/users", padded(8 * 1024 * 1024)).await.is_error(413, "request_body_too_large");
    post_raw(&t, "/v1/users", padded(TEXT_MAX)).await.ok();
}

#[tokio::test]
async fn deeply_nested_json_is_refused() {
    let t = TestServer::start().await;
    for depth in [300, 10_000, 60_000] {
        let (open, close) = (r#"{"a":"#.repeat(depth / 2), "}".repeat(depth / 2));
        let nested = format!(r#"{{"public_metadata": {open}1{close}}}"#);
        if nested.len() <= TEXT_MAX {
            let answer = post_raw(&t, "/v1/users", nested).await;
            answer.is_problem(422, "form_param_value_invalid", "public_metadata");
        }
        let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        post_raw(&t, "/v1/users", lists).await.is_error(400, "request_body_invalid");
    }
}

#[tokio::test]
async fn invalid_utf8_is_refused_in_bodies_queries_and_paths() {
    let t = TestServer::start().await;
    for bad in [&b"{\"username\": \"\xff\xfe\"}"[..], b"\xff", b"{\"\xc3\x28\": 1}"] {
        post_raw(&t, "/v1/users", bad.to_vec()).await.is_error(400, "request_body_invalid");
    }
    post_raw(&t, "/v1/users", r#"{"username": "\ud800"}"#).await.is_error(400, "request_body_invalid");
    t.get("/v1/users?query=%ff").await.is_error(400, "malformed_request_parameters");
    t.get("/v1/users?query=%").await.is_error(400, "malformed_request_parameters");
    t.get("/v1/users/%ff").await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn nul_is_refused_wherever_text_is_stored() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    for field in ["username", "first_name", "external_id", "password", "locale"] {
        let answer = t.post("/v1/users", json!({"username": "somebody", field: "a\u{0}b"})).await;
        answer.is_error(422, "form_param_value_invalid");
        assert_eq!(answer.param(), field);
        let path = format!("/v1/users/{id}");
        t.patch(&path, json!({field: "a\u{0}b"})).await.is_error(422, "form_param_value_invalid");
    }
    for field in ["email_address", "phone_number", "web3_wallet", "backup_codes"] {
        let answer = t.post("/v1/users", json!({"username": "somebody", field: ["a\u{0}b"]})).await;
        answer.is_error(422, "form_param_value_invalid");
        assert_eq!(answer.param(), field);
    }
    t.get("/v1/users?query=a%00b").await.is_error(400, "malformed_request_parameters");
    t.get("/v1/users?user_id=a%00b").await.is_error(400, "malformed_request_parameters");
}

#[tokio::test]
async fn nul_in_metadata_is_kept_as_it_is() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}/metadata", ada(&t).await);
    let metadata = json!({"a\u{0}b": "c\u{0}d"});
    let answer = t.put(&path, json!({"private_metadata": metadata})).await.ok();
    assert_eq!(answer["private_metadata"], metadata);
}

#[tokio::test]
async fn repeated_field_counts_once_and_the_last_wins() {
    let t = TestServer::start().await;
    let answer = post_raw(&t, "/v1/users", r#"{"username": "first-one", "username": "second-one"}"#).await;
    assert_eq!(answer.ok()["username"], "second-one");
}
