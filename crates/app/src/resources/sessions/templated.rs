//! Tokens of a session whose claims a template of the application decides.

use latchkey_base::{Code, Error, Result, Time};

use super::model::{Session, Status};
use super::tokens::token_id;
use crate::App;
use crate::resources::jwt_templates::scope::{self, Scope};
use crate::resources::jwt_templates::{keys, rules, store};
use crate::resources::users::model::User;

/// Whom a token is for, and who asks.
pub struct Order<'a> {
    /// When.
    pub now: Time,
    /// Who vouches for it.
    pub issuer: &'a str,
    /// The origin of the page that asked, if one did.
    pub origin: Option<&'a str>,
    /// Where pictures are served.
    pub api_url: &'a str,
    /// How long it is good for, if not as long as the template says.
    pub lifetime_seconds: Option<i64>,
}

/// Mints a token from the template of that name.
pub async fn mint(
    app: &App,
    session: &Session,
    user: &User,
    name: &str,
    order: &Order<'_>,
) -> Result<String> {
    // Their claims do not tell that something is left to do, so everybody would take them for complete.
    if session.status_at(order.now) == Status::Pending {
        return Err(
            Error::new(Code::SignedOut).saying("The session has tasks left; it gives no such tokens.")
        );
    }
    let mut tx = app.db.read().await?;
    let found = store::find_by_name(&mut tx, &session.instance, name).await?;
    let mut template = found.ok_or_else(|| {
        Error::new(Code::ResourceNotFound).saying("The instance has no JWT template of that name.")
    })?;
    let signer = app.signer(&mut tx, &session.instance, order.now).await?;
    drop(tx);
    template.lifetime_seconds = order.lifetime_seconds.unwrap_or(template.lifetime_seconds);
    let scope = scope_of(session, user, order.api_url);
    let id = token_id(&*app.rng);
    let claims = rules::claims(&template, &scope, order.now, order.issuer, &user.id, order.origin, id)?;
    match keys::open(&template, &app.master)? {
        Some(key) => rules::sign(&template, rules::By::Template(&key), &claims),
        None => rules::sign(&template, rules::By::Instance(&signer.key, &signer.kid), &claims),
    }
}

/// What the claims of a session's tokens can refer to.
pub fn scope_of<'a>(session: &'a Session, user: &'a User, api_url: &'a str) -> Scope<'a> {
    Scope::of(user, api_url).with_session(scope::Session {
        id: &session.id,
        actor: session.actor.as_ref(),
        reverification_id: None,
    })
}
