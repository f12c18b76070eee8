//! What members do with domains, and with the requests of those who want to join.

use latchkey_kernel::limits::{
    AFFILIATION_GUESSES, AFFILIATION_SENDINGS, AFFILIATION_TRIES_MS, ENROLLMENT_MODES_DAILY, RateLimits,
    VERIFICATION_MS,
};
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{add, browser, domain, events, id, organization, suggestions, user, with_admin};

#[tokio::test]
async fn a_code_to_an_address_of_the_domain_verifies_it() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let ada = user(&t, "ada@corp.test").await;
    let mut page = browser(&t, &admin).await;
    let path = format!("/v1/organizations/{acme}/domains");
    let body = json!({"name": "Corp.test", "enrollment_mode": "automatic_suggestion"});
    let made = page.post(&path, body.clone()).await.ok()["response"].clone();
    assert_eq!((&made["name"], &made["verification"]), (&json!("corp.test"), &Value::Null));
    page.post(&path, body).await.is_error(422, "organization_domain_already_exists_same_organization");
    let path = format!("{path}/{}", id(&made));
    let (prepare, attempt) = (
        format!("{path}/prepare_affiliation_verification"),
        format!("{path}/attempt_affiliation_verification"),
    );
    page.post(&attempt, json!({"code": "000000"})).await.is_error(400, "verification_not_sent");
    for (address, code) in [
        ("ada@other.test", "organization_domain_mismatch"),
        ("ada@mail.corp.test", "organization_domain_mismatch"),
        ("corp.test", "form_param_format_invalid"),
    ] {
        let refused = page.post(&prepare, json!({"affiliation_email_address": address})).await;
        refused.is_problem(422, code, "affiliation_email_address");
    }
    let sent = page.post(&prepare, json!({"affiliation_email_address": "Boss@corp.test"})).await.ok();
    let proof = &sent["response"]["affiliation_verification"];
    assert_eq!(
        (&proof["status"], &proof["strategy"], &proof["attempts"]),
        (&json!("unverified"), &json!("affiliation_email_code"), &json!(0))
    );
    assert_eq!(sent["response"]["affiliation_email_address"], json!("boss@corp.test"));
    let mail = t.inbox().await[0].clone();
    assert_eq!((&mail["to"], &mail["slug"]), (&json!("boss@corp.test"), &json!("affiliation_code")));
    assert!(mail["subject"].as_str().unwrap().contains("Acme"));
    let code = mail["code"].as_str().unwrap().to_owned();
    let wrong = if code == "000000" { "000001" } else { "000000" };
    page.post(&attempt, json!({"code": wrong})).await.is_error(422, "form_code_incorrect");
    assert_eq!(page.get(&path).await.ok()["response"]["verification"]["attempts"], json!(1));
    assert!(suggestions(&t, &ada).await.is_empty());
    let verified = page.post(&attempt, json!({"code": code})).await.ok()["response"].clone();
    assert_eq!(
        (&verified["verification"]["status"], &verified["verification"]["attempts"]),
        (&json!("verified"), &json!(2))
    );
    assert_eq!(verified["total_pending_suggestions"], json!(1));
    assert_eq!(suggestions(&t, &ada).await.len(), 1);
    page.post(&attempt, json!({"code": code})).await.is_error(400, "verification_already_verified");
    let again = page.post(&prepare, json!({"affiliation_email_address": "boss@corp.test"})).await;
    again.is_error(400, "verification_already_verified");
    let kinds: Vec<String> = events(&t).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["created", "updated", "updated"]);
}

/// Each may invite everybody who has an address of the domain, or take that back.
#[tokio::test]
async fn how_people_of_a_domain_join_is_changed_so_often_in_a_day() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let mut page = browser(&t, &admin).await;
    let path = format!("/v1/organizations/{acme}/domains");
    let made = t.post(&path, json!({"name": "corp.test", "verified": true})).await.ok();
    let path = format!("{path}/{}/update_enrollment_mode", id(&made));
    let most = ENROLLMENT_MODES_DAILY.limit;
    for number in 0..most.requests {
        let mode = if number % 2 == 0 { "automatic_invitation" } else { "manual_invitation" };
        page.post(&path, json!({"enrollment_mode": mode})).await.ok();
    }
    let back = json!({"enrollment_mode": "automatic_invitation"});
    page.post(&path, back.clone()).await.is_error(429, "too_many_requests");
    t.clock.advance_ms(most.window_ms);
    page.post(&path, back).await.ok();
}

#[tokio::test]
async fn a_code_is_good_for_some_minutes_and_a_few_guesses() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let mut page = browser(&t, &admin).await;
    let path = format!("/v1/organizations/{acme}/domains");
    let made = page.post(&path, json!({"name": "corp.test"})).await.ok()["response"].clone();
    let path = format!("{path}/{}", id(&made));
    let (prepare, attempt) = (
        format!("{path}/prepare_affiliation_verification"),
        format!("{path}/attempt_affiliation_verification"),
    );
    let to = json!({"affiliation_email_address": "boss+clerk_test@corp.test"});
    page.post(&prepare, to.clone()).await.ok();
    t.clock.advance_ms(VERIFICATION_MS);
    page.post(&attempt, json!({"code": "424242"})).await.is_error(400, "verification_expired");
    assert_eq!(page.get(&path).await.ok()["response"]["verification"]["status"], json!("expired"));
    page.post(&prepare, to.clone()).await.ok();
    for code in ["form_code_incorrect", "form_code_incorrect", "verification_failed", "verification_failed"] {
        let refused = page.post(&attempt, json!({"code": "000000"})).await;
        assert_eq!(refused.code(), code);
    }
    page.post(&attempt, json!({"code": "424242"})).await.is_error(400, "verification_failed");
    page.post(&prepare, to).await.ok();
    page.post(&attempt, json!({"code": "424242"})).await.ok();
}

#[tokio::test]
async fn a_name_that_another_organization_verified_cannot_be_proven() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let other = organization(&t, "Other").await;
    let mut page = browser(&t, &admin).await;
    let path = format!("/v1/organizations/{acme}/domains");
    let made = page.post(&path, json!({"name": "corp.test"})).await.ok()["response"].clone();
    let one = format!("{path}/{}", id(&made));
    let to = json!({"affiliation_email_address": "boss+clerk_test@corp.test"});
    page.post(&format!("{one}/prepare_affiliation_verification"), to.clone()).await.ok();
    domain(&t, &other, json!({"name": "corp.test"})).await.ok();
    let code = json!({"code": "424242"});
    let refused = page.post(&format!("{one}/attempt_affiliation_verification"), code).await;
    refused.is_error(422, "organization_domain_already_exists");
    let refused = page.post(&format!("{one}/prepare_affiliation_verification"), to).await;
    refused.is_error(422, "organization_domain_already_exists");
    page.delete(&one).await.ok();
    page.post(&path, json!({"name": "corp.test"})).await.is_error(422, "organization_domain_already_exists");
}

/// Which role may do what: the admin everything, a member who may read what only reads, others nothing.
#[tokio::test]
async fn members_do_what_their_role_allows() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let (member, stranger) = (user(&t, "member@x.test").await, user(&t, "stranger@x.test").await);
    add(&t, &acme, &member, "org:member").await;
    let made = id(&domain(&t, &acme, json!({"name": "corp.test", "verified": false})).await.ok());
    let domains = format!("/v1/organizations/{acme}/domains");
    let one = format!("{domains}/{made}");
    let requests = format!("/v1/organizations/{acme}/membership_requests");
    let request = format!("{requests}/orgsug_000000000000000000000000000");
    let posts = [
        (domains.clone(), json!({"name": "more.test"})),
        (format!("{domains}/bulk"), json!({"names": ["much.test"]})),
        (format!("{one}/update_enrollment_mode"), json!({"enrollment_mode": "manual_invitation"})),
        (
            format!("{one}/prepare_affiliation_verification"),
            json!({"affiliation_email_address": "a@corp.test"}),
        ),
        (format!("{one}/attempt_affiliation_verification"), json!({"code": "1"})),
        (format!("{one}/prepare_ownership_verification"), json!({})),
        (format!("{one}/attempt_ownership_verification"), json!({})),
        (
            format!("{domains}/prepare_ownership_verification/bulk"),
            json!({"organization_domain_ids": [made]}),
        ),
        (
            format!("{domains}/attempt_ownership_verification/bulk"),
            json!({"organization_domain_ids": [made]}),
        ),
        (format!("{request}/accept"), json!({})),
        (format!("{request}/reject"), json!({})),
    ];
    for (who, status, code) in [
        (&member, 403, "missing_organization_permission"),
        (&stranger, 404, "organization_not_found_or_unauthorized"),
    ] {
        let mut page = browser(&t, who).await;
        for path in [&domains, &one, &requests] {
            page.get(path).await.is_error(status, code);
        }
        for (path, body) in &posts {
            page.post(path, body.clone()).await.is_error(status, code);
        }
        page.delete(&one).await.is_error(status, code);
    }
    let mut page = browser(&t, &admin).await;
    assert_eq!(page.get(&domains).await.ok()["response"]["total_count"], json!(1));
    page.get(&format!("{domains}?verified=true&enrollment_mode=manual_invitation")).await.ok();
    page.get(&one).await.ok();
    page.get(&requests).await.ok();
    page.post(&format!("{request}/accept"), json!({})).await.is_error(404, "resource_not_found");
    let gone = page.delete(&one).await.ok();
    assert_eq!(gone["response"], json!({"object": "organization_domain", "id": made, "deleted": true}));
    page.get(&one).await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn a_suggestion_becomes_a_request_and_that_a_membership() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    domain(&t, &acme, json!({"name": "corp.test", "enrollment_mode": "automatic_suggestion"})).await.ok();
    let (ada, bob) = (user(&t, "ada@corp.test").await, user(&t, "bob@corp.test").await);
    let requests = format!("/v1/organizations/{acme}/membership_requests");
    let mut admins = browser(&t, &admin).await;
    assert_eq!(admins.get(&requests).await.ok()["response"]["total_count"], json!(0));
    let suggestion = id(&suggestions(&t, &ada).await[0]);
    let accept = format!("/v1/me/organization_suggestions/{suggestion}/accept");
    browser(&t, &bob).await.post(&accept, json!({})).await.is_error(404, "resource_not_found");
    let mut adas = browser(&t, &ada).await;
    let asked = adas.post(&accept, json!({})).await.ok()["response"].clone();
    assert_eq!((&asked["object"], &asked["status"]), (&json!("organization_suggestion"), &json!("accepted")));
    let told = t.inbox().await;
    assert_eq!(told.len(), 1, "whoever can decide is told once: {told:?}");
    assert_eq!(
        (&told[0]["to"], &told[0]["subject"]),
        (&json!("admin@acme.test"), &json!("ada@corp.test asks to join Acme"))
    );
    adas.post(&accept, json!({})).await.is_error(400, "organization_suggestion_already_accepted");
    for (query, count) in
        [("?status=pending", 0), ("?status=accepted", 1), ("?status=pending,accepted", 1), ("", 1)]
    {
        let page = adas.get(&format!("/v1/me/organization_suggestions{query}")).await.ok();
        assert_eq!(page["response"]["total_count"], json!(count), "{query}");
    }
    let bad = adas.get("/v1/me/organization_suggestions?status=rejected").await;
    bad.is_problem(422, "form_param_value_invalid", "status");
    let page = admins.get(&format!("{requests}?status=pending")).await.ok()["response"].clone();
    assert_eq!((&page["total_count"], &page["data"][0]["status"]), (&json!(1), &json!("pending")));
    assert_eq!(page["data"][0]["public_user_data"]["identifier"], json!("ada@corp.test"));
    let request = id(&page["data"][0]);
    let accepted = admins.post(&format!("{requests}/{request}/accept"), json!({})).await.ok();
    assert_eq!(accepted["response"]["status"], json!("accepted"));
    let members = t.get(&format!("/v1/organizations/{acme}/memberships?user_id={ada}")).await.ok();
    assert_eq!(members["data"][0]["role"], json!("org:member"));
    admins
        .post(&format!("{requests}/{request}/accept"), json!({}))
        .await
        .is_error(400, "already_a_member_in_organization");
    assert!(suggestions(&t, &ada).await.is_empty());
    assert_eq!(
        admins.get(&format!("{requests}?status=pending")).await.ok()["response"]["total_count"],
        json!(0)
    );
    // One who is rejected is not asked again, not even by another domain of the organization.
    let suggestion = id(&suggestions(&t, &bob).await[0]);
    let accept = format!("/v1/me/organization_suggestions/{suggestion}/accept");
    browser(&t, &bob).await.post(&accept, json!({})).await.ok();
    let reject = format!("{requests}/{suggestion}/reject");
    assert_eq!(admins.post(&reject, json!({})).await.ok()["response"]["status"], json!("rejected"));
    admins.post(&reject, json!({})).await.is_error(404, "resource_not_found");
    admins
        .post(&format!("{requests}/{suggestion}/accept"), json!({}))
        .await
        .is_error(404, "resource_not_found");
    browser(&t, &bob).await.post(&accept, json!({})).await.is_error(404, "resource_not_found");
    domain(&t, &acme, json!({"name": "two.test", "enrollment_mode": "automatic_suggestion"})).await.ok();
    let body = json!({"user_id": bob, "email_address": "bob@two.test", "verified": true});
    t.post("/v1/email_addresses", body).await.ok();
    assert!(suggestions(&t, &bob).await.is_empty());
    let rejected = admins.get(&format!("{requests}?status=rejected")).await.ok();
    assert_eq!(rejected["response"]["total_count"], json!(1));
}

#[tokio::test]
async fn a_request_to_a_full_organization_stays_until_there_is_room() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    domain(&t, &acme, json!({"name": "corp.test", "enrollment_mode": "automatic_suggestion"})).await.ok();
    let ada = user(&t, "ada@corp.test").await;
    let suggestion = id(&suggestions(&t, &ada).await[0]);
    let accept = format!("/v1/me/organization_suggestions/{suggestion}/accept");
    browser(&t, &ada).await.post(&accept, json!({})).await.ok();
    t.patch(&format!("/v1/organizations/{acme}"), json!({"max_allowed_memberships": 1})).await.ok();
    let path = format!("/v1/organizations/{acme}/membership_requests/{suggestion}/accept");
    let mut page = browser(&t, &admin).await;
    page.post(&path, json!({})).await.is_error(403, "organization_membership_quota_exceeded");
    t.patch(&format!("/v1/organizations/{acme}"), json!({"max_allowed_memberships": 2})).await.ok();
    page.post(&path, json!({})).await.ok();
    // Whoever becomes a member in another way has nothing left to ask for.
    let bob = user(&t, "bob@corp.test").await;
    t.patch(&format!("/v1/organizations/{acme}"), json!({"max_allowed_memberships": 0})).await.ok();
    add(&t, &acme, &bob, "org:member").await;
    assert!(suggestions(&t, &bob).await.is_empty());
}

#[tokio::test]
async fn guesses_and_codes_are_counted_for_the_domain_whatever_the_address() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let domains = format!("/v1/organizations/{acme}/domains");
    let mut page = browser(&t, &admin).await;
    let guessed = id(&page.post(&domains, json!({"name": "corp.test"})).await.ok()["response"]);
    let sent = id(&page.post(&domains, json!({"name": "much.test"})).await.ok()["response"]);
    let to = |number: i64, name: &str| json!({"affiliation_email_address": format!("a{number}+clerk_test@{name}")});
    let prepare = |id: &str| format!("{domains}/{id}/prepare_affiliation_verification");
    let attempt = |id: &str| format!("{domains}/{id}/attempt_affiliation_verification");
    let too_many = "verification_code_too_many_requests";
    for number in 0..AFFILIATION_GUESSES {
        if number % 2 == 0 {
            page.post(&prepare(&guessed), to(number, "corp.test")).await.ok();
        }
        page.post(&attempt(&guessed), json!({"code": "000000"})).await.is_error(422, "form_code_incorrect");
    }
    page.post(&attempt(&guessed), json!({"code": "424242"})).await.is_error(429, too_many);
    page.post(&prepare(&guessed), to(99, "corp.test")).await.is_error(429, too_many);
    for number in 0..AFFILIATION_SENDINGS {
        page.post(&prepare(&sent), to(number, "much.test")).await.ok();
    }
    page.post(&prepare(&sent), to(99, "much.test")).await.is_error(429, too_many);
    // The last one counts, and tomorrow is another day.
    page.post(&attempt(&sent), json!({"code": "424242"})).await.ok();
    t.clock.advance_ms(AFFILIATION_TRIES_MS);
    let mut page = browser(&t, &admin).await;
    page.post(&prepare(&guessed), to(99, "corp.test")).await.ok();
    page.post(&attempt(&guessed), json!({"code": "424242"})).await.ok();
}

#[tokio::test]
async fn a_name_that_is_refused_is_refused_once_however_often_it_is_written() {
    let t = TestServer::start().await;
    let (acme, admin) = with_admin(&t, "Acme").await;
    let other = organization(&t, "Other").await;
    domain(&t, &other, json!({"name": "taken.test"})).await.ok();
    let names = json!({"names": ["Taken.test", "taken.test", "new.test", "NEW.test", " new.test"]});
    let path = format!("/v1/organizations/{acme}/domains/bulk");
    let made = browser(&t, &admin).await.post(&path, names).await.ok()["response"].clone();
    assert_eq!(made["data"].as_array().unwrap().len(), 1);
    assert_eq!(made["errors"], json!([{"name": "Taken.test", "code": "organization_domain_already_exists"}]));
}
