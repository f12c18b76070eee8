//! Creating, showing, changing and deleting an organization.

use axum::response::Response;
use latchkey_base::kinds::{OrganizationId, UserId};
use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_organizations::access::model::{DELETE_PROFILE, MANAGE_PROFILE};
use latchkey_organizations::orgs::change::{explained, save};
use latchkey_organizations::orgs::input::{CreateOrganization, UpdateOrganization};
use latchkey_organizations::orgs::model::Organization;
use latchkey_organizations::orgs::view::FrontendOrganizationView;
use latchkey_organizations::orgs::{create, rules};
use latchkey_organizations::removals;
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use schemars::JsonSchema;
use serde::Deserialize;

use super::member::{Member, check_actor};
use super::show;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organization");
    api.post("/v1/organizations", "createOrganization", create_mine)
        .summary("Create an organization and join it")
        .returns::<Envelope<'_, FrontendOrganizationView<'_>>>()
        .errors(&[403]);
    api.get("/v1/organizations/{organization_id}", "getOrganization", get)
        .summary("Get an organization of the current user")
        .returns::<Envelope<'_, FrontendOrganizationView<'_>>>()
        .only_reads()
        .errors(&[403, 404]);
    api.patch("/v1/organizations/{organization_id}", "updateOrganization", update)
        .wants_body()
        .summary("Update an organization of the current user")
        .returns::<Envelope<'_, FrontendOrganizationView<'_>>>()
        .errors(&[403, 404]);
    api.delete("/v1/organizations/{organization_id}", "deleteOrganization", delete)
        .summary("Delete an organization of the current user")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403, 404]);
}

/// Body of `createOrganization`.
#[derive(Deserialize, JsonSchema)]
pub struct NewOrganization {
    /// The name; at most 256 characters.
    pub name: String,
    /// Lower-case letters, digits and `-`; unique in the instance. Made from the name unless it is given.
    #[serde(default)]
    pub slug: Option<String>,
}

/// Body of `updateOrganization`. What is empty stays as it is.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChangedOrganization {
    /// The name; at most 256 characters.
    pub name: Patch<String>,
    /// Lower-case letters, digits and `-`; unique in the instance.
    pub slug: Patch<String>,
}

async fn create_mine(cx: Cx, person: Person, Form(input): Form<NewOrganization>) -> Response {
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let written = cx.write(move |tx| Box::pin(async move { created(tx, &act, &user, input).await }));
    let outcome = written.await.map_err(explained);
    show(&cx, &person, outcome).await
}

async fn created(tx: &mut Tx, act: &Act, user: &UserId, input: NewOrganization) -> Result<Organization> {
    rules::check_enabled(&act.settings)?;
    let creator = users::lock(tx, &act.instance, user).await?.ok_or_else(|| Error::new(Code::SignedOut))?;
    rules::check_may_create(&creator, &act.settings)?;
    let input = CreateOrganization { name: input.name, slug: input.slug, ..CreateOrganization::default() };
    Ok(create::create(tx, act, &input, Some(&creator)).await?.0)
}

async fn get(cx: Cx, person: Person, Path(id): Path<OrganizationId>) -> Response {
    let outcome = Member::find(&cx, &person, &id).await;
    show(&cx, &person, outcome.map(|member| member.organization)).await
}

async fn update(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Form(input): Form<ChangedOrganization>,
) -> Response {
    let input = UpdateOrganization { name: input.name, slug: input.slug, ..UpdateOrganization::default() };
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let member = Member::lock_with(tx, &act, &user, &id, MANAGE_PROFILE).await?;
            let after = rules::update(member.organization.clone(), &input, &act)?;
            save(tx, &act, &member.organization, after, &member.access).await
        })
    });
    let outcome = written.await.map_err(explained);
    show(&cx, &person, outcome).await
}

async fn delete(cx: Cx, person: Person, Path(id): Path<OrganizationId>) -> Response {
    if let Err(refusal) = check_actor(&person) {
        return person.visitor.answer::<()>(&cx, Err(refusal)).await;
    }
    let gone = deleted("organization", &id);
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let outcome = cx.write(move |tx| Box::pin(async move { delete_in(tx, &act, &user, &id).await })).await;
    person.visitor.answer(&cx, outcome.map(|_| gone)).await
}

async fn delete_in(tx: &mut Tx, act: &Act, user: &UserId, id: &OrganizationId) -> Result<Organization> {
    let member = Member::lock_with(tx, act, user, id, DELETE_PROFILE).await?;
    match member.organization.admin_delete_enabled {
        true => removals::delete_organization(tx, act, id).await,
        false => Err(Error::new(Code::OrganizationAdminDeleteNotEnabled)),
    }
}
