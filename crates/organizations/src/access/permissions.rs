//! Routes and handlers of permissions on the backend API.

use latchkey_base::Result;
use latchkey_base::kinds::{PermissionId, RoleId};
use latchkey_db::Tx;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox;
use latchkey_kernel::wire::{DeletedView, ListView, deleted};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::input::{CreatePermission, ListAccess, UpdatePermission};
use super::model::Access;
use super::view::{self, PermissionView};
use super::{list, roles, rules, store};
use crate::key::OrganizationsKey;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organization Permissions");
    api.get("/organization_permissions", "ListOrganizationPermissions", list_all)
        .summary("List what roles can allow")
        .returns::<ListView<PermissionView>>()
        .errors(&[403]);
    api.post("/organization_permissions", "CreateOrganizationPermission", create)
        .summary("Create a permission")
        .returns::<PermissionView>()
        .errors(&[403]);
    api.get("/organization_permissions/{permission_id}", "GetOrganizationPermission", get)
        .summary("Get a permission")
        .returns::<PermissionView>()
        .errors(&[403]);
    api.patch("/organization_permissions/{permission_id}", "UpdateOrganizationPermission", update)
        .summary("Update a permission")
        .wants_body()
        .returns::<PermissionView>()
        .errors(&[403]);
    api.delete("/organization_permissions/{permission_id}", "DeleteOrganizationPermission", delete)
        .summary("Delete a permission")
        .returns::<DeletedView>()
        .errors(&[403]);
}

async fn list_all(cx: Cx, OrganizationsKey(key): OrganizationsKey, Query(query): Query<ListAccess>) -> Reply {
    let access = store::find(&mut cx.app.db.read().await?, &key.instance).await?;
    let (page, total_count) = list::page(&access.permissions, &query)?;
    cx.reply(&ListView { data: page.into_iter().map(view::permission).collect(), total_count })
}

async fn get(cx: Cx, OrganizationsKey(key): OrganizationsKey, Path(id): Path<PermissionId>) -> Reply {
    let access = store::find(&mut cx.app.db.read().await?, &key.instance).await?;
    cx.reply(&view::permission(rules::find_permission(&access, &id)?))
}

async fn create(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Input(input): Input<CreatePermission>,
) -> Reply {
    let act = cx.act(&key);
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let access = store::lock(tx, &act.instance, act.now).await?;
            let (access, id) = rules::create_permission(access, &input, &act)?;
            store::save(tx, &access, act.now).await?;
            emit(tx, &act, Event::PermissionCreated, &access, &id)?;
            Ok((access, id))
        })
    });
    let (access, id) = written.await?;
    cx.reply(&view::permission(rules::find_permission(&access, &id)?))
}

async fn update(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<PermissionId>,
    Input(input): Input<UpdatePermission>,
) -> Reply {
    let (act, permission) = (cx.act(&key), id.clone());
    let written = cx.write(move |tx| Box::pin(async move { update_in(tx, &act, &permission, &input).await }));
    let access = written.await?;
    cx.reply(&view::permission(rules::find_permission(&access, &id)?))
}

async fn update_in(tx: &mut Tx, act: &Act, id: &PermissionId, input: &UpdatePermission) -> Result<Access> {
    let before = store::lock(tx, &act.instance, act.now).await?;
    let after = rules::update_permission(before.clone(), id, input, act)?;
    if after != before {
        store::save(tx, &after, act.now).await?;
        emit(tx, act, Event::PermissionUpdated, &after, id)?;
    }
    Ok(after)
}

async fn delete(cx: Cx, OrganizationsKey(key): OrganizationsKey, Path(id): Path<PermissionId>) -> Reply {
    let (act, gone) = (cx.act(&key), deleted("permission", &id));
    cx.write(move |tx| Box::pin(async move { delete_in(tx, &act, &id).await })).await?;
    cx.reply(&gone)
}

/// Deletes a permission. Roles that held it change by that.
async fn delete_in(tx: &mut Tx, act: &Act, id: &PermissionId) -> Result<()> {
    let before = store::lock(tx, &act.instance, act.now).await?;
    let held_by = before.roles.iter().filter(|role| role.permissions.contains(id));
    let changed: Vec<RoleId> = held_by.map(|role| role.id.clone()).collect();
    let after = rules::delete_permission(before, id, act)?;
    store::save(tx, &after, act.now).await?;
    outbox::emit(tx, act, Event::PermissionDeleted, id.as_str(), &deleted("permission", id))?;
    changed.iter().try_for_each(|role| roles::emit(tx, act, Event::RoleUpdated, &after, role))
}

/// Records an event about a permission.
fn emit(tx: &mut Tx, act: &Act, event: Event, access: &Access, id: &PermissionId) -> Result<()> {
    outbox::emit(tx, act, event, id.as_str(), &view::permission(rules::find_permission(access, id)?))
}
