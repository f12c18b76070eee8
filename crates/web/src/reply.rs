//! Responses. The only place that turns values and errors into bytes.

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use latchkey_base::{Code, Error, Problem, Result};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::answer::Answer;
use crate::version::{Change, OPAQUE, Version, concerns, downgrade};

/// SDKs compare the header with this text exactly; a charset after it breaks them.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An error on its way out. The edge adds the trace id and writes the body.
pub struct Failure(pub Error);

/// What handlers return.
pub type Reply = Result<Response, Failure>;

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
    let mut answer = Answer::read(&text, &OPAQUE).map_err(Error::internal)?;
    downgrade(changes, version, &mut answer.value);
    Ok(body(StatusCode::OK, answer.write().map_err(Error::internal)?))
}

/// A JSON body that is already written.
pub fn body(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// What an error body tells beside the problems, set by whoever made the response: a JSON text, since what is shown
/// in it may be nested too deeply to be read again.
#[derive(Clone)]
pub struct Meta(Box<RawValue>);

impl Meta {
    /// What is told.
    pub fn of(view: &impl Serialize) -> Result<Meta> {
        Ok(Meta(to_raw_value(view).map_err(Error::internal)?))
    }
}

/// The body of an error.
#[derive(Serialize)]
struct ErrorBody<'a> {
    clerk_trace_id: &'a str,
    errors: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<Box<RawValue>>,
}

/// The error of a response whose body is not written yet, if it tells nothing beside it so far.
pub fn bare_error(response: &Response) -> Option<&Error> {
    let extensions = response.extensions();
    let Unwritten(error) = extensions.get::<Unwritten>().filter(|_| extensions.get::<Meta>().is_none())?;
    Some(error)
}

/// The same error as operations tell it that know no other code for what is wrong with a body.
pub(crate) fn bad_request(error: &Error) -> Error {
    let problem = |problem: &Problem| {
        let param = problem.meta.get("param_name").and_then(Value::as_str).unwrap_or_default();
        let detail = problem.detail.as_deref().unwrap_or(problem.code.spec().2);
        Problem::of(Code::BadRequest, param).saying(format!("Invalid 'body.{param}': {detail}"))
    };
    let problems = error.problems().iter().map(problem).collect();
    Error::collect(problems).err().unwrap_or_else(|| Error::new(Code::BadRequest))
}

/// The error body: every problem, and the trace id to quote when asking for help. Headers of the
/// response it takes the place of are kept: cookies, and which methods a path has.
pub(crate) fn error(error: &Error, status: u16, trace_id: &str, unwritten: Response) -> Response {
    let (mut parts, _) = unwritten.into_parts();
    let text = ErrorBody {
        clerk_trace_id: trace_id,
        errors: error.problems().iter().map(|problem| problem.to_json()).collect(),
        meta: parts.extensions.remove::<Meta>().map(|Meta(meta)| meta),
    };
    // Writing it cannot fail: it has no keys but texts.
    let text = serde_json::to_vec(&text).unwrap_or_default();
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = body(status, text);
    parts.headers.remove(CONTENT_TYPE);
    parts.headers.remove(CONTENT_LENGTH);
    response.headers_mut().extend(parts.headers);
    if let Some(seconds) = error.retry_after_seconds() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
