//! The domains of an organization, as its members see and manage them.

use std::collections::BTreeSet;

use axum::response::Response;
use latchkey_base::kinds::{OrganizationDomainId, OrganizationId, UserId};
use latchkey_base::{Error, Result};
use latchkey_db::{TransactionBody, Tx};
use latchkey_door::client::view_context;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::{
    CHANGES_OF_PERSON, CHANGES_OF_PERSON_DAILY, DOMAINS_OF_ORGANIZATION, ENROLLMENT_MODES_DAILY,
};
use latchkey_kernel::wire::{DeletedView, ListView, deleted};
use latchkey_kernel::{AppState, limits};
use latchkey_organizations::access::model::{MANAGE_DOMAINS, READ_DOMAINS};
use latchkey_organizations::domains::change::{self, NewDomain, explained, not_found};
use latchkey_organizations::domains::input::ListDomains;
use latchkey_organizations::domains::model::{DomainMode, DomainParts};
use latchkey_organizations::domains::ownership::{TxtRecord, record};
use latchkey_organizations::domains::view::{self, FrontendDomainView};
use latchkey_organizations::domains::{list, rules, store};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use latchkey_web::query::Query;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::member::Member;
use super::{affiliation, ownership};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Domains");
    api.post("/v1/organizations/{organization_id}/domains", "CreateOrganizationDomain", create)
        .summary("Add a domain to an organization")
        .returns::<Envelope<'_, FrontendDomainView<'_>>>()
        .errors(&[403]);
    api.get("/v1/organizations/{organization_id}/domains", "ListOrganizationDomains", list_all)
        .summary("List the domains of an organization")
        .returns::<Envelope<'_, ListView<FrontendDomainView<'_>>>>()
        .errors(&[403])
        .only_reads();
    api.post("/v1/organizations/{organization_id}/domains/bulk", "createOrganizationDomainsBulk", create_all)
        .summary("Add several domains to an organization")
        .returns::<Envelope<'_, BulkView<'_, NameFailure>>>()
        .errors(&[403]);
    api.get("/v1/organizations/{organization_id}/domains/{domain_id}", "GetOrganizationDomain", get)
        .summary("Get a domain of an organization")
        .returns::<Envelope<'_, FrontendDomainView<'_>>>()
        .errors(&[403])
        .only_reads();
    api.delete("/v1/organizations/{organization_id}/domains/{domain_id}", "deleteOrganizationDomain", delete)
        .summary("Take a domain from an organization")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403]);
    api.post(
        "/v1/organizations/{organization_id}/domains/{domain_id}/update_enrollment_mode",
        "UpdateOrganizationDomainEnrollmentMode",
        update_mode,
    )
    .summary("Say how people of a domain join")
    .returns::<Envelope<'_, FrontendDomainView<'_>>>()
    .errors(&[403])
    .limited_by_person(&[CHANGES_OF_PERSON, CHANGES_OF_PERSON_DAILY, ENROLLMENT_MODES_DAILY]);
    affiliation_routes(api);
    ownership_routes(api);
}

fn affiliation_routes(api: &mut Api<AppState>) {
    api.post(
        "/v1/organizations/{organization_id}/domains/{domain_id}/prepare_affiliation_verification",
        "prepareOrganizationDomainVerification",
        affiliation::prepare,
    )
    .summary("Send a code to an address of a domain")
    .returns::<Envelope<'_, FrontendDomainView<'_>>>()
    .limited(limits::SENDINGS)
    .errors(&[403]);
    api.post(
        "/v1/organizations/{organization_id}/domains/{domain_id}/attempt_affiliation_verification",
        "attemptOrganizationDomainVerification",
        affiliation::attempt,
    )
    .summary("Check a code sent to an address of a domain")
    .returns::<Envelope<'_, FrontendDomainView<'_>>>()
    .limited(limits::GUESSES)
    .errors(&[403]);
}

fn ownership_routes(api: &mut Api<AppState>) {
    api.post(
        "/v1/organizations/{organization_id}/domains/{domain_id}/prepare_ownership_verification",
        "prepareOrganizationDomainOwnershipVerification",
        ownership::prepare,
    )
    .summary("Ask for a TXT record of a domain")
    .returns::<Envelope<'_, FrontendDomainView<'_>>>()
    .errors(&[403]);
    api.post(
        "/v1/organizations/{organization_id}/domains/{domain_id}/attempt_ownership_verification",
        "attemptOrganizationDomainOwnershipVerification",
        ownership::attempt,
    )
    .summary("Look for the TXT record of a domain")
    .returns::<Envelope<'_, FrontendDomainView<'_>>>()
    .limited(limits::TXT_LOOKUPS)
    .errors(&[403]);
    api.post(
        "/v1/organizations/{organization_id}/domains/prepare_ownership_verification/bulk",
        "prepareOrganizationDomainsOwnershipVerification",
        ownership::prepare_all,
    )
    .summary("Ask for TXT records of several domains")
    .returns::<Envelope<'_, BulkView<'_, IdFailure>>>()
    .errors(&[403]);
    api.post(
        "/v1/organizations/{organization_id}/domains/attempt_ownership_verification/bulk",
        "attemptOrganizationDomainsOwnershipVerification",
        ownership::attempt_all,
    )
    .summary("Look for the TXT records of several domains")
    .returns::<Envelope<'_, BulkView<'_, IdFailure>>>()
    .limited(limits::TXT_LOOKUPS)
    .errors(&[403]);
}

/// Body of `CreateOrganizationDomain`.
#[derive(Deserialize, JsonSchema)]
struct CreateDomain {
    /// The name, such as `example.com`.
    name: String,
    /// How people of the domain join, once it is verified; `manual_invitation` unless told otherwise.
    enrollment_mode: Option<String>,
}

/// Body of `createOrganizationDomainsBulk`.
#[derive(Deserialize, JsonSchema)]
struct CreateDomains {
    /// The names. One that stands there twice counts once.
    #[schemars(length(max = DOMAINS_OF_ORGANIZATION))]
    names: Vec<String>,
    /// How people of the domains join, once they are verified; `manual_invitation` unless told otherwise.
    enrollment_mode: Option<String>,
}

/// Body of `UpdateOrganizationDomainEnrollmentMode`.
#[derive(Deserialize, JsonSchema)]
struct UpdateMode {
    /// How people of the domain join from now on.
    enrollment_mode: String,
    /// Take back the invitations and suggestions that were made because of the domain and are not answered.
    delete_pending: Option<bool>,
}

/// What became of several domains.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationDomains{E}")]
pub struct BulkView<'a, E> {
    data: Vec<FrontendDomainView<'a>>,
    errors: Vec<E>,
}

/// Why a name could not be added.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationDomainBulkCreateError")]
struct NameFailure {
    name: String,
    code: &'static str,
}

/// Why nothing was done for a domain.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationDomainBulkOwnershipVerificationError")]
pub struct IdFailure {
    pub id: String,
    pub code: &'static str,
}

async fn create(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Form(input): Form<CreateDomain>,
) -> Response {
    let created = managed(&cx, &person, id, move |tx, act, member| {
        Box::pin(async move {
            let mode = rules::mode_or_default(input.enrollment_mode.as_deref(), &act.settings)?;
            add(tx, act, member, &input.name, mode).await
        })
    });
    let created = created.await;
    show(&cx, &person, created).await
}

async fn create_all(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Form(input): Form<CreateDomains>,
) -> Response {
    let created = managed(&cx, &person, id, move |tx, act, member| {
        Box::pin(async move { added(tx, act, member, input).await })
    });
    let created = created.await;
    show_all(&cx, &person, created).await
}

async fn added(
    tx: &mut Tx,
    act: &Act,
    member: &Member,
    input: CreateDomains,
) -> Result<(Vec<DomainParts>, Vec<NameFailure>)> {
    let mode = rules::mode_or_default(input.enrollment_mode.as_deref(), &act.settings)?;
    let (mut domains, mut failures) = (Vec::new(), Vec::new());
    for name in distinct_names(input.names) {
        match add(tx, act, member, &name, mode).await {
            Ok(parts) => domains.push(parts),
            Err(error) => failures.push(NameFailure { name, code: refusal(error)? }),
        }
    }
    Ok((domains, failures))
}

/// Those of a list of names that stand there for the first time, in whatever way they are written.
fn distinct_names(all: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let known = |text: &String| rules::name(text).unwrap_or_else(|_| text.clone());
    all.into_iter().filter(|text| seen.insert(known(text))).collect()
}

/// Those of a list that stand there for the first time.
pub fn distinct(all: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    all.into_iter().filter(|one| seen.insert(one.clone())).collect()
}

/// The code of a refusal that concerns one of many. What is nobody's fault fails all.
pub fn refusal(error: Error) -> Result<&'static str> {
    let latchkey_base::error::Spec(status, name, _) = error.code().spec();
    if status < 500 { Ok(name) } else { Err(error) }
}

/// Adds a domain that is still to be verified. Where another organization has verified it, that cannot be.
async fn add(tx: &mut Tx, act: &Act, member: &Member, name: &str, mode: DomainMode) -> Result<DomainParts> {
    let name = rules::name(name)?;
    let holders = store::find_verified(tx, &act.instance, vec![&name]).await?;
    if holders.iter().any(|holder| holder.organization != member.organization.id) {
        return Err(rules::taken());
    }
    let new = NewDomain { name, mode, is_verified: false };
    change::add(tx, act, (&member.access, &member.organization), new).await
}

async fn list_all(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Query(query): Query<ListDomains>,
) -> Response {
    let found = async {
        let member = reader(&cx, &person, &id).await?;
        let found = list::fetch(&person.reads(&cx), &person.visitor.site.instance, &id, &query).await?;
        Ok((member, found))
    };
    match found.await {
        Ok((member, (page, total_count))) => {
            let data: Result<Vec<_>> =
                page.iter().map(|parts| view_of(&cx, &person, parts, can_manage(&member))).collect();
            person.visitor.answer(&cx, data.map(|data| ListView { data, total_count })).await
        }
        Err(error) => person.visitor.answer::<()>(&cx, Err(error)).await,
    }
}

async fn get(
    cx: Cx,
    person: Person,
    Path((id, domain)): Path<(OrganizationId, OrganizationDomainId)>,
) -> Response {
    let found = async {
        let member = reader(&cx, &person, &id).await?;
        let mut tx = cx.app.db.read().await?;
        let found = store::find_parts(&mut tx, &person.visitor.site.instance, &id, &domain).await?;
        Ok((found.ok_or_else(|| not_found(&domain))?, can_manage(&member)))
    };
    match found.await {
        Ok((parts, can_manage)) => {
            person.visitor.answer(&cx, view_of(&cx, &person, &parts, can_manage)).await
        }
        Err(error) => person.visitor.answer::<()>(&cx, Err(error)).await,
    }
}

async fn delete(
    cx: Cx,
    person: Person,
    Path((id, domain)): Path<(OrganizationId, OrganizationDomainId)>,
) -> Response {
    let gone = deleted("organization_domain", &domain);
    let written = managed(&cx, &person, id, move |tx, act, member| {
        Box::pin(
            async move { change::delete(tx, act, (&member.access, &member.organization), &domain).await },
        )
    });
    let written = written.await;
    person.visitor.answer(&cx, written.map(|()| gone)).await
}

async fn update_mode(
    cx: Cx,
    person: Person,
    Path((id, domain)): Path<(OrganizationId, OrganizationDomainId)>,
    Form(input): Form<UpdateMode>,
) -> Response {
    let changed = managed(&cx, &person, id, move |tx, act, member| {
        Box::pin(async move { update_mode_in(tx, act, member, &domain, &input).await })
    });
    let changed = changed.await;
    show(&cx, &person, changed).await
}

async fn update_mode_in(
    tx: &mut Tx,
    act: &Act,
    member: &Member,
    domain: &OrganizationDomainId,
    input: &UpdateMode,
) -> Result<DomainParts> {
    let before = change::found(tx, act, &member.organization.id, domain).await?;
    let mut after = before.clone();
    after.enrollment_mode = rules::mode(&input.enrollment_mode, &act.settings)?;
    let to = (&member.access, &member.organization);
    match input.delete_pending {
        Some(true) => change::save_and_withdraw(tx, act, to, (&before, after)).await,
        Some(false) | None => change::save(tx, act, to, (&before, after)).await,
    }
}

/// A member who may see the domains of an organization.
async fn reader(cx: &Cx, person: &Person, id: &OrganizationId) -> Result<Member> {
    let member = Member::find(cx, person, id).await?;
    if !can_manage(&member) {
        member.check(READ_DOMAINS)?;
    }
    rules::check_enabled(&person.visitor.site.settings)?;
    Ok(member)
}

/// A member who may manage them.
pub async fn manager(cx: &Cx, person: &Person, id: &OrganizationId) -> Result<Member> {
    let member = Member::find(cx, person, id).await?;
    member.check(MANAGE_DOMAINS)?;
    rules::check_enabled(&person.visitor.site.settings)?;
    Ok(member)
}

fn can_manage(member: &Member) -> bool {
    member.check(MANAGE_DOMAINS).is_ok()
}

/// Does something to the domains of an organization as a member who may manage them. The organization is locked.
pub async fn managed<T, R>(cx: &Cx, person: &Person, id: OrganizationId, rule: R) -> Result<T>
where
    T: Send + 'static,
    R: for<'a> FnOnce(&'a mut Tx, &'a Act, &'a Member) -> TransactionBody<'a, T> + Send + 'static,
{
    let (act, user) = (person.visitor.act(cx), person.user.id.clone());
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let member = lock_manager(tx, &act, &user, &id).await?;
            rule(tx, &act, &member).await
        })
    });
    written.await.map_err(explained)
}

/// As `manager`, inside a transaction that writes: the organization is locked.
async fn lock_manager(tx: &mut Tx, act: &Act, user: &UserId, id: &OrganizationId) -> Result<Member> {
    let member = Member::lock_with(tx, act, user, id, MANAGE_DOMAINS).await?;
    rules::check_enabled(&act.settings)?;
    Ok(member)
}

/// Answers with a domain as it is now, to somebody who may manage it.
pub async fn show(cx: &Cx, person: &Person, outcome: Result<DomainParts>) -> Response {
    match outcome {
        Ok(parts) => person.visitor.answer(cx, view_of(cx, person, &parts, true)).await,
        Err(error) => person.visitor.answer::<()>(cx, Err(error)).await,
    }
}

/// The same with several, and with what went wrong.
pub async fn show_all<E: Serialize>(
    cx: &Cx,
    person: &Person,
    outcome: Result<(Vec<DomainParts>, Vec<E>)>,
) -> Response {
    match outcome {
        Ok((all, errors)) => {
            let data: Result<Vec<_>> = all.iter().map(|parts| view_of(cx, person, parts, true)).collect();
            person.visitor.answer(cx, data.map(|data| BulkView { data, errors })).await
        }
        Err(error) => person.visitor.answer::<()>(cx, Err(error)).await,
    }
}

/// A domain as somebody sees it. What the TXT record has to say is shown to those who may manage it.
fn view_of<'a>(
    cx: &Cx,
    person: &Person,
    parts: &'a DomainParts,
    can_manage: bool,
) -> Result<FrontendDomainView<'a>> {
    let record = record(&parts.domain, &cx.app.master, cx.now)?;
    let record = record.map(|record| TxtRecord { value: record.value.filter(|_| can_manage), ..record });
    let context = view_context(&person.visitor.site, cx.now);
    Ok(view::frontend(parts, record, cx.now, context.api_url))
}
