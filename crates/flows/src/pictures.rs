//! Serving pictures.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::kinds::{ImageId, InstanceId, OrganizationKind, UserKind};
use latchkey_base::{Code, Error, Id, Result};
use latchkey_door::gate;
use latchkey_images::{Fit, Resize};
use latchkey_kernel::limits::RESIZED_IMAGES;
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::{App, AppState};
use latchkey_organizations::logos;
use latchkey_people::images::{self, StoredImage};
use latchkey_web::input::Path;
use latchkey_web::network::Network;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// How large a picture is wanted.
#[derive(Deserialize, JsonSchema)]
pub struct Size {
    /// Pixels across.
    #[schemars(range(min = 1, max = 1024))]
    width: Option<i64>,
    /// Pixels down.
    #[schemars(range(min = 1, max = 1024))]
    height: Option<i64>,
    /// Whether the picture is fitted in, or cut to fill.
    #[serde(default)]
    fit: FitInput,
    /// JPEG quality.
    #[serde(default = "default_quality")]
    #[schemars(range(min = 1, max = 100))]
    quality: i64,
    /// For drawn pictures: the initials, in base64url.
    initials: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum FitInput {
    #[default]
    ScaleDown,
    Crop,
}

fn default_quality() -> i64 {
    85
}

/// `GET /images/{instance_id}/{image_id}`
pub async fn uploaded(
    State(AppState(app)): State<AppState>,
    Path((instance, id)): Path<(InstanceId, ImageId)>,
    Query(size): Query<Size>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, Failure> {
    let is_resized = size.width.is_some() || size.height.is_some();
    let network = match is_resized {
        true => gate::count(&app, &instance, &headers, &extensions, RESIZED_IMAGES).await?,
        false => Network::UNKNOWN,
    };
    let stored = stored(&app, &instance, &id).await?;
    if !is_resized {
        return Ok(picture(&stored.content_type, stored.bytes));
    }
    let pixels = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
    let options = Resize {
        width: pixels(size.width),
        height: pixels(size.height),
        fit: match size.fit {
            FitInput::ScaleDown => Fit::ScaleDown,
            FitInput::Crop => Fit::Crop,
        },
        quality: u8::try_from(size.quality).unwrap_or(85),
    };
    app.rate_limits.check_resize(&app.throttle, instance.as_str(), app.clock.now()).await?;
    let work = move || latchkey_images::resize(&stored.bytes, &stored.content_type, options);
    let resized = app.resizing.run(&WorkOwner::network(&instance, network), work).await?;
    let resized = resized.map_err(Error::internal)?;
    Ok(picture(resized.content_type, resized.bytes))
}

/// An uploaded picture: of a user, or the logo of an organization.
async fn stored(app: &App, instance: &InstanceId, id: &ImageId) -> Result<StoredImage> {
    let mut tx = app.db.read().await?;
    if let Some(picture) = images::find(&mut tx, instance, id).await? {
        return Ok(picture);
    }
    logos::find(&mut tx, instance, id).await?.ok_or_else(|| Error::new(Code::ImageNotFound))
}

/// `GET /images/avatar_placeholder/{owner_id}`: for a user or an organization without a picture.
pub async fn drawn(Path(id): Path<String>, Query(size): Query<Size>) -> Result<Response, Failure> {
    if Id::<UserKind>::parse(&id).is_none() && Id::<OrganizationKind>::parse(&id).is_none() {
        return Err(Error::new(Code::ResourceNotFound).saying("No user or organization has this id.").into());
    }
    let initials = size.initials.and_then(|text| String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok());
    let svg = latchkey_images::default_avatar(&id, initials.as_deref());
    Ok(picture("image/svg+xml", svg.into_bytes()))
}

/// A picture never changes under its address, and nothing in it may ever run. Pages of every origin may use
/// it: the SDKs' components ask for pictures with CORS.
fn picture(content_type: &str, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    let content_type =
        HeaderValue::from_str(content_type).unwrap_or(HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    response
}
