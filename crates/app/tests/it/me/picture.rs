//! `/v1/me/profile_image`

use axum::body::Body;
use axum::http::Request;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, PICTURE, TestServer};
use serde_json::json;

use super::support::{Me, me};
use crate::bad_inputs::pictures::announced;

const PATH: &str = "/v1/me/profile_image";

async fn send(me: &mut Me<'_>, content_type: &str, body: Vec<u8>) -> Answer {
    let token = me.browser.dev_browser.clone().unwrap();
    let uri = format!("{PATH}?__clerk_api_version=2026-05-12&__clerk_db_jwt={token}");
    let host = me.t.tenant.frontend_api.clone();
    let request = Request::post(&uri).header("host", host).header("content-type", content_type);
    me.browser.send("POST", &uri, request.body(Body::from(body)).unwrap()).await
}

fn form(name: &str, file: &[u8]) -> Vec<u8> {
    let head =
        format!("--frame\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"blob\"\r\n\r\n");
    [head.as_bytes(), file, b"\r\n--frame--\r\n"].concat()
}

const MULTIPART: &str = "multipart/form-data; boundary=frame";

#[tokio::test]
async fn a_picture_is_set_shown_and_removed() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.delete(PATH).await.is_error(404, "image_not_found");
    let before = t.events().await.len();
    let set = send(&mut me, MULTIPART, form("file", PICTURE)).await.ok()["response"].clone();
    let shown = me.shown().await;
    assert_eq!((&shown["has_image"], &shown["image_url"]), (&json!(true), &set["public_url"]));
    assert!(set["public_url"].as_str().unwrap().ends_with(set["id"].as_str().unwrap()));
    let path = set["public_url"].as_str().unwrap().split_once("/images/").unwrap().1;
    assert_eq!(me.browser.open(&format!("/images/{path}")).await.status, 200);
    let gone = me.delete(PATH).await.ok()["response"].clone();
    assert_eq!(gone, json!({"object": "image", "id": set["id"], "deleted": true}));
    assert_eq!(me.shown().await["has_image"], false);
    assert_eq!(me.events_after(before).await, ["user.updated", "user.updated"]);
}

#[tokio::test]
async fn a_picture_may_come_as_text() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let text = format!("data:image/png;base64,{}", STANDARD.encode(PICTURE));
    send(&mut me, "application/octet-stream", text.into_bytes()).await.ok();
    send(&mut me, "application/octet-stream", STANDARD.encode(PICTURE).into_bytes()).await.ok();
    let refused = send(&mut me, "application/octet-stream", b"\xff nonsense".to_vec()).await;
    refused.is_error(400, "request_body_invalid");
}

#[tokio::test]
async fn what_is_no_picture_is_refused() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    send(&mut me, MULTIPART, form("file", b"<svg onload=alert(1)>"))
        .await
        .is_error(400, "request_body_invalid");
    send(&mut me, MULTIPART, form("other", PICTURE)).await.is_error(400, "form_param_missing");
    send(&mut me, "text/plain", PICTURE.to_vec()).await.is_error(415, "unsupported_content_type");
    send(&mut me, MULTIPART, form("file", &vec![0; 11 << 20])).await.is_error(413, "image_too_large");
    send(&mut me, "application/octet-stream", vec![b'A'; 15 << 20]).await.is_error(413, "image_too_large");
    assert_eq!(me.shown().await["has_image"], false);
}

#[tokio::test]
async fn pictures_of_a_person_are_limited_by_their_pixels() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    let mut me = me(&t).await;
    // Every picture counts as a megapixel at least. What cannot be decoded counts by what it announces.
    send(&mut me, MULTIPART, form("file", PICTURE)).await.ok();
    for _ in 0..3 {
        let large = send(&mut me, MULTIPART, form("file", &announced(5000, 5000))).await;
        large.is_error(400, "request_body_invalid");
    }
    for _ in 0..24 {
        t.clock.advance_ms(2_000);
        send(&mut me, MULTIPART, form("file", PICTURE)).await.ok();
    }
    let refused = send(&mut me, MULTIPART, form("file", PICTURE)).await;
    refused.is_error(429, "too_many_requests");
    assert!(refused.json["errors"][0]["long_message"].as_str().unwrap().contains("100 megapixels"));
    // Backends have the limits of their key.
    let path = format!("/v1/users/{}/profile_image", me.user);
    assert_eq!(t.upload(&t.tenant, &path, PICTURE).await.status, 200);
    t.clock.advance_ms(60_000);
    send(&mut me, MULTIPART, form("file", PICTURE)).await.ok();
}
