//! Tokens that are signed with keys of templates: with the right one, and with long ones in turns.

use std::sync::Arc;

use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use latchkey_base::Id;
use latchkey_base::kinds::InstanceId;
use latchkey_jose::rsa::SigningKey;
use latchkey_kernel::limits::SIGNING_LANE;
use latchkey_kernel::slow::{LanePlace, WorkOwner};
use latchkey_testkit::{Answer, Tenant, TestServer, until};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{LIST, SECRET, change};
use crate::frontend;

/// Two keys of 4096 bits, made with OpenSSL for these tests; making one takes seconds.
const LONG: &str = include_str!("rsa4096.pem");
const NEXT: &str = include_str!("rsa4096_next.pem");

/// A server that may answer 500 and 503: no other test is allowed to see that.
async fn refusing() -> TestServer {
    TestServer::start().await.unchecked()
}

fn own(name: &str, algorithm: &str, key: &str) -> Value {
    json!({"name": name, "claims": {"role": "user"}, "custom_signing_key": true, "signing_algorithm": algorithm,
        "signing_key": key})
}

async fn create(t: &TestServer, tenant: &Tenant, template: Value) -> Value {
    t.call(Some(tenant), "POST", LIST, Some(template)).await.ok()
}

/// Where tokens of a template are made for somebody who is signed in.
async fn tokens(t: &TestServer, tenant: &Tenant, template: &str) -> String {
    let body = json!({"email_address": [format!("{template}@example.com")]});
    let user = t.call(Some(tenant), "POST", "/v1/users", Some(body)).await.ok();
    let session = t.signed_in(tenant, user["id"].as_str().unwrap()).await.session;
    format!("/v1/sessions/{session}/tokens/{template}")
}

/// Asks for a token while others do.
fn ask(t: &Arc<TestServer>, tenant: &Tenant, path: &str) -> JoinHandle<Answer> {
    let (t, tenant, path) = (t.clone(), tenant.clone(), path.to_owned());
    tokio::spawn(async move { t.call(Some(&tenant), "POST", &path, Some(json!({}))).await })
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}

/// Whether a key has signed a token with RS512.
fn is_signed_with(key: &str, token: &Value) -> bool {
    let body: String = key.lines().filter(|line| !line.starts_with("-----")).collect();
    let pair = KeyPair::from_pkcs8(&STANDARD.decode(body).unwrap()).unwrap();
    let (message, signature) = token["jwt"].as_str().unwrap().rsplit_once('.').unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA512, pair.public_key().as_ref());
    public.verify(message.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).is_ok()
}

/// Takes the only place there is for signing.
async fn hold(t: &TestServer) -> LanePlace {
    t.app.signing.place(&WorkOwner::backend(&InstanceId::unset())).await.unwrap()
}

#[tokio::test]
async fn a_token_is_signed_with_the_key_its_template_has_now() {
    let t = TestServer::start().await;
    let template = create(&t, &t.tenant, own("long", "RS512", LONG)).await;
    let path = tokens(&t, &t.tenant, "long").await;
    let token = async || t.post(&path, json!({})).await.ok();
    for _ in 0..3 {
        assert!(is_signed_with(LONG, &token().await));
    }
    let key = json!({"signing_algorithm": "RS512", "signing_key": NEXT});
    change(&t, &template, key).await.ok();
    let next = token().await;
    assert!(is_signed_with(NEXT, &next) && !is_signed_with(LONG, &next));
    // The name goes to another template; the key it had does not.
    t.delete(&super::path(&template)).await.ok();
    create(&t, &t.tenant, own("long", "RS512", LONG)).await;
    assert!(is_signed_with(LONG, &token().await));
}

#[tokio::test]
async fn a_sealed_key_signs_no_token_of_another_template() {
    let t = refusing().await;
    let long = create(&t, &t.tenant, own("long", "RS512", LONG)).await;
    let other = create(&t, &t.tenant, own("other", "RS512", NEXT)).await;
    let path = tokens(&t, &t.tenant, "long").await;
    t.post(&path, json!({})).await.ok();
    let sql = "UPDATE jwt_templates SET signing_key_sealed = \
               (SELECT signing_key_sealed FROM jwt_templates WHERE id = $1) WHERE id = $2";
    let ids = [&long, &other].map(|it| it["id"].as_str().unwrap().into());
    assert_eq!(t.run_sql(sql, ids.to_vec()).await, 1);
    t.post(&path.replace("/long", "/other"), json!({})).await.is_error(500, "internal_clerk_error");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_signatures_of_one_tenant_stop_nobody_else() {
    let t = Arc::new(refusing().await);
    for tenant in [&t.tenant, &t.other] {
        create(&t, tenant, own("long", "RS512", LONG)).await;
    }
    let short = pem(&SigningKey::generate().unwrap().to_pkcs8().unwrap());
    create(&t, &t.tenant, own("short", "RS256", &short)).await;
    create(&t, &t.tenant, own("shared", "HS256", SECRET)).await;
    create(&t, &t.tenant, json!({"name": "usual", "claims": {}})).await;
    let of_crowd = tokens(&t, &t.tenant, "long").await;
    let of_other = tokens(&t, &t.other, "long").await;
    let quick = ["short", "shared", "usual"].map(|name| of_crowd.replace("/long", &format!("/{name}")));
    for path in &quick {
        t.post(path, json!({})).await.ok();
    }
    let place = hold(&t).await;
    let most = SIGNING_LANE.per_backend();
    let crowd: Vec<_> = (0..most).map(|_| ask(&t, &t.tenant, &of_crowd)).collect();
    until(|| t.app.signing.waiting() == most).await;
    let refused = t.post(&of_crowd, json!({})).await;
    assert_eq!(refused.header("retry-after"), "1");
    refused.is_error(503, "service_unavailable");
    // Nobody waits who has a short key.
    for path in &quick {
        t.post(path, json!({})).await.ok();
    }
    let other = ask(&t, &t.other, &of_other);
    until(|| t.app.signing.waiting() == most + 1).await;
    let holder = t.clone();
    let next = tokio::spawn(async move { hold(&holder).await });
    until(|| t.app.signing.waiting() == most + 2).await;
    drop(place);
    // Behind whoever held it came one of the crowd, the other tenant, and the holder again.
    let place = next.await.unwrap();
    assert_eq!(t.app.signing.waiting(), most - 1);
    assert!(is_signed_with(LONG, &other.await.unwrap().ok()));
    drop(place);
    for token in crowd {
        assert_eq!(token.await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn slow_signatures_of_one_person_stop_nobody_else_of_the_tenant() {
    let t = refusing().await;
    create(&t, &t.tenant, own("long", "RS512", LONG)).await;
    let (mut ann, mut ben) = (t.browser(), t.browser());
    let user = frontend::user(&t, "ann@example.com").await;
    frontend::user(&t, "ben@example.com").await;
    let path = |session: String| format!("/v1/client/sessions/{session}/tokens/long");
    let of_ann = path(frontend::sign_in(&mut ann, "ann@example.com").await);
    let of_ben = path(frontend::sign_in(&mut ben, "ben@example.com").await);
    let place = hold(&t).await;
    let owner = WorkOwner::user(&t.tenant.id, &Id::parse(user["id"].as_str().unwrap()).unwrap());
    let all: Vec<_> = (0..SIGNING_LANE.per_person)
        .map(|_| {
            let (app, owner) = (t.app.clone(), owner.clone());
            tokio::spawn(async move { app.signing.run(&owner, || ()).await })
        })
        .collect();
    until(|| t.app.signing.waiting() == SIGNING_LANE.per_person).await;
    ann.post(&of_ann, json!({})).await.is_error(503, "service_unavailable");
    let asked = ben.post(&of_ben, json!({}));
    let freed = async {
        until(|| t.app.signing.waiting() == SIGNING_LANE.per_person + 1).await;
        drop(place);
    };
    let (answer, ()) = tokio::join!(asked, freed);
    assert!(is_signed_with(LONG, &answer.ok()));
    for job in all {
        job.await.unwrap().unwrap();
    }
    ann.post(&of_ann, json!({})).await.ok();
}
