//! Uploading and removing a user's picture.

use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use axum::response::Response;
use latchkey_base::kinds::{ImageId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_images::ImageError;
use latchkey_web::input::{EXCESS, Path, is_content_type};
use latchkey_web::reply::Failure;

use super::change::Target;
use super::model::User;
use super::{rules, view};
use crate::auth::SecretKey;
use crate::cx::{Act, Cx};
use crate::limits::IMAGE_BYTES;
use crate::resources::images;

/// `SetUserProfileImage`
pub async fn set(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    request: Request,
) -> Result<Response, Failure> {
    let upload = file(request).await?;
    let act = cx.act(&key);
    let user = put(&cx, act.clone(), Target::User(id), upload).await?;
    cx.reply(&view::user(&user, act.lens()))
}

/// `DeleteUserProfileImage`
pub async fn delete(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Result<Response, Failure> {
    let act = cx.act(&key);
    let user = take_away(&cx, act.clone(), Target::User(id)).await?;
    cx.reply(&view::user(&user, act.lens()))
}

/// Gives a user an uploaded picture in place of the one they have.
pub async fn put(cx: &Cx, act: Act, target: Target, upload: Vec<u8>) -> Result<User> {
    let picture = cx.app.slow.run(move || latchkey_images::normalise(&upload)).await?.map_err(refusal)?;
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let before = target.lock(tx, &act).await?;
            let image = ImageId::new(act.now, &*act.rng);
            let Act { instance, now, .. } = &act;
            images::store::delete_all(tx, instance, &before.id).await?;
            images::store::insert(tx, instance, &before.id, &image, &picture, *now).await?;
            let after = rules::set_image(before.clone(), Some(image));
            act.save_user(tx, &before, after).await
        })
    });
    written.await
}

/// Takes a user's picture away.
pub async fn take_away(cx: &Cx, act: Act, target: Target) -> Result<User> {
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let before = target.lock(tx, &act).await?;
            images::store::delete_all(tx, &act.instance, &before.id).await?;
            act.save_user(tx, &before, rules::set_image(before.clone(), None)).await
        })
    });
    written.await
}

/// The bytes of the part `file`.
pub async fn file(request: Request) -> Result<Vec<u8>> {
    if !is_content_type(request.headers(), "multipart/form-data") {
        return Err(Error::new(Code::UnsupportedContentType)
            .saying("Send the picture as `multipart/form-data`, in a part named `file`."));
    }
    let unreadable = |status: StatusCode| match status {
        StatusCode::PAYLOAD_TOO_LARGE => Error::new(Code::ImageTooLarge),
        _ => Error::new(Code::RequestBodyInvalid).saying("The form cannot be read."),
    };
    let (parts, body) = request.into_parts();
    let limited = axum::body::Body::new(http_body_util::Limited::new(body, IMAGE_BYTES + EXCESS));
    let mut form = Multipart::from_request(Request::from_parts(parts, limited), &())
        .await
        .map_err(|refused| unreadable(refused.status()))?;
    while let Some(mut part) = form.next_field().await.map_err(|error| unreadable(error.status()))? {
        if part.name() != Some("file") {
            continue;
        }
        // What is too much is read to its end and thrown away: clients only listen after sending.
        let (mut bytes, mut length) = (Vec::new(), 0);
        while let Some(chunk) = part.chunk().await.map_err(|error| unreadable(error.status()))? {
            length += chunk.len();
            if length <= IMAGE_BYTES {
                bytes.extend_from_slice(&chunk);
            }
        }
        return if length <= IMAGE_BYTES { Ok(bytes) } else { Err(Error::new(Code::ImageTooLarge)) };
    }
    Err(Error::param(Code::FormParamMissing, "file").recoded(Code::ImageFileMissing))
}

fn refusal(error: ImageError) -> Error {
    match error {
        ImageError::TooLarge => Error::new(Code::ImageTooLarge),
        ImageError::Unsupported => {
            Error::new(Code::RequestBodyInvalid).saying("The picture must be a PNG, JPEG, GIF or WebP.")
        }
        ImageError::Undecodable => {
            Error::new(Code::RequestBodyInvalid).saying("The picture cannot be decoded.")
        }
        ImageError::TooManyPixels => {
            Error::new(Code::RequestBodyInvalid).saying("The picture has too many pixels.")
        }
    }
}
