//! Routes and handlers of role sets on the backend API.

use latchkey_base::Result;
use latchkey_base::kinds::RoleSetId;
use latchkey_db::Tx;
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{DeletedView, ListView, deleted};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::input::{AddRoles, CreateRoleSet, ListAccess, ReplaceRole, ReplaceRoleSet, UpdateRoleSet};
use super::model::{Access, RoleSet};
use super::sets::{self, RoleSetReplacement};
use super::view::{self, MigrationProgress, RoleSetState, RoleSetView};
use super::{list, store};
use crate::key::OrganizationsKey;
use crate::memberships::store as memberships;
use crate::role_migrations::run;
use crate::role_migrations::store as migrations;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Role Sets");
    api.get("/role_sets", "ListRoleSets", list_all)
        .summary("List role sets")
        .returns::<ListView<RoleSetView>>()
        .errors(&[403]);
    api.post("/role_sets", "CreateRoleSet", create)
        .summary("Create a role set")
        .returns::<RoleSetView>()
        .errors(&[403]);
    api.get("/role_sets/{role_set_key_or_id}", "GetRoleSet", get)
        .summary("Get a role set by its key or id")
        .returns::<RoleSetView>()
        .errors(&[403]);
    api.patch("/role_sets/{role_set_key_or_id}", "UpdateRoleSet", update)
        .summary("Update a role set")
        .wants_body()
        .returns::<RoleSetView>()
        .errors(&[403, 409]);
    api.post("/role_sets/{role_set_key_or_id}/replace", "ReplaceRoleSet", replace)
        .summary("Give organizations another role set, and delete this one")
        .returns::<DeletedView>()
        .errors(&[403, 409]);
    api.post("/role_sets/{role_set_key_or_id}/roles", "AddRolesToRoleSet", add_roles)
        .summary("Add roles to a role set")
        .returns::<RoleSetView>()
        .errors(&[403, 409]);
    api.post("/role_sets/{role_set_key_or_id}/roles/replace", "ReplaceRoleInRoleSet", replace_role)
        .summary("Put a role of a role set in the place of another")
        .returns::<RoleSetView>()
        .errors(&[403, 409]);
}

async fn list_all(cx: Cx, OrganizationsKey(key): OrganizationsKey, Query(query): Query<ListAccess>) -> Reply {
    let mut tx = cx.backend_reads(&key.instance).long().await?;
    let access = store::find(&mut tx, &key.instance).await?;
    let (page, total_count) = list::page(&access.role_sets, &query)?;
    let mut data = Vec::with_capacity(page.len());
    for set in page {
        let state = state(&mut tx, &access, set).await?;
        data.push(view::role_set(set, &access, &state));
    }
    cx.reply(&ListView { data, total_count })
}

async fn get(cx: Cx, OrganizationsKey(key): OrganizationsKey, Path(set): Path<String>) -> Reply {
    let access = store::find(&mut cx.app.db.read().await?, &key.instance).await?;
    reply(&cx, &access, sets::find(&access, &set)?).await
}

async fn create(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Input(input): Input<CreateRoleSet>,
) -> Reply {
    change(cx, key, move |access, act| sets::create(access, &input, act)).await
}

async fn update(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(set): Path<String>,
    Input(input): Input<UpdateRoleSet>,
) -> Reply {
    change(cx, key, move |access, act| sets::update(access, &set, input, act)).await
}

async fn add_roles(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(set): Path<String>,
    Input(input): Input<AddRoles>,
) -> Reply {
    change(cx, key, move |access, act| sets::add_roles(access, &set, &input, act)).await
}

/// Changes a role set by a pure rule, and shows it. One that is as before is not saved.
async fn change<R>(cx: Cx, key: SecretKey, rule: R) -> Reply
where
    R: FnOnce(Access, &Act) -> Result<(Access, RoleSetId)> + Send + 'static,
{
    cx.backend_reads(&key.instance).wait().await?;
    let act = cx.act(&key);
    let changed = cx.write(move |tx| Box::pin(async move { change_in(tx, &act, rule).await }));
    let (access, id) = changed.await?;
    reply(&cx, &access, sets::find(&access, id.as_str())?).await
}

async fn change_in<R>(tx: &mut Tx, act: &Act, rule: R) -> Result<(Access, RoleSetId)>
where
    R: FnOnce(Access, &Act) -> Result<(Access, RoleSetId)> + Send + 'static,
{
    let before = store::lock(tx, &act.instance, act.now).await?;
    let (after, id) = rule(before.clone(), act)?;
    if after != before {
        store::save(tx, &after, act.now).await?;
    }
    Ok((after, id))
}

async fn replace_role(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(set): Path<String>,
    Input(input): Input<ReplaceRole>,
) -> Reply {
    cx.backend_reads(&key.instance).wait().await?;
    let act = cx.act(&key);
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let access = store::lock(tx, &act.instance, act.now).await?;
            let (access, migration) = sets::replace_role(access, &set, &input, &act)?;
            let id = migration.source.clone();
            Ok((run::begin(tx, &act, access, migration).await?, id))
        })
    });
    let (access, id) = written.await?;
    reply(&cx, &access, sets::find(&access, id.as_str())?).await
}

async fn replace(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(set): Path<String>,
    Input(input): Input<ReplaceRoleSet>,
) -> Reply {
    let act = cx.act(&key);
    let written = cx.write(move |tx| Box::pin(async move { replace_in(tx, &act, &set, &input).await }));
    cx.reply(&deleted("role_set", &written.await?))
}

async fn replace_in(tx: &mut Tx, act: &Act, set: &str, input: &ReplaceRoleSet) -> Result<RoleSetId> {
    let access = store::lock(tx, &act.instance, act.now).await?;
    let RoleSetReplacement { access, migration, unassigned } = sets::replace(access, set, input, act)?;
    let source = migration.source.clone();
    for role in &unassigned {
        let found = memberships::first_organization_with(tx, &act.instance, &source, role, None).await?;
        if found.is_some() {
            return Err(sets::mapping_missing(&access, role));
        }
    }
    run::begin(tx, act, access, migration).await?;
    Ok(source)
}

/// Answers with a role set. Its members are counted, which may take long: whoever changes it first waits for the turn, which
/// this has then too.
async fn reply(cx: &Cx, access: &Access, set: &RoleSet) -> Reply {
    let mut tx = cx.backend_reads(&access.instance).long().await?;
    let state = state(&mut tx, access, set).await?;
    cx.reply(&view::role_set(set, access, &state))
}

/// What a role set shows besides what it is.
async fn state(tx: &mut Tx, access: &Access, set: &RoleSet) -> Result<RoleSetState> {
    let progress = match access.migration_from(&set.id) {
        Some(migration) => migrations::find(tx, &access.instance, &migration.id).await?,
        None => None,
    };
    Ok(RoleSetState {
        members: memberships::count_by_role(tx, &access.instance, &set.id).await?,
        progress: progress.map(|work| MigrationProgress {
            migrated_members: work.migrated_members,
            updated_at: work.updated_at,
        }),
    })
}
