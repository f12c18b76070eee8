//! `GET /npm/@clerk/clerk-js@{version}/{path}` and `GET /npm/@clerk/ui@{version}/{path}`

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream::{Stream, try_unfold};
use latchkey_base::{Code, Error, Result};
use latchkey_web::query::decode;
use latchkey_web::reply::Failure;

use super::files::{self, NoFile, OpenFile, ScriptSource};
use super::rules::{self, PackageFile};

/// What is held of a file on its way to a browser that may be slow.
const PIECE_BYTES: usize = 64 * 1024;
/// Missing versions that the log tells of.
const MISSING_LOGGED: usize = 100;
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The routes, to be merged into the router of the Frontend API. They need none of its state.
pub fn routes<S: Clone + Send + Sync + 'static>(source: ScriptSource) -> Router<S> {
    let source = Arc::new(source);
    let handler = move |uri: Uri, headers: HeaderMap| {
        let source = source.clone();
        async move { serve(&source, &uri, &headers).await }
    };
    Router::new().route("/npm/{*path}", get(handler))
}

async fn serve(source: &ScriptSource, uri: &Uri, headers: &HeaderMap) -> Result<Response, Failure> {
    // Escapes are decoded here, once, instead of by the router: what is left of them afterwards is refused.
    let decoded = uri.path().strip_prefix("/npm/").and_then(decode);
    let requested = decoded.and_then(|path| rules::package_file(&path)).ok_or_else(unknown)?;
    let directory = match source {
        ScriptSource::Cdn => return Ok(elsewhere(&requested)?),
        ScriptSource::Directory(directory) => directory.clone(),
    };
    let opened = tokio::task::spawn_blocking(move || (files::open(&directory, &requested), requested)).await;
    let (found, requested) = opened.map_err(Error::internal)?;
    let found = found.map_err(|why| absent(why, &requested))?;
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == found.tag.as_bytes());
    Ok(file(found, &requested, is_known)?)
}

/// Browsers show nothing of the answer to a script they could not load, so the log says it too.
fn absent(why: NoFile, requested: &PackageFile) -> Error {
    let NoFile::OtherVersions(present) = why else { return unknown() };
    let text = requested.not_here(&present);
    if is_news(&text) {
        tracing::warn!("{text}");
    }
    Error::new(Code::ResourceNotFound).saying(text)
}

/// Whether the log has not said this yet. Anybody can ask for versions that are not there, so it says few things.
fn is_news(text: &str) -> bool {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.len() < MISSING_LOGGED && said.insert(text.to_owned())
}

fn unknown() -> Error {
    Error::new(Code::ResourceNotFound)
        .saying("There is no such script. /npm/ has the files of @clerk/clerk-js and @clerk/ui.")
}

/// The file, or only its tag for a browser that has it already.
fn file(found: OpenFile, requested: &PackageFile, is_known: bool) -> Result<Response> {
    let OpenFile { file, length, version, tag } = found;
    let mut response = shared(requested.caching(&version));
    response.headers_mut().insert(ETAG, HeaderValue::try_from(tag).map_err(Error::internal)?);
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(requested.content_type));
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    *response.body_mut() = Body::from_stream(pieces(file, length));
    Ok(response)
}

/// A redirect to the public CDN. The address is built from names that were checked.
fn elsewhere(requested: &PackageFile) -> Result<Response> {
    let mut response = shared("public, max-age=300");
    *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    let address = HeaderValue::try_from(requested.on_cdn()).map_err(Error::internal)?;
    response.headers_mut().insert(LOCATION, address);
    Ok(response)
}

/// An answer without body that pages of every origin may use: SDKs ask for scripts with CORS.
fn shared(caching: &'static str) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The first `length` bytes of a file, read piece by piece when they are taken. A file that became shorter, or fails,
/// breaks the connection: the browser must not take a part for the whole.
fn pieces(file: File, length: u64) -> impl Stream<Item = io::Result<Bytes>> {
    try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let read = move || {
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            file.by_ref().take(left.min(PIECE_BYTES as u64)).read_to_end(&mut piece)?;
            Ok::<_, io::Error>((file, piece))
        };
        let (file, piece) = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
        match piece.len() as u64 {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => Ok(Some((Bytes::from(piece), (file, left - length)))),
        }
    })
}
