//! Who may do what: every operation, for every kind of caller.

use latchkey_organizations::access::model::{
    DELETE_PROFILE, MANAGE_DOMAINS, MANAGE_MEMBERSHIPS, MANAGE_PROFILE, READ_DOMAINS, READ_MEMBERSHIPS,
};
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

use super::{add, organization, role, roles, server, text, upload};
use crate::me::support::{Me, somebody};

/// What a caller is told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// It is done.
    Done,
    /// The role does not allow it.
    NotAllowed,
    /// There is no such organization, for all they know.
    Unknown,
    /// They are signed out.
    SignedOut,
    /// The organization would lose its last manager.
    LastManager,
    /// There is no logo to remove.
    NoLogo,
}

use Told::{Done, LastManager, NoLogo, NotAllowed, SignedOut, Unknown};

/// An operation: its name, what is sent, the permission it is about, and what callers are told, in the order of
/// [`CALLERS`].
struct Row(&'static str, Sent, &'static str, [Told; 7]);

#[derive(Clone, Copy)]
enum Sent {
    Get(&'static str),
    Post(&'static str, &'static [(&'static str, &'static str)]),
    Patch(&'static str, &'static [(&'static str, &'static str)]),
    Delete(&'static str),
    Logo,
}

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Caller {
    Admin,
    Member,
    /// With a role that has the permission of the row, and no other.
    OnlyThat,
    /// With a role that has every permission but that of the row.
    AllButThat,
    /// In another organization, as its admin.
    Elsewhere,
    /// In no organization.
    Nowhere,
    SignedOut,
}

const CALLERS: [Caller; 7] = [
    Caller::Admin,
    Caller::Member,
    Caller::OnlyThat,
    Caller::AllButThat,
    Caller::Elsewhere,
    Caller::Nowhere,
    Caller::SignedOut,
];

/// `{id}` is the organization, `{subject}` a member, `{newcomer}` a user who is none.
const TABLE: [Row; 12] = [
    Row(
        "getOrganization",
        Sent::Get("/v1/organizations/{id}"),
        "",
        [Done, Done, Done, Done, Unknown, Unknown, SignedOut],
    ),
    Row(
        "updateOrganization",
        Sent::Patch("/v1/organizations/{id}", &[("name", "Changed")]),
        MANAGE_PROFILE,
        [Done, NotAllowed, Done, NotAllowed, Unknown, Unknown, SignedOut],
    ),
    Row(
        "deleteOrganization",
        Sent::Delete("/v1/organizations/{id}"),
        DELETE_PROFILE,
        [Done, NotAllowed, Done, NotAllowed, Unknown, Unknown, SignedOut],
    ),
    Row(
        "updateOrganizationLogo",
        Sent::Logo,
        MANAGE_PROFILE,
        [Done, NotAllowed, Done, NotAllowed, Unknown, Unknown, SignedOut],
    ),
    Row(
        "deleteOrganizationLogo",
        Sent::Delete("/v1/organizations/{id}/logo"),
        MANAGE_PROFILE,
        [NoLogo, NotAllowed, NoLogo, NotAllowed, Unknown, Unknown, SignedOut],
    ),
    Row(
        "ListOrganizationMemberships",
        Sent::Get("/v1/organizations/{id}/memberships"),
        READ_MEMBERSHIPS,
        [Done, Done, Done, NotAllowed, Unknown, Unknown, SignedOut],
    ),
    Row(
        "CreateOrganizationMembership",
        Sent::Post(
            "/v1/organizations/{id}/memberships",
            &[("user_id", "{newcomer}"), ("role", "org:member")],
        ),
        MANAGE_MEMBERSHIPS,
        [Done, NotAllowed, Done, NotAllowed, Unknown, Unknown, SignedOut],
    ),
    Row(
        "UpdateOrganizationMembership",
        Sent::Patch("/v1/organizations/{id}/memberships/{subject}", &[("role", "org:admin")]),
        MANAGE_MEMBERSHIPS,
        [Done, NotAllowed, Done, NotAllowed, Unknown, Unknown, SignedOut],
    ),
    Row(
        "removeOrganizationMember",
        Sent::Delete("/v1/organizations/{id}/memberships/{subject}"),
        MANAGE_MEMBERSHIPS,
        [Done, NotAllowed, Done, NotAllowed, Unknown, Unknown, SignedOut],
    ),
    Row(
        "ListOrganizationRoles",
        Sent::Get("/v1/organizations/{id}/roles"),
        "",
        [Done, Done, Done, Done, Unknown, Unknown, SignedOut],
    ),
    // Everybody may leave, but for the last one who may manage the organization: no other role here has all it takes.
    Row(
        "deleteOrganizationMemberships",
        Sent::Delete("/v1/me/organization_memberships/{id}"),
        DELETE_PROFILE,
        [LastManager, Done, Done, Done, Unknown, Unknown, SignedOut],
    ),
    Row(
        "getOrganizationMemberships",
        Sent::Get("/v1/me/organization_memberships"),
        "",
        [Done, Done, Done, Done, Done, Done, SignedOut],
    ),
];

/// All permissions that operations of this table are about, and some that they are not.
const PERMISSIONS: [&str; 6] =
    [MANAGE_PROFILE, DELETE_PROFILE, READ_MEMBERSHIPS, MANAGE_MEMBERSHIPS, READ_DOMAINS, MANAGE_DOMAINS];

/// The keys of the roles with one permission, and with all others. Without a permission: with none, and with all.
fn role_keys(permission: &str) -> (String, String) {
    let name = permission.replace([':', '-'], "_");
    (format!("org:only{name}"), format!("org:but{name}"))
}

/// The people of the test, by caller; the last one is signed out.
struct People<'a> {
    callers: Vec<(Caller, Me<'a>)>,
    subject: String,
    newcomer: String,
}

async fn people(t: &TestServer) -> People<'_> {
    let mut callers = Vec::new();
    for caller in CALLERS {
        let mut me = somebody(t, &format!("{caller:?}@example.com").to_lowercase()).await;
        if caller == Caller::SignedOut {
            me.browser = t.browser();
        }
        callers.push((caller, me));
    }
    let elsewhere = callers.iter().find(|(caller, _)| *caller == Caller::Elsewhere).unwrap();
    organization(t, &elsewhere.1.user).await;
    for permission in PERMISSIONS.into_iter().chain([""]) {
        let (only, but) = role_keys(permission);
        role(t, &only, &[permission]).await;
        let others: Vec<&str> = PERMISSIONS.into_iter().filter(|&other| other != permission).collect();
        role(t, &but, &others).await;
    }
    let subject = text(&t.user(json!({"email_address": ["subject@example.com"]})).await["id"]);
    let newcomer = text(&t.user(json!({"email_address": ["newcomer@example.com"]})).await["id"]);
    People { callers, subject, newcomer }
}

impl People<'_> {
    fn user(&self, wanted: Caller) -> String {
        self.callers.iter().find(|(caller, _)| *caller == wanted).unwrap().1.user.clone()
    }

    /// A new organization of these people.
    async fn organization(&self, t: &TestServer, permission: &str) -> String {
        let id = organization(t, &self.user(Caller::Admin)).await;
        let (only, but) = role_keys(permission);
        for (user, role) in [
            (self.user(Caller::Member), "org:member"),
            (self.user(Caller::OnlyThat), &only),
            (self.user(Caller::AllButThat), &but),
            (self.subject.clone(), "org:member"),
        ] {
            add(t, &id, &user, role).await;
        }
        id
    }
}

async fn send(me: &mut Me<'_>, sent: Sent, fill: impl Fn(&str) -> String, id: &str) -> Answer {
    let form = |fields: &[(&str, &str)]| -> Value {
        fields.iter().map(|(name, value)| ((*name).to_owned(), json!(fill(value)))).collect()
    };
    match sent {
        Sent::Get(path) => me.get(&fill(path)).await,
        Sent::Post(path, fields) => me.post(&fill(path), form(fields)).await,
        Sent::Patch(path, fields) => me.patch(&fill(path), form(fields)).await,
        Sent::Delete(path) => me.delete(&fill(path)).await,
        Sent::Logo => upload(me, id).await,
    }
}

fn told(answer: &Answer) -> Told {
    match (answer.status, answer.code()) {
        (200, _) => Done,
        (403, "missing_organization_permission") => NotAllowed,
        (404, "organization_not_found_or_unauthorized") => Unknown,
        (401, "signed_out") => SignedOut,
        (400, "organization_minimum_permissions_needed") => LastManager,
        (404, "image_not_found") => NoLogo,
        other => panic!("{other:?}: {:#}", answer.json),
    }
}

#[tokio::test]
async fn every_operation_is_open_to_those_whose_role_allows_it_and_to_nobody_else() {
    let t = server().await;
    let mut people = people(&t).await;
    let mut wrong = Vec::new();
    for Row(name, sent, permission, expected) in TABLE {
        for (at, caller) in CALLERS.into_iter().enumerate() {
            let id = people.organization(&t, permission).await;
            let (subject, newcomer) = (people.subject.clone(), people.newcomer.clone());
            let fill = |text: &str| {
                text.replace("{id}", &id).replace("{subject}", &subject).replace("{newcomer}", &newcomer)
            };
            let before = (t.get(&format!("/v1/organizations/{id}")).await.ok(), roles(&t, &id).await);
            let events = t.count_rows("events").await;
            let answer = send(&mut people.callers[at].1, sent, fill, &id).await;
            let seen = told(&answer);
            if seen != expected[at] {
                wrong.push(format!("{name} as {caller:?}: {seen:?} rather than {:?}", expected[at]));
            }
            if seen == NotAllowed {
                let needed = &answer.json["errors"][0]["meta"]["permissions"];
                assert_eq!(*needed, json!([permission]), "{name} says what is missing");
            }
            if seen != Done {
                let after = (t.get(&format!("/v1/organizations/{id}")).await.ok(), roles(&t, &id).await);
                assert_eq!(before, after, "{name} as {caller:?} was refused and changed something");
                assert_eq!(
                    t.count_rows("events").await,
                    events,
                    "{name} as {caller:?} was refused with an event"
                );
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[tokio::test]
async fn ids_of_another_organization_or_instance_are_unknown() {
    let t = server().await;
    let mut ann = somebody(&t, "ann@example.com").await;
    let bob = somebody(&t, "bob@example.com").await;
    let (mine, theirs) = (organization(&t, &ann.user).await, organization(&t, &bob.user).await);
    // A member of another organization is no member of mine, whatever I may do there.
    let path = format!("/v1/organizations/{mine}/memberships/{}", bob.user);
    ann.delete(&path).await.is_error(404, "resource_not_found");
    ann.patch(&path, json!({"role": "org:admin"})).await.is_error(404, "resource_not_found");
    let path = format!("/v1/organizations/{theirs}/memberships/{}", bob.user);
    ann.delete(&path).await.is_error(404, "organization_not_found_or_unauthorized");
    // Another instance has organizations and users too, and nothing of them is known here.
    let other = t.new_tenant(latchkey_kernel::environment::Environment::Development, super::settings()).await;
    let call = async |path: &str, body: Value| t.call(Some(&other), "POST", path, Some(body)).await.ok();
    let eve = text(&call("/v1/users", json!({"email_address": ["eve@example.com"]})).await["id"]);
    let foreign = text(&call("/v1/organizations", json!({"name": "Foreign", "created_by": eve})).await["id"]);
    for path in [format!("/v1/organizations/{foreign}"), format!("/v1/organizations/{foreign}/memberships")] {
        ann.get(&path).await.is_error(404, "organization_not_found_or_unauthorized");
    }
    let body = json!({"user_id": eve, "role": "org:member"});
    let answer = ann.post(&format!("/v1/organizations/{mine}/memberships"), body).await;
    answer.is_error(404, "resource_not_found");
    let path = format!("/v1/me/organization_memberships/{foreign}");
    ann.delete(&path).await.is_error(404, "organization_not_found_or_unauthorized");
}
