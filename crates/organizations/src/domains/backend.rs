//! Routes and handlers of the backend API.

use latchkey_base::kinds::{OrganizationDomainId, OrganizationId};
use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{DeletedView, ListView, deleted};
use latchkey_kernel::{AppState, auth::SecretKey};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::change::{self, NewDomain, explained};
use super::input::{CreateDomain, ListAllDomains, ListDomains, UpdateDomain};
use super::model::{DomainParts, OrganizationDomain};
use super::view::{self, DomainView};
use super::{list, rules};
use crate::access::store as access;
use crate::key::OrganizationsKey;
use crate::orgs::change::{locked, not_found};
use crate::orgs::store as organizations;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organization Domains");
    api.post("/organizations/{organization_id}/domains", "CreateOrganizationDomain", create)
        .summary("Add a domain to an organization")
        .wants_body()
        .returns::<DomainView>()
        .errors(&[403]);
    api.get("/organizations/{organization_id}/domains", "ListOrganizationDomains", list_of_organization)
        .summary("List the domains of an organization")
        .returns::<ListView<DomainView>>()
        .errors(&[403]);
    api.patch("/organizations/{organization_id}/domains/{domain_id}", "UpdateOrganizationDomain", update)
        .summary("Change a domain of an organization")
        .wants_body()
        .returns::<DomainView>()
        .errors(&[403]);
    api.delete("/organizations/{organization_id}/domains/{domain_id}", "DeleteOrganizationDomain", delete)
        .summary("Take a domain from an organization")
        .returns::<DeletedView>()
        .errors(&[403]);
    api.post(
        "/organizations/{organization_id}/domains/{domain_id}/verify_ownership",
        "VerifyOrganizationDomainOwnership",
        verify_ownership,
    )
    .summary("Say that an organization owns a domain")
    .returns::<DomainView>()
    .errors(&[403]);
    api.get("/organization_domains", "ListAllOrganizationDomains", list_of_instance)
        .summary("List the domains of all organizations")
        .returns::<ListView<DomainView>>()
        .errors(&[403]);
}

async fn create(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Input(input): Input<CreateDomain>,
) -> Reply {
    rules::check_enabled(&key.settings)?;
    let new = NewDomain {
        name: rules::name(&input.name.ok_or_else(|| Error::param(Code::FormParamMissing, "name"))?)?,
        mode: rules::mode_or_default(input.enrollment_mode.as_deref(), &key.settings)?,
        is_verified: input.verified.unwrap_or(true),
    };
    let act = cx.act(&key);
    let created = cx.write(move |tx| {
        Box::pin(async move {
            let access = access::share(tx, &act.instance, act.now).await?;
            let organization = locked(tx, &act.instance, &id).await?;
            change::add(tx, &act, (&access, &organization), new).await
        })
    });
    reply(&cx, &created.await.map_err(explained)?)
}

async fn list_of_organization(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Query(query): Query<ListDomains>,
) -> Reply {
    rules::check_enabled(&key.settings)?;
    let found = organizations::find(&mut cx.app.db.read().await?, &key.instance, &id).await?;
    found.ok_or_else(|| not_found(&id))?;
    reply_list(&cx, list::fetch(&cx.backend_reads(&key.instance), &key.instance, &id, &query).await?)
}

async fn list_of_instance(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Query(query): Query<ListAllDomains>,
) -> Reply {
    rules::check_enabled(&key.settings)?;
    reply_list(&cx, list::fetch_all(&cx.backend_reads(&key.instance), &key.instance, &query).await?)
}

async fn update(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(path): Path<(OrganizationId, OrganizationDomainId)>,
    Input(input): Input<UpdateDomain>,
) -> Reply {
    let mode = match &input.enrollment_mode {
        Patch::Value(text) => Some(rules::mode(text, &key.settings)),
        Patch::Absent | Patch::Null => None,
    };
    change_domain(cx, key, path, move |mut domain, act| {
        if let Some(mode) = mode {
            domain.enrollment_mode = mode?;
        }
        Ok(match input.verified {
            Patch::Value(is_verified) => rules::verified(domain, is_verified, act.now),
            Patch::Absent | Patch::Null => domain,
        })
    })
    .await
}

async fn verify_ownership(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(path): Path<(OrganizationId, OrganizationDomainId)>,
) -> Reply {
    change_domain(cx, key, path, |domain, act| Ok(rules::owned(domain, act.now))).await
}

async fn delete(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path((id, domain)): Path<(OrganizationId, OrganizationDomainId)>,
) -> Reply {
    rules::check_enabled(&key.settings)?;
    let (act, gone) = (cx.act(&key), deleted("organization_domain", &domain));
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let access = access::share(tx, &act.instance, act.now).await?;
            let organization = locked(tx, &act.instance, &id).await?;
            change::delete(tx, &act, (&access, &organization), &domain).await
        })
    });
    written.await?;
    cx.reply(&gone)
}

/// Changes a domain by a pure rule and shows what became of it.
async fn change_domain<R>(
    cx: Cx,
    key: SecretKey,
    (id, domain): (OrganizationId, OrganizationDomainId),
    rule: R,
) -> Reply
where
    R: FnOnce(OrganizationDomain, &Act) -> Result<OrganizationDomain> + Send + 'static,
{
    rules::check_enabled(&key.settings)?;
    let act = cx.act(&key);
    let changed = cx.write(move |tx| {
        Box::pin(async move {
            let access = access::share(tx, &act.instance, act.now).await?;
            let organization = locked(tx, &act.instance, &id).await?;
            let before = change::found(tx, &act, &organization.id, &domain).await?;
            let after = rule(before.clone(), &act)?;
            change::save(tx, &act, (&access, &organization), (&before, after)).await
        })
    });
    reply(&cx, &changed.await.map_err(explained)?)
}

fn reply(cx: &Cx, parts: &DomainParts) -> Reply {
    cx.reply(&view::domain(parts, cx.now, &cx.app.api_url))
}

fn reply_list(cx: &Cx, (page, total_count): (Vec<DomainParts>, i64)) -> Reply {
    let data = page.iter().map(|parts| view::domain(parts, cx.now, &cx.app.api_url)).collect();
    cx.reply(&ListView::<DomainView> { data, total_count })
}
