//! The proof that an organization controls the zone of a domain: a TXT record. It is looked for before the transaction
//! that notes what was found.

use axum::response::Response;
use futures_util::future::join_all;
use latchkey_base::kinds::{OrganizationDomainId, OrganizationId};
use latchkey_base::{Id, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_organizations::domains::change::{self, not_found};
use latchkey_organizations::domains::model::{DomainParts, OrganizationDomain, Ownership};
use latchkey_organizations::domains::ownership::{asked, attempted, check_open, is_published};
use latchkey_organizations::domains::store;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use schemars::JsonSchema;
use serde::Deserialize;

use super::domains::{IdFailure, distinct, managed, manager, refusal, show, show_all};
use super::member::Member;

/// Body of the operations on several domains.
#[derive(Deserialize, JsonSchema)]
pub struct DomainIds {
    /// The domains. One that stands there twice counts once.
    #[schemars(length(max = 100))]
    organization_domain_ids: Vec<String>,
}

pub async fn prepare(
    cx: Cx,
    person: Person,
    Path((id, domain)): Path<(OrganizationId, OrganizationDomainId)>,
) -> Response {
    let prepared = managed(&cx, &person, id, move |tx, act, member| {
        Box::pin(async move { prepared(tx, act, member, &domain).await })
    });
    let prepared = prepared.await;
    show(&cx, &person, prepared).await
}

pub async fn prepare_all(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Form(input): Form<DomainIds>,
) -> Response {
    let prepared = managed(&cx, &person, id, move |tx, act, member| {
        Box::pin(async move { all_prepared(tx, act, member, distinct(input.organization_domain_ids)).await })
    });
    let prepared = prepared.await;
    show_all(&cx, &person, prepared).await
}

async fn all_prepared(
    tx: &mut Tx,
    act: &Act,
    member: &Member,
    texts: Vec<String>,
) -> Result<(Vec<DomainParts>, Vec<IdFailure>)> {
    let (mut domains, mut failures) = (Vec::new(), Vec::new());
    for text in texts {
        let outcome = match Id::parse(&text) {
            Some(id) => prepared(tx, act, member, &id).await,
            None => Err(not_found(&text)),
        };
        match outcome {
            Ok(parts) => domains.push(parts),
            Err(error) => failures.push(IdFailure { id: text, code: refusal(error)? }),
        }
    }
    Ok((domains, failures))
}

/// Asks for a new record in place of the one that was asked for.
async fn prepared(tx: &mut Tx, act: &Act, member: &Member, id: &OrganizationDomainId) -> Result<DomainParts> {
    let before = change::found(tx, act, &member.organization.id, id).await?;
    let after = asked(before.clone(), act)?;
    change::save(tx, act, (&member.access, &member.organization), (&before, after)).await
}

pub async fn attempt(
    cx: Cx,
    person: Person,
    Path((id, domain)): Path<(OrganizationId, OrganizationDomainId)>,
) -> Response {
    let looked = async {
        let member = manager(&cx, &person, &id).await?;
        let mut tx = cx.app.db.read().await?;
        let found = store::find(&mut tx, &member.organization.instance, &id, &domain).await?;
        drop(tx);
        look(&cx, &person, found.ok_or_else(|| not_found(&domain))?).await
    };
    let tried = match looked.await {
        Ok(lookup) => {
            let tried = managed(&cx, &person, id, move |tx, act, member| {
                Box::pin(async move { noted(tx, act, member, lookup).await })
            });
            tried.await
        }
        Err(error) => Err(error),
    };
    show(&cx, &person, tried).await
}

pub async fn attempt_all(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Form(input): Form<DomainIds>,
) -> Response {
    let tried = attempted_all(&cx, &person, id, distinct(input.organization_domain_ids)).await;
    show_all(&cx, &person, tried).await
}

async fn attempted_all(
    cx: &Cx,
    person: &Person,
    id: OrganizationId,
    texts: Vec<String>,
) -> Result<(Vec<DomainParts>, Vec<IdFailure>)> {
    let member = manager(cx, person, &id).await?;
    let mut tx = cx.app.db.read().await?;
    let held = store::of_organization(&mut tx, &member.organization.instance, &id).await?;
    drop(tx);
    // An organization has few domains, so few names are looked up, however many are asked for.
    let lookups = texts.into_iter().map(|text| {
        let found = held.iter().find(|domain| domain.id.as_str() == text).cloned();
        async move {
            let outcome = match found {
                Some(domain) => look(cx, person, domain).await,
                None => Err(not_found(&text)),
            };
            (text, outcome)
        }
    });
    let lookups = join_all(lookups).await;
    managed(cx, person, id, move |tx, act, member| {
        Box::pin(async move { all_noted(tx, act, member, lookups).await })
    })
    .await
}

async fn all_noted(
    tx: &mut Tx,
    act: &Act,
    member: &Member,
    lookups: Vec<(String, Result<Lookup>)>,
) -> Result<(Vec<DomainParts>, Vec<IdFailure>)> {
    let (mut domains, mut failures) = (Vec::new(), Vec::new());
    for (id, outcome) in lookups {
        let outcome = match outcome {
            Ok(lookup) => noted(tx, act, member, lookup).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(parts) => domains.push(parts),
            Err(error) => failures.push(IdFailure { id, code: refusal(error)? }),
        }
    }
    Ok((domains, failures))
}

/// What was found out about a domain as it was.
struct Lookup {
    domain: OrganizationDomain,
    is_published: bool,
}

async fn look(cx: &Cx, person: &Person, domain: OrganizationDomain) -> Result<Lookup> {
    check_open(&domain, cx.now)?;
    let act = person.visitor.act(cx);
    let is_published = is_published(&act.registry, &domain, &act).await?.unwrap_or(false);
    Ok(Lookup { domain, is_published })
}

/// Notes what was found. That nothing was found yet is counted, and no event.
async fn noted(tx: &mut Tx, act: &Act, member: &Member, lookup: Lookup) -> Result<DomainParts> {
    let id = &lookup.domain.id;
    let before = change::found(tx, act, &member.organization.id, id).await?;
    let after = attempted(before.clone(), &lookup.domain, lookup.is_published, act.now);
    let to = (&member.access, &member.organization);
    if after.ownership.as_ref().is_some_and(Ownership::is_verified) {
        return change::save(tx, act, to, (&before, after)).await;
    }
    store::save(tx, &after).await?;
    change::parts(tx, act, &member.organization.id, id).await
}
