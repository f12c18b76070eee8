//! People who join by a domain: those who are there already, and those who come later.

use latchkey_kernel::settings::{EnrollmentMode, Settings};
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::super::{add, browser, domain, id, invitations, organization, run_job, suggestions, user};

const INVITED: &str = "automatic_invitation";
const SUGGESTED: &str = "automatic_suggestion";

async fn shown(t: &TestServer, organization: &str, domain: &str) -> Value {
    let page = t.get(&format!("/v1/organizations/{organization}/domains")).await.ok();
    page["data"].as_array().unwrap().iter().find(|it| it["id"] == domain).unwrap().clone()
}

#[tokio::test]
async fn those_who_have_an_address_of_the_domain_are_invited_when_it_is_verified() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    let (ada, bob, eve) = (
        user(&t, "Ada@acme.test").await,
        user(&t, "bob@acme.test").await,
        user(&t, "eve@notacme.test").await,
    );
    let below = user(&t, "sub@mail.acme.test").await;
    add(&t, &acme, &bob, "org:member").await;
    let unproven = t.user(json!({"username": "unproven-one", "skip_password_requirement": true})).await;
    let body = json!({"user_id": unproven["id"], "email_address": "un@acme.test", "verified": false});
    t.post("/v1/email_addresses", body).await.ok();
    let made = domain(&t, &acme, json!({"name": "acme.test", "enrollment_mode": INVITED, "verified": false}));
    let made = id(&made.await.ok());
    assert!(invitations(&t, &ada).await.is_empty());
    let path = format!("/v1/organizations/{acme}/domains/{made}");
    let verified = t.patch(&path, json!({"verified": true})).await.ok();
    assert_eq!(verified["total_pending_invitations"], json!(1));
    assert_eq!(invitations(&t, &ada).await, [("ada@acme.test".to_owned(), acme.clone())]);
    for nobody in [&bob, &eve, &below, &id(&unproven)] {
        assert!(invitations(&t, nobody).await.is_empty());
    }
    run_job(&t).await;
    assert_eq!(shown(&t, &acme, &made).await["total_pending_invitations"], json!(1));
    // They are for the eyes of whoever is invited, not the organization's.
    let listed = t.get(&format!("/v1/organizations/{acme}/invitations")).await.ok();
    assert_eq!(listed["total_count"], json!(0));
    let page = browser(&t, &ada).await.get("/v1/me/organization_invitations").await.ok();
    let invitation = &page["response"]["data"][0];
    assert_eq!(invitation["role"], json!("org:member"));
    let path = format!("/v1/me/organization_invitations/{}/accept", id(invitation));
    browser(&t, &ada).await.post(&path, json!({})).await.ok();
    let members = t.get(&format!("/v1/organizations/{acme}/memberships?user_id={ada}")).await.ok();
    assert_eq!(members["data"][0]["role"], json!("org:member"));
    assert_eq!(shown(&t, &acme, &made).await["total_pending_invitations"], json!(0));
}

#[tokio::test]
async fn those_who_come_later_are_invited_however_their_address_is_proven() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    domain(&t, &acme, json!({"name": "acme.test", "enrollment_mode": INVITED})).await.ok();
    run_job(&t).await;
    let is_invited = async |user: &str| !invitations(&t, user).await.is_empty();
    // Created by a backend.
    assert!(is_invited(&user(&t, "created@acme.test").await).await);
    // Added by a backend, and proven at once or later.
    let ada = user(&t, "ada@other.test").await;
    let body = json!({"user_id": ada, "email_address": "ada@acme.test", "verified": false});
    let address = id(&t.post("/v1/email_addresses", body).await.ok());
    assert!(!is_invited(&ada).await);
    t.patch(&format!("/v1/email_addresses/{address}"), json!({"verified": true})).await.ok();
    assert!(is_invited(&ada).await);
    let bob = user(&t, "bob@other.test").await;
    let body = json!({"user_id": bob, "email_address": "bob@acme.test", "verified": true});
    t.post("/v1/email_addresses", body).await.ok();
    assert!(is_invited(&bob).await);
    // Proven by themselves.
    let cleo = user(&t, "cleo@other.test").await;
    let mut page = browser(&t, &cleo).await;
    let body = json!({"email_address": "cleo+clerk_test@acme.test"});
    let address = id(&page.post("/v1/me/email_addresses", body).await.ok()["response"]);
    let path = format!("/v1/me/email_addresses/{address}");
    page.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    assert!(!is_invited(&cleo).await);
    page.post(&format!("{path}/attempt_verification"), json!({"code": "424242"})).await.ok();
    assert!(is_invited(&cleo).await);
    // Signed up.
    let mut page = t.browser();
    page.origin = None;
    let body = json!({"email_address": "dora+clerk_test@acme.test", "password": "correct horse battery"});
    let sign_up = page.post("/v1/client/sign_ups", body).await.ok()["response"].clone();
    let path = format!("/v1/client/sign_ups/{}", id(&sign_up));
    page.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    let body = json!({"strategy": "email_code", "code": "424242"});
    let done = page.post(&format!("{path}/attempt_verification"), body).await.ok();
    assert_eq!(done["response"]["status"], json!("complete"), "{}", done["response"]);
    let own = page.get("/v1/me/organization_invitations").await.ok();
    assert_eq!(own["response"]["total_count"], json!(1));
    // Once each, whatever happens to them afterwards.
    t.patch(&format!("/v1/users/{ada}"), json!({"first_name": "Ada"})).await.ok();
    assert_eq!(invitations(&t, &ada).await.len(), 1);
}

#[tokio::test]
async fn the_mode_decides_and_what_is_not_enabled_any_more_enrols_nobody() {
    let t = TestServer::start().await;
    let (acme, other) = (organization(&t, "Acme").await, organization(&t, "Other").await);
    let ada = user(&t, "ada@acme.test").await;
    domain(&t, &acme, json!({"name": "acme.test", "enrollment_mode": SUGGESTED})).await.ok();
    domain(&t, &other, json!({"name": "other.test", "enrollment_mode": "manual_invitation"})).await.ok();
    let found = suggestions(&t, &ada).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["status"], &found[0]["public_organization_data"]["id"]),
        (&json!("pending"), &json!(acme))
    );
    assert!(invitations(&t, &ada).await.is_empty());
    let bob = user(&t, "bob@other.test").await;
    assert!(suggestions(&t, &bob).await.is_empty() && invitations(&t, &bob).await.is_empty());
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.organizations.domains = true;
    settings.organizations.domain_enrollment_modes = vec![EnrollmentMode::AutomaticInvitation];
    t.set_settings(settings.clone()).await;
    let cleo = user(&t, "cleo@acme.test").await;
    assert!(suggestions(&t, &cleo).await.is_empty());
    settings.organizations.domains = false;
    t.set_settings(settings).await;
    let dora = user(&t, "dora@acme.test").await;
    assert!(suggestions(&t, &dora).await.is_empty());
}

#[tokio::test]
async fn what_was_made_stays_with_another_mode_unless_it_is_to_be_deleted() {
    let t = TestServer::start().await;
    let (acme, admin) = super::super::with_admin(&t, "Acme").await;
    let ada = user(&t, "ada@corp.test").await;
    let made = domain(&t, &acme, json!({"name": "corp.test", "enrollment_mode": INVITED})).await.ok();
    let path = format!("/v1/organizations/{acme}/domains/{}/update_enrollment_mode", id(&made));
    let mut page = browser(&t, &admin).await;
    let kept = page.post(&path, json!({"enrollment_mode": SUGGESTED})).await.ok()["response"].clone();
    assert_eq!(
        (&kept["total_pending_invitations"], &kept["total_pending_suggestions"]),
        (&json!(1), &json!(1))
    );
    let body = json!({"enrollment_mode": "manual_invitation", "delete_pending": true});
    let gone = page.post(&path, body).await.ok()["response"].clone();
    assert_eq!(
        (&gone["total_pending_invitations"], &gone["total_pending_suggestions"]),
        (&json!(0), &json!(0))
    );
    run_job(&t).await;
    assert!(invitations(&t, &ada).await.is_empty() && suggestions(&t, &ada).await.is_empty());
    // The same mode with what it made deleted makes nothing new.
    page.post(&path, json!({"enrollment_mode": INVITED})).await.ok();
    assert_eq!(invitations(&t, &ada).await.len(), 1);
    run_job(&t).await;
    page.post(&path, json!({"enrollment_mode": INVITED, "delete_pending": true})).await.ok();
    run_job(&t).await;
    assert!(invitations(&t, &ada).await.is_empty());
    assert_eq!(t.count_rows("organization_enrollments").await, 0);
}

#[tokio::test]
async fn what_was_made_goes_with_the_domain_and_what_was_asked_for_stays() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    let (ada, bob) = (user(&t, "ada@acme.test").await, user(&t, "bob@acme.test").await);
    let body = json!({"name": "acme.test", "enrollment_mode": SUGGESTED});
    let made = id(&domain(&t, &acme, body.clone()).await.ok());
    let suggestion = id(&suggestions(&t, &bob).await[0]);
    let accept = format!("/v1/me/organization_suggestions/{suggestion}/accept");
    browser(&t, &bob).await.post(&accept, json!({})).await.ok();
    t.delete(&format!("/v1/organizations/{acme}/domains/{made}")).await.ok();
    assert!(suggestions(&t, &ada).await.is_empty());
    assert_eq!(suggestions(&t, &bob).await[0]["status"], json!("accepted"));
    let made = id(&domain(&t, &acme, body).await.ok());
    assert_eq!(suggestions(&t, &ada).await.len(), 1);
    t.patch(&format!("/v1/organizations/{acme}/domains/{made}"), json!({"verified": false})).await.ok();
    assert!(suggestions(&t, &ada).await.is_empty());
    run_job(&t).await;
    assert!(suggestions(&t, &ada).await.is_empty());
}

/// More people than one step looks at, and more than it invites.
#[tokio::test]
async fn many_people_are_enrolled_in_steps_by_a_job() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    let sql = "INSERT INTO identifications (instance_id, id, user_id, kind, value_folded, claim) \
               VALUES ($1, $2, $3, 'email_address', $4, '')";
    let stranger = user(&t, "zoe@other.test").await;
    for number in 0..1100 {
        let (row, address) = (format!("idn_{number:027}"), format!("a{number:05}@other.test"));
        let params =
            [(&t.tenant.id).into(), row.as_str().into(), stranger.as_str().into(), address.as_str().into()];
        t.run_sql(sql, params.to_vec()).await;
    }
    for number in 0..230 {
        user(&t, &format!("p{number:04}@acme.test")).await;
    }
    let made = domain(&t, &acme, json!({"name": "acme.test", "enrollment_mode": INVITED})).await.ok();
    assert_eq!(made["total_pending_invitations"], json!(0));
    run_job(&t).await;
    assert_eq!(shown(&t, &acme, &id(&made)).await["total_pending_invitations"], json!(230));
    assert_eq!(t.count_events("organizationInvitation.created").await, 230);
    assert_eq!(t.count_rows("organization_enrollments").await, 0);
    let path = format!("/v1/organizations/{acme}/domains/{}", id(&made));
    let less = t.patch(&path, json!({"verified": false})).await.ok();
    assert_eq!(less["total_pending_invitations"], json!(130));
    run_job(&t).await;
    assert_eq!(shown(&t, &acme, &id(&made)).await["total_pending_invitations"], json!(0));
}

/// Deleted while people are still to be invited.
#[tokio::test]
async fn nothing_is_left_to_do_for_an_organization_that_was_deleted() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    domain(&t, &acme, json!({"name": "acme.test", "enrollment_mode": INVITED})).await.ok();
    t.delete(&format!("/v1/organizations/{acme}")).await.ok();
    run_job(&t).await;
    assert_eq!(t.count_rows("organization_enrollments").await, 0);
    let ada = user(&t, "ada@acme.test").await;
    assert!(invitations(&t, &ada).await.is_empty());
    let other = organization(&t, "Other").await;
    domain(&t, &other, json!({"name": "acme.test", "enrollment_mode": INVITED})).await.ok();
    assert_eq!(invitations(&t, &ada).await, [("ada@acme.test".to_owned(), other)]);
}
