//! Pictures of users: uploaded, served, resized, removed; and drawn for everybody else.

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

/// The same picture, 60 pixels across and 40 down, in every format that is accepted.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAADwAAAAoCAIAAAAt2Q6oAAAAVUlEQVR4nO3X0QkAMAjEUC0O3s3tFBco5A1wBP/s3VsZHdqtOrHl\
     IKMpRlOMphhNMZpiNMVoitEUoykTfOVivry00RSjKUZTjKYYTTGaYjTFaIrRlAdJNwLSJK3gPQAAAABJRU5ErkJggg==";
const JPEG: &str = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7\
     gYKBTmCNl4x9lnN+gXz/2wBDARUXFx4aHjshITt8U0ZTfHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8\
     fHx8fHx8fHz/wAARCAAoADwDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUF\
     BAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVW\
     V1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi\
     4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAEC\
     AxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVm\
     Z2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq\
     8vP09fb3+Pn6/9oADAMBAAIRAxEAPwDraKKK8c0CoL7/AI9H/D+YqeoL7/j0f8P5iqh8SMcR/Bn6P8jHoooruPlAooooAX/hJP8A\
     p0/8if8A1qP+Ek/6dP8AyJ/9asGiuj6tS7fmfp/1Oh/L+LN7/hJP+nT/AMif/WqC+8Sf6I/+ien/AC09x7VkVBff8ej/AIfzFVDD\
     UuZafmY4jB0PYz93o+r7E/8Awkn/AE6f+RP/AK1H/CSf9On/AJE/+tWDRXd9WpdvzPlfqdD+X8Wb3/CSf9On/kT/AOtR/wAJJ/06\
     f+RP/rVg0UfVqXb8w+p0P5fxZvUUUVzn3YVBff8AHo/4fzFFFVD4kY4j+DP0f5GRRRRXcfKBRRRQB//Z";
const GIF: &str = "R0lGODdhPAAoAIEAAP//gAD/gP8AgAAAgCwAAAAAPAAoAEAI3QABCBxIsKDBgwIDKFzIsKHDhwoRSpw4EKLFiwspajyIseNDASBD\
     ihxJsiTIAShTqlzJsiVKkzBjhnRJs2bKjTgretwZMSdOnjxlCi1ps2jLoUhnGl36MilSpkx9/gTqUepGqlWtUsTaUetWrhe9TgR7\
     0elTqEbNDkWbVq1MtkXdvoVbU25MujXFSiRrUS9CvhD9cgTsULBBwoUNE0TcUPFixhkdJ4TcUzLlyo4vB5A8mbJdmHhpfjYZ2uVo\
     oqVZniaZWvVqka1XvoYdO+VspbUH3D6ZW/fu3r5vAw8IADs=";
const WEBP: &str =
    "UklGRjwAAABXRUJQVlA4TDAAAAAvO8AJAB8gEEjaH3qN+R/A+Q8eEqAoktQIB6i7JWLySFYAz4j+T0DhFHwcjZnwcQA=";
const API_URL: &str = "http://127.0.0.1:3400";
const MEGABYTE: usize = 1024 * 1024;

pub(crate) fn decoded(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap()
}

/// A form with one file in the part of that name.
fn form(part: &str, filename: &str, content: &[u8]) -> Vec<u8> {
    let mut form = format!(
        "--limit\r\nContent-Disposition: form-data; name=\"{part}\"; filename=\"{filename}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    )
    .into_bytes();
    form.extend_from_slice(content);
    form.extend_from_slice(b"\r\n--limit--\r\n");
    form
}

async fn send(t: &TestServer, user: &str, content_type: &str, body: Vec<u8>) -> Answer {
    let request = Request::builder()
        .method("POST")
        .uri(format!("/v1/users/{user}/profile_image"))
        .header("authorization", format!("Bearer {}", t.tenant.key))
        .header("clerk-api-version", "2026-05-12")
        .header("content-type", content_type)
        .body(Body::from(body))
        .unwrap();
    t.send(request).await
}

pub(crate) async fn upload(t: &TestServer, user: &str, filename: &str, content: &[u8]) -> Answer {
    send(t, user, "multipart/form-data; boundary=limit", form("file", filename, content)).await
}

async fn user(t: &TestServer) -> String {
    t.user(json!({"username": "ada_l", "first_name": "Ada", "last_name": "Lovelace"})).await["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The path of a picture on our own server.
fn path(user: &Value) -> &str {
    user["image_url"].as_str().unwrap().strip_prefix(API_URL).unwrap()
}

/// Fetches a picture as browsers do: without credentials.
async fn fetch(t: &TestServer, path: &str) -> Answer {
    t.call(None, "GET", path, None).await
}

/// Width and height of a PNG, or of a JPEG by its first frame header.
fn size(picture: &[u8]) -> (u32, u32) {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
    if picture.starts_with(b"\x89PNG") {
        return (number(&picture[16..20]), number(&picture[20..24]));
    }
    let mut at = 2;
    while !(0xc0..=0xc2).contains(&picture[at + 1]) {
        at += 2 + number(&picture[at + 2..at + 4]) as usize;
    }
    (number(&picture[at + 7..at + 9]), number(&picture[at + 5..at + 7]))
}

#[tokio::test]
async fn every_format_is_accepted_and_served_with_its_type() {
    let t = TestServer::start().await;
    let user = user(&t).await;
    let mut seen = vec![t.shown(&user).await["image_url"].clone()];
    for (picture, content_type) in
        [(PNG, "image/png"), (JPEG, "image/jpeg"), (GIF, "image/png"), (WEBP, "image/png")]
    {
        let updated = upload(&t, &user, "blob", &decoded(picture)).await.ok();
        assert_eq!(updated["has_image"], true);
        assert_eq!(updated["profile_image_url"], updated["image_url"]);
        assert_eq!(t.shown(&user).await, updated);
        assert!(!seen.contains(&updated["image_url"]), "every picture has an address of its own");
        seen.push(updated["image_url"].clone());
        let served = fetch(&t, path(&updated)).await;
        assert_eq!((served.status, served.headers["content-type"].to_str().unwrap()), (200, content_type));
        assert_eq!(size(&served.bytes), (60, 40));
        assert_eq!(served.headers["cache-control"], "public, max-age=31536000, immutable");
        assert_eq!(served.headers["x-content-type-options"], "nosniff");
        assert_eq!(served.headers["access-control-allow-origin"], "*", "components ask with CORS");
        assert!(
            served.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'")
        );
    }
}

#[tokio::test]
async fn a_new_picture_takes_the_old_one_out_of_the_world() {
    let t = TestServer::start().await;
    let user = user(&t).await;
    let first = upload(&t, &user, "blob", &decoded(PNG)).await.ok();
    let second = upload(&t, &user, "blob", &decoded(JPEG)).await.ok();
    fetch(&t, path(&first)).await.is_error(404, "image_not_found");
    assert_eq!(fetch(&t, path(&second)).await.status, 200);
    let deleted = t.delete(&format!("/v1/users/{user}/profile_image")).await.ok();
    assert_eq!((&deleted["has_image"], deleted["id"].as_str()), (&json!(false), Some(user.as_str())));
    assert!(path(&deleted).starts_with("/images/avatar_placeholder/"));
    fetch(&t, path(&second)).await.is_error(404, "image_not_found");
    // Without a picture there is nothing to delete, which is no mistake.
    assert_eq!(t.delete(&format!("/v1/users/{user}/profile_image")).await.ok(), deleted);
    let third = upload(&t, &user, "blob", &decoded(PNG)).await.ok();
    t.delete(&format!("/v1/users/{user}")).await.ok();
    fetch(&t, path(&third)).await.is_error(404, "image_not_found");
}

#[tokio::test]
async fn pictures_are_resized_on_request_and_never_enlarged() {
    let t = TestServer::start().await;
    let user = user(&t).await;
    for picture in [PNG, JPEG] {
        let updated = upload(&t, &user, "blob", &decoded(picture)).await.ok();
        for (query, expected) in [
            ("width=30", (30, 20)),
            ("height=10", (15, 10)),
            ("width=30&height=30", (30, 20)),
            ("width=30&height=30&fit=scale-down", (30, 20)),
            ("width=20&height=20&fit=crop", (20, 20)),
            ("width=30&quality=1", (30, 20)),
            ("width=1024&height=1024", (60, 40)),
            ("quality=50", (60, 40)),
        ] {
            let served = fetch(&t, &format!("{}?{query}", path(&updated))).await;
            assert_eq!((served.status, size(&served.bytes)), (200, expected), "{query}");
            assert_eq!(served.headers["x-content-type-options"], "nosniff");
        }
        for (query, code, param) in [
            ("width=0", "form_param_value_invalid", "width"),
            ("width=1025", "form_param_value_too_large", "width"),
            ("height=x", "form_param_type_invalid", "height"),
            ("fit=cover", "form_param_value_invalid", "fit"),
            ("quality=101", "form_param_value_too_large", "quality"),
        ] {
            fetch(&t, &format!("{}?{query}", path(&updated))).await.is_problem(422, code, param);
        }
    }
}

#[tokio::test]
async fn only_pixels_of_an_upload_are_served() {
    let t = TestServer::start().await;
    let user = user(&t).await;
    let mut picture = decoded(PNG);
    picture.extend_from_slice(b"<script>alert(1)</script>");
    let updated = upload(&t, &user, "x.html", &picture).await.ok();
    let served = fetch(&t, path(&updated)).await;
    assert!(!served.bytes.windows(7).any(|part| part == b"<script"));
}

#[tokio::test]
async fn uploads_without_a_usable_picture_are_refused() {
    let t = TestServer::start().await;
    let user = user(&t).await;
    let before = t.shown(&user).await;
    let multipart = "multipart/form-data; boundary=limit";
    let missing = send(&t, &user, multipart, form("picture", "x.png", &decoded(PNG))).await;
    missing.is_problem(400, "form_param_missing", "file");
    send(&t, &user, multipart, b"--limit--\r\n".to_vec()).await.is_problem(400, "form_param_missing", "file");
    let mut damaged = decoded(PNG);
    damaged.truncate(80);
    for wrong in [
        b"".to_vec(),
        b"hello".to_vec(),
        b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(),
        b"%PDF-1.7".to_vec(),
        b"BM\x46\x00\x00\x00".to_vec(),
        damaged,
    ] {
        upload(&t, &user, "x.png", &wrong).await.is_error(400, "request_body_invalid");
    }
    send(&t, &user, multipart, b"not a form".to_vec()).await.is_error(400, "request_body_invalid");
    send(&t, &user, "image/png", decoded(PNG)).await.is_error(415, "unsupported_content_type");
    assert_eq!(t.shown(&user).await, before);
}

#[tokio::test]
async fn more_than_ten_megabytes_are_too_large() {
    let t = TestServer::start().await;
    let user = user(&t).await;
    for bytes in [10 * MEGABYTE + 1, 11 * MEGABYTE, 12 * MEGABYTE] {
        let mut picture = decoded(PNG);
        picture.resize(bytes, 0);
        upload(&t, &user, "x.png", &picture).await.is_error(413, "image_too_large");
    }
    let mut picture = decoded(PNG);
    picture.resize(10 * MEGABYTE, 0);
    upload(&t, &user, "x.png", &picture).await.ok();
}

#[tokio::test]
async fn users_who_do_not_exist_have_no_picture() {
    let t = TestServer::start().await;
    let nobody = "user_000000000000000000000000000";
    upload(&t, nobody, "x.png", &decoded(PNG)).await.is_error(404, "resource_not_found");
    t.delete(&format!("/v1/users/{nobody}/profile_image")).await.is_error(404, "resource_not_found");
    for unknown in ["img_000000000000000000000000000", "nonsense"] {
        assert_eq!(fetch(&t, &format!("/images/{}/{unknown}", t.tenant.id.as_str())).await.status, 404);
    }
}

#[tokio::test]
async fn a_picture_is_found_only_under_its_own_instance() {
    let t = TestServer::start().await;
    let user = user(&t).await;
    let updated = upload(&t, &user, "x.png", &decoded(PNG)).await.ok();
    let elsewhere = path(&updated).replace(t.tenant.id.as_str(), t.other.id.as_str());
    fetch(&t, &elsewhere).await.is_error(404, "image_not_found");
}

#[tokio::test]
async fn everybody_has_a_drawn_picture_with_their_initials() {
    let t = TestServer::start().await;
    let cases = [
        (json!({"first_name": "ada", "last_name": "Lovelace"}), Some("AL")),
        (json!({"first_name": "Élodie"}), Some("É")),
        (json!({"last_name": "'t Hooft"}), Some("T")),
        (json!({}), None),
        (json!({"first_name": "&&&"}), None),
    ];
    for (number, (names, initials)) in cases.into_iter().enumerate() {
        let mut body = names;
        body["username"] = json!(format!("user-{number}"));
        let user = t.user(body).await;
        assert_eq!(user["has_image"], false);
        let served = fetch(&t, path(&user)).await;
        assert_eq!((served.status, served.headers["content-type"].to_str().unwrap()), (200, "image/svg+xml"));
        assert!(
            served.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'")
        );
        assert_eq!(served.headers["x-content-type-options"], "nosniff");
        let svg = String::from_utf8(served.bytes).unwrap();
        assert!(svg.starts_with("<svg "), "{svg}");
        match initials {
            Some(initials) => assert!(svg.contains(&format!(">{initials}</text>")), "{svg}"),
            None => assert!(!svg.contains("<text"), "{svg}"),
        }
    }
}

#[tokio::test]
async fn drawn_pictures_follow_the_name_and_differ_between_users() {
    let t = TestServer::start().await;
    let (first, second) =
        (t.user(json!({"username": "first"})).await, t.user(json!({"username": "second"})).await);
    assert_ne!(fetch(&t, path(&first)).await.bytes, fetch(&t, path(&second)).await.bytes);
    assert_eq!(fetch(&t, path(&first)).await.bytes, fetch(&t, path(&first)).await.bytes);
    let renamed = t
        .patch(&format!("/v1/users/{}", first["id"].as_str().unwrap()), json!({"first_name": "Zoe"}))
        .await
        .ok();
    assert_ne!(renamed["image_url"], first["image_url"]);
    assert!(String::from_utf8(fetch(&t, path(&renamed)).await.bytes).unwrap().contains(">Z</text>"));
}

#[tokio::test]
async fn initials_in_an_address_cannot_smuggle_markup() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l"})).await;
    for initials in ["<script>alert(1)</script>", "\"/><a href='x'>", "&lt;"] {
        let served =
            fetch(&t, &format!("{}?initials={}", path(&user), URL_SAFE_NO_PAD.encode(initials))).await;
        let svg = String::from_utf8(served.bytes).unwrap();
        assert!(!svg.contains("<script") && !svg.contains("<a ") && !svg.contains("&lt"), "{svg}");
    }
    assert_eq!(fetch(&t, &format!("{}?initials=%F0", path(&user))).await.status, 400);
    assert_eq!(fetch(&t, &format!("{}?initials=!!", path(&user))).await.status, 200);
}

#[tokio::test]
async fn an_uploaded_picture_can_be_named_in_an_update() {
    let t = TestServer::start().await;
    let user = user(&t).await;
    let updated = upload(&t, &user, "x.png", &decoded(PNG)).await.ok();
    let image = path(&updated).rsplit('/').next().unwrap().to_owned();
    let same = t.patch(&format!("/v1/users/{user}"), json!({"profile_image_id": image})).await.ok();
    assert_eq!(same, updated);
    let without = t.patch(&format!("/v1/users/{user}"), json!({"profile_image_id": null})).await.ok();
    assert_eq!(without["has_image"], false);
    let again = t.patch(&format!("/v1/users/{user}"), json!({"profile_image_id": image})).await.ok();
    assert_eq!(again["image_url"], updated["image_url"]);
    assert_eq!(fetch(&t, path(&again)).await.status, 200);
}

#[tokio::test]
async fn one_address_does_not_have_all_pictures_resized() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    let user = user(&t).await;
    let uploaded = upload(&t, &user, "blob", &decoded(PNG)).await.ok();
    let path = path(&uploaded);
    let mut browser = t.browser();
    for width in 1..=50 {
        assert_eq!(browser.get(&format!("{path}?width={width}")).await.status, 200);
    }
    let refused = browser.get(&format!("{path}?height=1")).await;
    refused.is_error(429, "too_many_requests");
    assert_eq!(refused.header("retry-after"), "10");
    // It takes nothing to serve a picture as it is, and others are others.
    assert_eq!(browser.get(path).await.status, 200);
    let mut other = t.browser();
    other.address.set_ip(std::net::Ipv4Addr::new(192, 0, 2, 1).into());
    assert_eq!(other.get(&format!("{path}?width=9")).await.status, 200);
    // A proxy of the application speaks for many; one that shows a wrong key for nobody.
    let proxied = |key: &str, address: &str| {
        let request = Request::builder().uri(format!("{path}?width=9")).header("x-forwarded-for", address);
        let mut request = request.header("clerk-secret-key", key).body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(t.browser().address));
        request
    };
    let request = proxied(&t.tenant.key, "192.0.2.2");
    assert_eq!(browser.send("GET", path, request).await.status, 200);
    // Nor does the proxy of another application.
    let request = proxied(&t.other.key, "192.0.2.4");
    browser.send("GET", path, request).await.is_error(429, "too_many_requests");
    let request = proxied("sk_test_wrong", "192.0.2.3");
    assert_eq!(browser.send("GET", path, request).await.code(), "proxy_request_invalid_secret_key");
    t.clock.advance_ms(10_000);
    assert_eq!(browser.get(&format!("{path}?width=9")).await.status, 200);
}
