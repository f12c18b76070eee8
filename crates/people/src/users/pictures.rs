//! Uploading and removing a user's picture.

use axum::body::HttpBody as _;
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::kinds::{ImageId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_images::{Image, ImageError};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::{IMAGE_BYTES, IMAGE_PIXELS};
use latchkey_kernel::slow::WorkOwner;
use latchkey_web::api::{Body, Operation};
use latchkey_web::bodies::BodyShare;
use latchkey_web::input::{EXCESS, Path, is_content_type, read_body};
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;

use super::change::{UserTarget, save_user};
use super::model::User;
use super::rules;
use super::view::{self, ViewContext};
use crate::images;

/// The part of the form that holds the file.
const PART: &str = "file";

/// A request with a file in a form.
pub struct Upload(pub Request);

impl FromRequest<AppState> for Upload {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &AppState) -> Result<Upload, Failure> {
        Ok(Upload(request))
    }
}

impl Argument for Upload {
    fn describe(row: &mut Operation) {
        row.body = Some(Body::File(PART, &[]));
    }
}

/// The part that names the user in whose name a file is uploaded.
const UPLOADER: &str = "uploader_user_id";
/// More than any id has.
const UPLOADER_BYTES: usize = 256;

/// A request with a file in a form, and perhaps in whose name it is uploaded.
pub struct CreditedUpload(pub Request);

impl FromRequest<AppState> for CreditedUpload {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &AppState) -> Result<CreditedUpload, Failure> {
        Ok(CreditedUpload(request))
    }
}

impl Argument for CreditedUpload {
    fn describe(row: &mut Operation) {
        row.body = Some(Body::File(PART, &[UPLOADER]));
    }
}

/// `SetUserProfileImage`
pub async fn set(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Upload(request): Upload,
) -> Result<Response, Failure> {
    let upload = file(request).await?;
    let act = cx.act(&key);
    let owner = WorkOwner::backend(&key.instance);
    let user = put(&cx, act.clone(), UserTarget::User(id), Picture::read(upload)?, owner).await?;
    cx.reply(&view::user(&user, ViewContext::of(&act)))
}

/// `DeleteUserProfileImage`
pub async fn delete(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Result<Response, Failure> {
    let act = cx.act(&key);
    let user = take_away(&cx, act.clone(), UserTarget::User(id)).await?;
    cx.reply(&view::user(&user, ViewContext::of(&act)))
}

/// An upload whose header was read and found fit; it is not decoded yet.
pub struct Picture {
    upload: Vec<u8>,
    /// How many pixels it announces.
    pub pixels: u64,
}

impl Picture {
    /// Reads the header of an upload. What would take too long to decode is refused here.
    pub fn read(upload: Vec<u8>) -> Result<Picture> {
        let pixels = latchkey_images::measure(&upload, IMAGE_PIXELS).map_err(refusal)?;
        Ok(Picture { upload, pixels })
    }

    /// The picture in the form it is kept in. It is decoded for `owner`.
    pub async fn decoded(self, cx: &Cx, owner: &WorkOwner) -> Result<Image> {
        let work = move || latchkey_images::normalise(&self.upload, IMAGE_PIXELS);
        cx.app.uploads.run(owner, work).await?.map_err(refusal)
    }
}

/// Gives a user an uploaded picture in place of the one they have. It is decoded for `owner`.
pub async fn put(cx: &Cx, act: Act, target: UserTarget, picture: Picture, owner: WorkOwner) -> Result<User> {
    let picture = picture.decoded(cx, &owner).await?;
    cx.write(move |tx| Box::pin(async move { put_in(tx, &act, target, &picture).await })).await
}

async fn put_in(tx: &mut Tx, act: &Act, target: UserTarget, picture: &Image) -> Result<User> {
    let before = target.lock(tx, act).await?;
    let image = ImageId::new(act.now, &*act.rng);
    images::delete_all(tx, &act.instance, &before.id).await?;
    images::insert(tx, &act.instance, &before.id, &image, picture, act.now).await?;
    let after = rules::set_image(before.clone(), Some(image));
    save_user(tx, act, &before, after).await
}

/// Takes a user's picture away.
pub async fn take_away(cx: &Cx, act: Act, target: UserTarget) -> Result<User> {
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let before = target.lock(tx, &act).await?;
            images::delete_all(tx, &act.instance, &before.id).await?;
            save_user(tx, &act, &before, rules::set_image(before.clone(), None)).await
        })
    });
    written.await
}

/// The bytes of the part `file`.
pub async fn file(request: Request) -> Result<Vec<u8>> {
    Ok(credited_file(request).await?.0)
}

/// The same, and what the part `uploader_user_id` says.
pub async fn credited_file(request: Request) -> Result<(Vec<u8>, Option<String>)> {
    let share = request.extensions().get::<BodyShare>().cloned();
    let mut form = form(request).await?;
    let (mut file, mut uploader) = (None, None);
    while let Some(part) = form.next_field().await.map_err(unreadable)? {
        match part.name() {
            Some(PART) if file.is_none() => {
                let too_large = || Error::new(Code::ImageTooLarge);
                file = Some(bytes(part, IMAGE_BYTES).await?.ok_or_else(too_large)?);
            }
            Some(UPLOADER) if uploader.is_none() => {
                let text = bytes(part, UPLOADER_BYTES).await?.and_then(|bytes| String::from_utf8(bytes).ok());
                let invalid = || Error::param(Code::FormParamValueInvalid, UPLOADER);
                uploader = Some(text.ok_or_else(invalid)?);
            }
            _ => {}
        }
    }
    if let Some(share) = share {
        share.recheck().await?;
    }
    let missing = || Error::param(Code::FormParamMissing, PART).recoded(Code::ImageFileMissing);
    Ok((file.ok_or_else(missing)?, uploader.filter(|text| !text.is_empty())))
}

/// The form of a request, of which no more is read than a picture may have.
async fn form(request: Request) -> Result<Multipart> {
    if !is_content_type(request.headers(), "multipart/form-data") {
        return Err(Error::new(Code::UnsupportedContentType)
            .saying("Send the picture as `multipart/form-data`, in a part named `file`."));
    }
    let (parts, body) = request.into_parts();
    if body.size_hint().lower() > (IMAGE_BYTES + EXCESS) as u64 {
        return Err(Error::new(Code::ImageTooLarge));
    }
    let limited = axum::body::Body::new(http_body_util::Limited::new(body, IMAGE_BYTES + EXCESS));
    let form = Multipart::from_request(Request::from_parts(parts, limited), &()).await;
    form.map_err(|refused| unreadable_status(refused.status()))
}

/// The bytes of a part; nothing if there are more than `most`.
async fn bytes(mut part: Field<'_>, most: usize) -> Result<Option<Vec<u8>>> {
    // What is too much is read to its end and thrown away: clients only listen after sending.
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(chunk) = part.chunk().await.map_err(unreadable)? {
        length += chunk.len();
        if length <= most {
            bytes.extend_from_slice(&chunk);
        }
    }
    Ok((length <= most).then_some(bytes))
}

fn unreadable(error: MultipartError) -> Error {
    unreadable_status(error.status())
}

fn unreadable_status(status: StatusCode) -> Error {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => Error::new(Code::ImageTooLarge),
        _ => Error::new(Code::RequestBodyInvalid).saying("The form cannot be read."),
    }
}

/// A picture as browsers send it: in a form, or as the base64 of a data URL, which scripts hold that have it as text.
pub async fn from_browser(request: Request) -> Result<Vec<u8>> {
    match is_content_type(request.headers(), "application/octet-stream") {
        true => encoded(request).await,
        false => file(request).await,
    }
}

/// The base64 of a picture is a third longer than the picture.
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
            let most = IMAGE_PIXELS / 1_000_000;
            Error::new(Code::ImageTooManyPixels).saying(format!(
                "The picture has too many pixels, or a side of more than 8192: make it smaller. At most {most} megapixels are \
                 decoded."
            ))
        }
    }
}
