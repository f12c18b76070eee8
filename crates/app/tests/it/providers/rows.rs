//! Every row of the table against a stand-in: where people are sent, how tokens are asked for, who somebody is.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use latchkey_connections::social::protocol::{
    CallbackParams, Connection, Granted, authorize, exchange, refresh,
};
use latchkey_connections::social::providers::rows::ROWS;
use latchkey_connections::social::providers::{ClientAuth, Profile, ProviderRow, UserSource};
use latchkey_jose::digest::sha256;
use latchkey_jose::foreign::{self, ForeignKeys};
use latchkey_kernel::settings::{SealedSetting, SocialProvider};
use latchkey_testkit::{Arrival, CLIENT_ID, CLIENT_SECRET, FakeProvider, Reaction, TestServer, fields};
use serde_json::{Value, json};
use url::Url;

use super::{BACK, connection, context, request};

/// A key on P-256 for Apple, and its public half.
const APPLE_KEY: &str = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49\nAwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b\nfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n-----END EC PRIVATE KEY-----\n";

/// What a provider says about somebody, and what is read from it.
#[derive(Default)]
struct Story {
    /// Fields of the answer with the tokens.
    token: Value,
    /// Claims of the ID token.
    claims: Value,
    user: Value,
    emails: Value,
    /// Apple's field.
    form: Option<&'static str>,
    id: &'static str,
    email: Option<(&'static str, bool)>,
    names: (&'static str, &'static str),
    username: Option<&'static str>,
    image: Option<&'static str>,
    scopes: &'static str,
}

fn openid() -> Value {
    json!({"sub": "7", "email": "Ada@example.com", "email_verified": true, "given_name": "Ada", "family_name": "Lovelace",
        "picture": "https://p.example/a.png"})
}

fn story(key: &str) -> Story {
    let ada = Story {
        token: json!({}),
        claims: json!(null),
        user: json!(null),
        emails: json!(null),
        id: "7",
        email: Some(("ada@example.com", false)),
        names: ("Ada", "Lovelace"),
        ..Story::default()
    };
    let verified = Some(("ada@example.com", true));
    let image = Some("https://p.example/a.png");
    match key {
        "apple" => Story {
            claims: json!({"sub": "7", "email": "ada@example.com", "email_verified": "true"}),
            form: Some(r#"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"evil@example.com"}"#),
            email: verified,
            scopes: "name email",
            ..ada
        },
        "atlassian" => Story {
            user: json!({"account_id": "7", "email": "ada@example.com", "name": "Ada Lovelace", "picture": "https://p.example/a.png"}),
            token: json!({"scope": "read:me offline_access"}),
            image,
            scopes: "read:me offline_access",
            ..ada
        },
        "bitbucket" => Story {
            user: json!({"uuid": "{7}", "username": "ada", "display_name": "Ada Lovelace", "links": {"avatar": {"href": "https://p.example/a.png"}}}),
            emails: json!({"values": [
                {"email": "evil@example.com", "is_primary": true, "is_confirmed": false},
                {"email": "ada@example.com", "is_primary": false, "is_confirmed": true},
            ]}),
            id: "{7}",
            email: verified,
            username: Some("ada"),
            image,
            ..ada
        },
        "box" => Story {
            user: json!({"id": "7", "login": "ada@example.com", "name": "Ada Lovelace", "avatar_url": "https://p.example/a.png"}),
            image,
            ..ada
        },
        "coinbase" => Story {
            user: json!({"data": {"id": "7", "email": "ada@example.com", "name": "Ada Lovelace", "username": "ada", "avatar_url": "https://p.example/a.png"}}),
            username: Some("ada"),
            image,
            scopes: "wallet:user:read wallet:user:email",
            ..ada
        },
        "discord" => Story {
            user: json!({"id": "7", "email": "ada@example.com", "verified": true, "username": "ada", "global_name": "Ada Lovelace", "avatar": "a_1f"}),
            email: verified,
            username: Some("ada"),
            image: Some("https://cdn.discordapp.com/avatars/7/a_1f.gif"),
            scopes: "identify email",
            ..ada
        },
        "dropbox" => Story {
            user: json!({"account_id": "dbid:7", "email": "ada@example.com", "email_verified": true,
                "name": {"given_name": "Ada", "surname": "Lovelace"}, "profile_photo_url": "https://p.example/a.png"}),
            id: "dbid:7",
            email: verified,
            image,
            scopes: "account_info.read",
            ..ada
        },
        "facebook" => Story {
            user: json!({"id": "7", "email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace", "name": "Ada Lovelace",
                "picture": {"data": {"url": "https://p.example/a.png"}}}),
            image,
            scopes: "email public_profile",
            ..ada
        },
        "github" => Story {
            token: json!({"scope": "read:user,user:email"}),
            // The public address of the profile is not used.
            user: json!({"id": 7, "login": "ada", "name": "Ada Lovelace", "email": "public@example.com", "avatar_url": "https://p.example/a.png"}),
            emails: json!([
                {"email": "other@example.com", "primary": false, "verified": true},
                {"email": "open@example.com", "primary": false, "verified": false},
                {"email": "ada@example.com", "primary": true, "verified": true},
            ]),
            email: verified,
            username: Some("ada"),
            image,
            scopes: "read:user user:email",
            ..ada
        },
        "gitlab" => Story {
            user: json!({"id": 7, "username": "ada", "name": "Ada Lovelace", "email": "ada@example.com", "confirmed_at": "2020-01-01T00:00:00Z",
                "avatar_url": "https://p.example/a.png"}),
            email: verified,
            username: Some("ada"),
            image,
            scopes: "read_user",
            ..ada
        },
        "google" => Story { claims: openid(), email: verified, image, scopes: "openid email profile", ..ada },
        "hubspot" => Story {
            user: json!({"user_id": 7, "user": "ada@example.com", "hub_domain": "acme.example", "token": "at"}),
            names: ("", ""),
            scopes: "oauth",
            ..ada
        },
        "huggingface" | "linkedin_oidc" | "vercel" => {
            Story { user: openid(), email: verified, image, scopes: "openid profile email", ..ada }
        }
        "xero" => Story { user: openid(), image, scopes: "openid profile email", ..ada },
        "line" => Story {
            claims: json!({"sub": "7", "name": "Ada Lovelace", "email": "ada@example.com", "email_verified": true, "picture": "https://p.example/a.png"}),
            image,
            scopes: "openid profile email",
            ..ada
        },
        "linear" => Story {
            user: json!({"data": {"viewer": {"id": "7", "name": "Ada Lovelace", "displayName": "ada", "email": "ada@example.com", "avatarUrl": "https://p.example/a.png"}}}),
            token: json!({"scope": "read,write"}),
            username: Some("ada"),
            image,
            scopes: "read write",
            ..ada
        },
        "linkedin" => Story {
            user: json!({"id": "7", "localizedFirstName": "Ada", "localizedLastName": "Lovelace"}),
            emails: json!({"elements": [{"handle~": {"emailAddress": "ada@example.com"}}]}),
            scopes: "r_liteprofile r_emailaddress",
            ..ada
        },
        "microsoft" => Story {
            claims: json!({"iss": "https://login.microsoftonline.com/t-1/v2.0", "tid": "t-1", "oid": "o-1", "sub": "pairwise",
                "email": "ada@example.com", "name": "Ada Lovelace", "xms_edov": true, "preferred_username": "ada@example.com"}),
            id: "o-1.t-1",
            email: verified,
            scopes: "openid profile email offline_access",
            ..ada
        },
        "notion" => Story {
            token: json!({"workspace_name": "Acme", "owner": {"type": "user", "user": {"id": "7", "name": "Ada Lovelace",
                "avatar_url": "https://p.example/a.png", "person": {"email": "ada@example.com"}}}}),
            image,
            ..ada
        },
        "slack" => Story {
            claims: json!({"sub": "7"}),
            token: json!({"ok": true}),
            user: json!({"ok": true, "sub": "7", "email": "ada@example.com", "email_verified": true, "given_name": "Ada",
                "family_name": "Lovelace", "picture": "https://p.example/a.png"}),
            email: verified,
            image,
            scopes: "openid profile email",
            ..ada
        },
        "spotify" => Story {
            user: json!({"id": "7", "email": "ada@example.com", "display_name": "Ada Lovelace", "images": [{"url": "https://p.example/a.png"}]}),
            image,
            scopes: "user-read-email",
            ..ada
        },
        "tiktok" => Story {
            token: json!({"scope": "user.info.basic,user.info.stats", "open_id": "7"}),
            user: json!({"data": {"user": {"open_id": "7", "display_name": "Ada Lovelace", "avatar_url": "https://p.example/a.png"}},
                "error": {"code": "ok", "message": ""}}),
            email: None,
            image,
            scopes: "user.info.basic user.info.stats",
            ..ada
        },
        "twitch" => Story {
            token: json!({"scope": ["openid", "user:read:email"]}),
            claims: json!({"sub": "7", "email": "ada@example.com", "email_verified": true, "preferred_username": "ada", "picture": "https://p.example/a.png"}),
            email: verified,
            names: ("", ""),
            username: Some("ada"),
            image,
            scopes: "openid user:read:email",
            ..ada
        },
        "x" => Story {
            user: json!({"data": {"id": "7", "name": "Ada Lovelace", "username": "ada", "confirmed_email": "ada@example.com", "profile_image_url": "https://p.example/a.png"}}),
            email: verified,
            username: Some("ada"),
            image,
            scopes: "users.read tweet.read offline.access",
            ..ada
        },
        other => panic!("there is no story of {other}"),
    }
}

/// Where a stand-in is asked for an address of the row.
fn path(url: &str) -> String {
    let url = url.split('?').next().unwrap();
    format!("/{}", url.strip_prefix("https://").unwrap())
}

fn settings(server: &TestServer, provider: &FakeProvider, key: &str) -> SocialProvider {
    let mut settings = provider.stand_in(server, &server.tenant, key);
    if key == "apple" {
        settings.client_secret = None;
        (settings.team_id, settings.key_id) = (Some("TEAM".into()), Some("KEY".into()));
        let sealed =
            SealedSetting::seal(&server.master, &server.tenant.id, "social.apple.private_key", APPLE_KEY);
        settings.private_key = Some(sealed.unwrap());
    }
    settings
}

/// Makes the stand-in say what the provider says. The nonce of the ID token is the one that was asked for.
fn prepare(provider: &FakeProvider, row: &ProviderRow, story: &Story, nonce: Option<&str>) {
    let mut answer = json!({"access_token": "the-token", "refresh_token": "renewal", "expires_in": 3600});
    answer.as_object_mut().unwrap().extend(story.token.as_object().unwrap().clone());
    if let Some(rules) = row.id_token {
        let mut claims = story.claims.clone();
        if claims.get("iss").is_none() {
            claims["iss"] = json!(rules.issuer);
        }
        claims["nonce"] = json!(nonce);
        answer["id_token"] = json!(provider.id_token(&claims));
        let keys = Reaction::Redirect(302, "/nowhere".into());
        match row.key {
            "line" => provider.react(&path(rules.jwks_url), keys),
            _ => provider.answer(&path(rules.jwks_url), &provider.jwks()),
        }
    }
    provider.answer(&path(row.token_url), &answer);
    match row.user {
        UserSource::Get(url)
        | UserSource::GetWithProof(url)
        | UserSource::Post(url)
        | UserSource::GraphQl(url, _) => {
            provider.answer(&path(url), &story.user);
        }
        UserSource::GetBoth(user, emails) => {
            provider.answer(&path(user), &story.user);
            provider.answer(&path(emails), &story.emails);
        }
        UserSource::TokenInPath(url) => provider.answer(&format!("{}the-token", path(url)), &story.user),
        UserSource::IdToken | UserSource::TokenAnswer => (),
    }
}

async fn run(
    server: &TestServer,
    provider: &FakeProvider,
    connection: &Connection,
    row: &ProviderRow,
    story: &Story,
) -> (Url, latchkey_base::Result<Granted>) {
    let cx = context(server).await;
    let (url, pending) = authorize(&cx, connection, request("the-state")).await.unwrap();
    let url = Url::parse(&url).unwrap();
    let nonce = url.query_pairs().find(|(name, _)| name == "nonce").map(|(_, value)| value.into_owned());
    prepare(provider, row, story, nonce.as_deref());
    let params = CallbackParams {
        code: Some("the-code".into()),
        user: story.form.map(str::to_owned),
        ..CallbackParams::default()
    };
    let granted = exchange(&cx, connection, &pending, &params, BACK).await;
    (url, granted)
}

#[tokio::test]
async fn every_provider_is_asked_in_its_own_way_and_understood() {
    let server = TestServer::start().await;
    for row in ROWS {
        let (key, story) = (row.key, story(row.key));
        let provider = FakeProvider::start(&server).await;
        if key == "line" {
            provider.sign_with_secret(CLIENT_SECRET);
        }
        let connection = connection(&server, key, settings(&server, &provider, key)).unwrap();
        let (url, granted) = run(&server, &provider, &connection, row, &story).await;
        check_url(row, provider.url(), &url);
        let arrivals = provider.arrivals();
        check_token_request(row, &url, arrivals.iter().find(|it| it.path == path(row.token_url)).unwrap());
        let granted = granted.unwrap_or_else(|error| panic!("{key}: {error:?}"));
        check_profile(key, &story, &granted.profile);
        assert_eq!(granted.tokens.access_token.as_deref(), Some("the-token"), "{key}");
        assert_eq!(
            granted.tokens.expires_at.unwrap().ms_since(context(&server).await.now),
            3_600_000,
            "{key}"
        );
        check_user_request(row, &arrivals);
        let renewed = refresh(&context(&server).await, &connection, &granted.tokens).await;
        match row.has_refresh {
            true => assert_eq!(renewed.unwrap().refresh_token.as_deref(), Some("renewal"), "{key}"),
            false => assert_eq!(super::code(renewed), "oauth_missing_refresh_token", "{key}"),
        }
    }
}

fn check_url(row: &ProviderRow, base: &str, url: &Url) {
    let key = row.key;
    assert_eq!(
        url.as_str().split('?').next().unwrap(),
        format!("{base}{}", path(row.authorize_url)),
        "{key}"
    );
    let query: HashMap<String, String> = url.query_pairs().into_owned().collect();
    assert_eq!(query.len(), url.query_pairs().count(), "{key}: each parameter once");
    let id = if key == "tiktok" { "client_key" } else { "client_id" };
    assert_eq!(
        (&*query[id], &*query["state"], &*query["redirect_uri"]),
        (CLIENT_ID, "the-state", BACK),
        "{key}"
    );
    assert_eq!(query["response_type"], "code", "{key}");
    let scope = row.scopes.join(&row.scope_separator.to_string());
    assert_eq!(query.get("scope").cloned().unwrap_or_default(), scope, "{key}");
    assert_eq!(query.contains_key("code_challenge"), row.has_pkce, "{key}");
    assert_eq!(query.contains_key("nonce"), row.id_token.is_some(), "{key}");
    assert_eq!(
        query.get("response_mode").map(String::as_str),
        (key == "apple").then_some("form_post"),
        "{key}"
    );
    for (name, value) in row.params {
        assert_eq!(query[*name], *value, "{key}");
    }
}

fn check_token_request(row: &ProviderRow, url: &Url, arrival: &Arrival) {
    let (key, fields) = (row.key, fields(arrival));
    assert_eq!(arrival.method, "POST", "{key}");
    assert_eq!(
        (&*fields["grant_type"], &*fields["code"], &*fields["redirect_uri"]),
        ("authorization_code", "the-code", BACK),
        "{key}"
    );
    let challenge =
        url.query_pairs().find(|(name, _)| name == "code_challenge").map(|(_, value)| value.into_owned());
    let shown =
        fields.get("code_verifier").map(|verifier| URL_SAFE_NO_PAD.encode(sha256(verifier.as_bytes())));
    assert_eq!(shown, challenge, "{key}");
    let is_json = arrival.header("content-type") == "application/json";
    assert_eq!(is_json, row.client_auth == ClientAuth::BasicJson, "{key}");
    assert_eq!(arrival.header("accept"), "application/json", "{key}");
    let basic = arrival.header("authorization");
    match row.client_auth {
        ClientAuth::Basic | ClientAuth::BasicJson => {
            let pair =
                String::from_utf8(STANDARD.decode(basic.strip_prefix("Basic ").unwrap()).unwrap()).unwrap();
            assert!(
                pair.starts_with(&format!("{CLIENT_ID}:")) && !fields.contains_key("client_secret"),
                "{key}"
            );
        }
        ClientAuth::Post => assert_eq!(
            (&*fields["client_id"], &*fields["client_secret"], basic),
            (CLIENT_ID, CLIENT_SECRET, ""),
            "{key}"
        ),
        ClientAuth::PostKey => assert_eq!(
            (&*fields["client_key"], &*fields["client_secret"]),
            (CLIENT_ID, CLIENT_SECRET),
            "{key}"
        ),
        ClientAuth::AppleJwt => {
            let public = json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "KEY", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]});
            let claims = foreign::verify(&ForeignKeys::read(&public), &fields["client_secret"]).unwrap();
            assert_eq!(
                (&claims["iss"], &claims["sub"], &claims["aud"]),
                (&json!("TEAM"), &json!(CLIENT_ID), &json!("https://appleid.apple.com"))
            );
        }
    }
}

fn check_user_request(row: &ProviderRow, arrivals: &[Arrival]) {
    let asked: Vec<&Arrival> =
        arrivals.iter().filter(|it| it.header("authorization") == "Bearer the-token").collect();
    let key = row.key;
    assert!(asked.iter().all(|it| !it.header("user-agent").is_empty()), "{key}");
    for (name, value) in row.headers.iter().filter(|_| !asked.is_empty()) {
        assert!(asked.iter().all(|it| it.header(name) == *value), "{key}");
    }
    match row.user {
        UserSource::IdToken | UserSource::TokenAnswer | UserSource::TokenInPath(_) => {
            assert!(asked.is_empty(), "{key}")
        }
        UserSource::GetBoth(..) => assert_eq!(asked.len(), 2, "{key}"),
        UserSource::Get(_) => assert_eq!(asked[0].method, "GET", "{key}"),
        UserSource::GetWithProof(_) => assert!(asked[0].path.contains("&appsecret_proof="), "{key}"),
        UserSource::Post(_) => assert_eq!((&*asked[0].method, asked[0].body.len()), ("POST", 0), "{key}"),
        UserSource::GraphQl(_, query) => assert_eq!(asked[0].json()["query"], query, "{key}"),
    }
}

fn check_profile(key: &str, story: &Story, profile: &Profile) {
    assert_eq!(profile.provider_user_id, story.id, "{key}");
    let email =
        profile.email_address.as_deref().map(|email| (email, profile.email_address_verified.unwrap()));
    assert_eq!(email, story.email, "{key}");
    let names =
        (profile.first_name.as_deref().unwrap_or_default(), profile.last_name.as_deref().unwrap_or_default());
    assert_eq!(names, story.names, "{key}");
    assert_eq!(profile.username.as_deref(), story.username, "{key}");
    assert_eq!(profile.image_url.as_deref(), story.image, "{key}");
    assert_eq!(profile.approved_scopes, story.scopes, "{key}");
}

async fn profile_of(key: &str, story: Story) -> Profile {
    let server = TestServer::start().await;
    let provider = FakeProvider::start(&server).await;
    let connection = connection(&server, key, settings(&server, &provider, key)).unwrap();
    let row = ROWS.iter().find(|row| row.key == key).unwrap();
    run(&server, &provider, &connection, row, &story).await.1.unwrap().profile
}

#[tokio::test]
async fn a11_an_address_of_github_counts_only_if_the_list_says_it_is_verified() {
    let emails = json!([{"email": "ada@example.com", "primary": true, "verified": false}]);
    let profile = profile_of("github", Story { emails, ..story("github") }).await;
    assert_eq!((profile.email_address, profile.email_address_verified), (None, None));
    let emails = json!([
        {"email": "victim@example.com", "primary": true, "verified": false},
        {"email": "own@example.com", "primary": false, "verified": true},
    ]);
    let profile = profile_of("github", Story { emails, ..story("github") }).await;
    assert_eq!(profile.email_address.as_deref(), Some("own@example.com"));
}

#[tokio::test]
async fn a10_nothing_but_the_name_is_taken_from_the_field_of_apple() {
    let form =
        Some(r#"{"sub":"8","email":"victim@example.com","email_verified":true,"name":{"firstName":"Eve"}}"#);
    let claims = json!({"sub": "7"});
    let profile = profile_of("apple", Story { form, claims, ..story("apple") }).await;
    assert_eq!(
        (&*profile.provider_user_id, profile.email_address, profile.first_name.as_deref()),
        ("7", None, Some("Eve"))
    );
    for form in ["", "null", "[]", "{\"name\":7}", "{\"name\":{\"firstName\":\"a\\u0000b\"}}", "{"] {
        let profile = profile_of("apple", Story { form: Some(form), ..story("apple") }).await;
        assert_eq!(profile.first_name, None, "{form}");
    }
}

#[tokio::test]
async fn an_address_of_microsoft_is_verified_only_if_the_tenant_proved_its_domain() {
    for (said, expected) in [
        (json!(null), false),
        (json!(false), false),
        (json!(true), true),
        (json!("1"), true),
        (json!(1), true),
        (json!("0"), false),
    ] {
        let mut claims = story("microsoft").claims;
        claims["xms_edov"] = said.clone();
        claims["email_verified"] = json!(true);
        let profile = profile_of("microsoft", Story { claims, ..story("microsoft") }).await;
        assert_eq!(profile.email_address_verified, Some(expected), "{said}");
    }
}

#[tokio::test]
async fn a6_tagged_addresses_of_google_are_blocked_unless_settings_say_otherwise() {
    let server = TestServer::start().await;
    let provider = FakeProvider::start(&server).await;
    let blocks = |key: &str, setting: Option<bool>| {
        let own = SocialProvider {
            block_email_subaddresses: setting,
            ..provider.stand_in(&server, &server.tenant, key)
        };
        connection(&server, key, own).unwrap().blocks_subaddresses()
    };
    assert!(blocks("google", None) && !blocks("google", Some(false)));
    assert!(!blocks("github", None) && blocks("github", Some(true)));
}

#[tokio::test]
async fn a7_the_domain_of_google_is_the_claim_and_not_the_text_of_an_address() {
    let server = TestServer::start().await;
    let row = ROWS.iter().find(|row| row.key == "google").unwrap();
    for (wanted, hd, is_in) in [
        ("example.com", json!("example.com"), true),
        ("example.com", json!("Example.com"), true),
        ("example.com", json!(null), false),
        ("example.com", json!("evil.example"), false),
        ("*", json!("evil.example"), true),
        ("*", json!(null), false),
    ] {
        let provider = FakeProvider::start(&server).await;
        let mut own = settings(&server, &provider, "google");
        own.authorize_params.insert("hd".into(), wanted.into());
        let connection = connection(&server, "google", own).unwrap();
        let mut claims = openid();
        claims["hd"] = hd.clone();
        let story = Story { claims, ..story("google") };
        let (url, granted) = run(&server, &provider, &connection, row, &story).await;
        assert!(url.query_pairs().any(|(name, value)| name == "hd" && value == wanted));
        match is_in {
            true => assert!(granted.is_ok(), "{wanted} {hd}"),
            false => assert_eq!(super::code(granted), "oauth_access_denied", "{wanted} {hd}"),
        }
    }
}

#[tokio::test]
async fn somebody_whose_addresses_cannot_be_read_is_still_known() {
    let server = TestServer::start().await;
    let provider = FakeProvider::start(&server).await;
    let row = ROWS.iter().find(|row| row.key == "github").unwrap();
    let connection = connection(&server, "github", settings(&server, &provider, "github")).unwrap();
    let cx = context(&server).await;
    let (_, pending) = authorize(&cx, &connection, request("s")).await.unwrap();
    prepare(&provider, row, &story("github"), None);
    provider.react("/api.github.com/user/emails", Reaction::Answer(403, b"{}".to_vec()));
    let params = CallbackParams { code: Some("c".into()), ..CallbackParams::default() };
    let granted = exchange(&cx, &connection, &pending, &params, BACK).await.unwrap();
    assert_eq!((granted.profile.email_address, &*granted.profile.provider_user_id), (None, "7"));
}
