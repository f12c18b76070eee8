//! Taking a ticket back from whoever was given it.

use latchkey_base::kinds::{InstanceId, UserId};
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use serde_json::{Map, Value};

use super::model::{Source, Ticket};
use super::rules;
use crate::cx::Act;
use crate::resources::users::model::User;
use crate::resources::users::store as users;
use crate::resources::{actor_tokens, sign_in_tokens};

/// What kind of ticket it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its user signs in.
    SignInToken,
    /// Somebody acts as its user.
    ActorToken,
}

/// What a ticket that is still good stands for.
pub struct Look {
    /// What kind it is.
    pub kind: Kind,
    /// Whom it signs in.
    pub user: UserId,
}

/// What a ticket was good for. It is used up.
pub struct Redeemed {
    /// What kind it was.
    pub kind: Kind,
    /// Whom it signs in, locked.
    pub user: User,
    /// Who acts as that user, for an actor token.
    pub actor: Option<Map<String, Value>>,
    /// How long the session may last, for an actor token.
    pub lifetime_seconds: Option<i64>,
}

/// Looks at a ticket without using it up.
pub async fn look(tx: &mut Tx, instance: &InstanceId, ticket: &str, now: Time) -> Result<Look> {
    let ticket = rules::read(ticket)?;
    match &ticket.source {
        Source::SignInToken(id) => {
            let token = sign_in_tokens::store::find(tx, instance, id).await?.ok_or_else(rules::invalid)?;
            rules::check(&token.grant, &ticket, &sign_in_tokens::CODES, now)?;
            Ok(Look { kind: Kind::SignInToken, user: token.grant.user })
        }
        Source::ActorToken(id) => {
            let token = actor_tokens::store::find(tx, instance, id).await?.ok_or_else(rules::invalid)?;
            rules::check(&token.grant, &ticket, &actor_tokens::CODES, now)?;
            Ok(Look { kind: Kind::ActorToken, user: token.grant.user })
        }
    }
}

/// Uses a ticket up, in the caller's transaction: of many at once one succeeds. The user is locked before
/// the token, as everywhere; a client must be locked before.
pub async fn redeem(tx: &mut Tx, act: &Act, ticket: &str) -> Result<Redeemed> {
    let Look { kind, user } = look(tx, &act.instance, ticket, act.now).await?;
    let user = users::lock(tx, &act.instance, &user).await?.ok_or_else(|| gone(kind))?;
    let ticket = rules::read(ticket)?;
    let (actor, lifetime_seconds) = use_up(tx, act, &ticket).await?;
    Ok(Redeemed { kind, user, actor, lifetime_seconds })
}

type Acting = (Option<Map<String, Value>>, Option<i64>);

async fn use_up(tx: &mut Tx, act: &Act, ticket: &Ticket) -> Result<Acting> {
    match &ticket.source {
        Source::SignInToken(id) => {
            let found = sign_in_tokens::store::lock(tx, &act.instance, id).await?;
            let mut token = found.ok_or_else(rules::invalid)?;
            token.grant = rules::accept(token.grant, ticket, &sign_in_tokens::CODES, act.now)?;
            sign_in_tokens::store::save(tx, &token).await?;
            Ok((None, None))
        }
        Source::ActorToken(id) => {
            let found = actor_tokens::store::lock(tx, &act.instance, id).await?;
            let mut token = found.ok_or_else(rules::invalid)?;
            token.grant = rules::accept(token.grant, ticket, &actor_tokens::CODES, act.now)?;
            actor_tokens::store::save(tx, &token).await?;
            Ok((Some(token.actor), Some(token.session_seconds)))
        }
    }
}

fn gone(kind: Kind) -> Error {
    match kind {
        Kind::SignInToken => rules::invalid(),
        Kind::ActorToken => Error::new(Code::ActorTokenSubjectNotFound),
    }
}
