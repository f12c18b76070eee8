//! Requests of people to join an organization, as those of its members see them who may manage memberships.

use axum::response::Response;
use latchkey_base::kinds::{OrganizationId, OrganizationSuggestionId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::client::view_context;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::ListView;
use latchkey_organizations::access::model::MANAGE_MEMBERSHIPS;
use latchkey_organizations::memberships::change::{Joining, join};
use latchkey_organizations::suggestions::model::{Suggestion, SuggestionParts, SuggestionStatus};
use latchkey_organizations::suggestions::store::{self, Whose};
use latchkey_organizations::suggestions::view::{self, RequestView};
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::input::Path;
use latchkey_web::query::Query;
use schemars::JsonSchema;
use serde::Deserialize;

use super::member::Member;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Membership Requests");
    api.get(
        "/v1/organizations/{organization_id}/membership_requests",
        "listOrganizationMembershipRequests",
        list,
    )
    .summary("List the requests to join an organization")
    .returns::<Envelope<'_, ListView<RequestView<'_>>>>()
    .errors(&[403])
    .only_reads();
    api.post(
        "/v1/organizations/{organization_id}/membership_requests/{request_id}/accept",
        "acceptOrganizationMembershipRequest",
        accept,
    )
    .summary("Make somebody a member who asked to join")
    .returns::<Envelope<'_, RequestView<'_>>>()
    .errors(&[403]);
    api.post(
        "/v1/organizations/{organization_id}/membership_requests/{request_id}/reject",
        "rejectOrganizationMembershipRequest",
        reject,
    )
    .summary("Reject somebody who asked to join")
    .returns::<Envelope<'_, RequestView<'_>>>()
    .errors(&[403]);
}

/// Query of the lists of requests and suggestions.
#[derive(Deserialize, JsonSchema)]
pub struct ListByStatus {
    /// Only those with one of these states. Several are separated by commas.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub status: Vec<String>,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}

impl ListByStatus {
    /// The states that are asked for by their names; all that have one if none are. `name_of` says what a state is
    /// called by whoever asks.
    pub fn statuses(
        &self,
        name_of: fn(SuggestionStatus) -> Option<&'static str>,
    ) -> Result<Vec<SuggestionStatus>> {
        let named = || SuggestionStatus::ALL.into_iter().filter(|&status| name_of(status).is_some());
        let wanted: Vec<&str> = self.status.iter().flat_map(|text| text.split(',')).collect();
        if wanted.is_empty() {
            return Ok(named().collect());
        }
        let one = |text: &str| {
            named().find(|&status| name_of(status) == Some(text)).ok_or_else(|| {
                let names: Vec<&str> = named().filter_map(name_of).collect();
                Error::param(Code::FormParamValueInvalid, "status")
                    .saying(format!("`status` must be one of: {}.", names.join(", ")))
            })
        };
        wanted.into_iter().map(one).collect()
    }
}

async fn list(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Query(query): Query<ListByStatus>,
) -> Response {
    let found = async {
        let member = Member::find(&cx, &person, &id).await?;
        member.check(MANAGE_MEMBERSHIPS)?;
        let statuses = query.statuses(SuggestionStatus::of_request)?;
        // Several statuses are sorted, and all are counted.
        let mut tx = person.reads(&cx).long().await?;
        let instance = &person.visitor.site.instance;
        store::list(&mut tx, instance, Whose::Organization(&id), &statuses, query.paging).await
    };
    match found.await {
        Ok((page, total_count)) => {
            let context = view_context(&person.visitor.site, cx.now);
            let data: Vec<_> = page.iter().map(|parts| view::request(parts, context)).collect();
            person.visitor.answer(&cx, Ok(ListView { data, total_count })).await
        }
        Err(error) => person.visitor.answer::<()>(&cx, Err(error)).await,
    }
}

async fn accept(
    cx: Cx,
    person: Person,
    Path((id, request)): Path<(OrganizationId, OrganizationSuggestionId)>,
) -> Response {
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let accepted =
        cx.write(move |tx| Box::pin(async move { accept_in(tx, &act, &user, &id, &request).await })).await;
    show(&cx, &person, accepted).await
}

async fn accept_in(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    organization: &OrganizationId,
    id: &OrganizationSuggestionId,
) -> Result<SuggestionParts> {
    // Whoever becomes a member is locked before the organization.
    let found = store::find_parts(tx, &act.instance, id).await?;
    let asker = match found.filter(|parts| &parts.suggestion.organization == organization) {
        Some(parts) => users::lock(tx, &act.instance, &parts.suggestion.user).await?,
        None => None,
    };
    let member = Member::lock(tx, act, user, organization).await?;
    let suggestion = waiting(tx, act, &member, id).await?;
    let asker = asker.ok_or_else(|| not_found(id))?;
    let Member { access, organization, .. } = member;
    let set = access.role_set(&organization.role_set);
    let set = set.ok_or_else(|| Error::internal("the organization has no role set"))?;
    let joining = Joining::with_role(&set.default_role);
    // This closes the request too.
    join(tx, act, &access, organization, &asker, joining).await?;
    parts(tx, act, &suggestion.id).await
}

async fn reject(
    cx: Cx,
    person: Person,
    Path((id, request)): Path<(OrganizationId, OrganizationSuggestionId)>,
) -> Response {
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let rejected =
        cx.write(move |tx| Box::pin(async move { reject_in(tx, &act, &user, &id, &request).await })).await;
    show(&cx, &person, rejected).await
}

async fn reject_in(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    organization: &OrganizationId,
    id: &OrganizationSuggestionId,
) -> Result<SuggestionParts> {
    let member = Member::lock(tx, act, user, organization).await?;
    let suggestion = waiting(tx, act, &member, id).await?;
    let suggestion = Suggestion { status: SuggestionStatus::Rejected, updated_at: act.now, ..suggestion };
    store::save(tx, &suggestion).await?;
    parts(tx, act, &suggestion.id).await
}

/// Locks a request that waits for an answer, for a member who may give one.
async fn waiting(
    tx: &mut Tx,
    act: &Act,
    member: &Member,
    id: &OrganizationSuggestionId,
) -> Result<Suggestion> {
    member.check(MANAGE_MEMBERSHIPS)?;
    let found = store::lock(tx, &act.instance, id).await?;
    let found = found.filter(|suggestion| suggestion.organization == member.organization.id);
    let suggestion = found.ok_or_else(|| not_found(id))?;
    match suggestion.status {
        SuggestionStatus::Requested => Ok(suggestion),
        SuggestionStatus::Joined => Err(Error::new(Code::AlreadyAMemberInOrganization)),
        SuggestionStatus::Pending | SuggestionStatus::Rejected => Err(not_found(id)),
    }
}

async fn parts(tx: &mut Tx, act: &Act, id: &OrganizationSuggestionId) -> Result<SuggestionParts> {
    store::find_parts(tx, &act.instance, id).await?.ok_or_else(|| not_found(id))
}

fn not_found(id: &OrganizationSuggestionId) -> Error {
    Error::not_found("membership request", id)
}

async fn show(cx: &Cx, person: &Person, outcome: Result<SuggestionParts>) -> Response {
    match outcome {
        Ok(parts) => {
            let shown = view::request(&parts, view_context(&person.visitor.site, cx.now));
            person.visitor.answer(cx, Ok(shown)).await
        }
        Err(error) => person.visitor.answer::<()>(cx, Err(error)).await,
    }
}
