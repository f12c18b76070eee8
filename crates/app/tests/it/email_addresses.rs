//! The seven operations on e-mail addresses.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{Attribute, Settings};
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

const NOW: i64 = 1_767_225_600_000;
const NOBODY: &str = "user_000000000000000000000000000";
const NOTHING: &str = "idn_000000000000000000000000000";

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

fn path(address: &Value) -> String {
    format!("/v1/email_addresses/{}", id(address))
}

async fn add(t: &TestServer, user: &str, fields: Value) -> Answer {
    let mut body = json!({"user_id": user});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    t.post("/v1/email_addresses", body).await
}

/// A user without any address.
async fn bare(t: &TestServer, name: &str) -> String {
    id(&t.user(json!({"username": name})).await).to_owned()
}

async fn primary(t: &TestServer, user: &str) -> Value {
    t.shown(user).await["primary_email_address_id"].clone()
}

#[tokio::test]
async fn new_address_is_unverified_and_the_first_is_primary() {
    let t = TestServer::start().await;
    let user = bare(&t, "ada_l").await;
    t.clock.advance_ms(5);
    let address = add(&t, &user, json!({"email_address": "Ada@Example.com"})).await.ok();
    let expected = json!({
        "id": address["id"], "object": "email_address", "email_address": "ada@example.com", "reserved": false,
        "verification": null, "linked_to": [], "matches_sso_connection": false, "created_at": NOW + 5, "updated_at": NOW + 5
    });
    assert_eq!(address, expected);
    assert_eq!(t.get(&path(&address)).await.ok(), address);
    let shown = t.shown(&user).await;
    assert_eq!(shown["email_addresses"], json!([address]));
    assert_eq!((&shown["primary_email_address_id"], &shown["updated_at"]), (&address["id"], &json!(NOW + 5)));
    let second = add(&t, &user, json!({"email_address": "b@example.com", "verified": true, "primary": null}))
        .await
        .ok();
    assert_eq!(second["verification"]["strategy"], "admin");
    assert_eq!(primary(&t, &user).await, address["id"]);
}

#[tokio::test]
async fn only_a_verified_address_becomes_primary_by_wish() {
    let t = TestServer::start().await;
    let user = t.user_with_email("a@example.com").await;
    let answer = add(&t, &user, json!({"email_address": "b@example.com", "primary": true})).await;
    answer.is_problem(422, "form_verification_needed", "primary");
    assert_eq!(t.shown(&user).await["email_addresses"].as_array().unwrap().len(), 1);
    let second = add(&t, &user, json!({"email_address": "b@example.com", "primary": true, "verified": true}))
        .await
        .ok();
    assert_eq!(primary(&t, &user).await, second["id"]);
    let third = add(&t, &user, json!({"email_address": "c@example.com"})).await.ok();
    t.patch(&path(&third), json!({"primary": true})).await.is_problem(
        400,
        "form_verification_needed",
        "primary",
    );
    t.patch(&path(&third), json!({"primary": true, "verified": true})).await.ok();
    assert_eq!(primary(&t, &user).await, third["id"]);
    // Not wanting it to be primary leaves it primary: there is nothing else to put there.
    t.patch(&path(&third), json!({"primary": false})).await.ok();
    assert_eq!(primary(&t, &user).await, third["id"]);
}

#[tokio::test]
async fn wrong_bodies_are_refused() {
    let t = TestServer::start().await;
    let user = t.user_with_email("a@example.com").await;
    for (body, code, param) in [
        (json!({"user_id": user}), "form_param_missing", "email_address"),
        (json!({"email_address": "b@example.com"}), "form_param_missing", "user_id"),
        (json!({"user_id": user, "email_address": "nonsense"}), "form_param_format_invalid", "email_address"),
        (json!({"user_id": user, "email_address": null}), "form_param_nil", "email_address"),
        (
            json!({"user_id": user, "email_address": ["b@example.com"]}),
            "form_param_type_invalid",
            "email_address",
        ),
        (
            json!({"user_id": user, "email_address": "b@example.com", "verified": "yes"}),
            "form_param_type_invalid",
            "verified",
        ),
        (
            json!({"user_id": user, "email_address": "A@example.com"}),
            "form_identifier_exists",
            "email_address",
        ),
    ] {
        t.post("/v1/email_addresses", body).await.is_problem(422, code, param);
    }
    for nobody in [NOBODY, "nonsense"] {
        add(&t, nobody, json!({"email_address": "b@example.com"})).await.is_error(404, "resource_not_found");
    }
}

#[tokio::test]
async fn fields_that_are_none_are_ignored() {
    let t = TestServer::start().await;
    let user = t.user_with_email("a@example.com").await;
    let address =
        add(&t, &user, json!({"email_address": "b@example.com", "reserved": true, "id": "x"})).await.ok();
    assert_eq!(address["reserved"], false);
    let body = json!({"email_address": "c@example.com", "reserved": true});
    assert_eq!(t.patch(&path(&address), body).await.ok(), address);
}

#[tokio::test]
async fn addresses_of_nobody_another_kind_or_another_instance_are_not_found() {
    let t = TestServer::start().await;
    let foreign = json!({"email_address": ["a@example.com"]});
    let foreign = t.call(Some(&t.other), "POST", "/v1/users", Some(foreign)).await.ok();
    let own = t.user(json!({"phone_number": ["+14155552671"], "username": "ada_l"})).await;
    for unknown in [NOTHING, "nonsense", id(&foreign["email_addresses"][0]), id(&own["phone_numbers"][0])] {
        let path = format!("/v1/email_addresses/{unknown}");
        t.get(&path).await.is_error(404, "resource_not_found");
        t.patch(&path, json!({"verified": true})).await.is_error(404, "resource_not_found");
        t.delete(&path).await.is_error(404, "resource_not_found");
        t.post(&format!("{path}/prepare_verification"), json!({})).await.is_error(404, "resource_not_found");
        let attempt = json!({"verification_id": "ver_000000000000000000000000000", "code": "424242"});
        t.post(&format!("{path}/attempt_verification"), attempt).await.is_error(404, "resource_not_found");
    }
    add(&t, id(&foreign), json!({"email_address": "b@example.com"}))
        .await
        .is_error(404, "resource_not_found");
}

#[tokio::test]
async fn verified_goes_both_ways() {
    let t = TestServer::start().await;
    let user = bare(&t, "ada_l").await;
    let address = add(&t, &user, json!({"email_address": "a@example.com", "verified": false})).await.ok();
    t.clock.advance_ms(5);
    let verified = t.patch(&path(&address), json!({"verified": true})).await.ok();
    assert_eq!(
        verified["verification"],
        json!({"object": "verification_admin", "status": "verified", "strategy": "admin", "attempts": null, "expire_at": null})
    );
    assert_eq!((&verified["created_at"], &verified["updated_at"]), (&json!(NOW), &json!(NOW + 5)));
    t.clock.advance_ms(5);
    for unchanged in [json!({}), json!({"verified": null, "primary": null}), json!({"verified": true})] {
        assert_eq!(t.patch(&path(&address), unchanged).await.ok(), verified);
    }
    let unverified = t.patch(&path(&address), json!({"verified": false})).await.ok();
    assert_eq!((&unverified["verification"], &unverified["updated_at"]), (&Value::Null, &json!(NOW + 10)));
    // An unverified one is free for others.
    t.user_with_email("a@example.com").await;
}

#[tokio::test]
async fn verifying_a_reserved_address_ends_the_reservation() {
    let t = TestServer::start().await;
    let user = t
        .user(
            json!({"email_address": ["a@example.com"], "email_address_identification_status": ["reserved"]}),
        )
        .await;
    let address = user["email_addresses"][0].clone();
    // It never was verified, so this changes nothing.
    assert_eq!(t.patch(&path(&address), json!({"verified": false})).await.ok(), address);
    let verified = t.patch(&path(&address), json!({"verified": true})).await.ok();
    assert_eq!(
        (&verified["reserved"], &verified["verification"]["status"]),
        (&json!(false), &json!("verified"))
    );
}

#[tokio::test]
async fn unverified_address_may_be_on_several_users() {
    let t = TestServer::start().await;
    let (first, second) = (bare(&t, "first").await, bare(&t, "second").await);
    let one = add(&t, &first, json!({"email_address": "shared@example.com"})).await.ok();
    let two = add(&t, &second, json!({"email_address": "Shared@example.com"})).await.ok();
    assert_ne!(one["id"], two["id"]);
    let both = t.get("/v1/users?email_address=shared@example.com").await.ok();
    assert_eq!(both.as_array().unwrap().len(), 2);
    // The first to be verified wins; the other cannot follow, and stays as it was.
    t.patch(&path(&one), json!({"verified": true})).await.ok();
    t.patch(&path(&two), json!({"verified": true})).await.is_problem(
        400,
        "identification_claimed",
        "email_address",
    );
    assert_eq!(t.get(&path(&two)).await.ok(), two);
    // When the first lets go, the other may.
    t.delete(&path(&one)).await.ok();
    t.patch(&path(&two), json!({"verified": true})).await.ok();
}

#[tokio::test]
async fn verified_and_reserved_addresses_belong_to_one_user() {
    let t = TestServer::start().await;
    t.user(json!({
        "email_address": ["verified@example.com", "reserved@example.com"],
        "email_address_identification_status": ["verified", "reserved"]
    }))
    .await;
    let user = t.user_with_email("own@example.com").await;
    for address in ["verified@example.com", "RESERVED@example.com"] {
        for verified in [true, false] {
            let answer = add(&t, &user, json!({"email_address": address, "verified": verified})).await;
            answer.is_problem(422, "form_identifier_exists", "email_address");
        }
        for status in ["verified", "reserved", "unverified"] {
            let body = json!({"email_address": address, "identification_status": status});
            let answer = t.put(&format!("/v1/users/{user}/email_address"), body).await;
            answer.is_problem(422, "form_identifier_exists", "email_address");
        }
    }
    assert_eq!(t.shown(&user).await["email_addresses"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn deleting_the_primary_promotes_a_verified_address() {
    let t = TestServer::start().await;
    let user = t.user_with_email("a@example.com").await;
    let first = primary(&t, &user).await;
    add(&t, &user, json!({"email_address": "b@example.com"})).await.ok();
    let verified = add(&t, &user, json!({"email_address": "c@example.com", "verified": true})).await.ok();
    let first_path = format!("/v1/email_addresses/{}", first.as_str().unwrap());
    let deleted = t.delete(&first_path).await.ok();
    assert_eq!(deleted, json!({"object": "email_address", "id": first, "deleted": true}));
    assert_eq!(primary(&t, &user).await, verified["id"]);
    t.get(&first_path).await.is_error(404, "resource_not_found");
    t.delete(&first_path).await.is_error(404, "resource_not_found");
    // Only an unverified one is left then, which is not promoted.
    t.delete(&path(&verified)).await.ok();
    assert_eq!(primary(&t, &user).await, Value::Null);
}

#[tokio::test]
async fn deleting_another_address_leaves_the_primary() {
    let t = TestServer::start().await;
    let user = t.user_with_email("a@example.com").await;
    let first = primary(&t, &user).await;
    let second = add(&t, &user, json!({"email_address": "b@example.com", "verified": true})).await.ok();
    t.delete(&path(&second)).await.ok();
    assert_eq!(primary(&t, &user).await, first);
    // It is free again.
    t.user_with_email("b@example.com").await;
}

#[tokio::test]
async fn the_last_identification_stays() {
    let t = TestServer::start().await;
    let user = t.user_with_email("a@example.com").await;
    let address = t.shown(&user).await["email_addresses"][0].clone();
    t.delete(&path(&address)).await.is_error(400, "identification_deletion_failed");
    assert_eq!(t.get(&path(&address)).await.ok(), address);
    t.patch(&format!("/v1/users/{user}"), json!({"username": "ada_l"})).await.ok();
    t.delete(&path(&address)).await.ok();
}

#[tokio::test]
async fn replacing_leaves_one_primary_address_of_each_status() {
    let t = TestServer::start().await;
    let verified = json!({
        "object": "verification_admin", "status": "verified", "strategy": "admin", "attempts": null, "expire_at": null
    });
    let cases = [
        (json!({}), false, &verified),
        (json!({"identification_status": "verified"}), false, &verified),
        (json!({"identification_status": "reserved"}), true, &Value::Null),
        (json!({"identification_status": "unverified"}), false, &Value::Null),
    ];
    for (number, (fields, reserved, verification)) in cases.into_iter().enumerate() {
        let user = t.user_with_email(&format!("a{number}@example.com")).await;
        let old = t.shown(&user).await["email_addresses"][0].clone();
        add(&t, &user, json!({"email_address": format!("b{number}@example.com")})).await.ok();
        let mut body = json!({"email_address": format!("New{number}@example.com")});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let address = t.put(&format!("/v1/users/{user}/email_address"), body).await.ok();
        assert_eq!(address["email_address"], format!("new{number}@example.com"));
        assert_eq!((&address["reserved"], &address["verification"]), (&json!(reserved), verification));
        let shown = t.shown(&user).await;
        assert_eq!(shown["email_addresses"], json!([address]));
        assert_eq!(shown["primary_email_address_id"], address["id"]);
        t.get(&path(&old)).await.is_error(404, "resource_not_found");
        // The old ones are free.
        t.user(
            json!({"email_address": [format!("a{number}@example.com"), format!("b{number}@example.com")]}),
        )
        .await;
    }
}

#[tokio::test]
async fn replacing_an_address_by_itself_changes_its_status() {
    let t = TestServer::start().await;
    let user = t.user_with_email("a@example.com").await;
    for (status, verified) in
        [("unverified", false), ("reserved", false), ("verified", true), ("verified", true)]
    {
        let body = json!({"email_address": "A@example.com", "identification_status": status});
        let address = t.put(&format!("/v1/users/{user}/email_address"), body).await.ok();
        assert_eq!(address["verification"].is_object(), verified);
        assert_eq!(t.shown(&user).await["email_addresses"], json!([address]));
    }
}

#[tokio::test]
async fn wrong_replacements_are_refused() {
    let t = TestServer::start().await;
    let user = t.user_with_email("a@example.com").await;
    let before = t.shown(&user).await;
    for (body, code, param) in [
        (json!({}), "form_param_missing", "email_address"),
        (json!({"email_address": "nonsense"}), "form_param_format_invalid", "email_address"),
        (
            json!({"email_address": "b@example.com", "identification_status": "pending"}),
            "form_param_value_invalid",
            "identification_status",
        ),
        (json!({"email_address": "b@example.com", "primary": true}), "form_param_unknown", "primary"),
    ] {
        t.put(&format!("/v1/users/{user}/email_address"), body).await.is_problem(422, code, param);
    }
    let body = json!({"email_address": "b@example.com"});
    t.put(&format!("/v1/users/{NOBODY}/email_address"), body).await.is_error(404, "resource_not_found");
    assert_eq!(t.shown(&user).await, before);
}

#[tokio::test]
async fn addresses_linked_to_a_connected_account_are_neither_replaced_nor_deleted() {
    let t = TestServer::start().await;
    let user = t.user(json!({"email_address": ["a@example.com"], "username": "ada_l"})).await;
    t.edit_document(id(&user), |document| {
        document["email_addresses"]["all"][0]["linked_to"] = json!([{"kind": "oauth_google", "id": NOTHING}]);
    })
    .await;
    let address = t.shown(id(&user)).await["email_addresses"][0].clone();
    assert_eq!(address["linked_to"], json!([{"type": "oauth_google", "id": NOTHING}]));
    let body = json!({"email_address": "b@example.com"});
    let answer = t.put(&format!("/v1/users/{}/email_address", id(&user)), body).await;
    answer.is_error(400, "delete_linked_identification_disallowed");
    t.delete(&path(&address)).await.is_error(400, "delete_linked_identification_disallowed");
    assert_eq!(t.shown(id(&user)).await["email_addresses"], json!([address]));
}

#[tokio::test]
async fn previous_primary_is_told_only_when_asked_and_when_it_changes() {
    let t = TestServer::start().await;
    let user = t.user_with_email("old@example.com").await;
    let notify = "notify_primary_email_address_changed";
    let replace = format!("/v1/users/{user}/email_address");

    add(&t, &user, json!({"email_address": "no@example.com", notify: true})).await.ok();
    t.put(&replace, json!({"email_address": "old@example.com", notify: true})).await.ok();
    t.put(&replace, json!({"email_address": "silent@example.com", notify: false})).await.ok();
    t.put(&replace, json!({"email_address": "quiet@example.com"})).await.ok();
    assert_eq!(t.inbox().await, [Value::Null; 0]);

    let recipient = async |count: usize| {
        let inbox = t.inbox().await;
        assert_eq!(inbox.len(), count);
        assert_eq!((&inbox[0]["channel"], &inbox[0]["code"]), (&json!("email"), &Value::Null));
        t.clock.advance_ms(1);
        inbox[0]["to"].clone()
    };
    t.put(&replace, json!({"email_address": "loud@example.com", notify: true})).await.ok();
    assert_eq!(recipient(1).await, "quiet@example.com");
    let next = json!({"email_address": "next@example.com", "verified": true, "primary": true, notify: true});
    let next = add(&t, &user, next).await.ok();
    assert_eq!(recipient(2).await, "loud@example.com");
    let last = add(&t, &user, json!({"email_address": "last@example.com", "verified": true})).await.ok();
    t.patch(&path(&last), json!({"primary": true, notify: true})).await.ok();
    assert_eq!(recipient(3).await, "next@example.com");
    t.patch(&path(&last), json!({"primary": true, notify: true})).await.ok();
    t.patch(&path(&next), json!({"primary": true})).await.ok();
    assert_eq!(t.inbox().await.len(), 3);
}

#[tokio::test]
async fn addresses_are_unknown_where_they_are_switched_off() {
    let mut settings = Settings::default();
    settings.attributes.email_address = Attribute::default();
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = bare(&t, "ada_l").await;
    let answer = add(&t, &user, json!({"email_address": "a@example.com"})).await;
    answer.is_problem(422, "form_param_unknown", "email_address");
    let body = json!({"email_address": "a@example.com"});
    let answer = t.put(&format!("/v1/users/{user}/email_address"), body).await;
    answer.is_problem(422, "form_param_unknown", "email_address");
}

#[tokio::test]
async fn the_last_address_stays_where_addresses_are_required() {
    let mut settings = Settings::default();
    settings.attributes.email_address = Attribute { enabled: true, required: true, ..Attribute::default() };
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user =
        t.user(json!({"email_address": ["a@example.com", "b@example.com"], "username": "ada_l"})).await;
    t.delete(&path(&user["email_addresses"][0])).await.ok();
    let answer = t.delete(&path(&user["email_addresses"][1])).await;
    answer.is_error(400, "last_required_identification_deletion_failed");
}

#[tokio::test]
async fn a_user_has_at_most_a_hundred_addresses() {
    let t = TestServer::start().await;
    let addresses: Vec<String> = (0..100).map(|number| format!("a{number}@example.com")).collect();
    let user = t.user(json!({"email_address": addresses})).await;
    let answer = add(&t, id(&user), json!({"email_address": "more@example.com"})).await;
    answer.is_problem(422, "form_param_array_size_exceeded", "email_address");
}
