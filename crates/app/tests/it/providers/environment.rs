//! What browsers are told about providers.

use latchkey_kernel::settings::{Settings, SocialProvider};
use latchkey_testkit::{FakeProvider, TestServer};

#[tokio::test]
async fn browsers_see_which_providers_there_are_and_no_secret() {
    let server = TestServer::start().await;
    let provider = FakeProvider::start(&server).await;
    let mut settings = Settings::default();
    settings.social.insert("google".into(), provider.stand_in(&server, &server.tenant, "google"));
    let acme = SocialProvider {
        logo_url: Some("https://acme.example/logo.png".into()),
        ..provider.custom(&server, &server.tenant, "custom_acme")
    };
    settings.social.insert("custom_acme".into(), acme);
    server.set_settings(settings).await;
    let seen = server.browser().get("/v1/environment").await;
    let text = String::from_utf8(seen.bytes.clone()).unwrap();
    let seen = seen.ok();
    let social = &seen["user_settings"]["social"];
    assert_eq!(social["oauth_google"]["enabled"], true);
    assert_eq!(social["oauth_custom_acme"]["name"], "Fake");
    assert_eq!(social["oauth_custom_acme"]["strategy"], "oauth_custom_acme");
    assert_eq!(social["oauth_github"]["enabled"], false);
    assert_eq!(seen["display_config"]["google_one_tap_client_id"], latchkey_testkit::CLIENT_ID);
    for word in ["sealed:", "client_secret", "stand_in", provider.url()] {
        assert!(!text.contains(word), "{word}");
    }
    let other = server.browser_at(&server.other).open("/v1/environment").await.ok();
    assert_eq!(other["user_settings"]["social"]["oauth_google"]["enabled"], false, "another instance");
}
