//! The allow-list and the block-list, and who may enter by them: a table of lists, tickets and ways in, with the outcome
//! of each cell.

mod proven;

use latchkey_kernel::instances::store;
use latchkey_kernel::migrations;
use latchkey_kernel::settings::{Settings, SignUpMode};
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::me::support::{PASSWORD, somebody};
use crate::sign_ups::{attempt, newest_code, server, with_code};

const ALLOWED: &str = "/v1/allowlist_identifiers";
const BLOCKED: &str = "/v1/blocklist_identifiers";
const SIGN_INS: &str = "/v1/client/sign_ins";
const SIGN_UPS: &str = "/v1/client/sign_ups";
const WALLET: &str = "0x00000000000000000000000000000000000000ab";

async fn listed(t: &TestServer, path: &str, identifier: &str) -> Value {
    t.post(path, json!({"identifier": identifier})).await.ok()
}

fn no_passwords(settings: &mut Settings) {
    settings.attributes.password.required_at_sign_up = false;
}

/// The ticket of an invitation to the application.
async fn ticket(t: &TestServer, address: &str) -> String {
    made_ticket(t, "/v1/invitations", json!({"email_address": address, "notify": false})).await
}

async fn made_ticket(t: &TestServer, path: &str, invitation: Value) -> String {
    let made = t.post(path, invitation).await.ok();
    made["url"].as_str().unwrap().split_once("ticket=").unwrap().1.to_owned()
}

#[tokio::test]
async fn every_kind_of_identifier_is_listed_shown_and_taken_off_again() {
    let t = TestServer::start().await;
    let cases = [
        ("Ada@Example.com", "ada@example.com", "email_address"),
        ("ada+1@example.com", "ada+1@example.com", "email_address"),
        ("*@Example.org", "*@example.org", "email_address"),
        ("+1 415 555 0100", "+14155550100", "phone_number"),
        (WALLET, WALLET, "web3_wallet"),
    ];
    for (path, object) in [(ALLOWED, "allowlist_identifier"), (BLOCKED, "blocklist_identifier")] {
        let mut ids = Vec::new();
        for (given, shown, kind) in cases {
            t.clock.advance_ms(1);
            let made = listed(&t, path, given).await;
            assert_eq!((&made["identifier"], &made["identifier_type"]), (&json!(shown), &json!(kind)));
            assert_eq!((&made["object"], &made["instance_id"]), (&json!(object), &json!(t.tenant.id)));
            assert_eq!(made.get("invitation_id"), None);
            ids.insert(0, made["id"].clone());
            let again = t.post(path, json!({"identifier": shown.to_uppercase().replace("0X", "0x")})).await;
            again.is_problem(400, "duplicate_record", "identifier");
        }
        let page = t.get(&format!("{path}?paginated=true&limit=500")).await.ok();
        let shown: Vec<Value> =
            page["data"].as_array().unwrap().iter().map(|listed| listed["id"].clone()).collect();
        assert_eq!((shown, &page["total_count"]), (ids.clone(), &json!(5)));
        for id in &ids {
            let one = format!("{path}/{}", id.as_str().unwrap());
            let gone = t.delete(&one).await.ok();
            assert_eq!((&gone["object"], &gone["id"], &gone["deleted"]), (&json!(object), id, &json!(true)));
            t.delete(&one).await.is_error(404, "resource_not_found");
        }
    }
    let bare = t.get(&format!("{ALLOWED}?limit=2&offset=1")).await.ok();
    assert_eq!(bare, json!([]));
    for bad in ["", "ada", "*", "*@", "a*@example.com", "*@*.*.example.com", "0x12", "12345"] {
        for path in [ALLOWED, BLOCKED] {
            let refused = t.post(path, json!({"identifier": bad})).await;
            refused.is_problem(422, "form_param_format_invalid", "identifier");
        }
    }
    let below = json!({"identifier": "*@*.example.com"});
    t.post(ALLOWED, below.clone()).await.is_problem(422, "form_param_format_invalid", "identifier");
    assert_eq!(t.post(BLOCKED, below).await.ok()["identifier"], "*@*.example.com");
}

#[tokio::test]
async fn an_address_on_the_allow_list_is_invited_if_that_is_asked_for() {
    let t = TestServer::start().await;
    let made = t.post(ALLOWED, json!({"identifier": "ada@example.com", "notify": true})).await.ok();
    let invitations = t.get("/v1/invitations").await.ok();
    assert_eq!(made["invitation_id"], invitations[0]["id"]);
    assert_eq!(invitations[0]["email_address"], "ada@example.com");
    let inbox = t.inbox().await;
    assert_eq!((inbox.len(), &inbox[0]["to"]), (1, &json!("ada@example.com")));
    for identifier in ["*@example.org", "+14155550100", WALLET] {
        let refused = t.post(ALLOWED, json!({"identifier": identifier, "notify": true})).await;
        refused.is_problem(422, "form_param_value_invalid", "notify");
    }
    // Nothing is listed if nobody can be invited.
    t.user_with_email("bob@example.com").await;
    t.post("/v1/invitations", json!({"email_address": "carl@example.com"})).await.ok();
    let bob = t.post(ALLOWED, json!({"identifier": "bob@example.com", "notify": true})).await;
    bob.is_problem(422, "form_identifier_exists", "email_address");
    let carl = t.post(ALLOWED, json!({"identifier": "carl@example.com", "notify": true})).await;
    carl.is_problem(400, "duplicate_record", "email_address");
    assert_eq!(t.get(ALLOWED).await.ok().as_array().unwrap().len(), 1);
}

/// A way in, with an address nobody has.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Signing up by typing the address.
    Code,
    /// Signing up by a link.
    Link,
    /// Signing up with a password.
    Password,
    /// Signing up with an invitation to the application.
    Ticket,
    /// Signing up with one, and choosing a password.
    TicketAndPassword,
    /// Signing up with an invitation to an organization.
    MemberTicket,
    /// Signing in, which leads to signing up.
    SignIn,
    /// A backend creates the user.
    Backend,
    /// A user adds the address.
    Profile,
    /// A backend adds the address.
    BackendLater,
    /// A backend replaces all addresses by this one.
    BackendInstead,
}

const WAYS: [Way; 8] = [
    Way::Code,
    Way::Link,
    Way::Ticket,
    Way::SignIn,
    Way::Backend,
    Way::Profile,
    Way::BackendLater,
    Way::BackendInstead,
];

async fn entered(t: &TestServer, way: Way, address: &str) -> Answer {
    // The newest message is told by its time.
    t.clock.advance_ms(1000);
    let mut browser = t.browser();
    match way {
        Way::Code => {
            browser.post(SIGN_UPS, json!({"email_address": address, "strategy": "email_code"})).await
        }
        Way::Link => {
            let fields = json!({"email_address": address, "strategy": "email_link",
                "redirect_url": "http://localhost:3000/"});
            browser.post(SIGN_UPS, fields).await
        }
        Way::Password => {
            browser.post(SIGN_UPS, json!({"email_address": address, "password": PASSWORD})).await
        }
        Way::Ticket => {
            let fields = json!({"strategy": "ticket", "ticket": ticket(t, address).await});
            browser.post(SIGN_UPS, fields).await
        }
        Way::TicketAndPassword => {
            let ticket = ticket(t, address).await;
            let fields = json!({"strategy": "ticket", "ticket": ticket, "password": PASSWORD});
            browser.post(SIGN_UPS, fields).await
        }
        Way::MemberTicket => {
            let organization = t.post("/v1/organizations", json!({"name": "Acme"})).await.ok();
            let path = format!("/v1/organizations/{}/invitations", organization["id"].as_str().unwrap());
            let ticket = made_ticket(t, &path, json!({"email_address": address, "role": "org:member"})).await;
            browser.post(SIGN_UPS, json!({"strategy": "ticket", "ticket": ticket})).await
        }
        Way::SignIn => {
            let fields = json!({"identifier": address, "strategy": "email_code", "sign_up_if_missing": true});
            let begun = browser.post(SIGN_INS, fields).await;
            if begun.status != 200 {
                return begun;
            }
            let begun = begun.ok();
            let path =
                format!("{SIGN_INS}/{}/attempt_first_factor", begun["response"]["id"].as_str().unwrap());
            let code = newest_code(t).await;
            let proven = browser.post(&path, json!({"strategy": "email_code", "code": code})).await;
            proven.is_error(404, "sign_up_if_missing_transfer");
            browser.post(SIGN_UPS, json!({"transfer": true})).await
        }
        Way::Backend => t.post("/v1/users", json!({"email_address": [address]})).await,
        Way::Profile | Way::BackendLater | Way::BackendInstead => {
            // Accounts that were there before the lists.
            let mut old = somebody(t, "old@allowed.test").await;
            let user = old.user.clone();
            let body = json!({"user_id": user, "email_address": address});
            let answer = match way {
                Way::Profile => old.post("/v1/me/email_addresses", json!({"email_address": address})).await,
                Way::BackendLater => t.post("/v1/email_addresses", body).await,
                _ => {
                    t.put(&format!("/v1/users/{user}/email_address"), json!({"email_address": address})).await
                }
            };
            t.delete(&format!("/v1/users/{user}")).await.ok();
            answer
        }
    }
}

/// What is in use, and which of these addresses may enter by typing it and by an invitation.
type Case = (fn(&mut Settings), &'static str, bool, bool);

const CASES: [Case; 15] = [
    (|_| (), "bad@blocked.test", true, true),
    (|settings| settings.restrictions.allowlist = true, "ada@allowed.test", true, true),
    (|settings| settings.restrictions.allowlist = true, "one@single.test", true, true),
    (|settings| settings.restrictions.allowlist = true, "one+1@single.test", true, true),
    (|settings| settings.restrictions.allowlist = true, "ada@other.test", false, true),
    (|settings| settings.restrictions.allowlist = true, "ada@sub.allowed.test", false, true),
    (|settings| settings.restrictions.blocklist = true, "ada@other.test", true, true),
    (|settings| settings.restrictions.blocklist = true, "bad@blocked.test", false, false),
    (|settings| settings.restrictions.blocklist = true, "bad+1=x@blocked.test", false, false),
    (|settings| settings.restrictions.blocklist = true, "ada@domain.test", false, false),
    (|settings| settings.restrictions.blocklist = true, "ada@a.b.below.test", false, false),
    (|settings| settings.restrictions.blocklist = true, "ada@below.test", true, true),
    (both, "both@allowed.test", true, true),
    (|settings| settings.restrictions.block_email_subaddresses = true, "ada+1@other.test", false, false),
    (
        |settings| settings.restrictions.block_disposable_email_domains = true,
        "ada@mailinator.com",
        false,
        false,
    ),
];

fn both(settings: &mut Settings) {
    settings.restrictions.allowlist = true;
    settings.restrictions.blocklist = true;
}

async fn with_lists(change: fn(&mut Settings)) -> TestServer {
    let t = server(|settings| {
        no_passwords(settings);
        let email = &mut settings.attributes.email_address;
        email.verifications.push(latchkey_kernel::strategy::Strategy::EmailLink);
        change(settings);
    })
    .await;
    for identifier in ["*@allowed.test", "one@single.test"] {
        listed(&t, ALLOWED, identifier).await;
    }
    for identifier in ["bad@blocked.test", "*@domain.test", "*@*.below.test", "both@allowed.test"] {
        listed(&t, BLOCKED, identifier).await;
    }
    t
}

/// Deletes whoever has an address, and what invites them.
async fn forget(t: &TestServer, address: &str) {
    let found = t.get(&format!("/v1/users?email_address={}", address.replace('+', "%2B"))).await.ok();
    for user in found.as_array().unwrap() {
        t.delete(&format!("/v1/users/{}", user["id"].as_str().unwrap())).await.ok();
    }
    for invitation in t.get("/v1/invitations?status=pending").await.ok().as_array().unwrap() {
        t.post(&format!("/v1/invitations/{}/revoke", invitation["id"].as_str().unwrap()), json!({}))
            .await
            .ok();
    }
}

#[tokio::test]
async fn lists_hold_for_every_way_in() {
    for (change, address, is_open, is_open_to_invited) in CASES {
        let t = with_lists(change).await;
        for way in WAYS {
            let expected = if matches!(way, Way::Ticket) { is_open_to_invited } else { is_open };
            let answer = entered(&t, way, address).await;
            match expected {
                true => assert_eq!(answer.status, 200, "{address} {way:?}: {:#}", answer.json),
                false => {
                    assert_eq!(
                        (answer.status, answer.code()),
                        (403, "not_allowed_access"),
                        "{address} {way:?}"
                    );
                    let identifiers = &answer.json["errors"][0]["meta"]["identifiers"];
                    assert_eq!(identifiers, &json!([address]), "{address} {way:?}");
                }
            }
            forget(&t, address).await;
        }
    }
}

/// Who may enter: by the mode, what the lists say of the address, and the way in. `.` enters, `m` is refused by the mode,
/// `l` by a list, `n` as somebody unknown who cannot sign up either.
///
/// Without an invitation: by code, by link, by password, by signing in. With one: that of the application alone, with a
/// password, that of an organization. Not by signing up: a backend creates the user, a user adds the address.
const TABLE: [(SignUpMode, Lists, &str); 15] = [
    (SignUpMode::Public, Lists::Off, ".... ... .."),
    (SignUpMode::Public, Lists::Allowed, ".... ... .."),
    (SignUpMode::Public, Lists::NotAllowed, "llll ..l ll"),
    (SignUpMode::Public, Lists::Blocked, "llll lll ll"),
    (SignUpMode::Public, Lists::AllowedAndBlocked, ".... ... .."),
    (SignUpMode::Restricted, Lists::Off, "mmmn ... .."),
    (SignUpMode::Restricted, Lists::Allowed, "mmmn ... .."),
    (SignUpMode::Restricted, Lists::NotAllowed, "mmmn ... .."),
    (SignUpMode::Restricted, Lists::Blocked, "mmmn lll ll"),
    (SignUpMode::Restricted, Lists::AllowedAndBlocked, "mmmn lll ll"),
    (SignUpMode::Waitlist, Lists::Off, "mmmn ... .."),
    (SignUpMode::Waitlist, Lists::Allowed, "mmmn ... .."),
    (SignUpMode::Waitlist, Lists::NotAllowed, "mmmn ... .."),
    (SignUpMode::Waitlist, Lists::Blocked, "mmmn lll ll"),
    (SignUpMode::Waitlist, Lists::AllowedAndBlocked, "mmmn lll ll"),
];

const COLUMNS: [Way; 9] = [
    Way::Code,
    Way::Link,
    Way::Password,
    Way::SignIn,
    Way::Ticket,
    Way::TicketAndPassword,
    Way::MemberTicket,
    Way::Backend,
    Way::Profile,
];

/// Which lists are in use, and which of them the address is on.
#[derive(Clone, Copy, Debug)]
enum Lists {
    Off,
    Allowed,
    NotAllowed,
    Blocked,
    AllowedAndBlocked,
}

impl Lists {
    fn address(self) -> &'static str {
        match self {
            Lists::Off | Lists::Blocked => "bad@blocked.test",
            Lists::Allowed => "ada@allowed.test",
            Lists::NotAllowed => "ada@other.test",
            Lists::AllowedAndBlocked => "both@allowed.test",
        }
    }

    fn put_in_use(self, settings: &mut Settings) {
        settings.restrictions.allowlist =
            matches!(self, Lists::Allowed | Lists::NotAllowed | Lists::AllowedAndBlocked);
        settings.restrictions.blocklist = matches!(self, Lists::Blocked | Lists::AllowedAndBlocked);
    }
}

#[tokio::test]
async fn mode_lists_tickets_and_strategies_decide_together() {
    let t = with_lists(|settings| settings.organizations.enabled = true).await;
    let id = t.tenant.id.clone();
    let of_all = store::find(&mut t.db().read().await.unwrap(), &id).await.unwrap().unwrap().settings;
    let mut found = Vec::new();
    for (mode, lists, _) in TABLE {
        let mut settings = of_all.clone();
        settings.sign_up.mode = mode;
        lists.put_in_use(&mut settings);
        t.set_settings(settings).await;
        let mut cells = String::new();
        for (at, way) in COLUMNS.into_iter().enumerate() {
            if [4, 7].contains(&at) {
                cells.push(' ');
            }
            let answer = entered(&t, way, lists.address()).await;
            cells.push(match (answer.status, answer.json["errors"][0]["code"].as_str()) {
                (200, None) => '.',
                (403, Some("sign_up_mode_restricted" | "sign_up_restricted_waitlist")) => 'm',
                (403, Some("not_allowed_access")) => 'l',
                (422, Some("form_identifier_not_found")) => 'n',
                _ => panic!("{mode:?} {lists:?} {way:?}: {:#}", answer.json),
            });
            forget(&t, lists.address()).await;
        }
        found.push((mode, lists, cells));
    }
    let lines = |(mode, lists, cells): (SignUpMode, Lists, String)| format!("{mode:?} {lists:?} {cells}");
    let expected = TABLE.map(|(mode, lists, cells)| lines((mode, lists, cells.to_owned())));
    assert_eq!(found.into_iter().map(lines).collect::<Vec<_>>().join("\n"), expected.join("\n"));
}

#[tokio::test]
async fn numbers_and_wallets_are_listed_too() {
    let t = with_lists(|settings| settings.restrictions.blocklist = true).await;
    listed(&t, BLOCKED, "+4915112345678").await;
    listed(&t, BLOCKED, WALLET).await;
    let number = json!({"phone_number": "+49 151 12345678"});
    t.browser().post(SIGN_UPS, number).await.is_problem(403, "not_allowed_access", "phone_number");
    t.browser().post(SIGN_UPS, json!({"phone_number": "+4915112345679"})).await.ok();
    let user = json!({"email_address": ["ada@example.com"], "phone_number": ["+4915112345678"],
        "web3_wallet": [WALLET.to_uppercase().replace("0X", "0x")]});
    let refused = t.post("/v1/users", user).await;
    assert_eq!(refused.status, 403);
    let params: Vec<&Value> =
        refused.json["errors"].as_array().unwrap().iter().map(|error| &error["meta"]["param_name"]).collect();
    assert_eq!(params, ["phone_number", "web3_wallet"]);
    let ada = t.user_with_email("ada@example.com").await;
    let later = json!({"user_id": ada, "phone_number": "+4915112345678"});
    t.post("/v1/phone_numbers", later).await.is_problem(403, "not_allowed_access", "phone_number");
}

#[tokio::test]
async fn a_name_alone_does_not_pass_the_allow_list() {
    let t = server(|settings| {
        settings.restrictions.allowlist = true;
        settings.attributes.email_address.required_at_sign_up = false;
    })
    .await;
    let fields = json!({"username": "countess", "password": "countess of numbers"});
    t.browser().post(SIGN_UPS, fields).await.is_error(403, "not_allowed_access");
}

#[tokio::test]
async fn whoever_is_blocked_half_way_gets_no_further() {
    let t = with_lists(|settings| settings.restrictions.blocklist = true).await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    listed(&t, BLOCKED, "ada@example.com").await;
    let again =
        browser.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await;
    again.is_error(403, "not_allowed_access");
    let code = newest_code(&t).await;
    attempt(&mut browser, &path, "email_code", &code).await.is_error(403, "not_allowed_access");
    assert_eq!(t.get("/v1/users").await.ok(), json!([]));
}

#[tokio::test]
async fn dots_make_no_second_account_at_gmail() {
    let t = with_lists(|settings| settings.restrictions.block_email_subaddresses = true).await;
    t.browser().post(SIGN_UPS, json!({"email_address": "j.smith@gmail.com"})).await.ok();
    let smith = t.user_with_email("jsmith@gmail.com").await;
    for way in [Way::Code, Way::Ticket, Way::Backend, Way::BackendLater, Way::Profile] {
        let refused = entered(&t, way, "j.smith@gmail.com").await;
        refused.is_problem(403, "not_allowed_access", "email_address");
    }
    // Who has it signs in all the same.
    let signed_in = t.browser().post(SIGN_INS, json!({"identifier": "jsmith@gmail.com"})).await.ok();
    assert_eq!(signed_in["response"]["status"], "needs_first_factor", "{smith}");
}

/// Attack: the owner of a blocked mailbox signs up with another spelling of its address.
#[tokio::test]
async fn block_list_compares_mailboxes() {
    let t = with_lists(|settings| settings.restrictions.blocklist = true).await;
    for identifier in ["B.a.d+shop@GoogleMail.com", "bad+x@other.test", "bad-one@yahoo.com", "bad_one@pm.me"]
    {
        listed(&t, BLOCKED, identifier).await;
    }
    for address in [
        "bad@gmail.com",
        "b.ad+1@gmail.com",
        "bad@other.test",
        "bad=2@other.test",
        "bad-two@yahoo.com",
        "b.adone@proton.me",
    ] {
        let refused = t.browser().post(SIGN_UPS, json!({"email_address": address})).await;
        refused.is_problem(403, "not_allowed_access", "email_address");
    }
    for address in ["badly@other.test", "b.ad@other.test", "bad@else.test"] {
        t.browser().post(SIGN_UPS, json!({"email_address": address})).await.ok();
    }
}

#[tokio::test]
async fn allow_list_compares_mailboxes() {
    let t = with_lists(|settings| settings.restrictions.allowlist = true).await;
    listed(&t, ALLOWED, "c.a.r.l@gmail.com").await;
    t.browser().post(SIGN_UPS, json!({"email_address": "carl+1@googlemail.com"})).await.ok();
    let refused = t.browser().post(SIGN_UPS, json!({"email_address": "carla@gmail.com"})).await;
    refused.is_problem(403, "not_allowed_access", "email_address");
}

/// Addresses that were listed before mailboxes were compared get the mailbox that a new entry gets.
#[tokio::test]
async fn migration_fills_in_the_mailboxes_of_lists() {
    let t = TestServer::start().await;
    for identifier in [
        "Ada@Example.com",
        "a.d.a+x=y@gmail.com",
        "ada@googlemail.com",
        "a-d_a.b+1@protonmail.ch",
        "ada+b@me.com",
        "ada.b-c+d@yahoo.co.uk",
        "ada-b@ya.ru",
        "ada#b@xn--bcher-kva.example",
        "+ada@example.org",
        "*@example.com",
        "+14155550100",
    ] {
        listed(&t, BLOCKED, identifier).await;
    }
    let before = mailboxes(&t).await;
    assert_eq!(before.iter().filter(|mailbox| mailbox.is_none()).count(), 2, "{before:?}");
    t.run_sql("UPDATE listed_identifiers SET mailbox = NULL", vec![]).await;
    let migration = migrations::ALL.iter().find(|migration| migration.name == "0031_mailboxes_and_senders");
    let (_, text) = migration.unwrap().common.split_once("UPDATE listed_identifiers SET ").unwrap();
    let filled = Box::leak(
        format!("UPDATE listed_identifiers SET {}", text.split(';').next().unwrap()).into_boxed_str(),
    );
    t.run_sql(filled, vec![]).await;
    assert_eq!(mailboxes(&t).await, before);
}

async fn mailboxes(t: &TestServer) -> Vec<Option<String>> {
    let sql = "SELECT mailbox FROM listed_identifiers ORDER BY identifier_folded";
    let mut tx = t.db().read().await.unwrap();
    tx.all(&[sql], &[], |row| Ok(row.maybe_str(0)?.map(str::to_owned))).await.unwrap()
}

#[tokio::test]
async fn backend_creates_a_user_whom_restrictions_reject_if_it_skips_them() {
    let user = |address: &str, skip: Value| json!({"email_address": [address], "skip_password_requirement": true, "skip_restriction_checks": skip});
    type Change = fn(&mut Settings);
    let cases: [(Change, &str, &str); 4] = [
        (|settings| settings.restrictions.allowlist = true, "ada@other.test", "eve@other.test"),
        (|settings| settings.restrictions.blocklist = true, "ada@domain.test", "eve@domain.test"),
        (
            |settings| settings.restrictions.block_email_subaddresses = true,
            "ada+1@other.test",
            "ada+2@other.test",
        ),
        (
            |settings| settings.restrictions.block_disposable_email_domains = true,
            "ada@mailinator.com",
            "eve@mailinator.com",
        ),
    ];
    for (change, address, later) in cases {
        let t = with_lists(change).await;
        for checked in [json!(false), Value::Null] {
            let refused = t.post("/v1/users", user(address, checked)).await;
            refused.is_problem(403, "not_allowed_access", "email_address");
        }
        let created = t.post("/v1/users", user(address, json!(true))).await.ok();
        // An address that the user gets later is checked.
        let later = json!({"user_id": created["id"], "email_address": later});
        t.post("/v1/email_addresses", later).await.is_error(403, "not_allowed_access");
    }
}

#[tokio::test]
async fn accounts_of_before_sign_in_unless_the_lists_count_for_that() {
    for (is_for_sign_up_only, change) in [true, false].into_iter().flat_map(|only| {
        let lists: [fn(&mut Settings); 2] = [
            |settings| settings.restrictions.blocklist = true,
            |settings| settings.restrictions.allowlist = true,
        ];
        lists.map(|list| (only, list))
    }) {
        let t = server(|settings| {
            change(settings);
            settings.restrictions.allowlist_blocklist_disabled_on_sign_in = is_for_sign_up_only;
        })
        .await;
        for address in ["ada@blocked.test", "bob@fine.test"] {
            listed(&t, ALLOWED, address).await;
            t.user_with_email(address).await;
        }
        let ada = t.get("/v1/users?email_address=ada@blocked.test").await.ok()[0]["id"].clone();
        let listed_now = t.get(ALLOWED).await.ok();
        let of_ada =
            listed_now.as_array().unwrap().iter().find(|one| one["identifier"] == "ada@blocked.test");
        t.delete(&format!("{ALLOWED}/{}", of_ada.unwrap()["id"].as_str().unwrap())).await.ok();
        listed(&t, BLOCKED, "*@blocked.test").await;
        let mut browser = t.browser();
        let answer = browser.post(SIGN_INS, json!({"identifier": "ada@blocked.test"})).await;
        match is_for_sign_up_only {
            true => assert_eq!(answer.ok()["response"]["status"], "needs_first_factor"),
            false => answer.is_error(403, "not_allowed_access"),
        }
        browser.post(SIGN_INS, json!({"identifier": "bob@fine.test"})).await.ok();
        // Whom the application itself lets in is let in.
        let token = t.post("/v1/sign_in_tokens", json!({"user_id": ada})).await.ok();
        let fields = json!({"strategy": "ticket", "ticket": token["token"]});
        assert_eq!(t.browser().post(SIGN_INS, fields).await.ok()["response"]["status"], "complete");
    }
}

#[tokio::test]
async fn nobody_learns_from_the_lists_who_has_an_account() {
    let t = server(|settings| {
        settings.attack_protection.enumeration_protection = true;
        settings.restrictions.blocklist = true;
        settings.restrictions.allowlist_blocklist_disabled_on_sign_in = false;
    })
    .await;
    t.user_with_email("ada@blocked.test").await;
    listed(&t, BLOCKED, "*@blocked.test").await;
    for address in ["ada@blocked.test", "eve@blocked.test"] {
        let mut browser = t.browser();
        let begun =
            browser.post(SIGN_INS, json!({"identifier": address, "strategy": "email_code"})).await.ok();
        assert_eq!(begun["response"]["status"], "needs_first_factor", "{address}");
    }
    // The right code tells, and lets nobody in.
    let mut browser = t.browser();
    let begun = browser
        .post(SIGN_INS, json!({"identifier": "ada@blocked.test", "strategy": "email_code"}))
        .await
        .ok();
    let path = format!("{SIGN_INS}/{}/attempt_first_factor", begun["response"]["id"].as_str().unwrap());
    let code = newest_code(&t).await;
    let refused = browser.post(&path, json!({"strategy": "email_code", "code": code})).await;
    refused.is_error(403, "not_allowed_access");
}

#[tokio::test]
async fn a_refusal_names_what_was_typed_and_nothing_else_of_the_account() {
    let t = server(|settings| {
        settings.restrictions.blocklist = true;
        settings.restrictions.allowlist_blocklist_disabled_on_sign_in = false;
        settings.attributes.username.enabled = true;
    })
    .await;
    let user = json!({"username": "countess", "email_address": ["ada@blocked.test"]});
    t.post("/v1/users", user).await.ok();
    listed(&t, BLOCKED, "*@blocked.test").await;
    let refused = t.browser().post(SIGN_INS, json!({"identifier": "countess"})).await;
    refused.is_problem(403, "not_allowed_access", "identifier");
    assert_eq!(refused.json["errors"][0]["meta"]["identifiers"], json!(["countess"]));
    assert!(!refused.json.to_string().contains("blocked.test"), "{:#}", refused.json);
}

#[tokio::test]
async fn whom_the_lists_keep_out_no_invitation_signs_in() {
    let t = server(|settings| {
        both(settings);
        settings.restrictions.allowlist_blocklist_disabled_on_sign_in = false;
        settings.organizations.enabled = true;
    })
    .await;
    for address in ["eve@blocked.test", "ada@other.test"] {
        let entry = listed(&t, ALLOWED, address).await;
        t.user_with_email(address).await;
        t.delete(&format!("{ALLOWED}/{}", entry["id"].as_str().unwrap())).await.ok();
    }
    listed(&t, BLOCKED, "*@blocked.test").await;
    let organization = t.post("/v1/organizations", json!({"name": "Acme"})).await.ok();
    let members = format!("/v1/organizations/{}/invitations", organization["id"].as_str().unwrap());
    // Whoever is blocked stays out. Whoever is only not listed is let in by the application, and not by members.
    for (address, is_open) in [("eve@blocked.test", false), ("ada@other.test", true)] {
        let by_members = json!({"email_address": address, "role": "org:member"});
        let by_application = json!({"email_address": address, "ignore_existing": true});
        for (path, body, is_open) in
            [(members.as_str(), by_members, false), ("/v1/invitations", by_application, is_open)]
        {
            let made = t.post(path, body).await.ok();
            let ticket = made["url"].as_str().unwrap().split_once("ticket=").unwrap().1.to_owned();
            let fields = json!({"strategy": "ticket", "ticket": ticket});
            let answer = t.browser().post(SIGN_INS, fields).await;
            match is_open {
                true => assert_eq!(answer.ok()["response"]["status"], "complete"),
                false => answer.is_error(403, "not_allowed_access"),
            }
        }
    }
}

#[tokio::test]
async fn one_listed_identifier_is_enough_for_a_person() {
    let t = with_lists(both).await;
    let (listed_one, number) = ("ada@allowed.test", "+4915112345678");
    let fields = json!({"email_address": listed_one, "phone_number": number});
    t.browser().post(SIGN_UPS, fields).await.ok();
    let unlisted = json!({"email_address": "ada@other.test", "phone_number": number});
    let refused = t.browser().post(SIGN_UPS, unlisted).await;
    assert_eq!(refused.json["errors"].as_array().unwrap().len(), 2, "{:#}", refused.json);
    refused.is_error(403, "not_allowed_access");
    let user = json!({"email_address": [listed_one], "phone_number": [number]});
    let ada = t.post("/v1/users", user).await.ok()["id"].clone();
    // Another number goes with the account, another address does not, and what is blocked goes with nothing.
    t.post("/v1/phone_numbers", json!({"user_id": ada, "phone_number": "+4915112345679"})).await.ok();
    let address = json!({"user_id": ada, "email_address": "ada@other.test"});
    t.post("/v1/email_addresses", address).await.is_problem(403, "not_allowed_access", "email_address");
    listed(&t, BLOCKED, "+4915112345670").await;
    let blocked = json!({"user_id": ada, "phone_number": "+4915112345670"});
    t.post("/v1/phone_numbers", blocked).await.is_problem(403, "not_allowed_access", "phone_number");
}

#[tokio::test]
async fn an_address_that_is_taken_off_the_list_takes_its_invitation_with_it() {
    let t = with_lists(|settings| settings.restrictions.allowlist = true).await;
    let notified = json!({"identifier": "eve@other.test", "notify": true});
    let made = t.post(ALLOWED, notified).await.ok();
    let invitation = |id: &Value| format!("/v1/invitations?query={}", id.as_str().unwrap());
    let found = t.get(&invitation(&made["invitation_id"])).await.ok();
    assert_eq!(found[0]["status"], "pending");
    t.delete(&format!("{ALLOWED}/{}", made["id"].as_str().unwrap())).await.ok();
    let revoked = t.get("/v1/invitations?status=revoked").await.ok();
    assert_eq!(revoked[0]["id"], made["invitation_id"]);
}

#[tokio::test]
async fn lists_of_one_instance_say_nothing_about_another() {
    let t = with_lists(|settings| settings.restrictions.blocklist = true).await;
    let other = json!({"identifier": "ada@example.com"});
    let made = t.call(Some(&t.other), "POST", BLOCKED, Some(other)).await.ok();
    let path = format!("{BLOCKED}/{}", made["id"].as_str().unwrap());
    t.delete(&path).await.is_error(404, "resource_not_found");
    assert_eq!(entered(&t, Way::Code, "ada@example.com").await.status, 200);
    // The id of one list is none of the other.
    let allowed = listed(&t, ALLOWED, "zoe@example.com").await;
    let crossed = format!("{BLOCKED}/{}", allowed["id"].as_str().unwrap());
    t.delete(&crossed).await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn environment_shows_which_restrictions_are_in_use() {
    let t = server(|settings| {
        both(settings);
        settings.restrictions.block_disposable_email_domains = true;
    })
    .await;
    let seen = t.browser().get("/v1/environment").await.ok();
    let restrictions = &seen["user_settings"]["restrictions"];
    let on = |name: &str| restrictions[name]["enabled"].as_bool().unwrap();
    assert!(on("allowlist") && on("blocklist") && on("block_disposable_email_domains"));
    assert!(!on("block_email_subaddresses"));
    assert_eq!(seen["user_settings"]["sign_up"]["allowlist_only"], true);
}

/// Entries of a long list, made by the database itself.
const FILL: &str = "INSERT INTO listed_identifiers (instance_id, id, list, identifier_folded, document, created_at) \
     WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $2) \
     SELECT $1, 'blid_000000000000000000' || (100000000 + i), 'block', 'user' || i || '@long.test', \
     '{\"identifier\":\"x\",\"identifier_type\":\"email_address\"}', i FROM n";

#[tokio::test]
async fn a_list_of_a_hundred_thousand_makes_signing_up_no_slower() {
    const ROUNDS: usize = 41;
    let mut servers = Vec::new();
    for entries in [10_i64, 100_000] {
        let t = with_lists(|settings| settings.restrictions.blocklist = true).await;
        t.run_sql(FILL, vec![(&t.tenant.id).into(), entries.into()]).await;
        if t.db().engine() == "PostgreSQL" {
            // As it does by itself where it is not set up for tests; without, it guesses which index to take.
            t.run_sql("ANALYZE listed_identifiers", vec![]).await;
        }
        servers.push((t, Vec::with_capacity(ROUNDS)));
    }
    // In turns, so that whatever else the machine does slows both.
    for round in 0..ROUNDS {
        for (t, times) in &mut servers {
            let fields = json!({"email_address": format!("new{round}@a.b.c.example.com")});
            let (mut browser, begun) = (t.browser(), Instant::now());
            browser.post(SIGN_UPS, fields).await.ok();
            times.push(begun.elapsed());
        }
    }
    // The fastest of each: those that other processes did not slow.
    let fastest: Vec<_> =
        servers.iter().map(|(_, times)| times.iter().min().unwrap().as_secs_f64()).collect();
    assert!(fastest[1] <= fastest[0] * 1.5, "{fastest:?}");
    let (long, _) = &servers[1];
    let refused = long.browser().post(SIGN_UPS, json!({"email_address": "user99999@long.test"})).await;
    refused.is_error(403, "not_allowed_access");
    let shown = long.get(BLOCKED).await.ok();
    assert_eq!((shown["data"].as_array().unwrap().len(), &shown["total_count"]), (10_000, &json!(100_004)));
}
