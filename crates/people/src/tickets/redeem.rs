//! Taking a ticket back from whoever was given it.

use latchkey_base::kinds::{InstanceId, OrganizationId, UserId};
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::instances::store as instances;
use serde_json::{Map, Value};

use super::model::{Grant, Ticket, TicketSource};
use super::rules::{self, Codes};
use crate::tickets::{actor_tokens, sign_in_tokens};
use crate::users::model::User;
use crate::users::store as users;

/// What kind of ticket it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketKind {
    /// Its user signs in.
    SignInToken,
    /// Somebody acts as its user.
    ActorToken,
}

/// A ticket that can still be used.
pub struct ValidTicket {
    pub kind: TicketKind,
    /// Whom it signs in.
    pub user: UserId,
}

/// What a ticket was good for. It is used up.
pub struct Redeemed {
    pub kind: TicketKind,
    /// Whom it signs in, locked.
    pub user: User,
    /// Who acts as that user, for an actor token.
    pub actor: Option<Map<String, Value>>,
    /// How long the session may last, for an actor token.
    pub lifetime_seconds: Option<i64>,
    /// The organization that the session begins with.
    pub organization: Option<OrganizationId>,
}

/// Finds a ticket of a token that can still be used, without using it up. Those of invitations are not known here.
pub async fn find_valid(tx: &mut Tx, instance: &InstanceId, ticket: &str, now: Time) -> Result<ValidTicket> {
    let ticket = rules::read(ticket)?;
    match &ticket.source {
        TicketSource::SignInToken(id) => {
            let token = sign_in_tokens::store::find(tx, instance, id).await?.ok_or_else(rules::invalid)?;
            rules::check(&token.grant, &ticket, &sign_in_tokens::CODES, now)?;
            check_key(tx, &token.grant, &sign_in_tokens::CODES).await?;
            Ok(ValidTicket { kind: TicketKind::SignInToken, user: token.grant.user })
        }
        TicketSource::ActorToken(id) => {
            let token = actor_tokens::store::find(tx, instance, id).await?.ok_or_else(rules::invalid)?;
            rules::check(&token.grant, &ticket, &actor_tokens::CODES, now)?;
            check_key(tx, &token.grant, &actor_tokens::CODES).await?;
            Ok(ValidTicket { kind: TicketKind::ActorToken, user: token.grant.user })
        }
        TicketSource::Invitation(_) | TicketSource::OrganizationInvitation(_) => Err(rules::invalid()),
    }
}

/// Rejects a ticket whose secret key was revoked. Such a ticket may be pending still: a request that was in progress made
/// it after the pending tickets of the key had ended.
async fn check_key(tx: &mut Tx, grant: &Grant, codes: &Codes) -> Result<()> {
    let Some(key) = &grant.key else { return Ok(()) };
    if instances::has_good_tickets(tx, &grant.instance, key).await? {
        return Ok(());
    }
    Err(Error::param(codes.revoked, "ticket"))
}

/// Uses a ticket up, in the caller's transaction: of many at once one succeeds. The user is locked before
/// the token, as everywhere; a client must be locked before.
pub async fn redeem(tx: &mut Tx, act: &Act, ticket: &str) -> Result<Redeemed> {
    let ValidTicket { kind, user } = find_valid(tx, &act.instance, ticket, act.now).await?;
    if kind == TicketKind::ActorToken {
        rules::check_actor_tokens(&act.settings)?;
    }
    let user = users::lock(tx, &act.instance, &user).await?.ok_or_else(|| gone(kind))?;
    let ticket = rules::read(ticket)?;
    let Beginning { actor, lifetime_seconds, organization } = use_up(tx, act, &ticket).await?;
    Ok(Redeemed { kind, user, actor, lifetime_seconds, organization })
}

/// How the session begins that a ticket leads to.
#[derive(Default)]
struct Beginning {
    actor: Option<Map<String, Value>>,
    lifetime_seconds: Option<i64>,
    organization: Option<OrganizationId>,
}

async fn use_up(tx: &mut Tx, act: &Act, ticket: &Ticket) -> Result<Beginning> {
    match &ticket.source {
        TicketSource::SignInToken(id) => {
            let found = sign_in_tokens::store::lock(tx, &act.instance, id).await?;
            let mut token = found.ok_or_else(rules::invalid)?;
            token.grant = rules::accept(token.grant, ticket, &sign_in_tokens::CODES, act.now)?;
            sign_in_tokens::store::save(tx, &token).await?;
            Ok(Beginning { organization: token.organization, ..Beginning::default() })
        }
        TicketSource::ActorToken(id) => {
            let found = actor_tokens::store::lock(tx, &act.instance, id).await?;
            let mut token = found.ok_or_else(rules::invalid)?;
            token.grant = rules::accept(token.grant, ticket, &actor_tokens::CODES, act.now)?;
            actor_tokens::store::save(tx, &token).await?;
            Ok(Beginning {
                actor: Some(token.actor),
                lifetime_seconds: Some(token.session_seconds),
                organization: token.organization,
            })
        }
        TicketSource::Invitation(_) | TicketSource::OrganizationInvitation(_) => Err(rules::invalid()),
    }
}

fn gone(kind: TicketKind) -> Error {
    match kind {
        TicketKind::SignInToken => rules::invalid(),
        TicketKind::ActorToken => Error::new(Code::ActorTokenSubjectNotFound),
    }
}
