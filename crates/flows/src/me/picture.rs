//! The picture of the current user.

use axum::extract::Request;
use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_people::users::model::User;
use latchkey_people::users::pictures::{self, Picture, Upload};
use latchkey_people::users::view::image_url;
use latchkey_web::api::Api;

use super::target;
use super::view::{self, ImageView};

pub fn routes(api: &mut Api<AppState>) {
    api.group("User");
    api.post("/v1/me/profile_image", "updateProfileImage", set)
        .summary("Set the picture of the current user")
        .returns::<Envelope<'_, ImageView>>();
    api.delete("/v1/me/profile_image", "deleteProfileImage", delete)
        .summary("Remove the picture of the current user")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[404]);
}

async fn set(cx: Cx, person: Person, Upload(request): Upload) -> Response {
    let outcome = put(&cx, &person, request).await;
    let view = |user: User| {
        let id = user.image.as_ref().map(ToString::to_string).unwrap_or_default();
        view::image(id, image_url(&user, &person.visitor.site.base_url))
    };
    person.visitor.answer(&cx, outcome.map(view)).await
}

async fn put(cx: &Cx, person: &Person, request: Request) -> Result<User> {
    let picture = Picture::read(pictures::from_browser(request).await?)?;
    let user = &person.user;
    let who = (user.instance.as_str(), user.id.as_str(), cx.network);
    cx.app.rate_limits.check_upload(&cx.app.throttle, who, picture.pixels, cx.now).await?;
    let owner = WorkOwner::user(&user.instance, &user.id);
    pictures::put(cx, person.visitor.act(cx), target(person), picture, owner).await
}

async fn delete(cx: Cx, person: Person) -> Response {
    let id = person.user.image.as_ref().map(ToString::to_string);
    let outcome = match &id {
        Some(_) => pictures::take_away(&cx, person.visitor.act(&cx), target(&person)).await,
        None => Err(Error::new(Code::ImageNotFound)),
    };
    let gone = |_| deleted("image", &id.unwrap_or_default());
    person.visitor.answer(&cx, outcome.map(gone)).await
}
