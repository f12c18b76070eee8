//! Somebody who is signed in: the visitor, the session the request is about, and its user.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use latchkey_base::kinds::SessionId;
use latchkey_base::{Code, Error, Id, Problem, Result, Time};
use latchkey_web::input::Path;
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;
use serde_json::json;

use super::site::At;
use super::visitor::Visitor;
use crate::AppState;
use crate::keyring::Reading;
use crate::resources::factors::rules as factors;
use crate::resources::sessions::model::{Reverification, Session};
use crate::resources::sessions::present::Present;
use crate::resources::sessions::store;
use crate::resources::users::model::User;

/// Somebody signed in. A session with tasks left counts here: doing them is what it is for.
pub struct Person {
    /// The browser or device.
    pub visitor: Visitor,
    /// The session the request names, or the last one used.
    pub session: Session,
    /// Its user.
    pub user: User,
}

impl FromRequestParts<AppState> for Person {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Person, Failure> {
        let visitor = Visitor::from_request_parts(parts, state).await?;
        let AppState(app) = state;
        let client = visitor.known()?;
        let named = pairs(parts.uri.query().unwrap_or_default())?
            .into_iter()
            .find(|(key, value)| key == "_clerk_session_id" && !value.is_empty());
        let id: Option<SessionId> = match named {
            Some((_, text)) => Id::parse(&text),
            None => client.last_active_session.clone(),
        };
        let id = id.ok_or_else(|| Error::new(Code::SignedOut))?;
        let mut tx = app.db.read().await?;
        let found = store::find_with_user(&mut tx, &visitor.site.instance, &id).await?;
        let now = app.clock.now();
        let mine = found.filter(|(session, _)| session.client == client.id && session.is_live(now));
        let (session, user) = mine.ok_or_else(|| Error::new(Code::SignedOut))?;
        Ok(Person { visitor, session, user })
    }
}

/// Somebody signed in, by the session the path names.
pub struct InPath(pub Person);

impl FromRequestParts<AppState> for InPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<InPath, Failure> {
        let Path(id) = Path::<SessionId>::from_request_parts(parts, state).await?;
        if let Some(person) = at_once(parts, state, &id).await? {
            return Ok(InPath(person));
        }
        let visitor = Visitor::from_request_parts(parts, state).await?;
        let AppState(app) = state;
        let client = visitor.known()?;
        let mut tx = app.db.read().await?;
        let found = store::find_with_user(&mut tx, &visitor.site.instance, &id).await?;
        let mine = found.filter(|(session, _)| session.client == client.id);
        let (session, user) = mine.ok_or_else(|| Error::not_found("session", &id))?;
        match session.is_live(app.clock.now()) {
            true => Ok(InPath(Person { visitor, session, user })),
            false => Err(Error::new(Code::SignedOut).into()),
        }
    }
}

/// The same by what the gate has read, for a browser that shows the cookie of its client. `None` if anything is
/// missing or wrong, whatever it is.
async fn at_once(parts: &mut Parts, state: &AppState, id: &SessionId) -> Result<Option<Person>, Failure> {
    let At(site) = At::from_request_parts(parts, state).await?;
    let Some(present) = parts.extensions.remove::<Present>() else { return Ok(None) };
    let Some((mut visitor, token)) = Visitor::unproven(parts, &site)? else { return Ok(None) };
    let AppState(app) = state;
    if !present.is_proven(&site, token) || !app.is_signed(Reading::Alone, &site.instance, token).await? {
        return Ok(None);
    }
    let (client, live) = present.into_parts();
    let asked = live.into_iter().find(|(session, _)| session.id == *id);
    let Some((session, user)) = asked.filter(|(session, _)| session.is_live(app.clock.now())) else {
        return Ok(None);
    };
    visitor.client = Some(client);
    Ok(Some(Person { visitor, session, user }))
}

impl Person {
    /// Whether there is a second factor to show.
    pub fn has_second_factor(&self) -> bool {
        !factors::second(&self.user, &self.visitor.site.settings).is_empty()
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
