//! Routes and handlers of roles on the backend API.

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

use super::input::{CreateRole, ListAccess, UpdateRole};
use super::model::Access;
use super::rules::{self, RoleUse};
use super::view::{self, RoleView};
use super::{list, store};
use crate::key::OrganizationsKey;
use crate::memberships::store as memberships;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organization Roles");
    api.get("/organization_roles", "ListOrganizationRoles", list_all)
        .summary("List the roles of members of organizations")
        .returns::<ListView<RoleView>>()
        .errors(&[403]);
    api.post("/organization_roles", "CreateOrganizationRole", create)
        .summary("Create a role")
        .returns::<RoleView>()
        .errors(&[403, 409]);
    api.get("/organization_roles/{organization_role_id}", "GetOrganizationRole", get)
        .summary("Get a role")
        .returns::<RoleView>()
        .errors(&[403]);
    api.patch("/organization_roles/{organization_role_id}", "UpdateOrganizationRole", update)
        .summary("Update a role")
        .wants_body()
        .returns::<RoleView>()
        .errors(&[403]);
    api.delete("/organization_roles/{organization_role_id}", "DeleteOrganizationRole", delete)
        .summary("Delete a role that nobody has")
        .returns::<DeletedView>()
        .errors(&[403, 409, 422]);
    api.post(
        "/organization_roles/{organization_role_id}/permissions/{permission_id}",
        "AssignPermissionToOrganizationRole",
        assign,
    )
    .summary("Let a role allow something more")
    .returns::<RoleView>()
    .errors(&[403, 409]);
    api.delete(
        "/organization_roles/{organization_role_id}/permissions/{permission_id}",
        "RemovePermissionFromOrganizationRole",
        remove,
    )
    .summary("Let a role no longer allow something")
    .returns::<RoleView>()
    .errors(&[403, 422]);
}

async fn list_all(cx: Cx, OrganizationsKey(key): OrganizationsKey, Query(query): Query<ListAccess>) -> Reply {
    let access = store::find(&mut cx.app.db.read().await?, &key.instance).await?;
    let (page, total_count) = list::page(&access.roles, &query)?;
    let data = page.into_iter().map(|role| view::role(role, &access)).collect();
    cx.reply(&ListView { data, total_count })
}

async fn get(cx: Cx, OrganizationsKey(key): OrganizationsKey, Path(id): Path<RoleId>) -> Reply {
    let access = store::find(&mut cx.app.db.read().await?, &key.instance).await?;
    cx.reply(&view::role(rules::find_role(&access, &id)?, &access))
}

async fn create(cx: Cx, OrganizationsKey(key): OrganizationsKey, Input(input): Input<CreateRole>) -> Reply {
    let act = cx.act(&key);
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let access = store::lock(tx, &act.instance, act.now).await?;
            let (access, id) = rules::create_role(access, &input, &act)?;
            store::save(tx, &access, act.now).await?;
            emit(tx, &act, Event::RoleCreated, &access, &id)?;
            Ok((access, id))
        })
    });
    let (access, id) = written.await?;
    cx.reply(&view::role(rules::find_role(&access, &id)?, &access))
}

async fn update(
    cx: Cx,
    key: OrganizationsKey,
    Path(id): Path<RoleId>,
    Input(input): Input<UpdateRole>,
) -> Reply {
    change(cx, key, id, move |access, id, act| rules::update_role(access, id, input, act)).await
}

async fn assign(
    cx: Cx,
    key: OrganizationsKey,
    Path((id, permission)): Path<(RoleId, PermissionId)>,
) -> Reply {
    change(cx, key, id, move |access, id, act| rules::assign(access, id, &permission, act)).await
}

async fn remove(
    cx: Cx,
    key: OrganizationsKey,
    Path((id, permission)): Path<(RoleId, PermissionId)>,
) -> Reply {
    change(cx, key, id, move |access, id, act| rules::remove(access, id, &permission, act)).await
}

/// Changes a role by a pure rule, and shows it. One that is as before is not saved.
async fn change<R>(cx: Cx, OrganizationsKey(key): OrganizationsKey, id: RoleId, rule: R) -> Reply
where
    R: FnOnce(Access, &RoleId, &Act) -> Result<Access> + Send + 'static,
{
    let (act, role) = (cx.act(&key), id.clone());
    let changed = cx.write(move |tx| Box::pin(async move { change_in(tx, &act, &role, rule).await }));
    let access = changed.await?;
    cx.reply(&view::role(rules::find_role(&access, &id)?, &access))
}

async fn change_in<R>(tx: &mut Tx, act: &Act, id: &RoleId, rule: R) -> Result<Access>
where
    R: FnOnce(Access, &RoleId, &Act) -> Result<Access> + Send + 'static,
{
    let before = store::lock(tx, &act.instance, act.now).await?;
    let after = rule(before.clone(), id, act)?;
    if after != before {
        store::save(tx, &after, act.now).await?;
        emit(tx, act, Event::RoleUpdated, &after, id)?;
    }
    Ok(after)
}

async fn delete(cx: Cx, OrganizationsKey(key): OrganizationsKey, Path(id): Path<RoleId>) -> Reply {
    let (act, gone) = (cx.act(&key), deleted("role", &id));
    cx.write(move |tx| Box::pin(async move { delete_in(tx, &act, &id).await })).await?;
    cx.reply(&gone)
}

async fn delete_in(tx: &mut Tx, act: &Act, id: &RoleId) -> Result<()> {
    let access = store::lock(tx, &act.instance, act.now).await?;
    // Whoever gives somebody a role shares the document, so this stays true until we commit.
    let used = RoleUse {
        has_members: memberships::is_role_held(tx, &act.instance, id).await?,
        is_promised: store::is_promised(tx, &act.instance, id, act.now).await?,
    };
    let access = rules::delete_role(access, id, used, act)?;
    store::save(tx, &access, act.now).await?;
    outbox::emit(tx, act, Event::RoleDeleted, id.as_str(), &deleted("role", id))
}

/// Records an event about a role.
pub fn emit(tx: &mut Tx, act: &Act, event: Event, access: &Access, id: &RoleId) -> Result<()> {
    outbox::emit(tx, act, event, id.as_str(), &view::role(rules::find_role(access, id)?, access))
}
