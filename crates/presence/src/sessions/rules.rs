//! How sessions begin, go on and end.

use latchkey_base::kinds::{ClientId, OrganizationId, SessionId};
use latchkey_base::rng::Rng;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::environment::Environment;
use latchkey_kernel::limits::{ACTOR_IDLE_MS, ACTOR_SESSION_MS, SESSION_ABANDON_MS, SESSION_TOUCH_MS};
use latchkey_kernel::settings::Settings;
use latchkey_organizations::choices::ChosenOrganization;
use latchkey_people::factors::rules as factors;
use latchkey_people::users::model::User;
use serde_json::{Map, Value};

use super::model::{Activity, Session, SessionStatus, Task};

/// How somebody came to have a session.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Whether a first factor was proven just now.
    pub first_factor: bool,
    /// Whether a second factor was proven just now.
    pub second_factor: bool,
    /// Who acts as the user.
    pub actor: Option<Map<String, Value>>,
    /// How long the session may last, if not as long as others.
    pub lifetime_seconds: Option<i64>,
    /// The organization that was asked for.
    pub organization: Option<OrganizationId>,
    /// The organization the user works for, who is a member of it.
    pub active: Option<ChosenOrganization>,
}

/// A new session of a user.
pub fn begin(
    user: &User,
    client: &ClientId,
    entry: Entry,
    activity: Activity,
    settings: &Settings,
    now: Time,
    rng: &dyn Rng,
) -> Session {
    let is_acted = entry.actor.is_some();
    let tasks = if is_acted { Vec::new() } else { tasks(user, settings) };
    let lifetime_ms = match entry.lifetime_seconds {
        Some(seconds) => seconds.saturating_mul(1000),
        None if is_acted => ACTOR_SESSION_MS,
        None => settings.session.lifetime_seconds.saturating_mul(1000),
    };
    let session = Session {
        instance: user.instance.clone(),
        id: SessionId::new(now, rng),
        client: client.clone(),
        user: user.id.clone(),
        status: if tasks.is_empty() { SessionStatus::Active } else { SessionStatus::Pending },
        tasks,
        actor: entry.actor,
        active_organization: entry.active,
        announced: None,
        first_factor_at: entry.first_factor.then_some(now),
        second_factor_at: entry.second_factor.then_some(now),
        reverification: None,
        activity: Some(activity),
        last_active_at: now,
        expire_at: now.plus_ms(lifetime_ms),
        abandon_at: now,
        created_at: now,
        updated_at: now,
    };
    let session = session.seen(&settings.organizations);
    let announced = Some(session.status == SessionStatus::Active);
    used(Session { announced, ..session }, settings, now)
}

/// The user of a session works for another organization, of which they are a member, or for themselves.
pub fn work_for(
    mut session: Session,
    organization: Option<ChosenOrganization>,
    settings: &Settings,
    now: Time,
) -> Session {
    if session.active_organization != organization {
        session.active_organization = organization;
        session.updated_at = now;
    }
    session.seen(&settings.organizations)
}

/// Backends may open sessions where nobody's account is at stake.
pub fn check_creation(environment: Environment) -> Result<()> {
    match environment {
        Environment::Development => Ok(()),
        Environment::Production => Err(Error::new(Code::RequestInvalidForEnvironment)
            .saying("Sessions are created here for tests only. On production instances use sign-in tokens.")),
    }
}

/// Refuses those who may not sign in.
pub fn check_enterable(user: &User, now: Time) -> Result<()> {
    match (user.banned, user.is_locked(now)) {
        (true, _) => Err(Error::new(Code::UserBanned)),
        (false, true) => Err(Error::new(Code::UserLocked)),
        (false, false) => Ok(()),
    }
}

/// What a user has to do before a session counts.
fn tasks(user: &User, settings: &Settings) -> Vec<Task> {
    let must_reset = user.password.as_ref().is_some_and(|password| password.compromised);
    let must_set_up = settings.is_second_factor_required() && !factors::has_second(user, settings);
    let all = [(must_reset, Task::ResetPassword), (must_set_up, Task::SetupMfa)];
    all.into_iter().filter(|(is_due, _)| *is_due).map(|(_, task)| task).collect()
}

/// What is left to do after the user changed. A session whose last task is done counts from then on.
pub fn settle(mut session: Session, user: &User, settings: &Settings, now: Time) -> Session {
    if session.status != SessionStatus::Pending {
        return session;
    }
    let due = tasks(user, settings);
    session.tasks.retain(|task| *task == Task::ChooseOrganization || due.contains(task));
    if session.tasks.is_empty() {
        session.status = SessionStatus::Active;
        session.updated_at = now;
    }
    session
}

/// The session was used.
pub fn used(mut session: Session, settings: &Settings, now: Time) -> Session {
    let idle_ms = match (&session.actor, settings.session.inactivity_timeout_seconds) {
        (Some(_), _) => ACTOR_IDLE_MS,
        (None, Some(seconds)) => seconds.saturating_mul(1000),
        (None, None) => SESSION_ABANDON_MS,
    };
    session.last_active_at = now;
    session.abandon_at = now.plus_ms(idle_ms);
    session
}

/// Whether using the session is worth a note: not with every token, but often enough for the time it may
/// lie idle.
pub fn is_worth_noting(session: &Session, now: Time) -> bool {
    let idle_ms = session.abandon_at.ms_since(session.last_active_at);
    let pause_ms = SESSION_TOUCH_MS.min(idle_ms / 10);
    // Later than now by more than the clocks of servers differ: the clock was set back.
    !(-SESSION_TOUCH_MS..pause_ms).contains(&(now.ms() - session.last_active_at.ms()))
}

/// The session is over.
pub fn end(session: Session, status: SessionStatus, now: Time) -> Session {
    Session { status, tasks: Vec::new(), reverification: None, updated_at: now, ..session }
}
