//! Invitations and suggestions whose reason is gone: the domain, the address, or what the settings allow.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{EnrollmentMode, Settings};
use latchkey_testkit::TestServer;
use serde_json::json;

use super::{add, browser, domain, id, invitations, organization, run_job, suggestions, user, with_admin};

const INVITED: &str = "automatic_invitation";
const SUGGESTED: &str = "automatic_suggestion";

fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.organizations.domains = true;
    settings.organizations.domain_enrollment_modes =
        vec![EnrollmentMode::AutomaticInvitation, EnrollmentMode::AutomaticSuggestion];
    change(&mut settings);
    settings
}

/// Everything of which each alone keeps people from being enrolled by invitation.
fn switched_off() -> [Settings; 3] {
    [
        settings(|it| it.organizations.enabled = false),
        settings(|it| it.organizations.domains = false),
        settings(|it| {
            it.organizations.domain_enrollment_modes = vec![EnrollmentMode::AutomaticSuggestion];
        }),
    ]
}

#[tokio::test]
async fn an_invitation_cannot_be_accepted_once_its_domain_is_unverified_or_deleted() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    let ada = user(&t, "ada@corp.test").await;
    let body = json!({"name": "corp.test", "enrollment_mode": INVITED});
    let path = format!("/v1/organizations/{acme}/domains/{}", id(&domain(&t, &acme, body).await.ok()));
    let page = browser(&t, &ada).await.get("/v1/me/organization_invitations").await.ok();
    let accept = format!("/v1/me/organization_invitations/{}/accept", id(&page["response"]["data"][0]));
    for gone in [false, true] {
        match gone {
            false => t.patch(&path, json!({"verified": false})).await.ok(),
            true => t.delete(&path).await.ok(),
        };
        // As those are that a job still has to take back.
        t.run_sql("UPDATE organization_invitations SET status = 'pending'", vec![]).await;
        let refused = browser(&t, &ada).await.post(&accept, json!({})).await;
        refused.is_error(404, "organization_invitation_not_found");
    }
    let members = t.get(&format!("/v1/organizations/{acme}/memberships")).await.ok();
    assert_eq!(members["total_count"], json!(0));
}

#[tokio::test]
async fn what_is_taken_back_is_revoked_with_an_event_whatever_time_it_was_made_at() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    let ada = user(&t, "ada@corp.test").await;
    let body = json!({"name": "corp.test", "enrollment_mode": INVITED});
    for round in 1..=3 {
        let made = id(&domain(&t, &acme, body.clone()).await.ok());
        run_job(&t).await;
        assert_eq!(invitations(&t, &ada).await.len(), 1);
        // By a node whose clock is ahead.
        let ahead = "UPDATE organization_invitations SET created_at = created_at + 3600000";
        t.run_sql(ahead, vec![]).await;
        t.delete(&format!("/v1/organizations/{acme}/domains/{made}")).await.ok();
        assert!(invitations(&t, &ada).await.is_empty());
        let events = t.events().await;
        let kind = "organizationInvitation.revoked";
        let told: Vec<_> = events.iter().filter(|event| event.kind == kind).collect();
        assert_eq!(told.len(), round);
        assert_eq!(told[round - 1].data["status"], "revoked");
        // However often it happens, one is left.
        assert_eq!(t.count_rows("organization_invitations").await, 1);
        let all = browser(&t, &ada).await.get("/v1/me/organization_invitations?status=revoked").await.ok();
        assert_eq!(all["response"]["total_count"], json!(1));
    }
}

#[tokio::test]
async fn a_mode_that_is_switched_off_enrols_nobody_who_is_there_already() {
    for off in switched_off() {
        let t = TestServer::start_with(RateLimits::Off, settings(|_| ())).await;
        let acme = organization(&t, "Acme").await;
        let ada = user(&t, "ada@corp.test").await;
        let body = json!({"name": "corp.test", "enrollment_mode": INVITED, "verified": false});
        let made = id(&domain(&t, &acme, body).await.ok());
        let is_open = off.organizations.enabled && off.organizations.domains;
        t.set_settings(off).await;
        let verified =
            t.patch(&format!("/v1/organizations/{acme}/domains/{made}"), json!({"verified": true})).await;
        assert_eq!(verified.status == 200, is_open);
        run_job(&t).await;
        t.set_settings(settings(|_| ())).await;
        assert!(invitations(&t, &ada).await.is_empty());
        assert_eq!(t.count_rows("organization_enrollments").await, 0);
    }
}

#[tokio::test]
async fn switching_off_stops_a_search_for_people_that_is_under_way() {
    for off in switched_off() {
        let t = TestServer::start_with(RateLimits::Off, settings(|_| ())).await;
        let acme = organization(&t, "Acme").await;
        let ada = user(&t, "ada@corp.test").await;
        domain(&t, &acme, json!({"name": "corp.test", "enrollment_mode": INVITED})).await.ok();
        assert_eq!(t.count_rows("organization_enrollments").await, 1);
        // The job has not come to her yet.
        t.run_sql("DELETE FROM organization_invitations", vec![]).await;
        t.set_settings(off).await;
        run_job(&t).await;
        t.set_settings(settings(|_| ())).await;
        assert!(invitations(&t, &ada).await.is_empty());
        assert_eq!(t.count_rows("organization_enrollments").await, 0);
    }
}

#[tokio::test]
async fn a_suggestion_is_there_as_long_as_its_reason_is() {
    let t = TestServer::start_with(RateLimits::Off, settings(|_| ())).await;
    let acme = organization(&t, "Acme").await;
    let made = domain(&t, &acme, json!({"name": "corp.test", "enrollment_mode": SUGGESTED})).await.ok();
    let ada = user(&t, "ada@corp.test").await;
    let body = json!({"user_id": ada, "email_address": "ada@other.test", "verified": true});
    t.post("/v1/email_addresses", body).await.ok();
    let suggestion = suggestions(&t, &ada).await.remove(0);
    let accept = format!("/v1/me/organization_suggestions/{}/accept", id(&suggestion));
    let is_gone = async || {
        assert!(suggestions(&t, &ada).await.is_empty());
        browser(&t, &ada).await.post(&accept, json!({})).await.is_error(404, "resource_not_found");
    };
    t.set_settings(settings(|it| it.organizations.domains = false)).await;
    is_gone().await;
    let modes = vec![EnrollmentMode::AutomaticInvitation];
    t.set_settings(settings(|it| it.organizations.domain_enrollment_modes = modes)).await;
    is_gone().await;
    t.set_settings(settings(|_| ())).await;
    let shown = t.shown(&ada).await;
    let own = shown["email_addresses"].as_array().unwrap();
    let address = id(own.iter().find(|it| it["email_address"] == "ada@corp.test").unwrap());
    let address = format!("/v1/email_addresses/{address}");
    t.patch(&address, json!({"verified": false})).await.ok();
    is_gone().await;
    t.patch(&address, json!({"verified": true})).await.ok();
    // As those are that a job still has to take back.
    let elsewhere = "UPDATE organization_suggestions SET domain_id = 'orgdmn_000000000000000000000000000'";
    t.run_sql(elsewhere, vec![]).await;
    is_gone().await;
    let sql = "UPDATE organization_suggestions SET domain_id = $1";
    t.run_sql(sql, vec![id(&made).as_str().into()]).await;
    assert_eq!(suggestions(&t, &ada).await.len(), 1);
    browser(&t, &ada).await.post(&accept, json!({})).await.ok();
    // What was asked for is the organization's to answer, whatever becomes of the reason.
    t.patch(&address, json!({"verified": false})).await.ok();
    assert_eq!(suggestions(&t, &ada).await[0]["status"], json!("accepted"));
}

#[tokio::test]
async fn nobody_is_shown_to_have_asked_who_did_not_and_whoever_leaves_can_ask_again() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let body = json!({"name": "corp.test", "enrollment_mode": SUGGESTED});
    let made = id(&domain(&t, &acme, body).await.ok());
    let (ada, bob) = (user(&t, "ada@corp.test").await, user(&t, "bob@corp.test").await);
    let requests = async || {
        let path = format!("/v1/organizations/{acme}/membership_requests");
        let page = browser(&t, &admin).await.get(&path).await.ok();
        page["response"]["data"].as_array().unwrap().clone()
    };
    add(&t, &acme, &ada, "org:member").await;
    assert!(requests().await.is_empty());
    let request = id(&suggestions(&t, &bob).await[0]);
    let ask = format!("/v1/me/organization_suggestions/{request}/accept");
    browser(&t, &bob).await.post(&ask, json!({})).await.ok();
    add(&t, &acme, &bob, "org:member").await;
    let shown = requests().await;
    assert_eq!((shown.len(), &shown[0]["status"]), (1, &json!("accepted")));
    for person in [&ada, &bob] {
        t.delete(&format!("/v1/organizations/{acme}/memberships/{person}")).await.ok();
    }
    assert!(requests().await.is_empty());
    let path = format!("/v1/organizations/{acme}/domains/{made}");
    for mode in ["manual_invitation", SUGGESTED] {
        t.patch(&path, json!({"enrollment_mode": mode})).await.ok();
    }
    for person in [&ada, &bob] {
        assert_eq!(suggestions(&t, person).await.len(), 1);
    }
}
