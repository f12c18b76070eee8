//! How groups above the product plug in: operations, strategies of the sign-in machine, entitlements in tokens.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use latchkey_app::GROUPS;
use latchkey_app::jobs::{self, JobCounts};
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_flows::strategies::{FirstFactor, ProofRequest, ProofVerdict, Registered, ShownProof};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::group::Group;
use latchkey_kernel::settings::Settings;
use latchkey_outbound::client::Options;
use latchkey_people::challenges::model::{Challenge, Newcomer};
use latchkey_people::users::entitlements;
use latchkey_people::users::model::{Entitlements, User};
use latchkey_testkit::{Answer, Browser, TestServer};
use latchkey_web::reply::Failure;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::sign_ins::{EMAIL, PASSWORD, ada, begin, identified, shown, step};

/// A strategy that believes whoever knows the id of a user.
struct Knock;

impl FirstFactor for Knock {
    fn answers_to(&self, name: &str, _: &Settings) -> bool {
        name == "knock"
    }

    fn prepare<'a>(&'a self, cx: &'a Cx, asked: ProofRequest<'a>) -> BoxFuture<'a, Result<Challenge>> {
        let url =
            format!("{}/door?then={}", asked.visitor.site.base_url, asked.redirect_url.unwrap_or_default());
        let details =
            json!({"external_verification_redirect_url": url, "asked": asked.fields["extra"].clone()});
        let challenge = Challenge {
            secret: asked.identifier.map(str::to_owned),
            expire_at: Some(cx.now.plus_ms(60_000)),
            details: details.as_object().unwrap().clone(),
            ..Challenge::failed(asked.strategy, 0, cx.now)
        };
        async { Ok(challenge) }.boxed()
    }

    fn examine<'a>(&'a self, _: &'a Cx, shown: ShownProof<'a>) -> BoxFuture<'a, Result<ProofVerdict>> {
        let answer = shown.fields.get("answer").and_then(Value::as_str).or(shown.code).unwrap_or_default();
        let verdict = match (answer, Id::parse(answer)) {
            (_, Some(user)) => ProofVerdict::User(user, json!({ "seen": answer })),
            ("stranger", _) => ProofVerdict::Nobody(Box::new(Newcomer {
                email_address: Some("Grace@Example.com".into()),
                first_name: Some("Grace".into()),
                ..Newcomer::default()
            })),
            _ => ProofVerdict::Refused(Error::param(Code::FormCodeIncorrect, "code")),
        };
        async { Ok(verdict) }.boxed()
    }

    fn redeem<'a>(
        &'a self,
        _: &'a mut Tx,
        _: &'a Act,
        user: User,
        proof: &'a Value,
    ) -> BoxFuture<'a, Result<User>> {
        let is_good = proof["seen"] == user.id.as_str() && user.first_name.as_deref() != Some("Used up");
        async move { if is_good { Ok(user) } else { Err(Error::new(Code::VerificationExpired)) } }.boxed()
    }
}

/// Whether the job of the group ran.
static RAN: Notify = Notify::const_new();

const UPPER: Group = Group {
    backend: |api| {
        api.get("/knocks", "ListKnocks", knocks).summary("List knocks");
    },
    register: |registry| registry.add(Registered(Arc::new(Knock))),
    pages: |router| router.route("/knock", get(async || "Who is there?")),
    jobs: |_| vec![Box::pin(async { RAN.notify_one() })],
    ..Group::named("knocks")
};

async fn knocks(cx: Cx, _: SecretKey) -> Result<Response, Failure> {
    cx.reply(&json!(["knock"]))
}

/// What a token says.
fn payload(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

async fn begun(browser: &mut Browser<'_>) -> Value {
    shown(begin(browser, json!({"strategy": "knock", "redirect_url": "/done", "extra": "x"})).await)
}

async fn knock(browser: &mut Browser<'_>, sign_in: &Value, code: &str) -> Answer {
    let id = sign_in["id"].as_str().unwrap();
    step(browser, id, "attempt_first_factor", json!({"strategy": "knock", "code": code})).await
}

#[tokio::test]
async fn a_group_above_adds_operations() {
    let t = TestServer::start_with_groups(&[UPPER]).await;
    let request = Request::get("/v1/knocks").header("authorization", format!("Bearer {}", t.tenant.key));
    let answer = t.send_unchecked(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.ok(), json!(["knock"]));
    let nobody = Request::get("/v1/knocks").body(Body::empty()).unwrap();
    assert_eq!(t.send_unchecked(nobody).await.status, 401);
}

#[tokio::test]
async fn a_group_above_adds_pages_jobs_and_its_part_of_the_contract() {
    let t = TestServer::start_with_groups(&[UPPER]).await;
    assert_eq!(t.browser().open("/knock").await.bytes, b"Who is there?");
    let parts = t.jobs_with(Options::default());
    let jobs = jobs::start(&parts, &JobCounts::default(), &[GROUPS, &[UPPER]].concat()).unwrap();
    RAN.notified().await;
    jobs.stop().await;
    let document = latchkey_app::document("", &[GROUPS, &[UPPER]].concat());
    assert_eq!(document["paths"]["/v1/knocks"]["get"]["operationId"], "ListKnocks");
}

#[tokio::test]
async fn a_registered_strategy_signs_in_whom_it_proves() {
    let t = TestServer::start_with_groups(&[UPPER]).await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let sign_in = begun(&mut browser).await;
    assert_eq!(sign_in["status"], "needs_identifier");
    assert_eq!(sign_in["first_factor_verification"]["strategy"], "knock");
    let verification = &sign_in["first_factor_verification"];
    assert_eq!((&verification["status"], &verification["asked"]), (&json!("unverified"), &json!("x")));
    assert!(
        verification["external_verification_redirect_url"].as_str().unwrap().ends_with("/door?then=/done")
    );
    let done = shown(knock(&mut browser, &sign_in, user["id"].as_str().unwrap()).await);
    assert_eq!(
        (&done["status"], &done["first_factor_verification"]["status"]),
        (&json!("complete"), &json!("verified"))
    );
    let client = browser.get("/v1/client").await.ok()["response"].take();
    assert_eq!(client["sessions"][0]["user"]["id"], user["id"]);
    assert_eq!(client["last_authentication_strategy"], "knock");
}

#[tokio::test]
async fn a_registered_strategy_can_be_prepared_for_somebody_who_said_who_they_are() {
    let t = TestServer::start_with_groups(&[UPPER]).await;
    let user = ada(&t).await;
    let other = t.user(json!({"email_address": ["bob@example.com"]})).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    let prepared = shown(
        step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "knock", "extra": "y"})).await,
    );
    assert_eq!(prepared["first_factor_verification"]["strategy"], "knock");
    // A proof of somebody else is none of whom they said they are.
    let attempt = json!({"id": id});
    knock(&mut browser, &attempt, other["id"].as_str().unwrap())
        .await
        .is_error(400, "strategy_for_user_invalid");
    let done = shown(knock(&mut browser, &attempt, user["id"].as_str().unwrap()).await);
    assert_eq!(done["status"], "complete");
}

#[tokio::test]
async fn failures_of_a_registered_strategy_count_and_lock_once() {
    let t = TestServer::start_with_groups(&[UPPER]).await;
    let user = ada(&t).await;
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    let mut browser = t.browser();
    let attempt = json!({"id": identified(&mut browser, EMAIL).await});
    for number in 1..=100 {
        knock(&mut browser, &attempt, "wrong").await;
        assert_eq!(t.get(&path).await.ok()["locked"], json!(number == 100));
    }
    let (shown, messages) = (t.get(&path).await.ok(), t.inbox().await.len());
    t.clock.advance_ms(60_000);
    // Whoever is locked is told so, and is not locked for longer, nor told by mail again.
    assert_eq!(knock(&mut browser, &attempt, "wrong").await.code(), "user_locked");
    let later = t.get(&path).await.ok();
    let left = |user: &Value| user["lockout_expires_in_seconds"].as_i64().unwrap();
    assert_eq!((left(&shown) - left(&later), t.inbox().await.len()), (60, messages));
    assert_eq!(knock(&mut browser, &attempt, user["id"].as_str().unwrap()).await.code(), "user_locked");
}

#[tokio::test]
async fn what_was_begun_outlives_a_failure_until_it_expires_or_was_tried_too_often() {
    let t = TestServer::start_with_groups(&[UPPER]).await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let sign_in = begun(&mut browser).await;
    knock(&mut browser, &sign_in, "wrong").await.is_error(422, "form_code_incorrect");
    let after =
        browser.get("/v1/client").await.ok()["response"]["sign_in"]["first_factor_verification"].take();
    let before = &sign_in["first_factor_verification"];
    assert_eq!((&after["attempts"], &after["expire_at"]), (&json!(1), &before["expire_at"]));
    assert_eq!(after["external_verification_redirect_url"], before["external_verification_redirect_url"]);
    knock(&mut browser, &sign_in, "wrong").await.is_error(422, "form_code_incorrect");
    knock(&mut browser, &sign_in, "wrong").await.is_error(422, "form_code_incorrect");
    let right = user["id"].as_str().unwrap();
    knock(&mut browser, &sign_in, right).await.is_error(400, "verification_failed");
    let sign_in = begun(&mut browser).await;
    t.clock.advance_ms(60_000);
    knock(&mut browser, &sign_in, right).await.is_error(400, "verification_expired");
}

#[tokio::test]
async fn a_proof_that_is_used_up_lets_nobody_in() {
    let t = TestServer::start_with_groups(&[UPPER]).await;
    let user = t.user(json!({"email_address": ["bob@example.com"], "first_name": "Used up"})).await;
    let mut browser = t.browser();
    let sign_in = begun(&mut browser).await;
    knock(&mut browser, &sign_in, user["id"].as_str().unwrap()).await.is_error(400, "verification_expired");
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
}

#[tokio::test]
async fn somebody_without_an_account_goes_on_to_sign_up() {
    let t = TestServer::start_with_groups(&[UPPER]).await;
    let mut browser = t.browser();
    let sign_in = begun(&mut browser).await;
    let after = shown(knock(&mut browser, &sign_in, "stranger").await);
    assert_eq!(after["first_factor_verification"]["status"], "transferable");
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
    let sign_up =
        browser.post("/v1/client/sign_ups", json!({"transfer": true})).await.ok()["response"].take();
    assert_eq!(sign_up["missing_fields"], json!(["password"]));
    assert_eq!(sign_up["verifications"]["email_address"]["status"], "verified");
    let path = format!("/v1/client/sign_ups/{}", sign_up["id"].as_str().unwrap());
    let done = browser.patch(&path, json!({"password": PASSWORD})).await.ok()["response"].take();
    assert_eq!(done["status"], "complete");
    let user = t.get(&format!("/v1/users/{}", done["created_user_id"].as_str().unwrap())).await.ok();
    assert_eq!(
        (&user["first_name"], &user["email_addresses"][0]["email_address"]),
        (&json!("Grace"), &json!("grace@example.com"))
    );
    assert_eq!(user["email_addresses"][0]["verification"]["status"], "verified");
}

/// The wrong account of a provider is a refusal, and the right factor still works.
#[tokio::test]
async fn nobody_is_no_proof_of_whom_somebody_said_they_are() {
    let t = TestServer::start_with_groups(&[UPPER]).await;
    ada(&t).await;
    let mut browser = t.browser();
    let attempt = json!({"id": identified(&mut browser, EMAIL).await});
    knock(&mut browser, &attempt, "stranger").await.is_error(400, "strategy_for_user_invalid");
    let password = json!({"strategy": "password", "password": PASSWORD});
    let id = attempt["id"].as_str().unwrap();
    assert_eq!(shown(step(&mut browser, id, "attempt_first_factor", password).await)["status"], "complete");
}

/// Where answers must not tell who has an account, a registered strategy does not either: not by the lock.
#[tokio::test]
async fn a_registered_strategy_does_not_tell_who_has_an_account() {
    let mut settings = Settings::default();
    settings.attack_protection.enumeration_protection = true;
    settings.lockout.max_attempts = 5;
    let t = TestServer::start_with_groups_and(&[UPPER], settings).await;
    let user = ada(&t).await;
    let tried = async |identifier: &str| {
        let mut browser = t.browser();
        let attempt = json!({"id": identified(&mut browser, identifier).await});
        let answer = knock(&mut browser, &attempt, "wrong").await;
        (answer.status, answer.json["errors"].clone())
    };
    for _ in 0..6 {
        assert_eq!(tried(EMAIL).await, tried("nobody@example.com").await);
    }
    assert_eq!(t.get(&format!("/v1/users/{}", user["id"].as_str().unwrap())).await.ok()["locked"], true);
    assert_eq!(tried(EMAIL).await, tried("nobody@example.com").await);
}

#[tokio::test]
async fn without_the_group_its_strategy_is_unknown() {
    let t = TestServer::start().await;
    let answer = begin(&mut t.browser(), json!({"strategy": "knock"})).await;
    answer.is_problem(422, "form_param_value_invalid", "strategy");
}

/// What billing writes is in the next token, in the form that knows it.
#[tokio::test]
async fn entitlements_are_shown_in_tokens() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let signed_in = t.signed_in(&t.tenant, user["id"].as_str().unwrap()).await;
    let claims = async |version: &str| {
        let path = format!("/v1/sessions/{}/tokens", signed_in.session);
        let request = Request::post(path)
            .header("authorization", format!("Bearer {}", t.tenant.key))
            .header("clerk-api-version", version);
        let token = t.send(request.body(Body::empty()).unwrap()).await.ok();
        payload(token["jwt"].as_str().unwrap())
    };
    let before = claims("2026-05-12").await;
    assert!(before.get("fea").is_none() && before.get("pla").is_none());
    let (act, id) = (t.act(&t.tenant), Id::parse(user["id"].as_str().unwrap()).unwrap());
    let bought = Entitlements { plan: Some("pro".into()), features: vec!["teams".into(), "sso".into()] };
    let written =
        t.db().write(move |tx| Box::pin(async move { entitlements::write(tx, &act, &id, bought).await }));
    written.await.unwrap();
    let after = claims("2026-05-12").await;
    assert_eq!((&after["pla"], &after["fea"]), (&json!("u:pro"), &json!("u:teams,u:sso")));
    let first_form = claims("2024-10-01").await;
    assert!(first_form.get("fea").is_none() && first_form.get("pla").is_none());
    // A change of the profile does not take them away, and nobody is shown them elsewhere.
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    let renamed = t.patch(&path, json!({"first_name": "Augusta"})).await.ok();
    assert!(renamed.get("entitlements").is_none());
    assert_eq!(claims("2026-05-12").await["pla"], "u:pro");
}
