//! Slow work of some people never holds up others: pictures do not wait in front of passwords, and one tenant not in
//! front of another.

use std::net::Ipv4Addr;
use std::pin::pin;
use std::sync::{Arc, mpsc};

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Result};
use latchkey_kernel::environment::Environment::Development;
use latchkey_kernel::limits::{CROWDED_CLIENTS_LANE, MEMBERSHIPS_SHOWN, RateLimits, UPLOADS_LANE};
use latchkey_kernel::settings::Settings;
use latchkey_kernel::slow::{LanePlace, SlowPool, WorkOwner};
use latchkey_testkit::{Browser, PICTURE, Tenant, TestServer, until};
use latchkey_web::network::Network;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::frontend;

/// Makes every thread of a lane wait until the returned sender is dropped.
async fn hold(pool: impl Fn() -> Arc<TestServer>, lane: fn(&TestServer) -> &SlowPool) -> mpsc::Sender<()> {
    let (gate, opened) = mpsc::channel::<()>();
    let (begun, started) = oneshot::channel::<()>();
    let t = pool();
    tokio::spawn(async move {
        let nobody = WorkOwner::backend(&InstanceId::unset());
        let work = move || {
            begun.send(()).unwrap();
            let _ = opened.recv();
        };
        lane(&t).run(&nobody, work).await.unwrap();
    });
    started.await.unwrap();
    gate
}

/// A job of a person of a tenant.
fn somebody(t: &Arc<TestServer>, tenant: &Tenant, number: usize) -> JoinHandle<Result<()>> {
    let address = Ipv4Addr::from([10, 192, 2, u8::try_from(number).unwrap()]);
    let (t, owner) = (t.clone(), WorkOwner::network(&tenant.id, Network::of(address.into())));
    tokio::spawn(async move { t.app.uploads.run(&owner, || ()).await })
}

async fn user(t: &TestServer, tenant: &Tenant) -> String {
    let body = json!({"username": "countess", "password": "orchid-mambo-91"});
    t.call(Some(tenant), "POST", "/v1/users", Some(body)).await.ok()["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_checked_while_the_pictures_of_another_tenant_fill_their_lane() {
    let t = Arc::new(TestServer::start().await);
    let crowd = t.new_tenant(Development, Settings::default()).await;
    user(&t, &t.tenant).await;
    let pictured = user(&t, &crowd).await;
    let gates = [hold(|| t.clone(), |t| &t.app.uploads).await, hold(|| t.clone(), |t| &t.app.resizing).await];
    let upload = || {
        let (t, crowd, path) = (t.clone(), crowd.clone(), format!("/v1/users/{pictured}/profile_image"));
        tokio::spawn(async move { t.upload(&crowd, &path, PICTURE).await })
    };
    let uploads: Vec<_> = (0..UPLOADS_LANE.per_backend()).map(|_| upload()).collect();
    until(|| t.app.uploads.waiting() == UPLOADS_LANE.per_backend()).await;
    let one_more = t.app.uploads.run(&WorkOwner::backend(&crowd.id), || ()).await;
    assert_eq!(one_more.unwrap_err().code(), Code::ServiceUnavailable);
    let people: Vec<_> = (0..UPLOADS_LANE.per_backend()).map(|number| somebody(&t, &crowd, number)).collect();
    until(|| t.app.uploads.waiting() == UPLOADS_LANE.per_tenant).await;
    // The gates are shut: whatever waits for a picture would wait for ever.
    let mut browser = t.browser();
    let shown = json!({"strategy": "password", "identifier": "countess", "password": "orchid-mambo-91"});
    let signed_in = browser.post("/v1/client/sign_ins", shown).await.ok();
    assert_eq!(signed_in["response"]["status"], "complete");
    drop(gates);
    for upload in uploads {
        assert_eq!(upload.await.unwrap().status, 200);
    }
    for job in people {
        job.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_with_many_uploads_delays_that_of_another_by_one_only() {
    let t = Arc::new(TestServer::start().await);
    let gate = hold(|| t.clone(), |t| &t.app.uploads).await;
    let (done, order) = mpsc::channel();
    let queue = |tenant: &Tenant, name: &'static str| {
        let (t, done) = (t.clone(), done.clone());
        let owner = WorkOwner::backend(&tenant.id);
        tokio::spawn(async move { t.app.uploads.run(&owner, move || done.send(name).unwrap()).await })
    };
    let most = UPLOADS_LANE.per_backend();
    let mut jobs: Vec<_> = (0..most).map(|_| queue(&t.tenant, "crowd")).collect();
    until(|| t.app.uploads.waiting() == most).await;
    jobs.push(queue(&t.other, "other"));
    until(|| t.app.uploads.waiting() == most + 1).await;
    drop(gate);
    for job in jobs {
        job.await.unwrap().unwrap();
    }
    let order: Vec<&str> = order.try_iter().collect();
    assert_eq!(order[..2], ["crowd", "other"]);
}

/// What is shown with so many can be a hundred megabytes.
#[tokio::test]
async fn clients_with_many_people_wait_for_each_other_and_nobody_else_waits_for_them() {
    let t = server_for_several(|_| ()).await;
    let (mut crowded, mut ordinary) = (t.browser(), t.browser());
    for number in 0..5 {
        let email = format!("person{number}@example.com");
        frontend::user(&t, &email).await;
        frontend::sign_in(&mut crowded, &email).await;
    }
    frontend::sign_in(&mut ordinary, "person0@example.com").await;
    waits_in_the_lane(&t, &mut crowded, &mut ordinary, 5).await;
}

#[tokio::test]
async fn clients_with_people_in_many_organizations_wait_with_them() {
    let t = server_for_several(|settings| settings.organizations.enabled = true).await;
    let (mut crowded, mut ordinary) = (t.browser(), t.browser());
    let mut people = Vec::new();
    for email in ["ann@example.com", "ben@example.com"] {
        people.push(frontend::user(&t, email).await);
        frontend::sign_in(&mut crowded, email).await;
    }
    frontend::sign_in(&mut ordinary, "ann@example.com").await;
    let work_for_one = async |user: &Value| {
        t.post("/v1/organizations", json!({"name": "Acme", "created_by": user["id"]})).await.ok();
    };
    for _ in 0..MEMBERSHIPS_SHOWN / 2 {
        work_for_one(&people[0]).await;
        work_for_one(&people[1]).await;
    }
    let places = fill(&t).await;
    crowded.get("/v1/client").await.ok();
    drop(places);
    work_for_one(&people[0]).await;
    waits_in_the_lane(&t, &mut crowded, &mut ordinary, 2).await;
}

/// A server on whose clients several people can be signed in.
async fn server_for_several(change: impl FnOnce(&mut Settings)) -> TestServer {
    let mut settings = Settings::default();
    settings.session.single_session = false;
    change(&mut settings);
    TestServer::start_with(RateLimits::Off, settings).await
}

/// Takes all places for large clients.
async fn fill(t: &TestServer) -> [LanePlace; CROWDED_CLIENTS_LANE.slots] {
    let (lane, others) = (&t.app.crowded_clients, WorkOwner::backend(&t.other.id));
    [lane.place(&others).await.unwrap(), lane.place(&others).await.unwrap()]
}

/// One client waits while all places are taken, and the other does not.
async fn waits_in_the_lane(
    t: &TestServer,
    crowded: &mut Browser<'_>,
    ordinary: &mut Browser<'_>,
    people: usize,
) {
    let lane = &t.app.crowded_clients;
    let places = fill(t).await;
    let mut answered = pin!(crowded.get("/v1/client"));
    let meanwhile = async {
        while lane.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        ordinary.get("/v1/client").await.ok();
    };
    tokio::select! {
        _ = &mut answered => panic!("more are answered at once than there are places for"),
        () = meanwhile => {}
    }
    drop(places);
    let client = answered.await.ok();
    assert_eq!(client["response"]["sessions"].as_array().unwrap().len(), people);
    // Places are given back.
    fill(t).await;
}
