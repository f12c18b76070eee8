//! Request bodies and path parameters.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use latchkey_base::id::{Id, Kind};
use latchkey_base::{Code, Error, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::reply::Failure;
use crate::shape::Shapes;

/// No JSON body of this API comes near this size: three metadata of 8 KB, each escaped, and change.
pub(crate) const JSON_MAX: usize = 256 * 1024;
/// How much of a body over its limit is read before the connection is given up.
pub const EXCESS: usize = 8 * 1024 * 1024;

/// A JSON body, checked against the shape of `T` and read.
pub struct Input<T>(pub T);

impl<S, T> FromRequest<S> for Input<T>
where
    S: Send + Sync,
    Arc<Shapes>: FromRef<S>,
    T: DeserializeOwned + JsonSchema + 'static,
{
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let Fields(fields) = Fields::from_request(request, state).await?;
        Ok(Input(Arc::<Shapes>::from_ref(state).of::<T>().read(fields)?))
    }
}

/// A JSON object body whose fields are not checked yet, for operations whose body differs by version.
pub struct Fields(pub Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let is_json = is_content_type(request.headers(), "application/json");
        let bytes = read_body(request, JSON_MAX).await?;
        // SDKs send nothing, `null` or `{}` for the same thing.
        if bytes.trim_ascii().is_empty() {
            return Ok(Fields(Map::new()));
        }
        if !is_json {
            return Err(Error::new(Code::UnsupportedContentType)
                .saying("Send JSON with the header `Content-Type: application/json`.")
                .into());
        }
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(fields)) => Ok(Fields(fields)),
            Ok(Value::Null) => Ok(Fields(Map::new())),
            Ok(_) => {
                Err(Error::new(Code::RequestBodyInvalid).saying("The body must be a JSON object.").into())
            }
            Err(error) => Err(Error::new(Code::RequestBodyInvalid)
                .saying(format!("The body is not JSON: {error}."))
                .into()),
        }
    }
}

/// Reads a body of at most `max` bytes. A client that sends more only listens once it has sent
/// everything, so a moderate excess is read and thrown away before it is refused; what is announced as more
/// than that is refused at once.
pub async fn read_body(request: Request, max: usize) -> Result<Bytes> {
    let mut body = request.into_body();
    let mut kept = BytesMut::new();
    let mut length = 0;
    let declared = body.size_hint().lower();
    if declared > (max + EXCESS) as u64 {
        return Err(too_large(max));
    }
    while let Some(frame) = body.frame().await {
        let broken = |_| Error::new(Code::RequestBodyInvalid).saying("The body did not arrive whole.");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        length += data.len();
        if length <= max {
            kept.extend_from_slice(&data);
        } else if length > max + EXCESS {
            break;
        }
    }
    match length <= max {
        true => Ok(kept.freeze()),
        false => Err(too_large(max)),
    }
}

fn too_large(max: usize) -> Error {
    Error::new(Code::RequestBodyTooLarge).saying(format!("A body here has at most {max} bytes."))
}

/// Whether the Content-Type is `expected`, whatever its parameters.
pub fn is_content_type(headers: &axum::http::HeaderMap, expected: &str) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(expected)
}

/// The ids in the path, in order. One whose prefix or shape does not fit can belong to nobody, so
/// it is not found rather than malformed.
pub struct Path<T>(pub T);

impl<S: Send + Sync, K: Kind> FromRequestParts<S> for Path<Id<K>> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let axum::extract::Path(text) = raw::<S, String>(parts, state).await?;
        Ok(Path(parse(&text)?))
    }
}

/// A part of the path that is no id, or one whose absence has a meaning of its own.
impl<S: Send + Sync> FromRequestParts<S> for Path<String> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let axum::extract::Path(text) = raw::<S, String>(parts, state).await?;
        Ok(Path(text))
    }
}

/// All parts of a path that has no ids.
impl<S: Send + Sync> FromRequestParts<S> for Path<Vec<String>> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let axum::extract::Path(texts) = raw::<S, Vec<String>>(parts, state).await?;
        Ok(Path(texts))
    }
}

impl<S: Send + Sync, A: Kind, B: Kind> FromRequestParts<S> for Path<(Id<A>, Id<B>)> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let axum::extract::Path((first, second)) = raw::<S, (String, String)>(parts, state).await?;
        Ok(Path((parse(&first)?, parse(&second)?)))
    }
}

impl<S: Send + Sync, A: Kind> FromRequestParts<S> for Path<(Id<A>, String)> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let axum::extract::Path((first, second)) = raw::<S, (String, String)>(parts, state).await?;
        // PostgreSQL cannot even compare a text with NUL; nothing has such a name.
        match second.contains('\0') {
            true => Err(Error::new(Code::ResourceNotFound).into()),
            false => Ok(Path((parse(&first)?, second))),
        }
    }
}

async fn raw<S: Send + Sync, T: DeserializeOwned + Send>(
    parts: &mut Parts,
    state: &S,
) -> Result<axum::extract::Path<T>> {
    axum::extract::Path::from_request_parts(parts, state)
        .await
        .map_err(|_| Error::new(Code::ResourceNotFound))
}

fn parse<K: Kind>(text: &str) -> Result<Id<K>> {
    Id::parse(text).ok_or_else(|| Error::new(Code::ResourceNotFound).saying("No such id exists."))
}
