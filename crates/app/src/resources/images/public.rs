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
use latchkey_base::kinds::{ImageId, InstanceId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_images::{Fit, Resize};
use latchkey_web::input::Path;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::store;
use crate::AppState;
use crate::frontend::gate;
use crate::limits::RESIZE_IMAGE;

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
    if is_resized {
        gate::count(&app, &headers, &extensions, RESIZE_IMAGE).await?;
    }
    let stored = store::find(&mut app.db.read().await?, &instance, &id).await?;
    let stored = stored.ok_or_else(|| Error::new(Code::ImageNotFound))?;
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
    let resized = app
        .pictures
        .run(move || latchkey_images::resize(&stored.bytes, &stored.content_type, options))
        .await?;
    let resized = resized.map_err(Error::internal)?;
    Ok(picture(resized.content_type, resized.bytes))
}

/// `GET /images/default/{user_id}`
pub async fn drawn(Path(id): Path<UserId>, Query(size): Query<Size>) -> Result<Response, Failure> {
    let initials = size.initials.and_then(|text| String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok());
    let svg = latchkey_images::default_avatar(id.as_str(), initials.as_deref());
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
