//! Routes and handlers of the backend API.

use latchkey_base::kinds::{OrganizationId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::ListView;
use latchkey_kernel::{AppState, document, limits};
use latchkey_people::users::metadata::Mode;
use latchkey_people::users::store as users;
use latchkey_people::users::view::ViewContext;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::change::{self, Joining, join, leave, set_role};
use super::input::{CreateMembership, ListAllMemberships, ListMemberships, UpdateMembership};
use super::model::{Membership, MembershipParts};
use super::view::{self, MembershipView};
use super::{list, rules, store};
use crate::access::model::Access;
use crate::access::store as access;
use crate::key::OrganizationsKey;
use crate::orgs::change::{locked, not_found};
use crate::orgs::input::OrganizationMetadata;
use crate::orgs::store as organizations;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organization Memberships");
    api.post("/organizations/{organization_id}/memberships", "CreateOrganizationMembership", create)
        .summary("Add a member to an organization")
        .returns::<MembershipView>()
        .errors(&[403]);
    api.get(
        "/organizations/{organization_id}/memberships",
        "ListOrganizationMemberships",
        list_of_organization,
    )
    .summary("List the members of an organization")
    .returns::<ListView<MembershipView>>()
    .errors(&[403]);
    api.patch(
        "/organizations/{organization_id}/memberships/{user_id}",
        "UpdateOrganizationMembership",
        update,
    )
    .summary("Change the role of a member")
    .returns::<MembershipView>()
    .limited(limits::MEMBERSHIP_CHANGES)
    .errors(&[403, 409]);
    api.delete(
        "/organizations/{organization_id}/memberships/{user_id}",
        "DeleteOrganizationMembership",
        delete,
    )
    .summary("Remove a member from an organization")
    .returns::<MembershipView>()
    .errors(&[403]);
    api.patch(
        "/organizations/{organization_id}/memberships/{user_id}/metadata",
        "UpdateOrganizationMembershipMetadata",
        merge_metadata,
    )
    .summary("Merge metadata into that of a membership")
    .returns::<MembershipView>()
    .limited(limits::MEMBERSHIP_CHANGES)
    .errors(&[403]);
    api.get("/organization_memberships", "InstanceGetOrganizationMemberships", list_of_instance)
        .summary("List the members of all organizations")
        .returns::<ListView<MembershipView>>()
        .errors(&[403]);
    api.group("Users");
    api.get("/users/{user_id}/organization_memberships", "UsersGetOrganizationMemberships", list_of_user)
        .summary("List the memberships of a user")
        .returns::<ListView<MembershipView>>()
        .errors(&[403]);
}

async fn create(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Input(input): Input<CreateMembership>,
) -> Reply {
    let act = cx.act(&key);
    let inner = act.clone();
    let written = cx.write(move |tx| Box::pin(async move { create_in(tx, &inner, &id, input).await }));
    let (parts, access) = written.await?;
    cx.reply(&view::of_parts(&parts, &access, ViewContext::of(&act)))
}

async fn create_in(
    tx: &mut Tx,
    act: &Act,
    id: &OrganizationId,
    input: CreateMembership,
) -> Result<(MembershipParts, Access)> {
    let unknown = || Error::not_found("user", &input.user_id);
    let user: UserId = Id::parse(&input.user_id).ok_or_else(unknown)?;
    let user = users::lock(tx, &act.instance, &user).await?.ok_or_else(unknown)?;
    let access = access::share(tx, &act.instance, act.now).await?;
    let organization = locked(tx, &act.instance, id).await?;
    let role = rules::role(&input.role, &access, &organization)?.id.clone();
    let metadata = rules::new_metadata(input.public_metadata, input.private_metadata)?;
    let joining = Joining { role, metadata, is_invited: false, is_unasked: false };
    let (organization, membership) = join(tx, act, &access, organization, &user, joining).await?;
    Ok((MembershipParts { membership, organization, user }, access))
}

async fn list_of_organization(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Query(query): Query<ListMemberships>,
) -> Reply {
    let mut tx = cx.app.db.read().await?;
    let organization =
        organizations::find(&mut tx, &key.instance, &id).await?.ok_or_else(|| not_found(&id))?;
    let access = access::find(&mut tx, &key.instance).await?;
    drop(tx);
    let (page, total_count) =
        list::fetch(&cx.backend_reads(&key.instance), &organization, &access, &query).await?;
    reply_list(&cx, &cx.act(&key), &page, total_count, &access)
}

async fn list_of_instance(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Query(query): Query<ListAllMemberships>,
) -> Reply {
    let access = access::find(&mut cx.app.db.read().await?, &key.instance).await?;
    let found = list::fetch_all(
        &cx.backend_reads(&key.instance),
        &key.instance,
        query.order_by.as_deref(),
        query.paging,
    )
    .await;
    let (page, total_count) = found?;
    reply_list(&cx, &cx.act(&key), &page, total_count, &access)
}

async fn list_of_user(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<UserId>,
    Query(paging): Query<Paging>,
) -> Reply {
    let mut tx = cx.backend_reads(&key.instance).page(paging).await?;
    users::find(&mut tx, &key.instance, &id).await?.ok_or_else(|| Error::not_found("user", &id))?;
    let access = access::find(&mut tx, &key.instance).await?;
    let page = store::list_of_user(&mut tx, &key.instance, &id, paging).await?;
    let total_count = store::count_of_user(&mut tx, &key.instance, &id).await?;
    reply_list(&cx, &cx.act(&key), &page, total_count, &access)
}

fn reply_list(cx: &Cx, act: &Act, page: &[MembershipParts], total_count: i64, access: &Access) -> Reply {
    let data: Vec<_> = page.iter().map(|parts| view::of_parts(parts, access, ViewContext::of(act))).collect();
    cx.reply(&ListView { data, total_count })
}

async fn update(
    cx: Cx,
    key: OrganizationsKey,
    Path((id, user)): Path<(OrganizationId, UserId)>,
    Input(input): Input<UpdateMembership>,
) -> Reply {
    change(cx, key, (id, user), move |tx, act, access, parts| {
        Box::pin(async move {
            let role = rules::role(&input.role, access, &parts.organization)?.id.clone();
            set_role(tx, act, access, parts, &role).await
        })
    })
    .await
}

async fn delete(cx: Cx, key: OrganizationsKey, Path(path): Path<(OrganizationId, UserId)>) -> Reply {
    change(cx, key, path, |tx, act, access, parts| Box::pin(leave(tx, act, access, parts))).await
}

async fn merge_metadata(
    cx: Cx,
    key: OrganizationsKey,
    Path(path): Path<(OrganizationId, UserId)>,
    Input(input): Input<OrganizationMetadata>,
) -> Reply {
    change(cx, key, path, move |tx, act, access, parts| {
        Box::pin(merge_metadata_in(tx, act, access, parts, input))
    })
    .await
}

async fn merge_metadata_in(
    tx: &mut Tx,
    act: &Act,
    access: &Access,
    parts: MembershipParts,
    input: OrganizationMetadata,
) -> Result<MembershipParts> {
    let Membership { metadata, .. } = parts.membership.clone();
    let OrganizationMetadata { public_metadata, private_metadata } = input;
    let metadata = rules::with_metadata(metadata, public_metadata, private_metadata, Mode::Merge)?;
    if document::write(&metadata)? == document::write(&parts.membership.metadata)? {
        return Ok(parts);
    }
    let membership = Membership { metadata, updated_at: act.now, ..parts.membership };
    change::save(tx, act, access, MembershipParts { membership, ..parts }).await
}

/// What is done to a membership inside a transaction.
type Change<'a> = std::pin::Pin<Box<dyn Future<Output = Result<MembershipParts>> + Send + 'a>>;

/// Changes a membership and shows what became of it.
async fn change<R>(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    (id, user): (OrganizationId, UserId),
    rule: R,
) -> Reply
where
    R: for<'a> FnOnce(&'a mut Tx, &'a Act, &'a Access, MembershipParts) -> Change<'a> + Send + 'static,
{
    let act = cx.act(&key);
    let inner = act.clone();
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let access = access::share(tx, &inner.instance, inner.now).await?;
            let parts = lock(tx, &inner, &id, &user).await?;
            let parts = rule(tx, &inner, &access, parts).await?;
            Ok((parts, access))
        })
    });
    let (parts, access) = written.await?;
    cx.reply(&view::of_parts(&parts, &access, ViewContext::of(&act)))
}

/// Locks an organization and one of its memberships.
pub async fn lock(tx: &mut Tx, act: &Act, id: &OrganizationId, user: &UserId) -> Result<MembershipParts> {
    locked(tx, &act.instance, id).await?;
    let found = store::find_parts(tx, &act.instance, id, user).await?;
    found.ok_or_else(|| {
        Error::new(Code::ResourceNotFound).saying("The user is not a member of the organization.")
    })
}
