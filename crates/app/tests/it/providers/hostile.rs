//! Providers that are slow, large or broken, and those that lie; by the names of the attacks.

use latchkey_connections::social::protocol::{
    AuthorizeRequest, CallbackParams, ProviderTokens, authorize, exchange, find, refresh,
};
use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::{SealedSetting, SocialProvider};
use latchkey_testkit::{FakeProvider, Reaction, TestServer, fields, until};
use serde_json::{Value, json};

use super::{BACK, Stage, act, brought, code, connection, context, request};

#[tokio::test]
async fn an_honest_provider_says_who_somebody_is() {
    let stage = Stage::start().await;
    let granted = stage.whole().await.unwrap();
    let profile = granted.profile;
    assert_eq!(profile.provider_user_id, "ada-at-provider");
    assert_eq!(
        (profile.email_address.as_deref(), profile.email_address_verified),
        (Some("ada@example.com"), Some(true))
    );
    assert_eq!(
        (profile.username.as_deref(), &*profile.approved_scopes),
        (Some("ada"), "openid profile email")
    );
    assert!(granted.tokens.id_token.is_some() && granted.tokens.refresh_token.is_some());
    let renewed = refresh(&context(&stage.server).await, &stage.connection, &granted.tokens).await.unwrap();
    assert_ne!(renewed.access_token, granted.tokens.access_token);
    assert_eq!(renewed.id_token, granted.tokens.id_token, "what is not renewed stays");
    let nothing = ProviderTokens::default();
    let refused = refresh(&context(&stage.server).await, &stage.connection, &nothing).await;
    assert_eq!(code(refused), "oauth_missing_refresh_token");
    let other = ProviderTokens { refresh_token: Some("stolen".into()), ..nothing };
    let refused = refresh(&context(&stage.server).await, &stage.connection, &other).await;
    assert_eq!(code(refused), "oauth_token_exchange_error");
}

#[tokio::test]
async fn what_somebody_does_not_agree_to_is_told_as_that() {
    let stage = Stage::start().await;
    let (url, pending) = stage.begin().await.unwrap();
    let denied = stage.end(&pending, &brought(&stage.provider.deny(&url))).await;
    assert_eq!(code(denied), "oauth_access_denied");
    let said = |error: Option<&str>, given: Option<&str>| CallbackParams {
        error: error.map(str::to_owned),
        code: given.map(str::to_owned),
        ..CallbackParams::default()
    };
    let long = "c".repeat(9000);
    for (params, expected) in [
        (said(Some("user_cancelled_login"), None), "oauth_access_denied"),
        (said(Some("access_denied"), Some("code")), "oauth_access_denied"),
        (said(Some("server_error"), None), "oauth_token_exchange_error"),
        (said(Some("invalid_scope"), None), "misconfigured_oauth_provider"),
        (said(Some(""), Some("code")), "oauth_token_exchange_error"),
        (said(None, None), "oauth_token_exchange_error"),
        (said(None, Some("")), "oauth_token_exchange_error"),
        (said(None, Some(&long)), "oauth_token_exchange_error"),
        (said(None, Some("never-issued\r\nx: y")), "oauth_token_exchange_error"),
    ] {
        assert_eq!(code(stage.end(&pending, &params).await), expected);
    }
}

/// A3.
#[tokio::test]
async fn mix_up_an_answer_of_another_provider_is_refused_before_the_code_is_sent_anywhere() {
    let stage = Stage::start().await;
    let (url, pending) = stage.begin().await.unwrap();
    let honest = brought(&stage.provider.visit(&url));
    for iss in ["https://honest.example", "", "not a url", &format!("{}/", stage.provider.url())] {
        let params = CallbackParams { iss: Some(iss.into()), ..honest.clone() };
        assert_eq!(code(stage.end(&pending, &params).await), "oauth_callback_invalid", "{iss}");
    }
    assert_eq!(stage.provider.count("/token"), 0);
    assert!(stage.end(&pending, &honest).await.is_ok());
    // Providers that do not say who they are: their origin counts.
    let server = &stage.server;
    let github =
        connection(server, "github", stage.provider.stand_in(server, &server.tenant, "github")).unwrap();
    let cx = context(server).await;
    let (_, pending) = authorize(&cx, &github, request("s")).await.unwrap();
    let params = CallbackParams { iss: Some("https://accounts.google.com".into()), ..honest.clone() };
    assert_eq!(code(exchange(&cx, &github, &pending, &params, BACK).await), "oauth_callback_invalid");
}

/// A4: what begins at one provider cannot be ended at another, whatever its users are called there.
#[tokio::test]
async fn a_visit_belongs_to_one_provider_and_one_configuration() {
    let stage = Stage::start().await;
    let (server, provider) = (&stage.server, &stage.provider);
    let (url, pending) = stage.begin().await.unwrap();
    let params = brought(&provider.visit(&url));
    let cx = context(server).await;
    let other =
        connection(server, "custom_other", provider.custom(server, &server.tenant, "custom_other")).unwrap();
    assert_ne!(other.version(), stage.connection.version());
    assert_eq!(code(exchange(&cx, &other, &pending, &params, BACK).await), "oauth_token_exchange_error");
    let mut changed = provider.custom(server, &server.tenant, "custom_fake");
    changed.scopes.push("more".into());
    let changed = connection(server, "custom_fake", changed).unwrap();
    assert_eq!(code(exchange(&cx, &changed, &pending, &params, BACK).await), "oauth_token_exchange_error");
    assert_eq!(provider.count("/token"), 0, "no code was sent anywhere");
}

#[tokio::test]
async fn a_code_is_good_once_and_only_with_the_proof_of_who_began() {
    let stage = Stage::start().await;
    let (url, first) = stage.begin().await.unwrap();
    let (_, second) = stage.begin().await.unwrap();
    let params = brought(&stage.provider.visit(&url));
    assert_eq!(
        code(stage.end(&second, &params).await),
        "oauth_token_exchange_error",
        "another PKCE verifier"
    );
    let params = brought(&stage.provider.visit(&url));
    assert!(stage.end(&first, &params).await.is_ok());
    assert_eq!(code(stage.end(&first, &params).await), "oauth_token_exchange_error", "a second time");
}

#[tokio::test]
async fn a_lying_id_token_is_refused() {
    let stage = Stage::start().await;
    type Lie = fn(&mut Value, &mut Value);
    let lies: [(&str, Lie); 14] = [
        ("another issuer", |_, claims| claims["iss"] = json!("https://evil.example")),
        ("another audience", |_, claims| claims["aud"] = json!("another-client")),
        ("azp alone", |_, claims| {
            claims["azp"] = claims["aud"].take();
            claims["aud"] = json!("another-client");
        }),
        ("several audiences", |_, claims| claims["aud"] = json!(["latchkey-client", "another"])),
        ("another nonce", |_, claims| claims["nonce"] = json!("of another sign-in")),
        ("no nonce", |_, claims| claims["nonce"] = json!(null)),
        ("expired", |_, claims| claims["exp"] = json!(1_000_000_000)),
        ("never expires", |_, claims| claims["exp"] = json!(null)),
        ("not yet", |_, claims| claims["iat"] = json!(9_999_999_999_u64)),
        ("alg none", |header, _| header["alg"] = json!("none")),
        ("another algorithm", |header, _| header["alg"] = json!("HS256")),
        ("kid traversal", |header, _| header["kid"] = json!("../../jwks")),
        ("unknown kid", |header, _| header["kid"] = json!("key-of-evil")),
        ("critical extension", |header, _| header["crit"] = json!(["b64"])),
    ];
    for (name, lie) in lies {
        stage.provider.tamper(lie);
        assert_eq!(stage.refusal().await, "oauth_fetch_user_error", "{name}");
    }
    // Keys that a token brings along are not used.
    stage.provider.tamper(|header, _| {
        header["kid"] = json!("mine");
        header["jku"] = json!("http://127.0.0.1:1/jwks");
        header["jwk"] = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"});
    });
    assert_eq!(stage.refusal().await, "oauth_fetch_user_error");
    stage.provider.be_honest();
    assert!(stage.whole().await.is_ok());
}

#[tokio::test]
async fn a_provider_that_speaks_of_two_users_is_not_believed() {
    let stage = Stage::start().await;
    stage.provider.answer(
        "/userinfo",
        &json!({"sub": "victim", "email": "victim@example.com", "email_verified": true}),
    );
    assert_eq!(stage.refusal().await, "oauth_fetch_user_error");
    stage.provider.answer("/userinfo", &json!({"email": "victim@example.com", "email_verified": true}));
    assert_eq!(stage.refusal().await, "oauth_fetch_user_error");
    stage.provider.behave("/userinfo");
    for sub in [json!(""), json!(null), json!({}), json!("x".repeat(300)), json!("a\u{0}b")] {
        stage.provider.be(json!({ "sub": sub }));
        assert_eq!(stage.refusal().await, "oauth_fetch_user_error", "{sub}");
    }
}

/// A8.
#[tokio::test]
async fn an_address_of_a_custom_provider_is_not_verified_unless_it_says_so() {
    for (said, setting, expected) in [
        (json!(null), false, false),
        (json!(null), true, true),
        (json!(false), true, false),
        (json!("false"), true, false),
        (json!("true"), false, true),
        (json!(true), false, true),
        (json!(["true"]), false, false),
        (json!({"a": true}), false, false),
    ] {
        let stage = Stage::start_with(|settings| settings.email_verified = setting).await;
        stage.provider.be(json!({"sub": "1", "email": "a@example.com", "email_verified": said}));
        let profile = stage.whole().await.unwrap().profile;
        assert_eq!(profile.email_address_verified, Some(expected), "{said} {setting}");
    }
    assert!(!SocialProvider::default().email_verified);
    // The ID token's word on one address is not its word on another.
    let stage = Stage::start().await;
    stage.provider.be(json!({"sub": "1", "email": "own@example.com", "email_verified": true}));
    stage.provider.answer("/userinfo", &json!({"sub": "1", "email": "victim@example.com"}));
    let profile = stage.whole().await.unwrap().profile;
    assert_eq!(
        (profile.email_address.as_deref(), profile.email_address_verified),
        (Some("victim@example.com"), Some(false))
    );
}

/// A9.
#[tokio::test]
async fn a_changed_discovery_document_leads_nowhere_else() {
    let stage = Stage::start().await;
    for (change, expected) in [
        (json!({"issuer": "https://evil.example"}), "custom_oauth_provider_discovery_issuer_mismatch"),
        (json!({"issuer": null}), "custom_oauth_provider_discovery_issuer_mismatch"),
        (
            json!({"token_endpoint": "https://evil.example/token"}),
            "custom_oauth_provider_cannot_use_discovery_url",
        ),
        (json!({"jwks_uri": "https://evil.example/jwks"}), "custom_oauth_provider_cannot_use_discovery_url"),
        (json!({"jwks_uri": null}), "custom_oauth_provider_cannot_use_discovery_url"),
        (
            json!({"userinfo_endpoint": "http://127.0.0.1:1/userinfo"}),
            "custom_oauth_provider_cannot_use_discovery_url",
        ),
        (
            json!({"authorization_endpoint": "javascript:alert(1)"}),
            "custom_oauth_provider_cannot_use_discovery_url",
        ),
        (
            json!({"authorization_endpoint": "https://evil.example/"}),
            "custom_oauth_provider_cannot_use_discovery_url",
        ),
    ] {
        stage.forget();
        stage.provider.discover(change.clone());
        assert_eq!(code(stage.begin().await), expected, "{change}");
    }
    stage.forget();
    // What began by an honest document ends by it, whatever the document says then.
    stage.provider.discover(json!({}));
    let (url, pending) = stage.begin().await.unwrap();
    stage
        .provider
        .discover(json!({"token_endpoint": "https://evil.example/token", "issuer": "https://evil.example"}));
    assert!(stage.end(&pending, &brought(&stage.provider.visit(&url))).await.is_ok());
    let path = "/.well-known/openid-configuration";
    for reaction in [
        Reaction::Redirect(302, "https://evil.example".into()),
        Reaction::Endless(200),
        Reaction::Nonsense,
        Reaction::status(500),
    ] {
        stage.forget();
        stage.provider.react(path, reaction);
        assert_eq!(code(stage.begin().await), "custom_oauth_provider_discovery_server_retrieval_error");
    }
}

#[tokio::test]
async fn further_hosts_of_a_discovery_document_are_those_of_the_settings() {
    let allow = |settings: &mut SocialProvider| settings.endpoint_hosts = vec!["login.example.com".into()];
    let stage = Stage::start_with(allow).await;
    stage.provider.discover(json!({"authorization_endpoint": "https://login.example.com/authorize"}));
    let (url, _) = stage.begin().await.unwrap();
    assert!(url.starts_with("https://login.example.com/authorize?"), "{url}");
    for other in [
        "http://login.example.com/authorize",
        "https://login.example.com:8443/",
        "https://u@login.example.com/",
        "https://x.login.example.com/",
    ] {
        stage.forget();
        stage.provider.discover(json!({ "authorization_endpoint": other }));
        assert_eq!(code(stage.begin().await), "custom_oauth_provider_cannot_use_discovery_url", "{other}");
    }
}

/// A31.
#[tokio::test]
async fn answers_that_redirect_or_do_not_end_are_refused_at_once() {
    let stage = Stage::start().await;
    let elsewhere = FakeProvider::start(&stage.server).await;
    let huge = vec![b' '; 1024 * 1024 + 1];
    for (path, expected) in [
        ("/token", "oauth_token_exchange_error"),
        ("/userinfo", "oauth_fetch_user_error"),
        ("/jwks", "oauth_fetch_user_error"),
    ] {
        for reaction in [
            Reaction::Redirect(302, format!("{}/token", elsewhere.url())),
            Reaction::Redirect(307, format!("{}/token", elsewhere.url())),
            Reaction::Endless(200),
            Reaction::Answer(200, huge.clone()),
            Reaction::Answer(200, b"[[[[[[[[".repeat(20_000)),
            Reaction::Answer(200, b"null".to_vec()),
            Reaction::Answer(200, vec![0xff; 100]),
            Reaction::Answer(200, br#"{"ok":false,"error":"invalid_code"}"#.to_vec()),
            Reaction::status(500),
            Reaction::Close,
            Reaction::BreakOff,
            Reaction::Nonsense,
        ] {
            stage.forget();
            stage.provider.react(path, reaction.clone());
            assert_eq!(stage.refusal().await, expected, "{path} {:?}", std::mem::discriminant(&reaction));
        }
        stage.provider.behave(path);
    }
    assert_eq!(elsewhere.arrivals().len(), 0, "nothing was sent to where redirects lead");
}

/// A31.
#[tokio::test]
async fn a_slow_provider_is_left_after_ten_seconds_in_all() {
    let one = Stage::start().await;
    one.provider.react("/token", Reaction::Hang);
    let two = Stage::start().await;
    two.provider.react("/userinfo", Reaction::Drip(std::time::Duration::from_millis(300)));
    let began = tokio::time::Instant::now();
    let (first, second) = tokio::join!(one.refusal(), two.refusal());
    assert_eq!(first, "oauth_token_exchange_error");
    assert!(["oauth_token_exchange_error", "oauth_fetch_user_error"].contains(&second.as_str()), "{second}");
    let took = began.elapsed().as_secs();
    assert!((9..19).contains(&took), "{took} s");
    until(|| one.provider.count("/token") == 1).await;
}

#[tokio::test]
async fn whose_fault_a_refusal_is_is_told_and_nothing_the_provider_says() {
    let stage = Stage::start().await;
    for (word, expected) in [
        ("invalid_client", "misconfigured_oauth_provider"),
        ("redirect_uri_mismatch", "misconfigured_oauth_provider"),
        ("invalid_grant", "oauth_token_exchange_error"),
        ("something_else", "oauth_token_exchange_error"),
    ] {
        for status in [200, 400, 401] {
            let body = json!({"error": word, "error_description": "secret-of-the-provider"}).to_string();
            stage.provider.react("/token", Reaction::Answer(status, body.into_bytes()));
            let error = stage.whole().await.unwrap_err();
            assert!(
                !format!("{error:?} {}", error.problems()[0].to_json()).contains("secret-of-the-provider")
            );
            assert_eq!(error.problems()[0].code.spec().1, expected, "{word} {status}");
        }
    }
    // Form-encoded answers are read too.
    stage.provider.react("/token", Reaction::Answer(200, b"error=invalid_client".to_vec()));
    assert_eq!(stage.refusal().await, "misconfigured_oauth_provider");
}

#[tokio::test]
async fn keys_are_kept_for_a_while_and_read_again_for_a_new_one() {
    let stage = Stage::start().await;
    for _ in 0..3 {
        stage.whole().await.unwrap();
    }
    assert_eq!(stage.provider.count("/jwks"), 1);
    // Whoever writes a token with an unknown key does not make the server ask all the time.
    stage.provider.tamper(|header, _| header["kid"] = json!("unknown"));
    for _ in 0..3 {
        stage.refusal().await;
    }
    assert_eq!(stage.provider.count("/jwks"), 1);
    stage.provider.be_honest();
    stage.provider.rotate("key-2");
    stage.server.clock.advance_ms(11_000);
    stage.whole().await.unwrap();
    assert_eq!(stage.provider.count("/jwks"), 2);
    stage.server.clock.advance_ms(11 * 60 * 1000);
    stage.whole().await.unwrap();
    assert_eq!(stage.provider.count("/jwks"), 3);
}

#[tokio::test]
async fn keys_that_changed_under_the_same_name_are_read_again() {
    let stage = Stage::start().await;
    stage.provider.publish_another_key(true);
    stage.refusal().await;
    stage.provider.publish_another_key(false);
    stage.refusal().await;
    assert_eq!(stage.provider.count("/jwks"), 1, "they are not asked for all the time");
    stage.server.clock.advance_ms(11_000);
    stage.whole().await.unwrap();
    assert_eq!(stage.provider.count("/jwks"), 2);
}

const DISCOVERY: &str = "/.well-known/openid-configuration";

#[tokio::test]
async fn a_discovery_document_is_kept_for_a_while_and_read_by_one_at_a_time() {
    let stage = Stage::start().await;
    for expected in [1, 2] {
        let began = futures_util::future::join_all((0..8).map(|_| stage.begin())).await;
        assert!(began.iter().all(Result::is_ok));
        stage.whole().await.unwrap();
        assert_eq!(stage.provider.count(DISCOVERY), expected);
        stage.forget();
    }
    // A changed setting counts at once.
    let mut changed = stage.provider.custom(&stage.server, &stage.server.tenant, "custom_fake");
    changed.endpoint_hosts = vec!["login.example.com".into()];
    let changed = connection(&stage.server, "custom_fake", changed).unwrap();
    stage.begin().await.unwrap();
    assert!(authorize(&context(&stage.server).await, &changed, request("s")).await.is_ok());
    assert_eq!(stage.provider.count(DISCOVERY), 4);
    // A failure is kept for some seconds.
    stage.forget();
    stage.provider.react(DISCOVERY, Reaction::status(503));
    for expected in [5, 6] {
        for refused in futures_util::future::join_all((0..8).map(|_| stage.begin())).await {
            assert_eq!(code(refused), "custom_oauth_provider_discovery_server_retrieval_error");
        }
        assert_eq!(stage.provider.count(DISCOVERY), expected);
        stage.server.clock.advance_ms(6_000);
    }
    stage.provider.behave(DISCOVERY);
    assert!(stage.begin().await.is_ok());
}

#[tokio::test]
async fn a_provider_that_hangs_is_asked_for_its_document_once_and_not_by_everybody() {
    let stage = Stage::start().await;
    stage.provider.react(DISCOVERY, Reaction::Hang);
    let began = tokio::time::Instant::now();
    for refused in futures_util::future::join_all((0..8).map(|_| stage.begin())).await {
        assert_eq!(code(refused), "custom_oauth_provider_discovery_server_retrieval_error");
    }
    assert!(began.elapsed().as_secs() < 15);
    assert!(stage.begin().await.is_err());
    assert_eq!(stage.provider.count(DISCOVERY), 1);
}

#[tokio::test]
async fn a_custom_provider_is_shown_the_secret_in_the_way_it_wants() {
    use latchkey_kernel::settings::social::TokenAuth::{ClientSecretBasic, ClientSecretPost};
    let (basic, post, other) = ("client_secret_basic", "client_secret_post", "private_key_jwt");
    for (said, setting, expected) in [
        (json!(null), None, Some(ClientSecretBasic)),
        (json!([post, basic]), None, Some(ClientSecretBasic)),
        (json!([basic, other]), None, Some(ClientSecretBasic)),
        (json!([other, post]), None, Some(ClientSecretPost)),
        (json!([other]), None, None),
        (json!(basic), None, None),
        (json!([basic]), Some(ClientSecretPost), Some(ClientSecretPost)),
        (json!([other]), Some(ClientSecretBasic), Some(ClientSecretBasic)),
    ] {
        let stage = Stage::start_with(|settings| settings.token_auth = setting).await;
        stage.provider.discover(json!({ "token_endpoint_auth_methods_supported": said }));
        let Some(expected) = expected else {
            assert_eq!(stage.refusal().await, "custom_oauth_provider_cannot_use_discovery_url", "{said}");
            continue;
        };
        let granted = stage.whole().await.unwrap();
        refresh(&context(&stage.server).await, &stage.connection, &granted.tokens).await.unwrap();
        let asked = shown(&stage);
        assert_eq!(asked, [expected == ClientSecretBasic; 2], "{said} {setting:?}");
    }
    for (setting, is_basic) in
        [(None, false), (Some(ClientSecretPost), false), (Some(ClientSecretBasic), true)]
    {
        let server = TestServer::start().await;
        let provider = FakeProvider::start(&server).await;
        let mut settings = provider.custom(&server, &server.tenant, "custom_fake");
        settings.discovery_url = None;
        settings.authorize_url = Some(format!("{}/authorize", provider.url()));
        settings.token_url = Some(format!("{}/token", provider.url()));
        settings.userinfo_url = Some(format!("{}/userinfo", provider.url()));
        settings.token_auth = setting;
        let connection = connection(&server, "custom_fake", settings).unwrap();
        let stage = Stage { server, provider, connection };
        stage.whole().await.unwrap();
        assert_eq!(shown(&stage), [is_basic], "{setting:?}");
    }
}

/// How the server proved who it is, each time it asked for tokens: whether in the header, and not in the form. The fake
/// refuses whoever does neither.
fn shown(stage: &Stage) -> Vec<bool> {
    let asked = stage.provider.arrivals().into_iter().filter(|arrival| arrival.path == "/token");
    let is_basic = |arrival: latchkey_testkit::Arrival| {
        let has_header = arrival.header("authorization").starts_with("Basic ");
        let has_secret = fields(&arrival).contains_key("client_secret");
        assert_ne!(has_header, has_secret, "one or the other");
        has_header
    };
    asked.map(is_basic).collect()
}

#[tokio::test]
async fn what_a_browser_adds_stays_inside_its_parameter() {
    let stage = Stage::start().await;
    let cx = context(&stage.server).await;
    let scopes = vec!["calendar".to_owned(), "openid".to_owned()];
    let asked = AuthorizeRequest {
        additional_scopes: &scopes,
        login_hint: Some("ada@example.com&redirect_uri=https://evil.example#x"),
        prompt: Some("consent select_account"),
        ..request("st&te=1")
    };
    let (url, pending) = authorize(&cx, &stage.connection, asked).await.unwrap();
    let url = url::Url::parse(&url).unwrap();
    let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let find = |name: &str| {
        query.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(find("redirect_uri"), [BACK]);
    assert_eq!(find("state"), ["st&te=1"]);
    assert_eq!(find("scope"), ["openid profile email calendar"]);
    assert_eq!(find("login_hint"), ["ada@example.com&redirect_uri=https://evil.example#x"]);
    assert_eq!((find("prompt"), url.fragment()), (vec!["consent select_account"], None));
    assert_eq!(pending.scopes, ["openid", "profile", "email", "calendar"]);
    for bad in [
        vec!["a b".to_owned()],
        vec!["a,b".into()],
        vec![String::new()],
        vec!["é".into()],
        vec!["x".into(); 51],
    ] {
        let asked = AuthorizeRequest { additional_scopes: &bad, ..request("s") };
        assert_eq!(code(authorize(&cx, &stage.connection, asked).await), "form_param_format_invalid");
    }
    for bad in ["", "destroy", "consent  login", "consent\nlogin"] {
        let asked = AuthorizeRequest { prompt: Some(bad), ..request("s") };
        assert_eq!(
            code(authorize(&cx, &stage.connection, asked).await),
            "form_param_value_invalid",
            "{bad:?}"
        );
    }
    let asked = AuthorizeRequest { login_hint: Some("a\r\nb"), ..request("s") };
    assert_eq!(code(authorize(&cx, &stage.connection, asked).await), "form_param_format_invalid");
}

#[tokio::test]
async fn a_provider_is_found_only_if_it_can_be_used() {
    let server = TestServer::start().await;
    let provider = FakeProvider::start(&server).await;
    let good = |key: &str| provider.stand_in(&server, &server.tenant, key);
    let refused = |key: &str, settings: SocialProvider, environment: Environment| {
        code(find(&act(&server, key, settings), environment, &format!("oauth_{key}")))
    };
    let development = Environment::Development;
    assert!(connection(&server, "google", good("google")).is_ok());
    for key in
        ["instagram", "enstall", "expressen", "twitter", "nobody", "", "custom_", "token_google", "Google"]
    {
        assert_eq!(refused(key, good(key), development), "oauth_unsupported_provider", "{key}");
    }
    let off = SocialProvider { enabled: false, ..good("google") };
    assert_eq!(refused("google", off, development), "oauth_provider_not_enabled");
    let other = find(&act(&server, "github", good("github")), development, "oauth_google");
    assert_eq!(code(other), "oauth_provider_not_enabled");
    let empty = SocialProvider { client_id: None, ..good("google") };
    assert_eq!(refused("google", empty, development), "oauth_config_missing");
    // A secret of another provider, or of another instance, does not open.
    let moved = SocialProvider { client_secret: good("github").client_secret, ..good("google") };
    assert_eq!(refused("google", moved, development), "oauth_config_missing");
    let foreign = provider.stand_in(&server, &server.other, "google");
    assert_eq!(refused("google", foreign, development), "oauth_config_missing");
    assert_eq!(
        code(find(&act(&server, "google", good("google")), development, "google")),
        "oauth_unsupported_provider"
    );
    let mock = SocialProvider { enabled: true, ..SocialProvider::default() };
    assert!(connection(&server, "mock", mock.clone()).is_ok());
    assert_eq!(refused("mock", mock, Environment::Production), "oauth_unsupported_provider");
}

#[tokio::test]
async fn production_instances_reach_private_addresses_only_of_providers_that_may_be_there() {
    let server = TestServer::start().await;
    let provider = FakeProvider::start(&server).await;
    let path = "social.custom_fake.client_secret";
    let mut settings = provider.custom(&server, &server.tenant, "custom_fake");
    settings.client_secret = Some(SealedSetting::seal(&server.master, &server.tenant.id, path, "x").unwrap());
    let found = |allow_private_addresses: bool| {
        let settings = SocialProvider { allow_private_addresses, ..settings.clone() };
        find(&act(&server, "custom_fake", settings), Environment::Production, "oauth_custom_fake").unwrap()
    };
    let refused = authorize(&context(&server).await, &found(false), request("s")).await;
    assert_eq!(code(refused), "custom_oauth_provider_discovery_server_retrieval_error");
    assert!(provider.arrivals().is_empty());
    assert!(authorize(&context(&server).await, &found(true), request("s")).await.is_ok());
    // A stand-in does not count there either.
    let settings = provider.stand_in(&server, &server.tenant, "google");
    let act = super::act(&server, "google", settings);
    let connection = find(&act, Environment::Production, "oauth_google").unwrap();
    let (url, _) = authorize(&context(&server).await, &connection, request("s")).await.unwrap();
    assert!(url.starts_with("https://accounts.google.com/o/oauth2/v2/auth?"), "{url}");
}

#[tokio::test]
async fn names_of_a_custom_provider_are_found_where_the_settings_say() {
    let server = TestServer::start().await;
    let provider = FakeProvider::start(&server).await;
    let base = provider.url();
    let mut settings = provider.custom(&server, &server.tenant, "custom_fake");
    settings.discovery_url = None;
    settings.authorize_url = Some(format!("{base}/authorize?tenant=1"));
    settings.token_url = Some(format!("{base}/token"));
    settings.userinfo_url = Some(format!("{base}/userinfo"));
    settings.scopes = vec!["me".into()];
    settings.pkce = false;
    settings.attributes.sub = "data.id".into();
    settings.attributes.email = "https://example.com/email".into();
    settings.attributes.given_name = "data.names.0".into();
    provider.answer(
        "/userinfo",
        &json!({"data": {"id": 42, "names": {"0": "Ada"}}, "https://example.com/email": "ada@example.com"}),
    );
    let connection = connection(&server, "custom_fake", settings).unwrap();
    let cx = context(&server).await;
    let (url, pending) = authorize(&cx, &connection, request("s")).await.unwrap();
    assert!(
        url.contains("tenant=1")
            && url.contains("scope=me")
            && !url.contains("code_challenge")
            && !url.contains("nonce="),
        "{url}"
    );
    let params = CallbackParams { iss: None, ..brought(&provider.visit(&url)) };
    let profile = exchange(&cx, &connection, &pending, &params, BACK).await.unwrap().profile;
    assert_eq!((&*profile.provider_user_id, profile.first_name.as_deref()), ("42", Some("Ada")));
    assert_eq!(
        (profile.email_address.as_deref(), profile.email_address_verified),
        (Some("ada@example.com"), Some(false))
    );
}

#[tokio::test]
async fn the_token_in_the_path_of_hubspot_is_in_no_error() {
    let server = TestServer::start().await;
    let provider = FakeProvider::start(&server).await;
    let connection =
        connection(&server, "hubspot", provider.stand_in(&server, &server.tenant, "hubspot")).unwrap();
    let cx = context(&server).await;
    let (_, pending) = authorize(&cx, &connection, request("s")).await.unwrap();
    provider.answer("/api.hubapi.com/oauth/v1/token", &json!({"access_token": "top/../secret?x"}));
    let params = CallbackParams { code: Some("c".into()), ..CallbackParams::default() };
    let error = exchange(&cx, &connection, &pending, &params, BACK).await.unwrap_err();
    assert!(!format!("{error:?}").contains("secret"));
    let asked = provider.arrivals().pop().unwrap().path;
    assert_eq!(asked, "/api.hubapi.com/oauth/v1/access-tokens/top%2F..%2Fsecret%3Fx");
    assert!(!format!("{connection:?} {pending:?}").contains("secret-between"));
}
