//! Routes and handlers of the backend API.

use std::sync::Arc;

use latchkey_base::Error;
use latchkey_base::Result;
use latchkey_base::kinds::{OrganizationId, OrganizationInvitationId, UserId};
use latchkey_base::page::Paging;
use latchkey_db::Tx;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::limits::{self, INVITATIONS_IN_BULK};
use latchkey_kernel::wire::ListView;
use latchkey_kernel::{AppState, auth::SecretKey};
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Inputs, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::change::{self, InvitationPlace, Inviter, acting_member, context, invite, unknown};
use super::input::{
    CreateInvitation, InvitationFilter, ListAllInvitations, ListInvitations, ListUserInvitations,
    RevokeInvitation,
};
use super::list::{self, InvitationPage};
use super::model::InvitationParts;
use super::rules::{self, DraftInvitation};
use super::store;
use super::view::{self, InvitationView, InvitationWithOrganizationView};
use crate::access::model::Access;
use crate::access::store as access;
use crate::key::OrganizationsKey;
use crate::orgs::change::{locked, not_found};
use crate::orgs::store as organizations;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organization Invitations");
    api.post("/organizations/{organization_id}/invitations", "CreateOrganizationInvitation", create)
        .summary("Invite an address to an organization")
        .returns::<InvitationView>()
        .limited(limits::ORGANIZATION_INVITATIONS)
        .errors(&[403]);
    api.get(
        "/organizations/{organization_id}/invitations",
        "ListOrganizationInvitations",
        list_of_organization,
    )
    .summary("List the invitations to an organization")
    .returns::<ListView<InvitationView>>()
    .errors(&[403]);
    api.post(
        "/organizations/{organization_id}/invitations/bulk",
        "CreateOrganizationInvitationBulk",
        create_bulk,
    )
    .summary("Invite several addresses to an organization, all or none")
    .wants_body()
    .returns::<ListView<InvitationView>>()
    .limited(limits::BULK_ORGANIZATION_INVITATIONS)
    .errors(&[403]);
    api.get(
        "/organizations/{organization_id}/invitations/pending",
        "ListPendingOrganizationInvitations",
        list_pending,
    )
    .summary("List the invitations to an organization that can still be accepted")
    .returns::<ListView<InvitationView>>()
    .errors(&[403])
    .deprecated();
    api.get("/organizations/{organization_id}/invitations/{invitation_id}", "GetOrganizationInvitation", get)
        .summary("Get an invitation to an organization")
        .returns::<InvitationView>()
        .errors(&[403]);
    api.post(
        "/organizations/{organization_id}/invitations/{invitation_id}/revoke",
        "RevokeOrganizationInvitation",
        revoke,
    )
    .summary("Revoke an invitation that can still be accepted")
    .returns::<InvitationView>()
    .errors(&[403]);
    api.get("/organization_invitations", "ListInstanceOrganizationInvitations", list_of_instance)
        .summary("List the invitations to all organizations")
        .returns::<ListView<InvitationWithOrganizationView>>()
        .errors(&[403]);
    api.group("Users");
    api.get("/users/{user_id}/organization_invitations", "UsersGetOrganizationInvitations", list_of_user)
        .summary("List the invitations of a user to organizations")
        .returns::<ListView<InvitationWithOrganizationView>>()
        .errors(&[403]);
}

async fn create(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Input(input): Input<CreateInvitation>,
) -> Reply {
    let Created { made, access, url } = create_all(&cx, &key, id, vec![input]).await?;
    let act = cx.act(&key);
    let made = made.first().ok_or_else(|| Error::internal("no invitation was made"))?;
    cx.reply(&view::invitation(made, context(&act, &access, &url)))
}

async fn create_bulk(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Inputs(inputs): Inputs<CreateInvitation, INVITATIONS_IN_BULK>,
) -> Reply {
    let Created { made, access, url } = create_all(&cx, &key, id, inputs).await?;
    let act = cx.act(&key);
    let data: Vec<_> =
        made.iter().map(|parts| view::invitation(parts, context(&act, &access, &url))).collect();
    cx.reply(&ListView { total_count: data.len() as i64, data })
}

/// Invitations that were made.
struct Created {
    made: Vec<InvitationParts>,
    access: Access,
    url: Arc<str>,
}

/// Makes invitations, all or none.
async fn create_all(
    cx: &Cx,
    key: &SecretKey,
    id: OrganizationId,
    inputs: Vec<CreateInvitation>,
) -> Result<Created> {
    let act = cx.act(key);
    let url = frontend_url(cx, key).await?;
    let signer = cx.app.signer(&mut cx.app.db.read().await?, &key.instance, cx.now).await?;
    let mut drafts = Vec::with_capacity(inputs.len());
    for mut input in inputs {
        let inviter = input.inviter_user_id.take().filter(|id| !id.is_empty());
        drafts.push((inviter, rules::draft(input, &act, &signer)?));
    }
    let link = url.clone();
    let written = cx.write(move |tx| Box::pin(async move { create_in(tx, &act, &id, drafts, &link).await }));
    let (made, access) = written.await?;
    Ok(Created { made, access, url })
}

async fn create_in(
    tx: &mut Tx,
    act: &Act,
    id: &OrganizationId,
    drafts: Vec<(Option<String>, DraftInvitation)>,
    frontend_url: &str,
) -> Result<(Vec<InvitationParts>, Access)> {
    let access = access::share(tx, &act.instance, act.now).await?;
    let organization = locked(tx, &act.instance, id).await?;
    let place = InvitationPlace { access: &access, organization: &organization, frontend_url };
    let mut made = Vec::with_capacity(drafts.len());
    for (inviter, draft) in drafts {
        let inviter = match inviter {
            Some(user) => Some(acting_member(tx, act, (&access, id), ("inviter_user_id", &user)).await?),
            None => None,
        };
        made.push(invite(tx, act, place, &Inviter::Backend(inviter), draft).await?);
    }
    Ok((made, access))
}

async fn list_of_organization(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Query(query): Query<ListInvitations>,
) -> Reply {
    show_of_organization(&cx, &key, &id, &query).await
}

async fn list_pending(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Query(paging): Query<Paging>,
) -> Reply {
    let query = ListInvitations {
        status: vec![InvitationFilter::Pending],
        email_address: None,
        order_by: String::new(),
        paging,
    };
    show_of_organization(&cx, &key, &id, &query).await
}

async fn show_of_organization(
    cx: &Cx,
    key: &SecretKey,
    id: &OrganizationId,
    query: &ListInvitations,
) -> Reply {
    let mut tx = cx.app.db.read().await?;
    organizations::find(&mut tx, &key.instance, id).await?.ok_or_else(|| not_found(id))?;
    let access = access::find(&mut tx, &key.instance).await?;
    drop(tx);
    let (page, total_count) =
        list::of_organization(&cx.backend_reads(&key.instance), &key.instance, id, query, cx.now).await?;
    let (act, url) = (cx.act(key), frontend_url(cx, key).await?);
    let data: Vec<_> =
        page.iter().map(|parts| view::invitation(parts, context(&act, &access, &url))).collect();
    cx.reply(&ListView { data, total_count })
}

async fn get(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path((organization, id)): Path<(OrganizationId, OrganizationInvitationId)>,
) -> Reply {
    let mut tx = cx.app.db.read().await?;
    let found = store::find_parts(&mut tx, &key.instance, &id).await?;
    let own = found.filter(|parts| parts.organization.id == organization).ok_or_else(|| unknown(&id))?;
    let access = access::find(&mut tx, &key.instance).await?;
    drop(tx);
    let (act, url) = (cx.act(&key), frontend_url(&cx, &key).await?);
    cx.reply(&view::invitation(&own, context(&act, &access, &url)))
}

async fn revoke(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path((organization, id)): Path<(OrganizationId, OrganizationInvitationId)>,
    Input(input): Input<RevokeInvitation>,
) -> Reply {
    let (act, url) = (cx.act(&key), frontend_url(&cx, &key).await?);
    let (inner, link) = (act.clone(), url.clone());
    let revoked = cx.write(move |tx| {
        Box::pin(async move { revoke_in(tx, &inner, &organization, &id, input, &link).await })
    });
    let (parts, access) = revoked.await?;
    cx.reply(&view::invitation(&parts, context(&act, &access, &url)))
}

async fn revoke_in(
    tx: &mut Tx,
    act: &Act,
    organization: &OrganizationId,
    id: &OrganizationInvitationId,
    input: RevokeInvitation,
    frontend_url: &str,
) -> Result<(InvitationParts, Access)> {
    let access = access::share(tx, &act.instance, act.now).await?;
    let organization = locked(tx, &act.instance, organization).await?;
    if let Some(user) = input.requesting_user_id.filter(|id| !id.is_empty()) {
        acting_member(tx, act, (&access, &organization.id), ("requesting_user_id", &user)).await?;
    }
    let place = InvitationPlace { access: &access, organization: &organization, frontend_url };
    let parts = change::revoke(tx, act, place, id).await?;
    Ok((parts, access))
}

async fn list_of_instance(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Query(query): Query<ListAllInvitations>,
) -> Reply {
    let page = list::of_all(&cx.backend_reads(&key.instance), &key.instance, &query, cx.now).await?;
    show_with_organizations(&cx, &key, page).await
}

async fn list_of_user(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<UserId>,
    Query(query): Query<ListUserInvitations>,
) -> Reply {
    let found = users::find(&mut cx.app.db.read().await?, &key.instance, &id).await?;
    let user = found.ok_or_else(|| Error::not_found("user", &id))?;
    let page =
        list::of_user(&cx.backend_reads(&key.instance), &user, &query.status, query.paging, cx.now).await?;
    show_with_organizations(&cx, &key, page).await
}

async fn show_with_organizations(cx: &Cx, key: &SecretKey, (page, total_count): InvitationPage) -> Reply {
    let access = access::find(&mut cx.app.db.read().await?, &key.instance).await?;
    let (act, url) = (cx.act(key), frontend_url(cx, key).await?);
    let shown = |parts| view::with_organization(parts, context(&act, &access, &url));
    let data: Vec<_> = page.iter().map(shown).collect();
    cx.reply(&ListView { data, total_count })
}

/// The base URL at which browsers reach the instance.
async fn frontend_url(cx: &Cx, key: &SecretKey) -> Result<Arc<str>> {
    let host = instances::frontend_api(&mut cx.app.db.read().await?, &key.instance).await?;
    Ok(cx.app.primary_url(&host.unwrap_or_default(), &key.settings).into())
}
