//! The logo of an organization.

use axum::extract::Request;
use axum::response::Response;
use latchkey_base::kinds::{ImageId, OrganizationId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_organizations::access::model::MANAGE_PROFILE;
use latchkey_organizations::orgs::change::set_logo;
use latchkey_organizations::orgs::model::Organization;
use latchkey_organizations::orgs::view::FrontendOrganizationView;
use latchkey_people::users::pictures::{self, Picture, Upload};
use latchkey_web::api::Api;
use latchkey_web::input::Path;

use super::member::Member;
use super::show;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organization");
    api.put("/v1/organizations/{organization_id}/logo", "updateOrganizationLogo", put)
        .summary("Set the logo of an organization")
        .returns::<Envelope<'_, FrontendOrganizationView<'_>>>()
        .errors(&[403, 404]);
    api.delete("/v1/organizations/{organization_id}/logo", "deleteOrganizationLogo", delete)
        .summary("Remove the logo of an organization")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403, 404]);
}

async fn put(cx: Cx, person: Person, Path(id): Path<OrganizationId>, Upload(request): Upload) -> Response {
    let outcome = uploaded(&cx, &person, id, request).await;
    show(&cx, &person, outcome).await
}

/// Whoever may not change the logo is refused before anything is decoded.
async fn uploaded(cx: &Cx, person: &Person, id: OrganizationId, request: Request) -> Result<Organization> {
    let allowed = Member::find_with(cx, person, &id, MANAGE_PROFILE).await;
    // The upload is read to its end all the same: clients only listen after sending.
    let upload = pictures::from_browser(request).await;
    allowed?;
    let picture = Picture::read(upload?)?;
    let user = &person.user;
    let who = (user.instance.as_str(), user.id.as_str(), cx.network);
    cx.app.rate_limits.check_upload(&cx.app.throttle, who, picture.pixels, cx.now).await?;
    let picture = picture.decoded(cx, &WorkOwner::user(&user.instance, &user.id)).await?;
    let (act, user) = (person.visitor.act(cx), user.id.clone());
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let member = Member::lock_with(tx, &act, &user, &id, MANAGE_PROFILE).await?;
            set_logo(tx, &act, member.organization, Some(&picture), &member.access).await
        })
    });
    written.await
}

async fn delete(cx: Cx, person: Person, Path(id): Path<OrganizationId>) -> Response {
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let outcome = cx.write(move |tx| Box::pin(async move { delete_in(tx, &act, &user, &id).await })).await;
    person.visitor.answer(&cx, outcome.map(|image| deleted("image", &image))).await
}

async fn delete_in(tx: &mut Tx, act: &Act, user: &UserId, id: &OrganizationId) -> Result<ImageId> {
    let member = Member::lock_with(tx, act, user, id, MANAGE_PROFILE).await?;
    let missing = || Error::new(Code::ImageNotFound);
    let image = member.organization.image.clone().ok_or_else(missing)?;
    set_logo(tx, act, member.organization, None, &member.access).await?;
    Ok(image)
}
