//! Organizations that are suggested to somebody, because of an address they have.

use axum::response::Response;
use latchkey_base::kinds::{OrganizationSuggestionId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::client::view_context;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::ListView;
use latchkey_organizations::domains::store as domains;
use latchkey_organizations::notices;
use latchkey_organizations::orgs::rules::check_enabled;
use latchkey_organizations::orgs::store as organizations;
use latchkey_organizations::suggestions::model::{Suggestion, SuggestionParts, SuggestionStatus};
use latchkey_organizations::suggestions::rules;
use latchkey_organizations::suggestions::store::{self, Whose};
use latchkey_organizations::suggestions::view::{self, SuggestionView};
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::input::Path;
use latchkey_web::query::Query;

use super::member::check_actor;
use super::requests::ListByStatus;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organizations Memberships");
    api.get("/v1/me/organization_suggestions", "getOrganizationSuggestions", list)
        .summary("List the organizations that are suggested to the current user")
        .returns::<Envelope<'_, ListView<SuggestionView<'_>>>>()
        .errors(&[403])
        .only_reads();
    api.post(
        "/v1/me/organization_suggestions/{suggestion_id}/accept",
        "acceptOrganizationSuggestion",
        accept,
    )
    .summary("Ask to join an organization that is suggested")
    .returns::<Envelope<'_, SuggestionView<'_>>>()
    .errors(&[403]);
}

async fn list(cx: Cx, person: Person, Query(query): Query<ListByStatus>) -> Response {
    let site = &person.visitor.site;
    let found = async {
        check_enabled(&site.settings)?;
        let statuses = query.statuses(SuggestionStatus::of_suggestion)?;
        let names = rules::domain_names(&person.user, &site.settings);
        let mut tx = person.reads(&cx).page(query.paging).await?;
        let whose = Whose::User(&person.user.id, &names);
        store::list(&mut tx, &site.instance, whose, &statuses, query.paging).await
    };
    match found.await {
        Ok((page, total_count)) => {
            let context = view_context(site, cx.now);
            let data: Vec<_> = page.iter().map(|parts| view::suggestion(parts, context.api_url)).collect();
            person.visitor.answer(&cx, Ok(ListView { data, total_count })).await
        }
        Err(error) => person.visitor.answer::<()>(&cx, Err(error)).await,
    }
}

async fn accept(cx: Cx, person: Person, Path(id): Path<OrganizationSuggestionId>) -> Response {
    if let Err(refusal) = check_actor(&person) {
        return person.visitor.answer::<()>(&cx, Err(refusal)).await;
    }
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let accepted = cx.write(move |tx| Box::pin(async move { accepted(tx, &act, &user, &id).await }));
    match accepted.await {
        Ok(parts) => {
            let context = view_context(&person.visitor.site, cx.now);
            person.visitor.answer(&cx, Ok(view::suggestion(&parts, context.api_url))).await
        }
        Err(error) => person.visitor.answer::<()>(&cx, Err(error)).await,
    }
}

/// Turns a suggestion into a request. The user is locked, so that they keep the address that is its reason.
async fn accepted(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    id: &OrganizationSuggestionId,
) -> Result<SuggestionParts> {
    check_enabled(&act.settings)?;
    let unknown = || Error::not_found("organization suggestion", id);
    let user = users::lock(tx, &act.instance, user).await?.ok_or_else(unknown)?;
    let parts = store::find_parts(tx, &act.instance, id).await?;
    let parts = parts.filter(|parts| parts.suggestion.user == user.id).ok_or_else(unknown)?;
    let organization = organizations::share(tx, &act.instance, &parts.suggestion.organization).await?;
    let organization = organization.ok_or_else(unknown)?;
    let suggestion = store::lock(tx, &act.instance, id).await?.ok_or_else(unknown)?;
    match suggestion.status {
        SuggestionStatus::Pending => (),
        SuggestionStatus::Requested => return Err(Error::new(Code::OrganizationSuggestionAlreadyAccepted)),
        SuggestionStatus::Joined => return Err(Error::new(Code::AlreadyAMemberInOrganization)),
        SuggestionStatus::Rejected => return Err(unknown()),
    }
    let domain = domains::find(tx, &act.instance, &organization.id, &suggestion.domain).await?;
    let reason =
        domain.and_then(|domain| rules::reason(&domain, &user, &act.settings)).ok_or_else(unknown)?;
    let suggestion = Suggestion { status: SuggestionStatus::Requested, updated_at: act.now, ..suggestion };
    store::save(tx, &suggestion).await?;
    notices::membership_requested(tx, act, &organization, reason).await?;
    Ok(SuggestionParts { suggestion, organization, user })
}
