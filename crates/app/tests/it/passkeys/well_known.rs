//! What browsers and devices look up to know who may use passkeys; and apps that do.

use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::{AndroidApp, RelyingPartyId, Settings};
use serde_json::json;

use super::{owner, server, server_with, sign_in};

#[tokio::test]
async fn origins_are_listed_where_passkeys_belong_to_the_frontend_api() {
    let t = server().await;
    t.browser().open("/.well-known/webauthn").await.is_error(404, "resource_not_found");
    let mut settings = Settings::default();
    settings.passkey_settings.rp_id = RelyingPartyId::AuthHost;
    settings.allowed_origins = vec!["https://app.example.org".into()];
    let production = t.new_tenant(Environment::Production, settings).await;
    let listed = t.browser_at(&production).open("/.well-known/webauthn").await.ok();
    let origins = listed["origins"].as_array().unwrap();
    let own = format!("https://{}", production.frontend_api);
    assert!(origins.contains(&json!(own)) && origins.contains(&json!("https://app.example.org")));
}

#[tokio::test]
async fn native_apps_are_listed_as_their_platforms_want_it() {
    let print = ["AB"; 32].join(":");
    let t = server_with(|settings| {
        settings.native_settings.apple_app_ids = vec!["A1B2C3D4E5.com.example.app".into()];
        settings.native_settings.android_apps = vec![AndroidApp {
            package_name: "com.example.app".into(),
            sha256_cert_fingerprints: vec![["AB"; 32].join(":")],
        }];
    })
    .await;
    let apple = t.browser().open("/.well-known/apple-app-site-association").await;
    assert_eq!(apple.header("content-type"), "application/json");
    assert_eq!(apple.ok(), json!({"webcredentials": {"apps": ["A1B2C3D4E5.com.example.app"]}}));
    let android = t.browser().open("/.well-known/assetlinks.json").await.ok();
    let target = json!({"namespace": "android_app", "package_name": "com.example.app",
        "sha256_cert_fingerprints": [print]});
    let relation =
        json!(["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"]);
    assert_eq!(android, json!([{"relation": relation, "target": target}]));
}

#[tokio::test]
async fn an_app_that_the_settings_name_signs_in_and_no_other() {
    let t = server_with(|settings| {
        settings.native_settings.android_apps = vec![AndroidApp {
            package_name: "com.example.app".into(),
            sha256_cert_fingerprints: vec![["00"; 32].join(":")],
        }];
    })
    .await;
    let (_, mut device) = owner(&t).await;
    device.origin = format!("android:apk-key-hash:{}", "B".repeat(43));
    sign_in(&mut t.browser(), &mut device).await.is_error(400, "passkey_authentication_failure");
    device.origin = format!("android:apk-key-hash:{}", "A".repeat(43));
    sign_in(&mut t.browser(), &mut device).await.ok();
}
