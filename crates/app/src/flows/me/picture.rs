//! The picture of the current user.

use axum::extract::Request;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::input::{is_content_type, read_body};

use super::view::{self, ImageView};
use super::{DeletedAnswer, target};
use crate::AppState;
use crate::cx::Cx;
use crate::frontend::person::Person;
use crate::frontend::reply::Envelope;
use crate::limits::IMAGE_BYTES;
use crate::resources::users::model::User;
use crate::resources::users::pictures;
use crate::resources::users::view::{deleted, image_url};

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("User");
    api.post("/v1/me/profile_image", "updateProfileImage", set)
        .summary("Set the picture of the current user")
        .file("file")
        .returns::<Envelope<'_, ImageView>>();
    api.delete("/v1/me/profile_image", "deleteProfileImage", delete)
        .summary("Remove the picture of the current user")
        .returns::<DeletedAnswer<'_>>()
        .errors(&[404]);
}

async fn set(cx: Cx, person: Person, request: Request) -> Response {
    let outcome = put(&cx, &person, request).await;
    let view = |user: User| {
        let id = user.image.as_ref().map(ToString::to_string).unwrap_or_default();
        view::image(id, image_url(&user, &person.visitor.site.base_url))
    };
    cx.answer(&person.visitor, outcome.map(view)).await
}

async fn put(cx: &Cx, person: &Person, request: Request) -> Result<User> {
    let upload = match is_content_type(request.headers(), "application/octet-stream") {
        true => encoded(request).await?,
        false => pictures::file(request).await?,
    };
    pictures::put(cx, person.visitor.act(cx), target(person), upload).await
}

/// Scripts that hold a picture as text send it as the base64 of a data URL, which is a third longer.
async fn encoded(request: Request) -> Result<Vec<u8>> {
    let bytes = read_body(request, IMAGE_BYTES / 3 * 4 + 256).await;
    let bytes = bytes.map_err(|error| match error.code() {
        Code::RequestBodyTooLarge => error.recoded(Code::ImageTooLarge),
        _ => error,
    })?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default().trim();
    let text = text.rsplit_once(";base64,").map_or(text, |(_, text)| text);
    STANDARD
        .decode(text)
        .map_err(|_| Error::new(Code::RequestBodyInvalid).saying("The picture is not base64."))
}

async fn delete(cx: Cx, person: Person) -> Response {
    let id = person.user.image.as_ref().map(ToString::to_string);
    let outcome = match &id {
        Some(_) => pictures::take_away(&cx, person.visitor.act(&cx), target(&person)).await,
        None => Err(Error::new(Code::ImageNotFound)),
    };
    let gone = |_| deleted("image", &id.unwrap_or_default());
    cx.answer(&person.visitor, outcome.map(gone)).await
}
