//! Responses. The only place that turns values and errors into bytes.

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use latchkey_base::{Error, Result};
use serde::Serialize;
use serde_json::{Value, json};

use crate::version::{Change, Version, concerns, downgrade};

/// SDKs compare the header with this text exactly; a charset after it breaks them.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An error on its way out. The edge adds the trace id and writes the body.
pub struct Failure(pub Error);

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(Unwritten(std::sync::Arc::new(self.0)));
        response
    }
}

/// The error of a response whose body is not written yet.
#[derive(Clone)]
pub(crate) struct Unwritten(pub(crate) std::sync::Arc<Error>);

/// A JSON answer of the newest version, turned into the version asked for.
pub fn json(view: &impl Serialize, changes: &[Change], version: Version) -> Result<Response> {
    let text = serde_json::to_string(view).map_err(Error::internal)?;
    // Most answers have nothing that ever changed; taking them apart would cost more than writing them.
    if !concerns(changes, version, &text) {
        return Ok(body(StatusCode::OK, text.into_bytes()));
    }
    let mut answer = serde_json::from_str(&text).map_err(Error::internal)?;
    downgrade(changes, version, &mut answer);
    Ok(body(StatusCode::OK, serde_json::to_vec(&answer).map_err(Error::internal)?))
}

/// A JSON body that is already written.
pub fn body(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// What an error body tells beside the problems, set by whoever made the response.
#[derive(Clone)]
pub struct Meta(pub Value);

/// The error of a response whose body is not written yet, if it tells nothing beside it so far.
pub fn bare_error(response: &Response) -> Option<&Error> {
    let extensions = response.extensions();
    let Unwritten(error) = extensions.get::<Unwritten>().filter(|_| extensions.get::<Meta>().is_none())?;
    Some(error)
}

/// The error body: every problem, and the trace id to quote when asking for help. Headers of the
/// response it takes the place of are kept: cookies, and which methods a path has.
pub(crate) fn error(error: &Error, status: u16, trace_id: &str, unwritten: Response) -> Response {
    let problems: Vec<Value> = error.problems().iter().map(|problem| problem.to_json()).collect();
    let mut text = json!({ "errors": problems, "clerk_trace_id": trace_id });
    let (mut parts, _) = unwritten.into_parts();
    if let Some(Meta(meta)) = parts.extensions.remove::<Meta>() {
        text["meta"] = meta;
    }
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = body(status, text.to_string().into_bytes());
    parts.headers.remove(CONTENT_TYPE);
    parts.headers.remove(CONTENT_LENGTH);
    response.headers_mut().extend(parts.headers);
    if let Some(seconds) = error.retry_after_seconds() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
