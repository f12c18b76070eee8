//! How sessions look on the wire: to backends, and to the browser they belong to.

use latchkey_base::kinds::{ClientId, OrganizationId, SessionActivityId, SessionId, UserId};
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::origins::is_local_address;
use latchkey_kernel::{object, word};
use latchkey_organizations::memberships::view::FrontendMembershipView;
use latchkey_people::users::model::User;
use latchkey_people::users::view as users;
use latchkey_people::users::view::{FrontendUserView, PublicUserView, UserView, ViewContext};
use latchkey_web::version::{Change, Version};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::model::{Activity, Level, ReverificationStatus, Session, SessionStatus, Task};
use super::own_memberships::OwnMemberships;

word!(SessionStatus: Abandoned, Active, Ended, Expired, Pending, Removed, Replaced, Revoked);
word!(Task: ChooseOrganization, ResetPassword, SetupMfa);
word!(Level: FirstFactor, SecondFactor, MultiFactor);
word!(ReverificationStatus: NeedsFirstFactor, NeedsSecondFactor, Complete);

/// Older versions know no sessions with something left to do. They show them as active ones; their tokens
/// still say that they are not.
pub const PENDING: Change = Change {
    since: Version::V2025_04_10,
    object: "session",
    title: "`status` may be `pending`, and `tasks` tells why",
    down: |session| {
        session.remove("tasks");
        if session.get("status").is_some_and(|status| status == "pending") {
            session.insert("status".into(), "active".into());
        }
    },
};

/// Whether lists of a version find sessions with something left to do among the active ones. There they are
/// not to be asked for by a name which that version does not know.
pub fn is_pending_active(asked: Option<SessionStatus>, version: Version) -> Result<bool> {
    let is_active = version < PENDING.since;
    match is_active && asked == Some(SessionStatus::Pending) {
        true => Err(Error::param(Code::FormParamValueInvalid, "status")
            .saying("`pending` is a status since the API version 2025-04-10.")),
        false => Ok(is_active),
    }
}

object!(SessionObject, "session");
object!(ActivityObject, "session_activity");
object!(TokenObject, "token");
object!(CookiesObject, "cookies");

/// A session as backends see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub struct SessionView<'a> {
    object: SessionObject,
    id: &'a SessionId,
    client_id: &'a ClientId,
    user_id: &'a UserId,
    status: SessionStatus,
    last_active_at: Time,
    last_active_organization_id: Option<&'a OrganizationId>,
    actor: Option<&'a Map<String, Value>>,
    latest_activity: Option<ActivityView<'a>>,
    expire_at: Time,
    abandon_at: Time,
    created_at: Time,
    updated_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Vec<TaskView>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionActivity")]
pub struct ActivityView<'a> {
    object: ActivityObject,
    id: &'a SessionActivityId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    device_type: Option<&'a str>,
    is_mobile: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    browser_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    browser_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    ip_address: Option<&'a str>,
    /// Where the address is. Only a user's own list of sessions contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    country: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionTask")]
pub struct TaskView {
    key: Task,
}

pub fn session(session: &Session, now: Time) -> SessionView<'_> {
    SessionView {
        object: SessionObject::It,
        id: &session.id,
        client_id: &session.client,
        user_id: &session.user,
        status: session.status_at(now),
        last_active_at: session.last_active_at,
        last_active_organization_id: session.active_organization.as_ref().map(|active| &active.id),
        actor: session.actor.as_ref(),
        latest_activity: session.activity.as_ref().map(activity),
        expire_at: session.expire_at,
        abandon_at: session.abandon_at,
        created_at: session.created_at,
        updated_at: session.updated_at,
        tasks: tasks(session),
    }
}

/// What is told about a session when something happened to it: the user too, unless they are gone.
#[derive(Serialize, JsonSchema)]
pub struct SessionEventView<'a> {
    #[serde(flatten)]
    session: SessionView<'a>,
    user: Option<UserView<'a>>,
}

pub fn session_event<'a>(
    session: &'a Session,
    user: Option<&'a User>,
    context: ViewContext<'a>,
) -> SessionEventView<'a> {
    SessionEventView {
        session: self::session(session, context.now),
        user: user.map(|user| users::user(user, context)),
    }
}

fn activity(activity: &Activity) -> ActivityView<'_> {
    ActivityView {
        object: ActivityObject::It,
        id: &activity.id,
        device_type: activity.device_type.as_deref(),
        is_mobile: activity.is_mobile,
        browser_name: activity.browser_name.as_deref(),
        browser_version: activity.browser_version.as_deref(),
        ip_address: activity.ip_address.as_deref(),
        country: None,
    }
}

/// The activity for the list of devices in `<UserProfile/>`. The component prints the country in parentheses after the
/// address, and prints empty parentheses without one. The server does not know the countries of addresses.
fn activity_with_place(activity: &Activity) -> ActivityView<'_> {
    let address = activity.ip_address.as_deref().and_then(|text| text.parse().ok());
    let is_local = address.is_some_and(is_local_address);
    let place = if is_local { "local network" } else { "unknown location" };
    ActivityView { country: Some(place), ..self::activity(activity) }
}

fn tasks(session: &Session) -> Option<Vec<TaskView>> {
    let tasks: Vec<TaskView> = session.tasks.iter().map(|task| TaskView { key: *task }).collect();
    (!tasks.is_empty()).then_some(tasks)
}

/// A session as the browser it belongs to sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FrontendSession")]
pub struct FrontendSessionView<'a> {
    object: SessionObject,
    id: &'a SessionId,
    status: SessionStatus,
    expire_at: Time,
    abandon_at: Time,
    last_active_at: Time,
    last_active_token: Option<TokenView<'a>>,
    last_active_organization_id: Option<&'a OrganizationId>,
    actor: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Vec<TaskView>>,
    user: FrontendUserView<'a, FrontendMembershipView<'a>>,
    public_user_data: PublicUserView<'a>,
    factor_verification_age: [i64; 2],
    created_at: Time,
    updated_at: Time,
}

pub fn frontend<'a>(
    session: &'a Session,
    user: &'a User,
    token: Option<&'a str>,
    memberships: &'a OwnMemberships,
    context: ViewContext<'_>,
) -> FrontendSessionView<'a> {
    FrontendSessionView {
        object: SessionObject::It,
        id: &session.id,
        status: session.status_at(context.now),
        expire_at: session.expire_at,
        abandon_at: session.abandon_at,
        last_active_at: session.last_active_at,
        last_active_token: token.map(|jwt| TokenView { object: TokenObject::It, jwt }),
        last_active_organization_id: session.active_organization.as_ref().map(|active| &active.id),
        actor: session.actor.as_ref(),
        tasks: tasks(session),
        user: users::frontend(user, memberships.of(user, context), context),
        public_user_data: users::public(user, context),
        factor_verification_age: session.factor_ages(context.now),
        created_at: session.created_at,
        updated_at: session.updated_at,
    }
}

/// One of a user's sessions, as they see it on another client.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionWithActivities")]
pub struct ActiveSessionView<'a> {
    object: SessionObject,
    id: &'a SessionId,
    status: SessionStatus,
    expire_at: Time,
    abandon_at: Time,
    last_active_at: Time,
    latest_activity: Option<ActivityView<'a>>,
    actor: Option<&'a Map<String, Value>>,
}

pub fn active(session: &Session, now: Time) -> ActiveSessionView<'_> {
    ActiveSessionView {
        object: SessionObject::It,
        id: &session.id,
        status: session.status_at(now),
        expire_at: session.expire_at,
        abandon_at: session.abandon_at,
        last_active_at: session.last_active_at,
        latest_activity: session.activity.as_ref().map(activity_with_place),
        actor: session.actor.as_ref(),
    }
}

/// A token.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Token")]
pub struct TokenView<'a> {
    object: TokenObject,
    jwt: &'a str,
}

pub fn token(jwt: &str) -> TokenView<'_> {
    TokenView { object: TokenObject::It, jwt }
}

/// A renewed token, in the form that was asked for.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "SessionRefresh")]
pub enum RefreshedView<'a> {
    Token(TokenView<'a>),
    Cookies(CookiesView),
}

/// Cookies for the browser, as complete `Set-Cookie` lines.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Cookies")]
pub struct CookiesView {
    object: CookiesObject,
    cookies: Vec<String>,
}

pub fn cookies(cookies: Vec<String>) -> CookiesView {
    CookiesView { object: CookiesObject::It, cookies }
}
