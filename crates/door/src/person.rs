//! Somebody who is signed in: the visitor, the session the request is about, and its user.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use latchkey_base::kinds::SessionId;
use latchkey_base::{Code, Error, Id, Problem, Result, Time};
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::reads::Reads;
use latchkey_kernel::signing::Reading;
use latchkey_kernel::slow::WorkOwner;
use latchkey_organizations::memberships::model::ActiveMembership;
use latchkey_people::factors::rules as factors;
use latchkey_people::users::model::User;
use latchkey_presence::sessions::model::{Reverification, Session};
use latchkey_presence::sessions::present::{ClientWithSessions, PresentSession};
use latchkey_presence::sessions::store;
use latchkey_web::api::{Credential, Operation};
use latchkey_web::input::Path;
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;
use serde_json::json;

use super::counting;
use super::site::RequestSite;
use super::visitor::Visitor;

/// Somebody signed in. A session with tasks left counts here: doing them is what it is for.
pub struct Person {
    /// The browser or device.
    pub visitor: Visitor,
    /// The session the request names, or the last one used.
    pub session: Session,
    pub user: User,
    /// Their membership in the organization they work for in the session.
    pub active: Option<ActiveMembership>,
}

impl FromRequestParts<AppState> for Person {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Person, Failure> {
        let visitor = Visitor::read(parts, state).await?;
        let AppState(app) = state;
        let client = visitor.shown_client().ok_or_else(|| Error::new(Code::SignedOut))?;
        let named = pairs(parts.uri.query().unwrap_or_default())?
            .into_iter()
            .find(|(key, value)| key == "_clerk_session_id" && !value.is_empty());
        let id: Option<SessionId> = match named {
            Some((_, text)) => Id::parse(&text),
            None => client.last_active_session.clone(),
        };
        let id = id.ok_or_else(|| Error::new(Code::SignedOut))?;
        let mut tx = app.db.read().await?;
        let found =
            store::find_with_user(&mut tx, &visitor.site.instance, &id, &visitor.site.settings).await?;
        let now = app.clock.now();
        let mine = found.filter(|found| found.session.client == client.id && found.session.is_live(now));
        let mine = mine.filter(|found| visitor.shows(&found.session.id));
        let present = mine.ok_or_else(|| Error::new(Code::SignedOut))?;
        drop(tx);
        counting::count_person(app, parts, &visitor.site, &present.user.id).await?;
        Ok(Person::of(visitor, present))
    }
}

impl Argument for Person {
    fn describe(row: &mut Operation) {
        row.needs(Credential::Person);
    }
}

/// Somebody signed in, by the session the path names.
pub struct PersonInPath(pub Person);

impl FromRequestParts<AppState> for PersonInPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<PersonInPath, Failure> {
        let Path(id) = Path::<SessionId>::from_request_parts(parts, state).await?;
        let person = match at_once(parts, state, &id).await? {
            Some(person) => person,
            None => in_path(parts, state, &id).await?,
        };
        counting::count_person(&state.0, parts, &person.visitor.site, &person.user.id).await?;
        Ok(PersonInPath(person))
    }
}

/// The person whose session a path names.
async fn in_path(parts: &mut Parts, state: &AppState, id: &SessionId) -> Result<Person, Failure> {
    let visitor = Visitor::read(parts, state).await?;
    let AppState(app) = state;
    let client = visitor.require_client_of(id)?;
    let mut tx = app.db.read().await?;
    let found = store::find_with_user(&mut tx, &visitor.site.instance, id, &visitor.site.settings).await?;
    let mine = found.filter(|found| found.session.client == client.id);
    let present = mine.ok_or_else(|| Error::not_found("session", id))?;
    match present.session.is_live(app.clock.now()) {
        true => Ok(Person::of(visitor, present)),
        false => Err(Error::new(Code::SignedOut).into()),
    }
}

impl Argument for PersonInPath {
    fn describe(row: &mut Operation) {
        Path::<SessionId>::describe(row);
        Person::describe(row);
    }
}

/// The same by what the gate has read, for a browser that shows the cookie of its client. `None` if anything is
/// missing or wrong, whatever it is.
async fn at_once(parts: &mut Parts, state: &AppState, id: &SessionId) -> Result<Option<Person>, Failure> {
    let RequestSite(site) = RequestSite::from_request_parts(parts, state).await?;
    let Some(present) = parts.extensions.remove::<ClientWithSessions>() else { return Ok(None) };
    let Some((mut visitor, token)) = Visitor::unproven(parts, &site)? else { return Ok(None) };
    let AppState(app) = state;
    if !site.is_proven(&present, token) || !app.is_signed(Reading::Alone, &site.instance, token).await? {
        return Ok(None);
    }
    visitor.token_digest = Some(present.token_digest().to_vec());
    let (client, live) = present.into_parts(&site.settings);
    let asked = live.into_iter().find(|present| present.session.id == *id);
    let Some(present) = asked.filter(|present| present.session.is_live(app.clock.now())) else {
        return Ok(None);
    };
    visitor.client = Some(client);
    Ok(Some(Person::of(visitor, present)))
}

/// The visitor of an operation for people that is about one of their sessions. Handlers look for that session
/// themselves, because their refusals show the client too.
pub struct SessionVisitor(pub Visitor);

impl FromRequestParts<AppState> for SessionVisitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<SessionVisitor, Failure> {
        Visitor::from_request_parts(parts, state).await.map(SessionVisitor)
    }
}

impl Argument for SessionVisitor {
    fn describe(row: &mut Operation) {
        row.needs(Credential::Person);
    }
}

impl Person {
    fn of(visitor: Visitor, present: PresentSession) -> Person {
        let PresentSession { session, user, active } = present;
        Person { visitor, session, user, active }
    }

    /// Reads of lists for this person.
    pub fn reads<'a>(&self, cx: &'a Cx) -> Reads<'a> {
        cx.reads(WorkOwner::user(&self.user.instance, &self.user.id))
    }

    /// Whether there is a second factor to show.
    pub fn has_second_factor(&self) -> bool {
        factors::has_second(&self.user, &self.visitor.site.settings)
    }

    /// Refuses what needs a recent proof of who it is, unless there is one. Somebody who has a second factor
    /// must have shown it too. A proof that was begun is owed: until it is given, the one before does not count.
    pub fn check_reverified(&self, now: Time) -> Result<()> {
        let settings = &self.visitor.site.settings.session;
        let [first, second] = self.session.factor_ages(now);
        let is_recent = |age: i64| (0..settings.reverification_minutes).contains(&age);
        let needs_second = self.has_second_factor();
        let is_owed = self.session.reverification.as_ref().is_some_and(Reverification::is_under_way);
        let is_proven = !is_owed && is_recent(if needs_second { second } else { first });
        match !settings.reverification || is_proven {
            true => Ok(()),
            false => {
                let level = if needs_second { "second_factor" } else { "first_factor" };
                let config = json!({
                    "level": level,
                    "afterMinutes": settings.reverification_minutes,
                });
                Err(Problem::new(Code::SessionReverificationRequired)
                    .with("reverification_level", level)
                    .with("reverification", config)
                    .into())
            }
        }
    }
}
