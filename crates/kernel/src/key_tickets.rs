//! Tickets and link tokens that backends make with a secret key. Each names the key that made it and ends with that
//! key, so that a leaked key leaves no way in. Groups say in their `Group` which kinds they store.

use std::ops::ControlFlow::{Break, Continue};

use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::{Result, Time};
use latchkey_db::{Db, TransactionBody, Tx};

use crate::cx::Act;
use crate::group::Group;
use crate::steps;

/// A kind of tickets or link tokens.
#[derive(Clone, Copy)]
pub struct KeyTickets {
    /// Its name in the singular, such as `sign-in token`.
    pub name: &'static str,
    /// How many of them one transaction ends.
    pub batch: i64,
    /// Lists pending tickets in the order of their ids.
    pub list: for<'a> fn(&'a mut Tx, TicketQuery) -> TransactionBody<'a, TicketPage>,
    /// Ends the ticket with this id, unless it has ended already.
    pub end: for<'a> fn(&'a mut Tx, &'a Act, String) -> TransactionBody<'a, ()>,
}

/// Which pending tickets are listed.
#[derive(Clone)]
pub struct TicketQuery {
    pub instance: InstanceId,
    /// The key that made them; `None` lists the tickets of all keys, and those that name none.
    pub key: Option<SecretKeyId>,
    pub now: Time,
    /// The id behind which the page begins.
    pub after: String,
    pub limit: i64,
}

/// One page of pending tickets.
pub struct TicketPage {
    pub tickets: Vec<PendingTicket>,
    /// The id behind which the next page begins; `None` on the last page.
    pub next: Option<String>,
}

impl TicketPage {
    /// A page of these rows, some of which may have ended.
    pub fn new(rows: Vec<(PendingTicket, bool)>, limit: i64) -> TicketPage {
        let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= limit);
        let next = rows.last().filter(|_| is_full).map(|(ticket, _)| ticket.id.clone());
        let pending = rows.into_iter().filter(|(_, is_pending)| *is_pending);
        TicketPage { tickets: pending.map(|(ticket, _)| ticket).collect(), next }
    }
}

/// A ticket that can still be used.
pub struct PendingTicket {
    pub id: String,
    /// The user, the organization or the e-mail address that it opens, if it is bound to one.
    pub subject: Option<String>,
    /// The key that made it; `None` if it was made before keys were stored with tickets.
    pub key: Option<SecretKeyId>,
    pub created_at: Time,
    pub expire_at: Time,
}

/// Returns the pending tickets of an instance with the name of their kind: those of one key, or all.
pub async fn pending(
    db: &Db,
    groups: &[Group],
    instance: &InstanceId,
    key: Option<&SecretKeyId>,
    now: Time,
) -> Result<Vec<(&'static str, PendingTicket)>> {
    let mut found = Vec::new();
    for kind in kinds(groups) {
        let mut next = Some(String::new());
        while let Some(after) = next {
            let query = TicketQuery {
                instance: instance.clone(),
                key: key.cloned(),
                now,
                after,
                limit: steps::AT_ONCE,
            };
            let page = (kind.list)(&mut db.read().await?, query).await?;
            found.extend(page.tickets.into_iter().map(|ticket| (kind.name, ticket)));
            next = page.next;
        }
    }
    Ok(found)
}

/// Ends the pending tickets of a key and returns them with the name of their kind.
pub async fn end(
    db: &Db,
    groups: &[Group],
    act: &Act,
    key: &SecretKeyId,
) -> Result<Vec<(&'static str, PendingTicket)>> {
    let mut all = Vec::new();
    for kind in kinds(groups) {
        let ended = end_kind(db.clone(), kind, act.clone(), key.clone());
        let ended = steps::to_the_end(&act.instance, ended).await?;
        all.extend(ended.into_iter().map(|ticket| (kind.name, ticket)));
    }
    Ok(all)
}

async fn end_kind(db: Db, kind: KeyTickets, act: Act, key: SecretKeyId) -> Result<Vec<PendingTicket>> {
    let start = (String::new(), Vec::new());
    steps::all(start, |(after, mut ended)| {
        let (act, instance, key) = (act.clone(), act.instance.clone(), Some(key.clone()));
        let query = TicketQuery { instance, key, now: act.now, after, limit: kind.batch };
        let step = db.write(move |tx| Box::pin(async move { end_page(tx, kind, &act, query).await }));
        async move {
            let page = step.await?;
            ended.extend(page.tickets);
            Ok(match page.next {
                Some(next) => Continue((next, ended)),
                None => Break(ended),
            })
        }
    })
    .await
}

async fn end_page(tx: &mut Tx, kind: KeyTickets, act: &Act, query: TicketQuery) -> Result<TicketPage> {
    let page = (kind.list)(tx, query).await?;
    for ticket in &page.tickets {
        (kind.end)(tx, act, ticket.id.clone()).await?;
    }
    Ok(page)
}

fn kinds(groups: &[Group]) -> impl Iterator<Item = KeyTickets> {
    groups.iter().flat_map(|group| group.tickets).copied()
}
