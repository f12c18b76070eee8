//! Signing in and up by accounts at other providers, and connecting them. The provider is the one that development
//! instances have, which lets people be whoever they say; `providers` tries how others are spoken to.

use latchkey_kernel::settings::{SealedSetting, Settings, SignUpMode, SocialProvider};
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use crate::sign_ins::{EMAIL, PASSWORD, server};

mod accounts;
mod attacks;
mod native;
mod pending;
mod refusals;
mod second_factors;
mod takeover;
mod tokens;
mod unproven;

const BACK: &str = "http://localhost:3000/sign-in#/sso-callback?sign_in_force_redirect_url=%2Fnext";
const DONE: &str = "http://localhost:3000/done";

/// Settings with the provider of development instances.
fn with_mock(settings: &mut Settings) {
    settings.social.insert("mock".into(), SocialProvider { enabled: true, ..SocialProvider::default() });
}

async fn start() -> TestServer {
    server(with_mock).await
}

/// Begins to sign in or up.
async fn begin(browser: &mut Browser<'_>, what: &str) -> Value {
    let fields =
        json!({"strategy": "oauth_mock", "redirect_url": BACK, "action_complete_redirect_url": DONE});
    browser.post(&format!("/v1/client/{what}"), fields).await.ok()["response"].take()
}

/// The page of the provider that an attempt leads to.
fn page(attempt: &Value) -> String {
    let proof = match attempt["object"].as_str() {
        Some("sign_up_attempt") => &attempt["verifications"]["external_account"],
        Some("external_account") => &attempt["verification"],
        _ => &attempt["first_factor_verification"],
    };
    assert_eq!(proof["object"], "verification_oauth");
    path(proof["external_verification_redirect_url"].as_str().unwrap())
}

/// What a URL of this server is without its origin.
fn path(url: &str) -> String {
    url.strip_prefix("http://localhost:3401").unwrap_or_else(|| panic!("{url}")).to_owned()
}

/// Is this person at the provider. Returns where the provider sends the browser.
async fn visit(browser: &mut Browser<'_>, page: &str, person: &str) -> String {
    let answer = browser.open(&format!("{page}&{person}")).await;
    assert_eq!(answer.status, 303, "{:#}", answer.json);
    path(answer.header("location"))
}

/// Comes back from the provider. Returns where the browser goes in the end.
async fn back(browser: &mut Browser<'_>, callback: &str) -> String {
    let answer = browser.open(callback).await;
    assert_eq!(answer.status, 303, "{:#}", answer.json);
    answer.header("location").to_owned()
}

/// The whole way of an attempt.
async fn through(browser: &mut Browser<'_>, attempt: &Value, person: &str) -> String {
    let callback = visit(browser, &page(attempt), person).await;
    back(browser, &callback).await
}

async fn client(browser: &mut Browser<'_>) -> Value {
    browser.get("/v1/client").await.ok()["response"].take()
}

/// Signs up by an account.
async fn signed_up(t: &TestServer, person: &str) -> Value {
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ups").await;
    assert_eq!(through(&mut browser, &attempt, person).await, DONE);
    client(&mut browser).await["sessions"][0]["user"].take()
}

#[tokio::test]
async fn a_sign_in_leads_to_the_provider_and_back() {
    let t = start().await;
    let user = signed_up(&t, "email_address=ada@example.com&first_name=Ada&last_name=Lovelace").await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    let proof = &attempt["first_factor_verification"];
    assert_eq!(
        (&attempt["status"], &proof["status"], &proof["strategy"]),
        (&json!("needs_identifier"), &json!("unverified"), &json!("oauth_mock"))
    );
    assert!(proof["expire_at"].is_i64());
    let there = through(&mut browser, &attempt, "email_address=ada@example.com").await;
    assert_eq!(there, DONE);
    let client = client(&mut browser).await;
    assert_eq!(client["sessions"][0]["user"]["id"], user["id"]);
    assert_eq!(client["last_authentication_strategy"], "oauth_mock");
    assert_eq!(client["sign_in"], Value::Null);
}

/// Whoever comes by a provider with an address of a domain joins like everybody else who has proven one.
#[tokio::test]
async fn whoever_has_an_address_of_a_domain_is_invited() {
    let t = start().await;
    let made = t.post("/v1/organizations", json!({"name": "Acme"})).await.ok();
    let path = format!("/v1/organizations/{}/domains", made["id"].as_str().unwrap());
    let domain = json!({"name": "acme.test", "enrollment_mode": "automatic_invitation", "verified": true});
    t.post(&path, domain).await.ok();
    for (person, count) in [("email_address=ada@acme.test&id=1", 1), ("email_address=ada@other.test&id=2", 0)]
    {
        let mut browser = t.browser();
        let attempt = begin(&mut browser, "sign_ups").await;
        assert_eq!(through(&mut browser, &attempt, person).await, DONE);
        let invitations = browser.get("/v1/me/organization_invitations").await.ok();
        assert_eq!(invitations["response"]["total_count"], count, "{person}");
    }
}

/// A session that still needs something is opened, and the page that began shows what.
#[tokio::test]
async fn a_pending_session_leads_to_the_page_that_began() {
    let t = server(|settings| {
        with_mock(settings);
        settings.organizations.enabled = true;
        settings.organizations.force_selection = true;
    })
    .await;
    for what in ["sign_ups", "sign_ins"] {
        let mut browser = t.browser();
        let attempt = begin(&mut browser, what).await;
        assert_eq!(through(&mut browser, &attempt, ADA).await, BACK, "{what}");
        assert_eq!(client(&mut browser).await["sessions"][0]["status"], "pending", "{what}");
    }
}

/// Where scripts show a token of the developer's browser, that may have no cookie here. The application's backend learns by
/// the address that somebody signed in.
#[tokio::test]
async fn a_browser_without_cookies_brings_the_application_a_token() {
    let t = start().await;
    signed_up(&t, ADA).await;
    let host = "clerk.example.accounts.dev";
    let id = t.tenant.id.clone();
    let moved = t.db().write(move |tx| {
        Box::pin(async move {
            let sql = "UPDATE instances SET frontend_api = $1 WHERE id = $2";
            Ok(tx.run(&[sql], &[host.into(), (&id).into()]).await?)
        })
    });
    assert_eq!(moved.await.unwrap(), 1);
    let path = |url: &str| url.split_once(host).unwrap_or_else(|| panic!("{url}")).1.to_owned();
    let mut app = t.browser_at_host(host);
    let attempt = begin(&mut app, "sign_ins").await;
    let page = &attempt["first_factor_verification"]["external_verification_redirect_url"];
    let answer = app.open(&format!("{}&{ADA}", path(page.as_str().unwrap()))).await;
    let callback = path(answer.header("location"));
    let mut window = t.browser_at_host(host);
    let there = back(&mut window, &callback).await;
    let token = there.strip_prefix(&format!("{DONE}?__clerk_db_jwt=")).unwrap_or_else(|| panic!("{there}"));
    assert!(!window.cookies.contains_key("__client"));
    app.cookies.clear();
    app.dev_browser = Some(token.to_owned());
    assert_eq!(client(&mut app).await["sessions"].as_array().unwrap().len(), 1);
    // The same for one that has a cookie, which the application's scripts do not show.
    let mut window = t.browser_at_host(host);
    let attempt = begin(&mut window, "sign_ins").await;
    window.dev_browser = None;
    let page = &attempt["first_factor_verification"]["external_verification_redirect_url"];
    let answer = window.open(&format!("{}&{ADA}", path(page.as_str().unwrap()))).await;
    let there = back(&mut window, &path(answer.header("location"))).await;
    let token = there.strip_prefix(&format!("{DONE}?__clerk_db_jwt=")).unwrap_or_else(|| panic!("{there}"));
    let mut app = t.browser_at_host(host);
    app.dev_browser = Some(token.to_owned());
    assert_eq!(client(&mut app).await["sessions"].as_array().unwrap().len(), 1);
    // Whoever is known as somebody else stays so.
    let mut other = t.browser_at_host(host);
    let attempt = begin(&mut other, "sign_ins").await;
    let page = &attempt["first_factor_verification"]["external_verification_redirect_url"];
    let answer = other.open(&format!("{}&{ADA}", path(page.as_str().unwrap()))).await;
    let callback = path(answer.header("location"));
    let mut stranger = t.browser_at_host(host);
    begin(&mut stranger, "sign_ins").await;
    stranger.dev_browser = None;
    assert_eq!(back(&mut stranger, &callback).await, DONE);
}

/// Components on production instances send paths, and mean those of the page that leads back.
#[tokio::test]
async fn a_path_is_meant_on_the_page_that_leads_back() {
    let t = start().await;
    signed_up(&t, ADA).await;
    for (given, meant) in [
        ("/", "http://localhost:3000/"),
        ("/done?a=b#c", "http://localhost:3000/done?a=b#c"),
        ("", BACK),
        ("https://other.example/x", "https://other.example/x"),
    ] {
        let mut browser = t.browser();
        let fields =
            json!({"strategy": "oauth_mock", "redirect_url": BACK, "action_complete_redirect_url": given});
        let attempt = browser.post("/v1/client/sign_ins", fields).await.ok()["response"].take();
        assert_eq!(through(&mut browser, &attempt, ADA).await, meant, "{given}");
    }
    let mut browser = t.browser();
    browser.origin = Some("http://localhost:3000".into());
    let fields = json!({"strategy": "oauth_mock", "redirect_url": "/back"});
    let attempt = browser.post("/v1/client/sign_ins", fields).await.ok()["response"].take();
    assert_eq!(through(&mut browser, &attempt, "deny=true").await, "http://localhost:3000/back");
    // Where pages of others are refused, so are they in this form.
    let mut browser = t.browser_at(&t.other);
    let home = format!("https://{}/back", t.other.frontend_api.trim_start_matches("clerk."));
    let mut settings = Settings::default();
    let google = SocialProvider {
        enabled: true,
        client_id: Some("id".into()),
        client_secret: Some(sealed(&t, "social.google.client_secret")),
        ..SocialProvider::default()
    };
    settings.social.insert("google".into(), google);
    t.set_settings_of(&t.other, settings).await;
    browser.origin = None;
    for (given, status) in
        [("/", 200), ("//evil.example/", 422), ("/\\evil.example", 422), ("\\\\evil.example", 422)]
    {
        let fields =
            json!({"strategy": "oauth_google", "redirect_url": home, "action_complete_redirect_url": given});
        assert_eq!(browser.post("/v1/client/sign_ins", fields).await.status, status, "{given}");
    }
}

/// A secret of the production instance.
fn sealed(t: &TestServer, path: &str) -> SealedSetting {
    SealedSetting::seal(&t.master, &t.other.id, path, "secret").unwrap()
}

#[tokio::test]
async fn whoever_signs_up_has_what_the_provider_says() {
    let t = start().await;
    let user =
        signed_up(&t, "email_address=ada@example.com&first_name=Ada&last_name=Lovelace&username=ada_l&id=42")
            .await;
    let address = &user["email_addresses"][0];
    let account = &user["external_accounts"][0];
    assert_eq!(
        (&user["first_name"], &user["last_name"], &user["username"]),
        (&json!("Ada"), &json!("Lovelace"), &json!("ada_l"))
    );
    assert_eq!(
        (&address["email_address"], &address["verification"]["status"], &address["verification"]["strategy"]),
        (&json!("ada@example.com"), &json!("verified"), &json!("from_oauth_mock"))
    );
    assert_eq!(address["verification"]["object"], "verification_from_oauth");
    assert_eq!(address["linked_to"], json!([{"type": "oauth_mock", "id": account["identification_id"]}]));
    assert_eq!(
        (&account["provider"], &account["provider_user_id"], &account["email_address_verified"]),
        (&json!("oauth_mock"), &json!("42"), &json!(true))
    );
    assert_eq!(
        (&account["verification"]["status"], &user["password_enabled"]),
        (&json!("verified"), &json!(false))
    );
    let id = user["id"].as_str().unwrap();
    let seen = t.get(&format!("/v1/users/{id}")).await.ok();
    assert_eq!(seen["external_accounts"], user["external_accounts"]);
    let events = t.events().await;
    let created = events.iter().find(|event| event.kind == "user.created").unwrap();
    assert_eq!(created.data["external_accounts"][0]["provider"], "oauth_mock");
    // What is linked stays while the account does.
    let path = format!("/v1/email_addresses/{}", address["id"].as_str().unwrap());
    t.delete(&path).await.is_error(400, "delete_linked_identification_disallowed");
}

/// Who is there already, who comes, and what becomes of signing in and up.
struct Case {
    /// What is so before.
    there: Before,
    /// Who somebody is at the provider.
    person: &'static str,
    /// `status`, state and error of the proof, and whether the browser goes to the end.
    sign_in: (&'static str, &'static str, &'static str, bool),
    sign_up: (&'static str, &'static str, &'static str, bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Nobody,
    /// Somebody who signed up by the account.
    Account,
    Banned,
    /// Somebody with the address, proven, and a password.
    Address,
    /// The same with a second factor.
    TwoFactors,
    /// Somebody who gave the address and a password, and proved nothing.
    Unproven,
    /// The same who has proven another address.
    UnprovenBesideProven,
}

const ADA: &str = "email_address=ada@example.com&first_name=Ada&id=42";
const UNSURE: &str = "email_address=ada@example.com&verified=false&id=42";
const NAMELESS: &str = "id=42";

const TABLE: [Case; 11] = [
    Case {
        there: Before::Nobody,
        person: ADA,
        sign_in: ("needs_identifier", "transferable", "external_account_not_found", false),
        sign_up: ("complete", "verified", "", true),
    },
    Case {
        there: Before::Nobody,
        person: UNSURE,
        sign_in: ("needs_identifier", "transferable", "external_account_not_found", false),
        sign_up: ("missing_requirements", "verified", "", false),
    },
    Case {
        there: Before::Nobody,
        person: NAMELESS,
        sign_in: ("needs_identifier", "transferable", "external_account_not_found", false),
        sign_up: ("missing_requirements", "verified", "", false),
    },
    Case {
        there: Before::Account,
        person: ADA,
        sign_in: ("complete", "verified", "", true),
        sign_up: ("missing_requirements", "transferable", "external_account_exists", false),
    },
    // Whoever has the account is who they are, whatever the address by now.
    Case {
        there: Before::Account,
        person: "email_address=other@example.com&id=42",
        sign_in: ("complete", "verified", "", true),
        sign_up: ("missing_requirements", "transferable", "external_account_exists", false),
    },
    Case {
        there: Before::Banned,
        person: ADA,
        sign_in: ("needs_identifier", "failed", "user_banned", false),
        sign_up: ("missing_requirements", "transferable", "external_account_exists", false),
    },
    Case {
        there: Before::Address,
        person: ADA,
        sign_in: ("complete", "verified", "", true),
        sign_up: ("missing_requirements", "transferable", "external_account_exists", false),
    },
    Case {
        there: Before::Address,
        person: UNSURE,
        sign_in: ("needs_first_factor", "", "", false),
        sign_up: ("missing_requirements", "transferable", "external_account_exists", false),
    },
    Case {
        there: Before::TwoFactors,
        person: ADA,
        sign_in: ("needs_second_factor", "verified", "", false),
        sign_up: ("missing_requirements", "transferable", "external_account_exists", false),
    },
    Case {
        there: Before::Unproven,
        person: ADA,
        sign_in: ("needs_new_password", "verified", "", false),
        sign_up: ("missing_requirements", "transferable", "external_account_exists", false),
    },
    Case {
        there: Before::UnprovenBesideProven,
        person: ADA,
        sign_in: ("needs_identifier", "transferable", "external_account_not_found", false),
        sign_up: ("complete", "verified", "", true),
    },
];

async fn prepared(before: Before) -> TestServer {
    let t = server(|settings| {
        with_mock(settings);
        settings.attributes.email_address.verify_at_sign_up = before != Before::Unproven;
    })
    .await;
    match before {
        Before::Nobody => (),
        Before::Account | Before::Banned => {
            let user = signed_up(&t, ADA).await;
            if before == Before::Banned {
                let path = format!("/v1/users/{}/ban", user["id"].as_str().unwrap());
                t.post(&path, json!({})).await.ok();
            }
        }
        Before::Address | Before::TwoFactors => {
            let factor = if before == Before::TwoFactors {
                json!("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
            } else {
                Value::Null
            };
            let mut fields = json!({"email_address": [EMAIL], "password": PASSWORD});
            if !factor.is_null() {
                fields["totp_secret"] = factor;
            }
            t.user(fields).await;
        }
        Before::UnprovenBesideProven => {
            let fields = json!({"email_address": ["other@example.com", EMAIL], "password": PASSWORD,
                "email_address_identification_status": ["verified", "reserved"]});
            t.user(fields).await;
        }
        Before::Unproven => {
            let fields = json!({"email_address": EMAIL, "password": PASSWORD});
            let done = t.browser().post("/v1/client/sign_ups", fields).await.ok();
            assert_eq!(done["response"]["status"], "complete");
        }
    }
    t
}

#[tokio::test]
async fn every_outcome_is_as_the_table_says() {
    for Case { there, person, sign_in, sign_up } in &TABLE {
        for (what, (status, state, error, is_done)) in [("sign_ins", sign_in), ("sign_ups", sign_up)] {
            let case = format!("{what}, {there:?}, {person}");
            let t = prepared(*there).await;
            let mut browser = t.browser();
            let attempt = begin(&mut browser, what).await;
            let end = through(&mut browser, &attempt, person).await;
            assert_eq!(end, if *is_done { DONE } else { BACK }, "{case}");
            let client = client(&mut browser).await;
            assert_eq!(client["sessions"].as_array().unwrap().len(), usize::from(*is_done), "{case}");
            if *is_done {
                continue;
            }
            let shown = &client[if what == "sign_ins" { "sign_in" } else { "sign_up" }];
            let proof = match what {
                "sign_ins" => &shown["first_factor_verification"],
                _ => &shown["verifications"]["external_account"],
            };
            assert_eq!(shown["status"], *status, "{case}");
            let seen = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            assert_eq!(
                (seen(&proof["status"]).as_str(), seen(&proof["error"]["code"]).as_str()),
                (*state, *error),
                "{case}"
            );
        }
    }
}

#[tokio::test]
async fn somebody_new_goes_from_signing_in_to_signing_up_once() {
    let t = start().await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    through(&mut browser, &attempt, ADA).await;
    let done = browser.post("/v1/client/sign_ups", json!({"transfer": true})).await.ok()["response"].take();
    assert_eq!(done["status"], "complete");
    let client = client(&mut browser).await;
    assert_eq!(client["sessions"][0]["user"]["external_accounts"][0]["provider_user_id"], "42");
    t.browser()
        .post("/v1/client/sign_ups", json!({"transfer": true}))
        .await
        .is_error(400, "account_transfer_invalid");
}

#[tokio::test]
async fn a_user_goes_from_signing_up_to_signing_in_once() {
    let t = prepared(Before::Address).await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ups").await;
    through(&mut browser, &attempt, ADA).await;
    let done = browser.post("/v1/client/sign_ins", json!({"transfer": true})).await.ok()["response"].take();
    assert_eq!(done["status"], "complete");
    let user = client(&mut browser).await["sessions"][0]["user"].take();
    assert_eq!(user["external_accounts"][0]["provider_user_id"], "42");
    let again = browser.post("/v1/client/sign_ins", json!({"transfer": true})).await;
    again.is_error(400, "account_transfer_invalid");
    t.browser()
        .post("/v1/client/sign_ins", json!({"transfer": true}))
        .await
        .is_error(400, "account_transfer_invalid");
}

#[tokio::test]
async fn an_address_that_the_provider_does_not_vouch_for_is_proven_first() {
    let t = prepared(Before::Address).await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    through(&mut browser, &attempt, UNSURE).await;
    let sign_in = client(&mut browser).await["sign_in"].take();
    assert_eq!((&sign_in["identifier"], &sign_in["status"]), (&json!(EMAIL), &json!("needs_first_factor")));
    let step = async |browser: &mut Browser<'_>, name: &str, fields: Value| {
        let path = format!("/v1/client/sign_ins/{}/{name}", sign_in["id"].as_str().unwrap());
        browser.post(&path, fields).await.ok()["response"].take()
    };
    let factors = sign_in["supported_first_factors"].as_array().unwrap();
    let factor = factors.iter().find(|factor| factor["strategy"] == "email_code").unwrap();
    let asked = json!({"strategy": "email_code", "email_address_id": factor["email_address_id"]});
    step(&mut browser, "prepare_first_factor", asked).await;
    let code = crate::sign_ins::code(&t).await;
    let done =
        step(&mut browser, "attempt_first_factor", json!({"strategy": "email_code", "code": code})).await;
    assert_eq!(done["status"], "complete");
    let user = client(&mut browser).await["sessions"][0]["user"].take();
    assert_eq!(user["external_accounts"][0]["provider_user_id"], "42");
    // From now on the account is enough.
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &attempt, UNSURE).await, DONE);
}

#[tokio::test]
async fn what_is_missing_is_asked_for_and_the_address_proven() {
    let t = server(|settings| {
        with_mock(settings);
        settings.attributes.username.required_at_sign_up = true;
    })
    .await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ups").await;
    assert_eq!(through(&mut browser, &attempt, UNSURE).await, BACK);
    let sign_up = client(&mut browser).await["sign_up"].take();
    assert_eq!(
        (&sign_up["missing_fields"], &sign_up["unverified_fields"], &sign_up["email_address"]),
        (&json!(["username"]), &json!(["email_address"]), &json!(EMAIL))
    );
    let path = format!("/v1/client/sign_ups/{}", sign_up["id"].as_str().unwrap());
    browser.patch(&path, json!({"username": "ada_l"})).await.ok();
    browser.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    let code = crate::sign_ins::code(&t).await;
    let fields = json!({"strategy": "email_code", "code": code});
    let done = browser.post(&format!("{path}/attempt_verification"), fields).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    let user = client(&mut browser).await["sessions"][0]["user"].take();
    assert_eq!(user["external_accounts"][0]["email_address_verified"], false);
    assert_eq!(user["email_addresses"][0]["verification"]["strategy"], "email_code");
}

#[tokio::test]
async fn whoever_denies_is_told_so_and_can_begin_anew() {
    let t = start().await;
    for what in ["sign_ins", "sign_ups"] {
        let mut browser = t.browser();
        let attempt = begin(&mut browser, what).await;
        assert_eq!(through(&mut browser, &attempt, "deny=true").await, BACK);
        let shown = client(&mut browser).await;
        let proof = match what {
            "sign_ins" => shown["sign_in"]["first_factor_verification"].clone(),
            _ => shown["sign_up"]["verifications"]["external_account"].clone(),
        };
        assert_eq!(
            (&proof["status"], &proof["error"]["code"]),
            (&json!("failed"), &json!("oauth_access_denied"))
        );
        let fresh = browser.post(&format!("/v1/client/{what}"), json!({})).await.ok()["response"].take();
        assert!(fresh["first_factor_verification"].is_null());
        assert!(fresh["verifications"]["external_account"].is_null());
    }
}

#[tokio::test]
async fn whoever_is_signed_in_already_is_told_by_which_session() {
    let t = server(|settings| {
        with_mock(settings);
        settings.session.single_session = false;
    })
    .await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ups").await;
    through(&mut browser, &attempt, ADA).await;
    let session = client(&mut browser).await["sessions"][0]["id"].take();
    let attempt = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &attempt, ADA).await, BACK);
    let proof = client(&mut browser).await["sign_in"]["first_factor_verification"].take();
    assert_eq!(
        (&proof["status"], &proof["error"]["code"], &proof["error"]["meta"]["session_id"]),
        (&json!("failed"), &json!("identifier_already_signed_in"), &session)
    );
}

#[tokio::test]
async fn doors_that_are_closed_stay_closed() {
    let restricted = server(|settings| {
        with_mock(settings);
        settings.sign_up.mode = SignUpMode::Restricted;
    })
    .await;
    let mut browser = restricted.browser();
    let fields = json!({"strategy": "oauth_mock", "redirect_url": BACK});
    browser.post("/v1/client/sign_ups", fields).await.is_error(403, "sign_up_mode_restricted");
    let attempt = begin(&mut browser, "sign_ins").await;
    through(&mut browser, &attempt, ADA).await;
    let answer = browser.post("/v1/client/sign_ups", json!({"transfer": true})).await;
    answer.is_error(403, "sign_up_mode_restricted");
    let listed = server(|settings| {
        with_mock(settings);
        settings.restrictions.allowlist = true;
    })
    .await;
    let mut browser = listed.browser();
    let attempt = begin(&mut browser, "sign_ups").await;
    assert_eq!(through(&mut browser, &attempt, ADA).await, BACK);
    let proof = client(&mut browser).await["sign_up"]["verifications"]["external_account"].take();
    assert_eq!((&proof["status"], &proof["error"]["code"]), (&json!("failed"), &json!("not_allowed_access")));
}

#[tokio::test]
async fn providers_that_are_not_there_are_refused_by_name() {
    let t = start().await;
    for (strategy, code) in [
        ("oauth_google", "oauth_provider_not_enabled"),
        ("oauth_nobody", "oauth_unsupported_provider"),
        ("oauth_instagram", "oauth_unsupported_provider"),
    ] {
        let fields = json!({"strategy": strategy, "redirect_url": BACK});
        t.browser().post("/v1/client/sign_ins", fields.clone()).await.is_error(400, code);
        t.browser().post("/v1/client/sign_ups", fields).await.is_error(400, code);
    }
    let mut settings = Settings::default();
    settings.social.insert(
        "mock".into(),
        SocialProvider { enabled: true, authenticatable: false, ..SocialProvider::default() },
    );
    settings.social.insert("github".into(), SocialProvider { enabled: true, ..SocialProvider::default() });
    t.set_settings(settings).await;
    let with = |strategy: &str| json!({"strategy": strategy, "redirect_url": BACK});
    let answer = t.browser().post("/v1/client/sign_ins", with("oauth_mock")).await;
    answer.is_error(400, "oauth_non_authenticatable_provider");
    t.browser().post("/v1/client/sign_ins", with("oauth_github")).await.is_error(400, "oauth_config_missing");
    let missing = t.browser().post("/v1/client/sign_ins", json!({"strategy": "oauth_mock"})).await;
    assert_eq!(missing.status, 400);
}

/// A window that an application opened tells it what came of it.
#[tokio::test]
async fn a_window_tells_the_page_that_opened_it() {
    let t = start().await;
    let window = "http://localhost:3401/popup-callback";
    let returning =
        format!("{window}?return_url=http%3A%2F%2Flocalhost%3A3000%2Fsso-callback%3Fintent%3DsignIn");
    let fields =
        json!({"strategy": "oauth_mock", "redirect_url": returning, "action_complete_redirect_url": window});
    let mut browser = t.browser();
    let attempt = browser.post("/v1/client/sign_ins", fields.clone()).await.ok()["response"].take();
    assert_eq!(through(&mut browser, &attempt, ADA).await, returning);
    let attempt = browser.post("/v1/client/sign_ups", fields).await.ok()["response"].take();
    let there = through(&mut browser, &attempt, ADA).await;
    let session = client(&mut browser).await["sessions"][0]["id"].as_str().unwrap().to_owned();
    let origin = "http%3A%2F%2Flocalhost%3A3000";
    assert_eq!(there, format!("{window}?__clerk_created_session={session}&return_origin={origin}"));
    let page = browser.open("/popup-callback").await;
    assert_eq!((page.status, page.header("cross-origin-opener-policy")), (200, ""));
}
