//! The organizations of the current user.

use axum::response::Response;
use latchkey_base::kinds::{OrganizationId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{DeletedView, MaybePaginated, PageQuery, deleted};
use latchkey_organizations::access::store as access;
use latchkey_organizations::memberships::change;
use latchkey_organizations::memberships::model::MembershipParts;
use latchkey_organizations::memberships::store;
use latchkey_organizations::memberships::view::FrontendMembershipView;
use latchkey_organizations::orgs::rules::check_enabled;
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::input::Path;
use latchkey_web::query::Query;

use super::member::Member;
use super::{Memberships, show_members};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organizations Memberships");
    api.get("/v1/me/organization_memberships", "getOrganizationMemberships", list)
        .summary("List the organizations of the current user")
        .returns::<Envelope<'_, MaybePaginated<FrontendMembershipView<'_>>>>()
        .only_reads()
        .errors(&[403]);
    api.delete("/v1/me/organization_memberships/{organization_id}", "deleteOrganizationMemberships", leave)
        .summary("Leave an organization")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403, 404, 422]);
}

async fn list(cx: Cx, person: Person, Query(query): Query<PageQuery>) -> Response {
    let outcome = found(&cx, &person, query.paging).await;
    show_members(&cx, &person, query.paginated, outcome).await
}

async fn found(cx: &Cx, person: &Person, paging: Paging) -> Result<Memberships> {
    check_enabled(&person.visitor.site.settings)?;
    let (instance, user) = (&person.visitor.site.instance, &person.user.id);
    let mut tx = cx.app.db.read().await?;
    Ok(Memberships {
        page: store::list_of_user(&mut tx, instance, user, paging).await?,
        total_count: store::count_of_user(&mut tx, instance, user).await?,
        access: access::find(&mut tx, instance).await?,
    })
}

async fn leave(cx: Cx, person: Person, Path(id): Path<OrganizationId>) -> Response {
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let outcome = cx.write(move |tx| Box::pin(async move { leave_in(tx, &act, &user, &id).await })).await;
    let gone = outcome.map(|parts| deleted("organization_membership", &parts.membership.id));
    person.visitor.answer(&cx, gone).await
}

async fn leave_in(tx: &mut Tx, act: &Act, user: &UserId, id: &OrganizationId) -> Result<MembershipParts> {
    // Of two organizations that somebody leaves at once one stays, where everybody works for one.
    users::lock(tx, &act.instance, user).await?.ok_or_else(|| Error::new(Code::SignedOut))?;
    let Member { access, .. } = Member::lock(tx, act, user, id).await?;
    if act.settings.organizations.is_choice_forced()
        && store::count_of_user(tx, &act.instance, user).await? == 1
    {
        return Err(Error::new(Code::PersonalAccountsNotAllowed));
    }
    let gone = || Error::new(Code::OrganizationNotFoundOrUnauthorized);
    let parts = store::find_parts(tx, &act.instance, id, user).await?.ok_or_else(gone)?;
    change::leave(tx, act, &access, parts).await
}
