//! The roles that members of an organization can have.

use axum::response::Response;
use latchkey_base::Time;
use latchkey_base::kinds::{OrganizationId, PermissionId, RoleId};
use latchkey_base::page::Paging;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::{AppState, object};
use latchkey_organizations::access::model::{Access, Permission, Role};
use latchkey_web::api::Api;
use latchkey_web::input::Path;
use latchkey_web::query::Query;
use schemars::JsonSchema;
use serde::Serialize;

use super::member::Member;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Roles");
    api.get("/v1/organizations/{organization_id}/roles", "ListOrganizationRoles", list)
        .summary("List the roles of an organization")
        .returns::<Envelope<'_, RolesView<'_>>>()
        .only_reads()
        .errors(&[403, 404]);
}

/// The roles of an organization.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationRoles")]
pub struct RolesView<'a> {
    data: Vec<FrontendRoleView<'a>>,
    total_count: usize,
    /// Whether members are being given other roles.
    has_role_set_migration: bool,
}

/// A role as members see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FrontendRole")]
struct FrontendRoleView<'a> {
    object: RoleObject,
    id: &'a RoleId,
    name: &'a str,
    key: &'a str,
    description: &'a str,
    is_creator_eligible: bool,
    permissions: Vec<FrontendPermissionView<'a>>,
    created_at: Time,
    updated_at: Time,
}

object!(RoleObject, "role");

/// A permission as members see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FrontendPermission")]
struct FrontendPermissionView<'a> {
    object: PermissionObject,
    id: &'a PermissionId,
    name: &'a str,
    key: &'a str,
    description: &'a str,
    r#type: &'static str,
    created_at: Time,
    updated_at: Time,
}

object!(PermissionObject, "permission");

async fn list(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Query(paging): Query<Paging>,
) -> Response {
    match Member::find(&cx, &person, &id).await {
        Ok(member) => person.visitor.answer(&cx, Ok(view(&member, paging))).await,
        Err(error) => person.visitor.answer::<()>(&cx, Err(error)).await,
    }
}

fn view(member: &Member, paging: Paging) -> RolesView<'_> {
    let access = &member.access;
    let ids = access.role_set(&member.organization.role_set).map(|set| set.roles.as_slice());
    let ids = ids.unwrap_or_default();
    let size = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    let page = ids.iter().filter_map(|id| access.role(id)).skip(size(paging.offset)).take(size(paging.limit));
    RolesView {
        data: page.map(|shown| role(shown, access)).collect(),
        total_count: ids.len(),
        has_role_set_migration: access.is_migrating(&member.organization.role_set),
    }
}

fn role<'a>(role: &'a Role, access: &'a Access) -> FrontendRoleView<'a> {
    FrontendRoleView {
        object: RoleObject::It,
        id: &role.id,
        name: &role.name,
        key: &role.key,
        description: role.description.as_deref().unwrap_or_default(),
        is_creator_eligible: access.is_creator_eligible(role),
        permissions: role.permissions.iter().filter_map(|id| access.permission(id)).map(permission).collect(),
        created_at: role.created_at,
        updated_at: role.updated_at,
    }
}

fn permission(permission: &Permission) -> FrontendPermissionView<'_> {
    FrontendPermissionView {
        object: PermissionObject::It,
        id: &permission.id,
        name: &permission.name,
        key: &permission.key,
        description: &permission.description,
        r#type: if permission.is_system() { "system" } else { "user" },
        created_at: permission.created_at,
        updated_at: permission.updated_at,
    }
}
