//! What happens at once.

use futures_util::future::join_all;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{EnrollmentMode, Settings};
use latchkey_testkit::TestServer;
use serde_json::json;

use super::super::{browser, domain, id, invitations, organization, run_job, suggestions, user, with_admin};

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_organizations_verifies_a_name() {
    let t = TestServer::start().await;
    let mut created = Vec::new();
    for number in 0..8 {
        created.push(organization(&t, &format!("Organization {number}")).await);
    }
    for round in 0..4 {
        let body = json!({"name": format!("d{round}.test")});
        let answers = join_all(created.iter().map(|it| domain(&t, it, body.clone()))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        for refused in answers.iter().filter(|answer| answer.status != 200) {
            refused.is_error(422, "organization_domain_already_exists");
        }
    }
    let mut paths = Vec::new();
    for organization in &created {
        let made = domain(&t, organization, json!({"name": "later.test", "verified": false})).await.ok();
        paths.push(format!("/v1/organizations/{organization}/domains/{}", id(&made)));
    }
    let answers = join_all(paths.iter().map(|path| t.patch(path, json!({"verified": true})))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    let found = t.get("/v1/organization_domains?verified=true&domains=later.test").await.ok();
    assert_eq!(found["total_count"], json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_many_accept_at_once_makes_one_member() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    domain(&t, &acme, json!({"name": "corp.test", "enrollment_mode": "automatic_suggestion"})).await.ok();
    let ada = user(&t, "ada@corp.test").await;
    let request = id(&suggestions(&t, &ada).await[0]);
    let ask = format!("/v1/me/organization_suggestions/{request}/accept");
    let asks = join_all((0..4).map(|_| async { browser(&t, &ada).await.post(&ask, json!({})).await })).await;
    assert_eq!(asks.iter().filter(|answer| answer.status == 200).count(), 1);
    let path = format!("/v1/organizations/{acme}/membership_requests/{request}/accept");
    let accepts = join_all((0..8).map(|_| async { browser(&t, &admin).await.post(&path, json!({})).await }));
    let accepts = accepts.await;
    assert_eq!(accepts.iter().filter(|answer| answer.status == 200).count(), 1);
    for refused in accepts.iter().filter(|answer| answer.status != 200) {
        refused.is_error(400, "already_a_member_in_organization");
    }
    assert_eq!(t.count_events("organizationMembership.created").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_while_a_domain_is_verified_is_invited_once() {
    let t = TestServer::start().await;
    for round in 0..4 {
        let acme = organization(&t, &format!("Acme {round}")).await;
        let name = format!("d{round}.test");
        let body = json!({"name": name, "enrollment_mode": "automatic_invitation"});
        let addresses: Vec<String> = (0..6).map(|number| format!("p{number}@{name}")).collect();
        let people = join_all(addresses.iter().map(|address| user(&t, address)));
        let (made, people) = tokio::join!(domain(&t, &acme, body), people);
        made.ok();
        run_job(&t).await;
        for person in people {
            assert_eq!(invitations(&t, &person).await.len(), 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organization_that_many_name_domains_for_has_no_more_than_it_may() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    let names = (0..16).map(|number| json!({"name": format!("d{number}.test")}));
    let answers = join_all(names.map(|body| domain(&t, &acme, body))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 10);
}

/// Each is invited to one organization, and has an address of the other's domain.
#[tokio::test(flavor = "multi_thread")]
async fn people_who_sign_up_by_invitations_do_not_block_each_other() {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.organizations.domains = true;
    settings.organizations.domain_enrollment_modes = vec![EnrollmentMode::AutomaticInvitation];
    settings.attributes.password.required_at_sign_up = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let (one, other) = (organization(&t, "One").await, organization(&t, "Other").await);
    for (owner, name) in [(&one, "one.test"), (&other, "other.test")] {
        domain(&t, owner, json!({"name": name, "enrollment_mode": "automatic_invitation"})).await.ok();
    }
    let mut tickets = Vec::new();
    for number in 0..24 {
        let (to, name) = if number % 2 == 0 { (&one, "other.test") } else { (&other, "one.test") };
        let body = json!({"email_address": format!("p{number}@{name}"), "role": "org:member"});
        let made = t.post(&format!("/v1/organizations/{to}/invitations"), body).await.ok();
        tickets.push(made["url"].as_str().unwrap().split_once("ticket=").unwrap().1.to_owned());
    }
    let t = &t;
    let sign_ups = tickets.iter().map(|ticket| async move {
        let fields = json!({"strategy": "ticket", "ticket": ticket});
        t.browser().post("/v1/client/sign_ups", fields).await
    });
    for answer in join_all(sign_ups).await {
        assert_eq!(answer.ok()["response"]["status"], json!("complete"));
    }
    assert_eq!(t.count_rows("organization_memberships").await, 24);
    let sql = "UPDATE organization_invitations SET expire_at = expire_at WHERE domain_id IS NOT NULL";
    assert_eq!(t.run_sql(sql, vec![]).await, 24);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_is_deleted_is_suggested_anything_afterwards() {
    let t = TestServer::start().await;
    for round in 0..6 {
        let acme = organization(&t, &format!("Acme {round}")).await;
        let addresses: Vec<String> = (0..10).map(|number| format!("p{number}@d{round}.test")).collect();
        let people = join_all(addresses.iter().map(|address| user(&t, address))).await;
        let paths: Vec<String> = people.iter().map(|person| format!("/v1/users/{person}")).collect();
        let body = json!({"name": format!("d{round}.test"), "enrollment_mode": "automatic_suggestion"});
        let enrolled = async {
            domain(&t, &acme, body).await.ok();
            run_job(&t).await;
        };
        let (_, deleted) = tokio::join!(enrolled, join_all(paths.iter().map(|path| t.delete(path))));
        assert!(deleted.iter().all(|answer| answer.status == 200));
        let orphans = "DELETE FROM organization_suggestions WHERE NOT EXISTS (SELECT 1 FROM users u \
                       WHERE u.instance_id = organization_suggestions.instance_id \
                       AND u.id = organization_suggestions.user_id)";
        assert_eq!(t.run_sql(orphans, vec![]).await, 0, "round {round}");
    }
}
