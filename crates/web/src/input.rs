//! Request bodies and path parameters.

use std::marker::PhantomData;
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

use crate::answer::read_value;
use crate::bodies::BodyShare;
use crate::depth::{check_body, private_name};
use crate::reply::Failure;
use crate::shape::{PARAMS_NAMED, Shapes};

/// No JSON body of this API comes near this size: three metadata of 8 KB, each escaped, and change.
pub(crate) const JSON_MAX: usize = 256 * 1024;
/// Characters of a wrong id that an answer repeats.
const SHOWN_OF_ID: usize = 40;
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
        let fields = object(request).await?;
        Ok(Input(Arc::<Shapes>::from_ref(state).of::<T>().read(fields)?))
    }
}

/// A JSON list of up to `MOST` objects, for operations that do the same thing several times. Each is checked against
/// the shape of `T` and read.
pub struct Inputs<T, const MOST: usize>(pub Vec<T>);

impl<S, T, const MOST: usize> FromRequest<S> for Inputs<T, MOST>
where
    S: Send + Sync,
    Arc<Shapes>: FromRef<S>,
    T: DeserializeOwned + JsonSchema + 'static,
{
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let items = list(&json(request).await?)?;
        if items.is_empty() {
            let nothing =
                Error::new(Code::FormParamValueInvalid).saying("The list must have at least one item.");
            return Err(nothing.into());
        }
        if items.len() > MOST {
            let many = format!("The list may have at most {MOST} items.");
            return Err(Error::new(Code::BulkSizeExceeded).saying(many).into());
        }
        let shape = Arc::<Shapes>::from_ref(state).of::<T>();
        let read: Result<Vec<T>> = items.into_iter().map(|item| shape.read(item)).collect();
        Ok(Inputs(read?))
    }
}

/// A JSON object body whose fields are not checked yet, for operations whose body differs by version. `T` is what
/// it is in the newest one.
pub struct Fields<T>(pub Map<String, Value>, pub PhantomData<fn() -> T>);

impl<S: Send + Sync, T> FromRequest<S> for Fields<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        Ok(Fields(object(request).await?, PhantomData))
    }
}

/// Reads a body that is a JSON object.
async fn object(request: Request) -> Result<Map<String, Value>> {
    fields(&json(request).await?)
}

/// Reads a body that says that it is JSON.
async fn json(request: Request) -> Result<Bytes> {
    let is_json = is_content_type(request.headers(), "application/json");
    let bytes = read_body(request, JSON_MAX).await?;
    // Whoever sends nothing need not say of what type it is.
    match is_json || bytes.trim_ascii().is_empty() {
        true => Ok(bytes),
        false => Err(Error::new(Code::UnsupportedContentType)
            .saying("Send JSON with the header `Content-Type: application/json`.")),
    }
}

/// The objects of a JSON body that is a list of them.
fn list(body: &[u8]) -> Result<Vec<Map<String, Value>>> {
    let not_a_list =
        || Error::new(Code::RequestBodyInvalid).saying("The body must be a JSON list of objects.");
    if body.trim_ascii().is_empty() {
        return Err(not_a_list());
    }
    check_body(body)?;
    let Value::Array(items) = parsed(body)? else { return Err(not_a_list()) };
    let object = |item| match item {
        Value::Object(fields) => checked_names(fields),
        _ => Err(not_a_list()),
    };
    items.into_iter().map(object).collect()
}

fn parsed(body: &[u8]) -> Result<Value> {
    read_value(body).map_err(|error| {
        Error::new(Code::RequestBodyInvalid).saying(format!("The body is not JSON: {error}."))
    })
}

/// Refuses fields whose names are not for callers.
fn checked_names(fields: Map<String, Value>) -> Result<Map<String, Value>> {
    let private = fields.iter().filter_map(|(name, value)| private_name(name, value));
    Error::collect(private.take(PARAMS_NAMED).collect())?;
    Ok(fields)
}

/// The fields of a JSON body. SDKs send nothing, `null` or `{}` for the same thing.
pub(crate) fn fields(body: &[u8]) -> Result<Map<String, Value>> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    check_body(body)?;
    match parsed(body)? {
        Value::Object(fields) => checked_names(fields),
        Value::Null => Ok(Map::new()),
        _ => Err(Error::new(Code::RequestBodyInvalid).saying("The body must be a JSON object.")),
    }
}

/// Reads a body of at most `max` bytes. A client that sends more only listens once it has sent
/// everything, so a moderate excess is read and thrown away before it is refused; what is announced as more
/// than that is refused at once.
pub async fn read_body(request: Request, max: usize) -> Result<Bytes> {
    let share = request.extensions().get::<BodyShare>().cloned();
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
    if length > max {
        return Err(too_large(max));
    }
    if let Some(share) = share {
        share.recheck().await?;
    }
    Ok(kept.freeze())
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
    Id::parse(text).ok_or_else(|| {
        let shown: String = text.chars().take(SHOWN_OF_ID).collect();
        let prefix = K::PREFIX;
        let text = match text.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('_')) {
            true => format!("`{shown}` is not a complete id: nothing has it."),
            false => format!("`{shown}` is no id of this kind; those begin with `{prefix}_`."),
        };
        Error::new(Code::ResourceNotFound).saying(text)
    })
}
