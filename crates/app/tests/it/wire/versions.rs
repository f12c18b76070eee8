//! Which version a request asks for, and what differs between them.

use latchkey_testkit::{Answer, TestServer};
use serde_json::json;

use super::{ada, bearer, send};

const VERSIONS: [&str; 5] = ["2021-02-05", "2024-10-01", "2025-04-10", "2025-11-10", "2026-05-12"];

async fn versioned(t: &TestServer, path: &str, versions: &[&str]) -> Answer {
    let key = bearer(t);
    let mut headers = vec![("authorization", key.as_str())];
    headers.extend(versions.iter().map(|version| ("clerk-api-version", *version)));
    send(t, "GET", path, &headers, "").await
}

#[tokio::test]
async fn version_is_chosen_by_header_or_by_query() {
    let t = TestServer::start().await;
    for version in VERSIONS {
        versioned(&t, "/v1/users", &[version]).await.ok();
        versioned(&t, &format!("/v1/users?__clerk_api_version={version}"), &[]).await.ok();
    }
    versioned(&t, "/v1/users", &[]).await.ok();
}

#[tokio::test]
async fn unknown_version_is_refused() {
    let t = TestServer::start().await;
    let bad = ["", "v1", "latest", "2026-05-13", "2025-03-12", "2026-05-12T00:00:00Z", " 2026-05-12x"];
    for version in bad {
        versioned(&t, "/v1/users", &[version]).await.is_error(400, "api_version_invalid");
    }
    for version in ["", "v1", "2026-05-13", "2025-03-12", "2026-05-12%20"] {
        let path = format!("/v1/users?__clerk_api_version={version}");
        versioned(&t, &path, &[]).await.is_error(400, "api_version_invalid");
    }
}

/// Scripts in pages come in their newest release, and ask for what was published after this server was made.
#[tokio::test]
async fn scripts_that_are_newer_than_the_server_get_the_newest_version_it_knows() {
    let t = TestServer::start().await;
    let path = "/v1/environment?__clerk_api_version=2026-08-21";
    t.browser().get(path).await.is_error(400, "api_version_invalid");
    t.clock.advance_ms(300 * 86_400_000);
    t.browser().get(path).await.ok();
    versioned(&t, "/v1/users?__clerk_api_version=2026-08-21", &[]).await.is_error(400, "api_version_invalid");
    versioned(&t, "/v1/users", &["2026-08-21"]).await.is_error(400, "api_version_invalid");
}

#[tokio::test]
async fn version_given_twice_is_refused_even_when_both_agree() {
    let t = TestServer::start().await;
    let newest = "2026-05-12";
    let query = format!("/v1/users?__clerk_api_version={newest}");
    let twice = format!("{query}&__clerk_api_version={newest}");
    versioned(&t, "/v1/users", &[newest, newest]).await.is_error(400, "api_version_invalid");
    versioned(&t, "/v1/users", &[newest, "2021-02-05"]).await.is_error(400, "api_version_invalid");
    versioned(&t, &query, &[newest]).await.is_error(400, "api_version_invalid");
    versioned(&t, &twice, &[]).await.is_error(400, "api_version_invalid");
}

async fn patch_metadata(t: &TestServer, id: &str, version: Option<&str>) -> Answer {
    let key = bearer(t);
    let mut headers = vec![("authorization", key.as_str()), ("content-type", "application/json")];
    headers.extend(version.map(|version| ("clerk-api-version", version)));
    let body = json!({"first_name": "Augusta", "public_metadata": {"version": version}});
    send(t, "PATCH", &format!("/v1/users/{id}"), &headers, body.to_string()).await
}

#[tokio::test]
async fn update_of_a_user_takes_metadata_before_the_newest_version_only() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    for version in [None, Some("2021-02-05"), Some("2024-10-01"), Some("2025-04-10"), Some("2025-11-10")] {
        let updated = patch_metadata(&t, &id, version).await.ok();
        // Replaced, not merged: what was there before is gone.
        assert_eq!(updated["public_metadata"], json!({"version": version}));
    }
    let before = t.everything().await;
    let refused = patch_metadata(&t, &id, Some("2026-05-12")).await;
    refused.is_error(422, "form_param_unknown");
    assert_eq!(refused.param(), "public_metadata");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn user_looks_in_every_version_as_on_record() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}", ada(&t).await);
    for version in VERSIONS {
        let user = versioned(&t, &path, &[version]).await.ok();
        insta::assert_json_snapshot!(format!("user_{}", version.replace('-', "_")), user);
    }
    let default = versioned(&t, &path, &[]).await.ok();
    assert_eq!(default, versioned(&t, &path, &["2021-02-05"]).await.ok());
    // 2026-08-20 changes the Frontend API only.
    let newest = versioned(&t, &path, &["2026-08-20"]).await.ok();
    assert_eq!(newest, versioned(&t, &path, &["2026-05-12"]).await.ok());
}
