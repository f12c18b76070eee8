//! The members of an organization.

use axum::response::Response;
use latchkey_base::kinds::{OrganizationId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::MaybePaginated;
use latchkey_organizations::access::model::{Access, MANAGE_MEMBERSHIPS, READ_MEMBERSHIPS};
use latchkey_organizations::memberships::change::{Joining, join, leave, set_role};
use latchkey_organizations::memberships::input::ListMemberships;
use latchkey_organizations::memberships::model::MembershipParts;
use latchkey_organizations::memberships::view::FrontendMembershipView;
use latchkey_organizations::memberships::{list, rules, store};
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use latchkey_web::query::Query;
use schemars::JsonSchema;
use serde::Deserialize;

use super::member::Member;
use super::{Memberships, show_member, show_members};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Members");
    api.post("/v1/organizations/{organization_id}/memberships", "CreateOrganizationMembership", create)
        .summary("Add a member to an organization")
        .returns::<Envelope<'_, FrontendMembershipView<'_>>>()
        .errors(&[403, 404]);
    api.get("/v1/organizations/{organization_id}/memberships", "ListOrganizationMemberships", list_all)
        .summary("List the members of an organization")
        .returns::<Envelope<'_, MaybePaginated<FrontendMembershipView<'_>>>>()
        .only_reads()
        .errors(&[403, 404]);
    api.patch(
        "/v1/organizations/{organization_id}/memberships/{user_id}",
        "UpdateOrganizationMembership",
        update,
    )
    .summary("Change the role of a member")
    .returns::<Envelope<'_, FrontendMembershipView<'_>>>()
    .errors(&[403, 404]);
    api.delete(
        "/v1/organizations/{organization_id}/memberships/{user_id}",
        "removeOrganizationMember",
        remove,
    )
    .summary("Remove a member from an organization")
    .returns::<Envelope<'_, FrontendMembershipView<'_>>>()
    .errors(&[403, 404]);
}

/// Body of `CreateOrganizationMembership`.
#[derive(Deserialize, JsonSchema)]
pub struct NewMember {
    /// Who becomes a member.
    pub user_id: String,
    /// The key of the role, such as `org:member`.
    pub role: String,
}

/// Body of `UpdateOrganizationMembership`.
#[derive(Deserialize, JsonSchema)]
pub struct ChangedMember {
    /// The key of the role the member has from now on.
    pub role: String,
}

/// Query of `ListOrganizationMemberships`.
#[derive(Deserialize, JsonSchema)]
pub struct ListMembers {
    /// Part of what members show: their identifier, username, id or name.
    pub query: Option<String>,
    /// With one of these roles, by their keys. Several may stand in one value, with commas between them.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub role: Vec<String>,
    /// Answer `{data, total_count}` rather than a bare list.
    #[serde(default)]
    pub paginated: bool,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}

async fn list_all(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Query(query): Query<ListMembers>,
) -> Response {
    let is_paginated = query.paginated;
    let outcome = found(&cx, &person, &id, query).await;
    show_members(&cx, &person, is_paginated, outcome).await
}

async fn found(cx: &Cx, person: &Person, id: &OrganizationId, query: ListMembers) -> Result<Memberships> {
    let Member { organization, access, .. } = Member::find_with(cx, person, id, READ_MEMBERSHIPS).await?;
    // Scripts write several roles as one text.
    let roles = query.role.iter().flat_map(|text| text.split(',')).filter(|key| !key.is_empty());
    let query = ListMemberships {
        role: roles.map(ToOwned::to_owned).collect(),
        query: query.query,
        is_for_members: true,
        paging: query.paging,
        ..ListMemberships::default()
    };
    let (page, total_count) = list::fetch(&person.reads(cx), &organization, &access, &query).await?;
    Ok(Memberships { page, total_count, access })
}

async fn create(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Form(input): Form<NewMember>,
) -> Response {
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let written = cx.write(move |tx| Box::pin(async move { added(tx, &act, &user, &id, input).await }));
    let outcome = written.await;
    show_member(&cx, &person, outcome).await
}

/// Users are locked before organizations, so the one to be added is looked for first. Whether there is such a user is
/// told only to those who may add one.
async fn added(
    tx: &mut Tx,
    act: &Act,
    by: &UserId,
    id: &OrganizationId,
    input: NewMember,
) -> Result<(MembershipParts, Access)> {
    let user = match Id::parse(&input.user_id) {
        Some(id) => users::lock(tx, &act.instance, &id).await?,
        None => None,
    };
    let Member { organization, access, .. } = Member::lock_with(tx, act, by, id, MANAGE_MEMBERSHIPS).await?;
    let user = user.ok_or_else(|| Error::not_found("user", &input.user_id))?;
    let role = rules::role(&input.role, &access, &organization)?;
    let joining = Joining::with_role(&role.id);
    let (organization, membership) = join(tx, act, &access, organization, &user, joining).await?;
    Ok((MembershipParts { membership, organization, user }, access))
}

async fn update(
    cx: Cx,
    person: Person,
    Path((id, user)): Path<(OrganizationId, UserId)>,
    Form(input): Form<ChangedMember>,
) -> Response {
    let (act, by) = (person.visitor.act(&cx), person.user.id.clone());
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let (access, parts) = managed(tx, &act, &by, (&id, &user)).await?;
            let role = rules::role(&input.role, &access, &parts.organization)?.id.clone();
            Ok((set_role(tx, &act, &access, parts, &role).await?, access))
        })
    });
    let outcome = written.await;
    show_member(&cx, &person, outcome).await
}

async fn remove(cx: Cx, person: Person, Path((id, user)): Path<(OrganizationId, UserId)>) -> Response {
    let (act, by) = (person.visitor.act(&cx), person.user.id.clone());
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let (access, parts) = managed(tx, &act, &by, (&id, &user)).await?;
            Ok((leave(tx, &act, &access, parts).await?, access))
        })
    });
    let outcome = written.await;
    show_member(&cx, &person, outcome).await
}

/// The membership of a user, for somebody who may manage it. The organization is locked.
async fn managed(
    tx: &mut Tx,
    act: &Act,
    by: &UserId,
    (id, user): (&OrganizationId, &UserId),
) -> Result<(Access, MembershipParts)> {
    let Member { access, .. } = Member::lock_with(tx, act, by, id, MANAGE_MEMBERSHIPS).await?;
    let found = store::find_parts(tx, &act.instance, id, user).await?;
    let parts = found.ok_or_else(|| {
        Error::new(Code::ResourceNotFound).saying("The user is not a member of the organization.")
    })?;
    Ok((access, parts))
}
