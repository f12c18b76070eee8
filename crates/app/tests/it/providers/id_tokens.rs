//! ID tokens that a page or an app brings along: `google_one_tap`, `oauth_token_apple` and others.

use latchkey_base::Result;
use latchkey_connections::social::protocol::{Connection, Profile, id_token};
use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::SocialProvider;
use latchkey_testkit::{CLIENT_ID, FakeProvider, TestServer};
use serde_json::{Value, json};

use super::{act, code, context};

const KEYS: &str = "/www.googleapis.com/oauth2/v3/certs";

struct OneTap {
    server: TestServer,
    provider: FakeProvider,
}

impl OneTap {
    async fn start() -> OneTap {
        let server = TestServer::start().await;
        let provider = FakeProvider::start(&server).await;
        provider.answer(KEYS, &provider.jwks());
        OneTap { server, provider }
    }

    fn settings(&self) -> SocialProvider {
        let mut settings = self.provider.stand_in(&self.server, &self.server.tenant, "google");
        settings.more_client_ids = vec!["ios-app".into()];
        settings
    }

    async fn by(&self, strategy: &str, token: &str) -> Result<(Connection, Profile)> {
        let act = act(&self.server, "google", self.settings());
        id_token(&context(&self.server).await, &act, Environment::Development, strategy, token).await
    }

    fn claims(&self, change: Value) -> Value {
        let mut claims = json!({"iss": "https://accounts.google.com", "sub": "7", "email": "ada@example.com", "email_verified": true, "given_name": "Ada"});
        claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        claims
    }
}

#[tokio::test]
async fn a_token_of_google_says_who_somebody_is() {
    let stage = OneTap::start().await;
    for change in [
        json!({}),
        json!({"iss": "accounts.google.com"}),
        json!({"aud": "ios-app"}),
        json!({"aud": ["ios-app"]}),
    ] {
        for strategy in ["google_one_tap", "oauth_token_google"] {
            let token = stage.provider.id_token(&stage.claims(change.clone()));
            let (connection, profile) = stage.by(strategy, &token).await.unwrap();
            assert_eq!(connection.strategy().name(), "oauth_google");
            assert_eq!(
                (&*profile.provider_user_id, profile.email_address.as_deref()),
                ("7", Some("ada@example.com"))
            );
            assert_eq!((profile.email_address_verified, &*profile.approved_scopes), (Some(true), ""));
        }
    }
    assert_eq!(stage.provider.count(KEYS), 1);
}

/// A12, and everything else that a token can lie about.
#[tokio::test]
async fn a_token_of_another_google_project_is_refused() {
    let stage = OneTap::start().await;
    for change in [
        json!({"aud": "another-project"}),
        json!({"aud": "another-project", "azp": CLIENT_ID}),
        json!({"aud": ["another-project", CLIENT_ID]}),
        json!({"iss": "https://evil.example"}),
        json!({"exp": 1_000_000_000}),
        json!({"sub": ""}),
    ] {
        let token = stage.provider.id_token(&stage.claims(change.clone()));
        assert_eq!(
            code(stage.by("google_one_tap", &token).await),
            "google_one_tap_token_invalid",
            "{change}"
        );
        assert_eq!(
            code(stage.by("oauth_token_google", &token).await),
            "form_param_value_invalid",
            "{change}"
        );
    }
    let token = stage.provider.id_token(&stage.claims(json!({})));
    let unsigned = format!("{}.", token.rsplit_once('.').unwrap().0);
    let long = "a".repeat(40_000);
    for garbage in ["", ".", "..", "a.b.c", &unsigned, &token[1..], &format!("{token}x"), &long, "é"] {
        assert_eq!(code(stage.by("google_one_tap", garbage).await), "google_one_tap_token_invalid");
    }
    stage.provider.sign_with_secret(latchkey_testkit::CLIENT_SECRET);
    let shared = stage.provider.id_token(&stage.claims(json!({})));
    assert_eq!(code(stage.by("google_one_tap", &shared).await), "google_one_tap_token_invalid", "HS256");
}

#[tokio::test]
async fn only_providers_with_id_tokens_take_them() {
    let stage = OneTap::start().await;
    for strategy in
        ["oauth_token_github", "oauth_token_mock", "oauth_token_nobody", "oauth_google", "oauth_token_"]
    {
        assert!(stage.by(strategy, "a.b.c").await.is_err(), "{strategy}");
    }
}

#[tokio::test]
async fn a_custom_provider_with_keys_takes_its_own_tokens() {
    let server = TestServer::start().await;
    let provider = FakeProvider::start(&server).await;
    let act = act(&server, "custom_fake", provider.custom(&server, &server.tenant, "custom_fake"));
    let token = provider.id_token(&json!({"sub": "9", "email": "a@example.com"}));
    let cx = context(&server).await;
    let found = id_token(&cx, &act, Environment::Development, "oauth_token_custom_fake", &token).await;
    let (connection, profile) = found.unwrap();
    assert_eq!((connection.strategy().name(), &*profile.provider_user_id), ("oauth_custom_fake", "9"));
    assert_eq!(profile.email_address_verified, Some(false));
}
