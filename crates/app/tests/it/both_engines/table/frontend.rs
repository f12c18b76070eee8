//! The operations of the Frontend API: whom they serve, what they say to whoever has not shown enough, which ids they
//! do not know, and which bodies they refuse.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Method, Request};
use latchkey_base::Id;
use latchkey_base::kinds::UserId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::Clock;
use latchkey_jose::digest::sha256;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{Attribute, RelyingPartyId, SealedSetting, Settings, SocialProvider};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::identifications::input::NewContactStatus;
use latchkey_people::identifications::rules::contact;
use latchkey_people::users::store as users;
use latchkey_testkit::{Answer, PICTURE, Tenant, TestServer, escape, with_organizations};
use latchkey_web::api::Credential;
use serde_json::{Map, Value, json};

use super::{Row, fits, frontend, missing, texts};

pub(super) const FORM: &str = "application/x-www-form-urlencoded";
pub(super) const JSON: &str = "application/json";
const PASSWORD: &str = "correct horse battery";
const PAGE: &str = "http://localhost:3000/";

pub(super) type Cookies = BTreeMap<String, String>;

/// Somebody signed in on one browser, and about to sign in and up on another.
pub(super) struct Somebody {
    pub(super) tenant: Tenant,
    /// Of the browser they are signed in on.
    pub(super) cookies: Cookies,
    /// Of the browser they are about to sign in and up on.
    pub(super) attempting: Cookies,
    /// By path parameter.
    ids: BTreeMap<&'static str, String>,
}

/// Makes somebody who has what the paths name. `number` tells them from others of the same instance.
pub(super) async fn somebody(t: &TestServer, tenant: &Tenant, number: u32) -> Somebody {
    let digest: String = sha256(PASSWORD.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let address = format!("somebody{number}@example.com");
    let add = async |path: &str, body: Value| {
        let added = t.call(Some(tenant), "POST", path, Some(body)).await.ok();
        added["id"].as_str().unwrap().to_owned()
    };
    let organization = json!({"name": "Organization", "slug": format!("somebody-{number}")});
    let organization = add("/v1/organizations", organization).await;
    let of_organization = format!("/v1/organizations/{organization}");
    // Before the address is theirs: nobody invites a member.
    let invitation = json!({"email_address": address, "role": "org:member"});
    let invitation = add(&format!("{of_organization}/invitations"), invitation).await;
    let body = json!({
        "email_address": [address], "phone_number": [format!("+49153{number:08}")],
        "password_digest": digest, "password_hasher": "sha256",
    });
    let made = t.call(Some(tenant), "POST", "/v1/users", Some(body)).await.ok();
    let user = made["id"].as_str().unwrap();
    add(&format!("{of_organization}/memberships"), json!({"user_id": user, "role": "org:admin"})).await;
    t.upload_by("PUT", tenant, &format!("{of_organization}/logo"), PICTURE).await.ok();
    let bare = |name: &str| {
        json!({"username": format!("{name}-{number}"), "skip_user_requirement": true,
        "skip_password_requirement": true})
    };
    let colleague = add("/v1/users", bare("colleague")).await;
    let newcomer = add("/v1/users", bare("newcomer")).await;
    let member = json!({"user_id": colleague, "role": "org:admin"});
    add(&format!("{of_organization}/memberships"), member).await;
    let domain_name = format!("somebody{number}.test");
    let domain = json!({"name": domain_name, "verified": false});
    let domain = add(&format!("/v1/organizations/{organization}/domains"), domain).await;
    let elsewhere = add("/v1/organizations", json!({"name": "Elsewhere"})).await;
    // A suggestion needs its reason: a verified domain, and a proven address of it.
    let reason_name = format!("elsewhere{number}.test");
    let reason = add(&format!("/v1/organizations/{elsewhere}/domains"), json!({"name": reason_name})).await;
    let proven = json!({"user_id": user, "email_address": format!("me@{reason_name}"), "verified": true});
    add("/v1/email_addresses", proven).await;
    let asker = add("/v1/users", bare("asker")).await;
    let request = suggestion(t, tenant, (&organization, &asker), &domain, "requested").await;
    let suggestion = suggestion(t, tenant, (&elsewhere, user), &reason, "pending").await;
    let email = json!({"user_id": user, "email_address": format!("somebody{number}.b@example.com")});
    let email = add("/v1/email_addresses", email).await;
    let phone = json!({"user_id": user, "phone_number": format!("+49154{number:08}")});
    let phone = add("/v1/phone_numbers", phone).await;
    let wallet = unproven_wallet(t, tenant, user, format!("0x{number:040x}")).await;
    let template = format!("template-{number}");
    add("/v1/jwt_templates", json!({"name": template, "claims": {"role": "user"}})).await;
    t.upload(tenant, &format!("/v1/users/{user}/profile_image"), PICTURE).await.ok();
    let account = t.connected_account(tenant, user, "oauth_mock", number).await;
    let (passkey, _, device) = t.add_what_no_operation_adds(tenant, user, number).await;
    let presence = t.signed_in(tenant, user).await;
    let mut browser = t.browser_at(tenant);
    browser.origin = None;
    let id = |answer: Answer| answer.ok()["response"]["id"].as_str().unwrap().to_owned();
    let sign_in = id(browser.post("/v1/client/sign_ins", json!({ "identifier": address })).await);
    let new = json!({"email_address": format!("new{number}@example.com")});
    let sign_up = id(browser.post("/v1/client/sign_ups", new).await);
    let ids = [
        ("email_id", email),
        ("external_account_id", account),
        ("invitation_id", invitation),
        // Of no path: somebody who is in no organization.
        ("newcomer", newcomer),
        ("organization_id", organization),
        ("domain_id", domain),
        // Not in a path; the domain of addresses that prove it.
        ("domain_name", domain_name),
        ("request_id", request),
        ("suggestion_id", suggestion),
        ("passkey_id", passkey),
        ("phone_number_id", phone),
        ("session_id", presence.session),
        ("sign_in_id", sign_in),
        ("sign_up_id", sign_up),
        // A name rather than an id, and as unknown to others.
        ("template_name", template),
        ("trusted_device_id", device),
        // A member of their organization.
        ("user_id", colleague),
        ("web3_wallet_id", wallet),
    ];
    Somebody {
        tenant: tenant.clone(),
        cookies: [("__client".to_owned(), presence.client_token)].into(),
        attempting: browser.cookies.clone(),
        ids: ids.into(),
    }
}

/// Suggests an organization to a user, behind the server's back: people who join by a domain are tested elsewhere.
async fn suggestion(
    t: &TestServer,
    tenant: &Tenant,
    (organization, user): (&str, &str),
    domain: &str,
    status: &str,
) -> String {
    let id = format!("orgsug_{}", &user["user_".len()..]);
    let sql = "INSERT INTO organization_suggestions (instance_id, id, organization_id, user_id, domain_id, status, \
               created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, 0, 0)";
    let params = [id.as_str(), organization, user, domain, status].map(Into::into);
    t.run_sql(sql, [(&tenant.id).into()].into_iter().chain(params).collect()).await;
    id
}

impl Somebody {
    fn id(&self, parameter: &str) -> String {
        let found = self.ids.get(parameter);
        found.unwrap_or_else(|| panic!("give somebody an id for `{parameter}`")).clone()
    }

    /// The cookies of the browser they would call an operation from.
    pub(super) fn cookies_for(&self, row: &Row) -> &Cookies {
        match row.parameters().iter().any(|name| ["sign_in_id", "sign_up_id"].contains(name)) {
            true => &self.attempting,
            false => &self.cookies,
        }
    }
}

/// What is sent.
pub(super) enum Sent<'a> {
    Nothing,
    Text(&'a str, String),
    File,
}

impl Row {
    /// The path to what somebody has, with the query it needs.
    pub(super) fn path_to(&self, somebody: &Somebody) -> String {
        self.with_query(self.filled(|name| somebody.id(name)))
    }

    fn with_query(&self, path: String) -> String {
        match self.id {
            "handshakeClient" | "redirectToUrl" | "touchClient" => {
                format!("{path}?redirect_url={}", escape(PAGE))
            }
            "getProxyHealth" => format!("{path}?domain_id=dmn_1"),
            _ => path,
        }
    }

    /// What somebody may send.
    pub(super) fn form(&self, somebody: &Somebody) -> Option<Value> {
        self.schema(FORM)?;
        Some(match self.id {
            "createSignIn" => json!({"identifier": "somebody1@example.com"}),
            "joinWaitlist" => json!({"email_address": "waiting@example.com"}),
            "createSignUps" => json!({"email_address": "fresh@example.com"}),
            "createOrganization" | "updateOrganization" => json!({"name": "Changed"}),
            "CreateOrganizationMembership" => {
                json!({"user_id": somebody.id("newcomer"), "role": "org:member"})
            }
            "UpdateOrganizationMembership" => json!({"role": "org:member"}),
            "enableEnvironmentSetting" | "postEnableEnvironmentSetting" => {
                json!({"enable_organizations": true})
            }
            "createOrganizationInvitations" => {
                json!({"email_address": "invited@example.com", "role": "org:member"})
            }
            "bulkCreateOrganizationInvitations" => {
                json!({"email_address": ["invited.too@example.com"], "role": "org:member"})
            }
            "CreateOrganizationDomain" => json!({"name": "new.test"}),
            "createOrganizationDomainsBulk" => json!({"names": ["newer.test"]}),
            "UpdateOrganizationDomainEnrollmentMode" => json!({"enrollment_mode": "automatic_invitation"}),
            "prepareOrganizationDomainVerification" => {
                json!({"affiliation_email_address": format!("a@{}", somebody.id("domain_name"))})
            }
            "attemptOrganizationDomainVerification" => json!({"code": "000000"}),
            "prepareOrganizationDomainsOwnershipVerification"
            | "attemptOrganizationDomainsOwnershipVerification" => {
                json!({"organization_domain_ids": [somebody.id("domain_id")]})
            }
            "updateSignUps" | "patchUser" => json!({"first_name": "Changed"}),
            "prepareSignInFactorOne" | "prepareSignUpsVerification" => json!({"strategy": "email_code"}),
            "attemptSignInFactorOne" | "attemptSessionReverificationFirstFactor" => {
                json!({"strategy": "password", "password": PASSWORD})
            }
            "attemptSignInFactorTwo" | "attemptSessionReverificationSecondFactor" => {
                json!({"strategy": "totp", "code": "000000"})
            }
            "attemptSignUpsVerification" => json!({"strategy": "email_code", "code": "000000"}),
            "prepareSignInFactorTwo" | "prepareSessionReverificationSecondFactor" => {
                json!({"strategy": "phone_code"})
            }
            "resetPassword" => json!({"password": "another horse battery"}),
            "startSessionReverification" => json!({"level": "first_factor"}),
            "prepareSessionReverificationFirstFactor" => {
                json!({"strategy": "email_code", "email_address_id": somebody.id("email_id")})
            }
            "patchUserMetadata" => json!({"unsafe_metadata": {"changed": true}}),
            "createEmailAddresses" => json!({"email_address": "added@example.com"}),
            "postWeb3Wallets" => json!({"web3_wallet": format!("0x{:040x}", 99)}),
            "prepareWeb3WalletVerification" => json!({"strategy": "web3_metamask_signature"}),
            "attemptWeb3WalletVerification" => json!({"signature": "0x00"}),
            "postPhoneNumbers" => json!({"phone_number": "+4915599999999"}),
            "attemptPasskeyVerification" => json!({"strategy": "passkey", "public_key_credential": "{}"}),
            "prepareTrustedDevice" => device_form(),
            "attemptTrustedDevice" => {
                let mut form = device_form();
                form["client_data"] = json!(r#"{"challenge_id":"tdc_000000000000000000000000000"}"#);
                form["signature"] = json!("AAAA");
                form
            }
            "validateTrustedDevice" => json!({"trusted_device_id": somebody.id("trusted_device_id")}),
            "patchPasskey" => json!({"name": "Changed"}),
            "UpdatePhoneNumber" => json!({"reserved_for_second_factor": false}),
            "sendVerificationEmail" => json!({"strategy": "email_code"}),
            "sendVerificationSMS" => json!({"strategy": "phone_code"}),
            "verifyEmailAddress" | "verifyPhoneNumber" | "verifyTOTP" => json!({"code": "000000"}),
            "changePassword" => {
                json!({"current_password": PASSWORD, "new_password": "another horse battery"})
            }
            "removePassword" => json!({"current_password": PASSWORD}),
            "postOauthCallback" => json!({"state": "unknown.state", "code": "x"}),
            "postOAuthAccounts" => json!({"strategy": "oauth_github", "redirect_url": PAGE}),
            "reauthorizeExternalAccount" => json!({"redirect_url": PAGE, "additional_scope": ["more"]}),
            "touchSession" | "createSessionToken" => json!({}),
            other => panic!("{other} has a form: say here what somebody would send"),
        })
    }

    /// Calls it at `path` with what somebody may send, and something a newer script would.
    async fn call_as(&self, t: &TestServer, somebody: &Somebody, cookies: &Cookies, path: &str) -> Answer {
        let sent = match (self.form(somebody), self.schema("multipart/form-data")) {
            (Some(mut form), _) => {
                form["surprise"] = json!(1);
                Sent::Text(FORM, form_text(&form))
            }
            (None, Some(_)) => Sent::File,
            (None, None) => Sent::Nothing,
        };
        self.send_as(t, &somebody.tenant, cookies, path, sent).await
    }

    /// Calls it at `path` with whatever is sent.
    pub(super) async fn send_as(
        &self,
        t: &TestServer,
        at: &Tenant,
        cookies: &Cookies,
        path: &str,
        sent: Sent<'_>,
    ) -> Answer {
        let version =
            if path.contains("__clerk_api_version") { "" } else { "__clerk_api_version=2026-05-12" };
        let path = format!("{path}{}{version}", if path.contains('?') { '&' } else { '?' });
        let request = Request::builder().method(&self.method).uri(&path).header("host", &at.frontend_api);
        let shown: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = match self.id {
            "updateEnvironment" => request.header("origin", PAGE.trim_end_matches('/')),
            _ => request,
        };
        let request = match shown.is_empty() {
            true => request,
            false => request.header("cookie", shown.join("; ")),
        };
        let request = match sent {
            Sent::Nothing => request.body(Body::empty()),
            Sent::Text(kind, text) => request.header("content-type", kind).body(Body::from(text)),
            Sent::File => {
                let mut form = b"--frame\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n".to_vec();
                form.extend(PICTURE);
                form.extend(b"\r\n--frame--\r\n");
                request.header("content-type", "multipart/form-data; boundary=frame").body(Body::from(form))
            }
        };
        let mut request = request.unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 40_000))));
        t.browser_at(at).send(self.method.as_str(), &path, request).await
    }
}

/// What an app says of its device. The key is that of RFC 7515, appendix A.3.
fn device_form() -> Value {
    json!({
        "platform": "ios", "app_identifier": "com.example.app", "algorithm": "ES256",
        "public_key_jwk": r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
    })
}

pub(super) fn form_text(form: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut pairs = Vec::new();
    for (name, value) in form.as_object().unwrap() {
        let values = value.as_array().map_or_else(|| vec![value], |items| items.iter().collect());
        pairs.extend(values.into_iter().map(|value| format!("{name}={}", escape(&text(value)))));
    }
    pairs.join("&")
}

/// A wallet that somebody said is theirs; backends only make proven ones.
async fn unproven_wallet(t: &TestServer, tenant: &Tenant, user: &str, address: String) -> String {
    let (instance, user): (_, UserId) = (tenant.id.clone(), Id::parse(user).unwrap());
    let wallet = contact(address, NewContactStatus::Unverified, t.clock.now(), &SystemRng);
    let id = wallet.id.to_string();
    let added = t.db().write(move |tx| {
        Box::pin(async move {
            let before = users::lock(tx, &instance, &user).await?.unwrap();
            let mut after = before.clone();
            after.web3_wallets.all.push(wallet);
            users::save(tx, &before, &after).await
        })
    });
    added.await.unwrap();
    id
}

/// A server where nobody must prove anew who they are, and people may have wallets and connect accounts of two providers.
pub(super) async fn trusting() -> TestServer {
    let mut settings = Settings::default();
    settings.attributes.web3_wallet = Attribute {
        enabled: true,
        verifications: vec![Strategy::METAMASK],
        verify_at_sign_up: true,
        ..Attribute::default()
    };
    settings.session.reverification = false;
    settings.attributes.passkey.enabled = true;
    settings.passkey_settings.rp_id = RelyingPartyId::AuthHost;
    settings.native_settings.trusted_device_sign_in_enabled = true;
    settings.native_settings.apple_app_ids = vec!["A1B2C3D4E5.com.example.app".into()];
    let t = TestServer::start_with(RateLimits::Off, settings.clone()).await;
    let enabled = SocialProvider { enabled: true, ..SocialProvider::default() };
    let secret =
        SealedSetting::seal(&t.master, &t.tenant.id, "social.github.client_secret", "secret").unwrap();
    let github =
        SocialProvider { client_id: Some("id".into()), client_secret: Some(secret), ..enabled.clone() };
    settings.social = [("mock".to_owned(), enabled), ("github".to_owned(), github)].into();
    t.set_settings(with_organizations(settings)).await;
    t
}

/// Operations that refuse somebody who is only signed in, because something comes before them: status and code, which
/// show that nothing else was wrong; what comes before, and where they are tested after it. May only shrink.
const LATER: [(&str, u16, &str, &str); 25] = [
    ("acceptTicket", 422, "form_param_missing", "a link with a ticket; sign_ins/tickets.rs"),
    (
        "attemptOrganizationDomainOwnershipVerification",
        400,
        "verification_missing",
        "no record was asked for; organization_domains/ownership.rs",
    ),
    (
        "attemptOrganizationDomainVerification",
        400,
        "verification_not_sent",
        "no code was sent; organization_domains/frontend.rs",
    ),
    (
        "attemptPasskeyVerification",
        400,
        "verification_already_verified",
        "the passkey is registered already; passkeys.rs",
    ),
    (
        "attemptSessionReverificationFirstFactor",
        400,
        "session_reverification_missing",
        "nothing was begun; reverification.rs",
    ),
    (
        "attemptSessionReverificationSecondFactor",
        400,
        "session_reverification_missing",
        "nothing was begun; reverification.rs",
    ),
    (
        "attemptSignInFactorTwo",
        400,
        "client_state_invalid",
        "the first factor is not proven; sign_ins/second_factors.rs",
    ),
    ("attemptSignUpsVerification", 400, "verification_missing", "no code was sent; sign_ups/proofs.rs"),
    ("attemptWeb3WalletVerification", 400, "verification_not_sent", "no text was asked for; wallets/own.rs"),
    (
        "attemptTrustedDevice",
        400,
        "trusted_device_challenge_not_found",
        "no challenge was asked for; trusted_devices.rs",
    ),
    ("createBackupCodes", 400, "backup_codes_not_available", "there is no second factor; me/totp.rs"),
    ("deleteTOTP", 404, "resource_not_found", "there is no authenticator app; me/totp.rs"),
    ("getOauthCallback", 400, "oauth_callback_invalid", "a visit to a provider; social.rs"),
    ("joinWaitlist", 403, "waitlist_not_accepting_entries", "the instance has no waitlist; waitlist.rs"),
    ("linkClient", 400, "missing_query_parameter", "a step between domains; frontend/satellites.rs"),
    (
        "prepareSessionReverificationFirstFactor",
        400,
        "session_reverification_missing",
        "nothing was begun; reverification.rs",
    ),
    (
        "prepareSessionReverificationSecondFactor",
        400,
        "session_reverification_missing",
        "nothing was begun; reverification.rs",
    ),
    (
        "prepareSignInFactorTwo",
        400,
        "client_state_invalid",
        "the first factor is not proven; sign_ins/second_factors.rs",
    ),
    ("removePassword", 400, "password_required", "the instance requires one; me/passwords.rs"),
    ("resetPassword", 400, "client_state_invalid", "no reset was begun; sign_ins/passwords.rs"),
    ("syncClient", 422, "invalid_redirect_url", "a step between domains; frontend/satellites.rs"),
    ("verify", 400, "verification_link_token_invalid", "a link in a mail; sign_ins/links.rs"),
    ("verifyEmailAddress", 400, "verification_not_sent", "no code was sent; me/emails.rs"),
    ("verifyPhoneNumber", 400, "verification_not_sent", "no code was sent; me/phones.rs"),
    ("verifyTOTP", 404, "resource_not_found", "no authenticator app was begun; me/totp.rs"),
];

/// What says that it only reads has no limit, so it must be true: for somebody signed in and for nobody, in development
/// and in production.
#[tokio::test]
async fn what_only_reads_writes_nothing() {
    let t = TestServer::start().await;
    let people = [somebody(&t, &t.tenant, 1).await, somebody(&t, &t.other, 2).await];
    let before = t.everything().await;
    for row in frontend().iter().filter(|row| row.only_reads) {
        for person in &people {
            for cookies in [person.cookies_for(row), &Cookies::new()] {
                let answer = row.call_as(&t, person, cookies, &row.path_to(person)).await;
                assert!(answer.status < 500, "{}: {:#}", row.id, answer.json);
            }
        }
    }
    assert_eq!(t.everything().await, before);
}

/// Without this the other tests could pass because their requests are wrong in some other way.
#[tokio::test]
async fn every_operation_serves_whom_it_is_for() {
    let t = trusting().await;
    let reader = somebody(&t, &t.tenant, 1).await;
    let mut wrong = Vec::new();
    let rows = frontend();
    assert!(LATER.iter().all(|(id, ..)| rows.iter().any(|row| row.id == *id)));
    for (number, row) in (2..).zip(rows) {
        // What one operation changes must not keep another from serving.
        let fresh = match row.method == Method::GET {
            true => None,
            false => Some(somebody(&t, &t.tenant, number).await),
        };
        let somebody = fresh.as_ref().unwrap_or(&reader);
        t.clock.advance_ms(1);
        let cookies = match row.id {
            "createSignIn" | "createSignUps" => &somebody.attempting,
            _ => somebody.cookies_for(&row),
        };
        let answer = row.call_as(&t, somebody, cookies, &row.path_to(somebody)).await;
        let expected = match LATER.iter().find(|(id, ..)| *id == row.id) {
            Some((_, status, code, _)) => (*status, *code),
            None => (row.redirect.filter(|_| row.returns.is_none()).unwrap_or(200), ""),
        };
        if (answer.status, answer.code()) != expected {
            wrong.push(format!("{} {} {}", row.id, answer.status, answer.code()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What an operation says to whoever has not shown what it needs.
fn refusal(row: &Row) -> (u16, &'static str) {
    match row.parameters().first() {
        // An attempt to sign in is found by its client, so without one there is none.
        Some(&"sign_in_id") => (404, "resource_not_found"),
        _ => (401, "signed_out"),
    }
}

#[tokio::test]
async fn every_operation_that_needs_a_client_or_a_person_refuses_those_without() {
    let t = TestServer::start().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    let (nobody, client) = (Cookies::new(), &owner.attempting);
    let before = t.everything().await;
    let mut wrong = Vec::new();
    for row in frontend().iter().filter(|row| row.credential != Credential::None) {
        let path = row.path_to(&owner);
        let mut shown = vec![&nobody];
        // A client that nobody is signed in on is not enough for what is for a person.
        if row.credential == Credential::Person && row.parameters().first() != Some(&"session_id") {
            shown.push(client);
        }
        for cookies in shown {
            let answer = row.call_as(&t, &owner, cookies, &path).await;
            if (answer.status, answer.code()) != refusal(row) {
                wrong.push(format!("{} {} {}", row.id, answer.status, answer.code()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_public_operation_answers_whoever_shows_nothing() {
    let t = trusting().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    let mut wrong = Vec::new();
    for row in frontend().iter().filter(|row| row.credential == Credential::None) {
        let answer = row.call_as(&t, &owner, &Cookies::new(), &row.path_to(&owner)).await;
        if answer.status == 401 {
            wrong.push(format!("{} {} {}", row.id, answer.status, answer.code()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What an operation says about an id it does not know, or about what cannot be one. Whether there is an organization is
/// not told to those who are no members.
fn not_found(row: &Row, parameter: &str, id: &str) -> &'static str {
    let is_id = ["org_", "orginv_"].iter().any(|prefix| id.starts_with(prefix));
    match (row.id, parameter) {
        (_, "passkey_id") => "passkey_not_registered",
        (_, "external_account_id") => "external_account_not_found",
        _ if !is_id => "resource_not_found",
        (_, "organization_id") => "organization_not_found_or_unauthorized",
        ("acceptOrganizationInvitation", _) => "organization_invitation_not_found",
        _ => "resource_not_found",
    }
}

/// Calls every operation that names something with the ids that `fill` makes, each parameter in turn.
async fn every_unknown(t: &TestServer, owner: &Somebody, foreign: impl Fn(&Row, &str) -> Vec<String>) {
    let before = t.everything().await;
    let mut wrong = Vec::new();
    for row in frontend() {
        for parameter in row.parameters() {
            for id in foreign(&row, parameter) {
                let fill = |name: &str| if name == parameter { id.clone() } else { owner.id(name) };
                let answer = row.call_as(t, owner, owner.cookies_for(&row), &row.filled(fill)).await;
                if (answer.status, answer.code()) != (404, not_found(&row, parameter, &id)) {
                    wrong.push(format!("{} {parameter}={id} {} {}", row.id, answer.status, answer.code()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_answers_404_to_an_id_nothing_has() {
    let t = TestServer::start().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    let ids = |row: &Row, name: &str| {
        vec![row.unknown(name, &owner.id(name)), "x".to_owned(), "user_%00".to_owned()]
    };
    every_unknown(&t, &owner, ids).await;
}

#[tokio::test]
async fn every_operation_answers_404_to_what_belongs_to_another_person_or_instance_and_changes_nothing() {
    let t = TestServer::start().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    let (other, elsewhere) = (somebody(&t, &t.tenant, 2).await, somebody(&t, &t.other, 3).await);
    let ids = |_: &Row, name: &str| match name {
        // Templates are for everybody of an instance.
        "template_name" => vec![elsewhere.id(name)],
        _ => vec![other.id(name), elsewhere.id(name)],
    };
    every_unknown(&t, &owner, ids).await;
}

#[tokio::test]
async fn every_operation_that_needs_a_person_refuses_one_of_another_instance() {
    let t = TestServer::start().await;
    let (owner, elsewhere) = (somebody(&t, &t.tenant, 1).await, somebody(&t, &t.other, 2).await);
    let before = t.everything().await;
    for row in frontend().iter().filter(|row| row.credential != Credential::None) {
        let answer = row.call_as(&t, &owner, elsewhere.cookies_for(row), &row.path_to(&owner)).await;
        assert_eq!((answer.status, answer.code()), refusal(row), "{}", row.id);
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_answers_404_or_signed_out_once_its_person_is_deleted() {
    let t = TestServer::start().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    let session = t.get(&format!("/v1/sessions/{}", owner.id("session_id"))).await.ok();
    t.delete(&format!("/v1/users/{}", session["user_id"].as_str().unwrap())).await.ok();
    let before = t.everything().await;
    for row in frontend().iter().filter(|row| row.credential == Credential::Person) {
        let answer = row.call_as(&t, &owner, &owner.cookies, &row.path_to(&owner)).await;
        let refused = (answer.status, answer.code());
        assert!(
            [(401, "signed_out"), (404, "resource_not_found")].contains(&refused),
            "{} {refused:?}",
            row.id
        );
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_with_a_form_refuses_what_cannot_be_read() {
    let t = TestServer::start().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    let before = t.everything().await;
    let large = format!("name={}", "a".repeat(300 * 1024));
    let bodies = [
        (JSON, "{", 400, "request_body_invalid"),
        (JSON, "[]", 400, "request_body_invalid"),
        (JSON, "\"text\"", 400, "request_body_invalid"),
        (FORM, "a=%", 400, "malformed_request_parameters"),
        (FORM, "a=%FF", 400, "malformed_request_parameters"),
        (FORM, "a=%00", 400, "malformed_request_parameters"),
        (FORM, &large, 413, "request_body_too_large"),
    ];
    for row in frontend().iter().filter(|row| row.schema(FORM).is_some()) {
        for (kind, body, status, code) in bodies {
            let (path, cookies) = (row.path_to(&owner), owner.cookies_for(row));
            let sent = Sent::Text(kind, body.to_owned());
            let answer = row.send_as(&t, &t.tenant, cookies, &path, sent).await;
            assert_eq!((answer.status, answer.code()), (status, code), "{} {kind}", row.id);
        }
    }
    for row in frontend().iter().filter(|row| row.schema("multipart/form-data").is_some()) {
        let sent = Sent::Text(JSON, "{}".to_owned());
        let answer = row.send_as(&t, &t.tenant, &owner.cookies, &row.path_to(&owner), sent).await;
        assert_eq!((answer.status, answer.code()), (415, "unsupported_content_type"), "{}", row.id);
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_names_each_required_field_that_is_missing() {
    let t = TestServer::start().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    let before = t.everything().await;
    for row in frontend() {
        let Some(schema) = row.schema(FORM) else { continue };
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        if required.is_empty() {
            continue;
        }
        for (kind, empty) in [(FORM, ""), (JSON, ""), (JSON, "null"), (JSON, "{}")] {
            let (path, cookies) = (row.path_to(&owner), owner.cookies_for(&row));
            let sent = Sent::Text(kind, empty.to_owned());
            let answer = row.send_as(&t, &t.tenant, cookies, &path, sent).await;
            assert_eq!(missing(&answer), texts(required.iter()), "{}", row.id);
        }
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_field_of_a_wrong_type_is_refused_by_name() {
    let t = TestServer::start().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    let before = t.everything().await;
    let mut wrong_ones = Vec::new();
    for row in frontend() {
        let Some(schema) = row.schema(FORM) else { continue };
        for (name, field) in schema["properties"].as_object().unwrap_or(&Map::new()) {
            // Only the strategy that reads it says what is wrong with it.
            if field["x-field-of-strategies"] == true {
                continue;
            }
            for wrong in [json!("text"), json!(1.5), json!(true), json!([1]), json!({"a": 1})] {
                if fits(field, &wrong) {
                    continue;
                }
                let mut form = row.form(&owner).unwrap();
                form[name] = wrong.clone();
                let (path, cookies) = (row.path_to(&owner), owner.cookies_for(&row));
                let sent = Sent::Text(JSON, form.to_string());
                let answer = row.send_as(&t, &t.tenant, cookies, &path, sent).await;
                if (answer.status, answer.param()) != (row.status(422), name) {
                    wrong_ones.push(format!("{} {name}={wrong} {} {}", row.id, answer.status, answer.code()));
                }
            }
        }
    }
    assert!(wrong_ones.is_empty(), "{wrong_ones:#?}");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_refuses_a_version_that_does_not_exist() {
    let t = TestServer::start().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    let mut heedless = Vec::new();
    for row in frontend() {
        let path = row.path_to(&owner);
        let path =
            format!("{path}{}__clerk_api_version=2020-01-01", if path.contains('?') { '&' } else { '?' });
        let answer = row.send_as(&t, &t.tenant, owner.cookies_for(&row), &path, Sent::Nothing).await;
        match answer.status {
            400 => answer.is_error(400, "api_version_invalid"),
            _ => heedless.push(row.id),
        }
    }
    // Says nothing, in no version.
    assert_eq!(heedless, ["clearSiteData"]);
}

#[tokio::test]
async fn every_query_parameter_that_is_no_text_is_checked() {
    let t = TestServer::start().await;
    let owner = somebody(&t, &t.tenant, 1).await;
    for row in frontend() {
        for name in row.typed_query() {
            let path = row.path_to(&owner);
            let path = format!("{path}{}{name}=many", if path.contains('?') { '&' } else { '?' });
            let answer = row.send_as(&t, &t.tenant, owner.cookies_for(&row), &path, Sent::Nothing).await;
            assert_eq!((answer.status, answer.param()), (row.status(422), name), "{}", row.id);
        }
    }
}
