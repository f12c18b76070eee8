//! Changing and deleting organizations, and their logos.

use axum::body::Body;
use axum::http::Request;
use latchkey_testkit::{Answer, PICTURE, TestServer};
use serde_json::json;

use super::{add, organization, server, text, upload};
use crate::me::support::{me, somebody};

#[tokio::test]
async fn an_organization_is_renamed_and_what_is_left_empty_stays() {
    let t = server().await;
    let mut me = me(&t).await;
    let id = organization(&t, &me.user).await;
    let path = format!("/v1/organizations/{id}");
    let before = t.events().await.len();
    let changed = me.patch(&path, json!({"name": "New", "slug": "new"})).await.ok()["response"].clone();
    assert_eq!((&changed["name"], &changed["slug"]), (&json!("New"), &json!("new")));
    let changed = me.patch(&path, json!({"name": "Newer", "slug": null})).await.ok()["response"].clone();
    assert_eq!((&changed["name"], &changed["slug"]), (&json!("Newer"), &json!("new")));
    // The same again changes nothing.
    me.patch(&path, json!({"name": "Newer"})).await.ok();
    assert_eq!(me.events_after(before).await, ["organization.updated", "organization.updated"]);
    // What backends may change besides is not for members to change.
    me.patch(&path, json!({"max_allowed_memberships": "1000", "public_metadata": "{\"a\":1}"})).await.ok();
    let seen = t.get(&path).await.ok();
    assert_eq!((&seen["max_allowed_memberships"], &seen["public_metadata"]), (&json!(0), &json!({})));
}

#[tokio::test]
async fn members_see_public_metadata_and_never_private() {
    let t = server().await;
    let mut me = me(&t).await;
    let id = organization(&t, &me.user).await;
    let body = json!({"public_metadata": {"plan": "pro"}, "private_metadata": {"secret": "s3cr3t"}});
    t.patch(&format!("/v1/organizations/{id}/metadata"), body.clone()).await.ok();
    t.patch(&format!("/v1/organizations/{id}/memberships/{}/metadata", me.user), body).await.ok();
    for path in [
        format!("/v1/organizations/{id}"),
        format!("/v1/organizations/{id}/memberships"),
        "/v1/me/organization_memberships".to_owned(),
        "/v1/client".to_owned(),
    ] {
        let shown = me.get(&path).await.ok().to_string();
        assert!(!shown.contains("s3cr3t"), "{path}");
        assert!(shown.contains("pro"), "{path}");
    }
}

#[tokio::test]
async fn a_logo_is_set_served_and_removed() {
    let t = server().await;
    let mut me = me(&t).await;
    let id = organization(&t, &me.user).await;
    let path = format!("/v1/organizations/{id}");
    let drawn = me.get(&path).await.ok()["response"].clone();
    assert_eq!((&drawn["has_image"], &drawn["logo_url"]), (&json!(false), &json!(null)));
    let served = async |url: &str| {
        let (_, path) = url.split_once("/images/").unwrap();
        let answer = t.browser().open(&format!("/images/{path}")).await;
        (answer.status, answer.header("content-type").to_owned())
    };
    assert_eq!(served(&text(&drawn["image_url"])).await, (200, "image/svg+xml".to_owned()));
    let set = upload(&mut me, &id).await.ok()["response"].clone();
    assert_eq!((&set["has_image"], &set["logo_url"]), (&json!(true), &set["image_url"]));
    assert_eq!(served(&text(&set["image_url"])).await, (200, "image/png".to_owned()));
    let gone = me.delete(&format!("{path}/logo")).await.ok()["response"].clone();
    assert_eq!((&gone["object"], &gone["deleted"]), (&json!("image"), &json!(true)));
    assert!(text(&set["image_url"]).ends_with(&text(&gone["id"])));
    assert_eq!(served(&text(&set["image_url"])).await.0, 404);
    assert_eq!(me.get(&path).await.ok()["response"]["has_image"], false);
    me.delete(&format!("{path}/logo")).await.is_error(404, "image_not_found");
    // A deleted organization leaves no logo behind.
    let set = upload(&mut me, &id).await.ok()["response"].clone();
    me.delete(&path).await.ok();
    assert_eq!(served(&text(&set["image_url"])).await.0, 404);
}

/// Uploads a logo on the Backend API, with these parts besides the file.
async fn upload_credited(t: &TestServer, path: &str, before: &[u8], after: &[u8]) -> Answer {
    let file = b"--frame\r\nContent-Disposition: form-data; name=\"file\"; filename=\"blob\"\r\n\r\n";
    let body = [before, file, PICTURE, b"\r\n", after, b"--frame--\r\n"].concat();
    let request = Request::put(path)
        .header("authorization", format!("Bearer {}", t.tenant.key))
        .header("content-type", "multipart/form-data; boundary=frame");
    t.send(request.body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn a_logo_can_be_uploaded_in_the_name_of_users_of_the_instance_only() {
    let t = server().await;
    let me = me(&t).await;
    let id = organization(&t, &me.user).await;
    let stranger =
        t.call(Some(&t.other), "POST", "/v1/users", Some(json!({"email_address": ["x@example.com"]})));
    let stranger = text(&stranger.await.ok()["id"]);
    let path = format!("/v1/organizations/{id}/logo");
    let part = |user: &str| {
        let head = "--frame\r\nContent-Disposition: form-data; name=\"uploader_user_id\"\r\n\r\n";
        format!("{head}{user}\r\n").into_bytes()
    };
    let has_image = async || t.get(&format!("/v1/organizations/{id}")).await.ok()["has_image"] == true;
    for unknown in [stranger.as_str(), "user_unknown", "\u{0}"] {
        upload_credited(&t, &path, &part(unknown), b"").await.is_error(404, "resource_not_found");
        upload_credited(&t, &path, b"", &part(unknown)).await.is_error(404, "resource_not_found");
    }
    let long = part(&"x".repeat(5000));
    upload_credited(&t, &path, &long, b"").await.is_problem(
        422,
        "form_param_value_invalid",
        "uploader_user_id",
    );
    assert!(!has_image().await);
    upload_credited(&t, &path, b"", &part(&me.user)).await.ok();
    upload_credited(&t, &path, &part(&me.user), b"").await.ok();
    assert!(has_image().await);
}

#[tokio::test]
async fn members_delete_an_organization_only_where_that_is_allowed() {
    let t = server().await;
    let mut me = me(&t).await;
    let mut other = somebody(&t, "other@example.com").await;
    let id = organization(&t, &me.user).await;
    add(&t, &id, &other.user, "org:member").await;
    let path = format!("/v1/organizations/{id}");
    t.patch(&path, json!({"admin_delete_enabled": false})).await.ok();
    me.delete(&path).await.is_error(403, "organization_admin_delete_not_enabled");
    other.delete(&path).await.is_error(403, "missing_organization_permission");
    t.patch(&path, json!({"admin_delete_enabled": true})).await.ok();
    let before = t.events().await.len();
    let gone = me.delete(&path).await.ok()["response"].clone();
    assert_eq!(gone, json!({"object": "organization", "id": id, "deleted": true}));
    let gone = "organizationMembership.deleted";
    assert_eq!(me.events_after(before).await, ["organization.deleted", gone, gone]);
    t.get(&path).await.is_error(404, "resource_not_found");
    for person in [&mut me, &mut other] {
        person.get(&path).await.is_error(404, "organization_not_found_or_unauthorized");
        assert_eq!(person.get("/v1/me/organization_memberships").await.ok()["response"], json!([]));
    }
}
