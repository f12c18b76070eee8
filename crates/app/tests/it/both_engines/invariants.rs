//! What holds of addresses and numbers after any sequence of operations on them.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_kernel::environment::Environment::Development;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Tenant, TestServer};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

const USERS: usize = 3;
/// Few values, so that users get in each other's way.
const VALUES: [[&str; 3]; 2] =
    [["a@example.com", "B@example.com", "c@example.com"], ["+14155552671", "+14155552672", "+14155552673"]];

/// Addresses or numbers.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Email,
    Phone,
}

impl Kind {
    fn name(self) -> &'static str {
        ["email_address", "phone_number"][self as usize]
    }

    fn list(self) -> &'static str {
        ["email_addresses", "phone_numbers"][self as usize]
    }

    fn primary(self) -> &'static str {
        ["primary_email_address_id", "primary_phone_number_id"][self as usize]
    }
}

/// One request. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Add { kind: Kind, user: usize, value: usize, wishes: [Option<bool>; 3] },
    Update { kind: Kind, user: usize, which: usize, wishes: [Option<bool>; 3] },
    Delete { kind: Kind, user: usize, which: usize },
    Replace { kind: Kind, user: usize, value: usize, status: &'static str },
    MakePrimary { kind: Kind, user: usize, which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(Kind::Email), Just(Kind::Phone)];
    let wishes = prop::array::uniform3(any::<Option<bool>>());
    let status = prop::sample::select(vec!["verified", "reserved", "unverified"]);
    (kind, 0..USERS, 0..3_usize, wishes, status, 0..7_u8).prop_map(
        |(kind, user, at, wishes, status, which)| match which {
            0..=1 => Step::Add { kind, user, value: at, wishes },
            2..=3 => Step::Update { kind, user, which: at, wishes },
            4 => Step::Delete { kind, user, which: at },
            5 => Step::Replace { kind, user, value: at, status },
            _ => Step::MakePrimary { kind, user, which: at },
        },
    )
}

/// The fields of what is wanted; only numbers can be second factors.
fn fields(kind: Kind, [verified, primary, second_factor]: [Option<bool>; 3]) -> Map<String, Value> {
    let mut fields = json!({"verified": verified, "primary": primary});
    if matches!(kind, Kind::Phone) {
        fields["reserved_for_second_factor"] = json!(second_factor);
    }
    fields.as_object().unwrap().clone()
}

/// Takes a step. Returns the user it is about and whether it was accepted.
async fn take(t: &TestServer, tenant: &Tenant, users: &[Value], step: &Step) -> (usize, bool) {
    let chosen = |kind: Kind, user: usize, which: usize| {
        let list = users[user][kind.list()].as_array().unwrap();
        list.get(which)
            .map_or_else(|| json!("idn_000000000000000000000000000"), |contact| contact["id"].clone())
    };
    let of = |kind: Kind, id: &Value| format!("/v1/{}/{}", kind.list(), id.as_str().unwrap());
    let id = |user: usize| users[user]["id"].as_str().unwrap();
    let (user, method, path, body) = match step {
        Step::Add { kind, user, value, wishes } => {
            let mut body = fields(*kind, *wishes);
            body.insert("user_id".into(), json!(id(*user)));
            body.insert(kind.name().into(), json!(VALUES[*kind as usize][*value]));
            (*user, "POST", format!("/v1/{}", kind.list()), Some(Value::Object(body)))
        }
        Step::Update { kind, user, which, wishes } => {
            let path = of(*kind, &chosen(*kind, *user, *which));
            (*user, "PATCH", path, Some(Value::Object(fields(*kind, *wishes))))
        }
        Step::Delete { kind, user, which } => {
            (*user, "DELETE", of(*kind, &chosen(*kind, *user, *which)), None)
        }
        Step::Replace { kind, user, value, status } => {
            let body = json!({kind.name(): VALUES[*kind as usize][*value], "identification_status": status});
            (*user, "PUT", format!("/v1/users/{}/{}", id(*user), kind.name()), Some(body))
        }
        Step::MakePrimary { kind, user, which } => {
            let body = json!({kind.primary(): chosen(*kind, *user, *which)});
            (*user, "PATCH", format!("/v1/users/{}", id(*user)), Some(body))
        }
    };
    let answer = t.call(Some(tenant), method, &path, body).await;
    assert!([200, 400, 404, 422].contains(&answer.status), "{step:?}: {}", answer.status);
    (user, answer.status == 200)
}

async fn shown(t: &TestServer, tenant: &Tenant) -> Vec<Value> {
    let users = t.call(Some(tenant), "GET", "/v1/users?order_by=username", None).await.ok();
    users.as_array().unwrap().clone()
}

async fn count_events(t: &TestServer, tenant: &Tenant) -> i64 {
    let mut tx = t.db().read().await.unwrap();
    let sql = "SELECT count(*) FROM events WHERE instance_id = $1";
    tx.maybe(&[sql], &[(&tenant.id).into()], |row| row.int(0)).await.unwrap().unwrap()
}

/// Rows of the index of identifiers: user, kind, value, whether it is held alone.
async fn index(t: &TestServer, tenant: &Tenant) -> BTreeSet<(String, String, String, bool)> {
    let mut tx = t.db().read().await.unwrap();
    let sql = "SELECT user_id, kind, value_folded, claim FROM identifications WHERE instance_id = $1 AND kind <> 'username'";
    let read =
        |row: &latchkey_db::Row<'_>| Ok((row.text(0)?, row.text(1)?, row.text(2)?, row.str(3)?.is_empty()));
    tx.all(&[sql], &[(&tenant.id).into()], read).await.unwrap().into_iter().collect()
}

fn check(users: &[Value], index: &BTreeSet<(String, String, String, bool)>) {
    let mut expected = BTreeSet::new();
    let mut owners: BTreeMap<String, usize> = BTreeMap::new();
    for user in users {
        for kind in [Kind::Email, Kind::Phone] {
            let contacts = user[kind.list()].as_array().unwrap();
            let ids: Vec<&Value> = contacts.iter().map(|contact| &contact["id"]).collect();
            assert!(
                user[kind.primary()].is_null() || ids.contains(&&user[kind.primary()]),
                "primary is one's own: {user:#}"
            );
            for contact in contacts {
                let value = contact[kind.name()].as_str().unwrap().to_owned();
                let is_exclusive = contact["verification"].is_object() || contact["reserved"] == true;
                assert!(contact["verification"].is_null() || contact["reserved"] == false, "{contact:#}");
                expected.insert((
                    user["id"].as_str().unwrap().to_owned(),
                    kind.name().to_owned(),
                    value.clone(),
                    is_exclusive,
                ));
                *owners.entry(value).or_default() += usize::from(is_exclusive);
            }
        }
        let phones = user["phone_numbers"].as_array().unwrap();
        let having = |key: &str| phones.iter().filter(|phone| phone[key] == true).count();
        let (factors, defaults) = (having("reserved_for_second_factor"), having("default_second_factor"));
        assert_eq!(defaults, factors.min(1), "one of the second factors is the default: {user:#}");
        let unproven =
            |phone: &&Value| phone["reserved_for_second_factor"] == true && phone["verification"].is_null();
        assert_eq!(phones.iter().filter(unproven).count(), 0, "a second factor is verified: {user:#}");
        assert_eq!(user["two_factor_enabled"], factors > 0, "{user:#}");
    }
    assert!(
        owners.values().all(|owners| *owners <= 1),
        "verified and reserved ones belong to one user: {owners:?}"
    );
    assert_eq!(&expected, index, "the index says what the users say");
}

/// When a second factor came or went, the user says when.
fn check_moments(before: &Value, after: &Value) {
    let moment = |user: &Value, key: &str| user[key].as_i64();
    let now = after["updated_at"].as_i64();
    let (enabled, disabled) =
        match (before["two_factor_enabled"] == true, after["two_factor_enabled"] == true) {
            (false, true) => (now, moment(before, "mfa_disabled_at")),
            (true, false) => (moment(before, "mfa_enabled_at"), now),
            _ => (moment(before, "mfa_enabled_at"), moment(before, "mfa_disabled_at")),
        };
    assert_eq!(
        (moment(after, "mfa_enabled_at"), moment(after, "mfa_disabled_at")),
        (enabled, disabled),
        "{after:#}"
    );
}

#[test]
fn addresses_and_numbers_stay_sound_whatever_is_done_to_them() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let t = runtime.block_on(TestServer::start());
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 40, failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let outcome = runner.run(&prop::collection::vec(step(), 1..25), |steps| {
        runtime.block_on(async {
            let tenant = t.new_tenant(Development, Settings::default()).await;
            for number in 0..USERS {
                let body = json!({"username": format!("user-{number}")});
                t.call(Some(&tenant), "POST", "/v1/users", Some(body)).await.ok();
            }
            for step in steps {
                t.clock.advance_ms(1);
                let (before, events) = (shown(&t, &tenant).await, count_events(&t, &tenant).await);
                let (user, is_accepted) = take(&t, &tenant, &before, &step).await;
                let after = shown(&t, &tenant).await;
                check(&after, &index(&t, &tenant).await);
                let changed: Vec<usize> = (0..USERS).filter(|at| before[*at] != after[*at]).collect();
                assert!(
                    changed.is_empty() || (is_accepted && changed == [user]),
                    "{step:?} changed {changed:?}"
                );
                check_moments(&before[user], &after[user]);
                let fresh = count_events(&t, &tenant).await - events;
                assert_eq!(fresh, i64::from(!changed.is_empty()), "{step:?}: one event for each change");
            }
        });
        Ok(())
    });
    outcome.unwrap();
}
