//! Routes and handlers of the backend API.

use std::sync::Arc;

use axum::extract::State;
use latchkey_base::kinds::{InstanceId, OrganizationId};
use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_images::Image;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::wire::{DeletedView, ListView, deleted};
use latchkey_kernel::{AppState, limits};
use latchkey_people::users::metadata::Mode;
use latchkey_people::users::pictures::{self, CreditedUpload, Picture};
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::input::{Fields, Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;
use latchkey_web::shape::Shapes;
use latchkey_web::version::Version;
use serde_json::{Map, Value};

use super::change::{self, change, explained, locked, not_found};
use super::input::{
    CreateOrganization, Including, ListOrganizations, METADATA_FIELDS, OrganizationMetadata,
    UpdateOrganization,
};
use super::model::Organization;
use super::view::{self, OrganizationExtras, OrganizationView, OrganizationWithLogoView};
use super::{create, list, rules, store};
use crate::access::model::Access;
use crate::access::store as access;
use crate::key::OrganizationsKey;
use crate::memberships::store as memberships;
use crate::removals;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organizations");
    api.get("/organizations", "ListOrganizations", list_all)
        .summary("List organizations")
        .returns::<ListView<OrganizationView>>()
        .errors(&[403]);
    api.post("/organizations", "CreateOrganization", create)
        .summary("Create an organization")
        .returns::<OrganizationView>()
        .errors(&[403, 409]);
    api.get("/organizations/{organization_id}", "GetOrganization", get)
        .summary("Get an organization by its id or slug")
        .returns::<OrganizationView>()
        .errors(&[403]);
    api.patch("/organizations/{organization_id}", "UpdateOrganization", update)
        .summary("Update an organization")
        .wants_body()
        .returns::<OrganizationView>()
        .limited(limits::ORGANIZATION_CHANGES)
        .errors(&[403, 409]);
    api.delete("/organizations/{organization_id}", "DeleteOrganization", delete)
        .summary("Delete an organization")
        .returns::<DeletedView>()
        .errors(&[403]);
    api.patch("/organizations/{organization_id}/metadata", "MergeOrganizationMetadata", merge_metadata)
        .summary("Merge metadata into that of an organization")
        .wants_body()
        .returns::<OrganizationView>()
        .limited(limits::ORGANIZATION_CHANGES)
        .errors(&[403]);
    api.put("/organizations/{organization_id}/metadata", "ReplaceOrganizationMetadata", replace_metadata)
        .summary("Replace metadata of an organization")
        .wants_body()
        .returns::<OrganizationView>()
        .limited(limits::ORGANIZATION_CHANGES)
        .errors(&[403]);
    api.put("/organizations/{organization_id}/logo", "UploadOrganizationLogo", upload_logo)
        .summary("Set the logo of an organization")
        .returns::<OrganizationWithLogoView>()
        .errors(&[403]);
    api.delete("/organizations/{organization_id}/logo", "DeleteOrganizationLogo", delete_logo)
        .summary("Remove the logo of an organization")
        .returns::<OrganizationView>()
        .errors(&[403]);
}

async fn list_all(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Query(query): Query<ListOrganizations>,
) -> Reply {
    let (organizations, total_count) =
        list::fetch(&cx.backend_reads(&key.instance), &key.instance, &query).await?;
    let mut tx = cx.app.db.read().await?;
    let access = access::find(&mut tx, &key.instance).await?;
    let mut data = Vec::with_capacity(organizations.len());
    for organization in &organizations {
        let shown = shown(&mut tx, organization, &access, query.including).await?;
        data.push(view::organization(organization, &access, shown, &cx.app.api_url));
    }
    cx.reply(&ListView { data, total_count })
}

async fn create(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Input(input): Input<CreateOrganization>,
) -> Reply {
    let act = cx.act(&key);
    let created = cx.write(move |tx| Box::pin(async move { create_in(tx, &act, input).await }));
    let (organization, access) = created.await.map_err(explained)?;
    reply(&cx, &organization, &access)
}

async fn create_in(tx: &mut Tx, act: &Act, input: CreateOrganization) -> Result<(Organization, Access)> {
    let unknown = || Error::param(Code::OrganizationCreatorNotFound, "created_by");
    let creator = match input.created_by.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => {
            let id = Id::parse(id).ok_or_else(unknown)?;
            Some(users::lock(tx, &act.instance, &id).await?.ok_or_else(unknown)?)
        }
        None => None,
    };
    create::create(tx, act, &input, creator.as_ref()).await
}

async fn get(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<String>,
    Query(including): Query<Including>,
) -> Reply {
    let mut tx = cx.app.db.read().await?;
    let found = store::find_by_id_or_slug(&mut tx, &key.instance, &id).await?;
    let organization = found.ok_or_else(|| not_found(&id))?;
    let access = access::find(&mut tx, &key.instance).await?;
    let shown = shown(&mut tx, &organization, &access, including).await?;
    cx.reply(&view::organization(&organization, &access, shown, &cx.app.api_url))
}

async fn update(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    State(shapes): State<Arc<Shapes>>,
    Fields(mut fields, _): Fields<UpdateOrganization>,
) -> Reply {
    let metadata = legacy_metadata(cx.version, &mut fields, &shapes)?;
    let input: UpdateOrganization = shapes.of::<UpdateOrganization>().read(fields)?;
    let act = cx.act(&key);
    let updated =
        cx.write(move |tx| Box::pin(async move { update_in(tx, &act, &id, input, metadata).await }));
    let (organization, access) = updated.await.map_err(explained)?;
    reply(&cx, &organization, &access)
}

async fn update_in(
    tx: &mut Tx,
    act: &Act,
    id: &OrganizationId,
    input: UpdateOrganization,
    metadata: OrganizationMetadata,
) -> Result<(Organization, Access)> {
    let access = access::share(tx, &act.instance, act.now).await?;
    let before = locked(tx, &act.instance, id).await?;
    let mut after = rules::update(before.clone(), &input, act)?;
    after = rules::with_metadata(after, metadata, Mode::Replace)?;
    if let Patch::Value(key) = &input.role_set_key {
        rules::check_staying(&before.role_set, &access)?;
        after.role_set = rules::role_set(key, &access)?;
        let set = access.role_set(&after.role_set);
        let roles = set.map(|set| set.roles.iter().collect::<Vec<_>>()).unwrap_or_default();
        if memberships::has_role_outside(tx, &act.instance, id, &roles).await? {
            return Err(Error::param(Code::OrganizationRoleSetReassignmentMappingsMissing, "role_set_key")
                .saying("Members have roles that the role set does not have. Change their roles first."));
        }
    }
    let after = change::save(tx, act, &before, after, &access).await?;
    Ok((after, access))
}

/// Before 2026-05-12 this operation also replaced metadata; since then its keys are unknown here.
fn legacy_metadata(
    version: Version,
    fields: &mut Map<String, Value>,
    shapes: &Shapes,
) -> Result<OrganizationMetadata> {
    if version >= Version::V2026_05_12 {
        return Ok(OrganizationMetadata::default());
    }
    // There null is as good as nothing.
    let taken = METADATA_FIELDS.iter().filter_map(|&name| Some((name.to_owned(), fields.remove(name)?)));
    shapes.of::<OrganizationMetadata>().read(taken.filter(|(_, value)| !value.is_null()).collect())
}

async fn delete(cx: Cx, OrganizationsKey(key): OrganizationsKey, Path(id): Path<OrganizationId>) -> Reply {
    let (act, gone) = (cx.act(&key), deleted("organization", &id));
    cx.write(move |tx| Box::pin(async move { removals::delete_organization(tx, &act, &id).await })).await?;
    cx.reply(&gone)
}

async fn merge_metadata(
    cx: Cx,
    key: OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Input(input): Input<OrganizationMetadata>,
) -> Reply {
    change_metadata(cx, key, id, input, Mode::Merge).await
}

async fn replace_metadata(
    cx: Cx,
    key: OrganizationsKey,
    Path(id): Path<OrganizationId>,
    Input(input): Input<OrganizationMetadata>,
) -> Reply {
    change_metadata(cx, key, id, input, Mode::Replace).await
}

async fn change_metadata(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    id: OrganizationId,
    input: OrganizationMetadata,
    mode: Mode,
) -> Reply {
    let rule = move |organization, _: &Act| rules::with_metadata(organization, input, mode);
    let (organization, access) = change(&cx, cx.act(&key), id, rule).await?;
    reply(&cx, &organization, &access)
}

async fn upload_logo(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
    CreditedUpload(request): CreditedUpload,
) -> Reply {
    let (upload, uploader) = pictures::credited_file(request).await?;
    let picture = Picture::read(upload)?;
    if let Some(uploader) = uploader {
        check_uploader(&cx, &key.instance, &uploader).await?;
    }
    let picture = picture.decoded(&cx, &WorkOwner::backend(&key.instance)).await?;
    let (organization, access) = set_logo(&cx, cx.act(&key), id, Some(picture)).await?;
    let shown = OrganizationExtras {
        members_count: Some(organization.members_count),
        ..OrganizationExtras::default()
    };
    cx.reply(&view::with_logo(view::organization(&organization, &access, shown, &cx.app.api_url)))
}

/// Refuses a logo in the name of somebody who is no user of the instance.
async fn check_uploader(cx: &Cx, instance: &InstanceId, text: &str) -> Result<()> {
    let unknown = || Error::not_found("user", &text);
    let id = Id::parse(text).ok_or_else(unknown)?;
    users::find(&mut cx.app.db.read().await?, instance, &id).await?.map(|_| ()).ok_or_else(unknown)
}

async fn delete_logo(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<OrganizationId>,
) -> Reply {
    let (organization, access) = set_logo(&cx, cx.act(&key), id, None).await?;
    reply(&cx, &organization, &access)
}

/// Gives an organization another logo, or none.
async fn set_logo(
    cx: &Cx,
    act: Act,
    id: OrganizationId,
    picture: Option<Image>,
) -> Result<(Organization, Access)> {
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let access = access::find(tx, &act.instance).await?;
            let before = locked(tx, &act.instance, &id).await?;
            let after = change::set_logo(tx, &act, before, picture.as_ref(), &access).await?;
            Ok((after, access))
        })
    });
    written.await
}

/// What is shown of an organization besides, as asked for.
async fn shown(
    tx: &mut Tx,
    organization: &Organization,
    access: &Access,
    including: Including,
) -> Result<OrganizationExtras> {
    let missing = match including.include_missing_member_with_elevated_permissions {
        true => {
            let roles = access.creator_eligible_roles();
            let has = store::has_member_with(tx, &organization.instance, &organization.id, &roles).await?;
            Some(!has)
        }
        false => None,
    };
    Ok(OrganizationExtras {
        members_count: including.include_members_count.then_some(organization.members_count),
        missing_member_with_elevated_permissions: missing,
    })
}

/// Answers with an organization that was changed.
fn reply(cx: &Cx, organization: &Organization, access: &Access) -> Reply {
    let shown = OrganizationExtras {
        members_count: Some(organization.members_count),
        ..OrganizationExtras::default()
    };
    cx.reply(&view::organization(organization, access, shown, &cx.app.api_url))
}
