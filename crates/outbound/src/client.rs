//! Sends requests and reads answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::ext::on_informational;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::connect::Connector;
use crate::failure::Failure;
use crate::reach::Reach;
use crate::resolve::{Resolve, System, Together};
use crate::{target, tls};

/// How long a connection waits for another request. Common servers close theirs after five seconds; a request
/// sent at that moment would be lost.
const IDLE: Duration = Duration::from_secs(4);
/// Connections to one host that wait for another request.
const IDLE_CONNECTIONS: usize = 32;
/// The largest head of an answer.
const HEAD_BYTES: usize = 32 * 1024;
/// Heads before that of the answer (status 1xx). Servers send one or two, such as 103 with links.
const EARLY_HEADS: usize = 16;

type Inner = legacy::Client<HttpsConnector<Connector>, Full<Bytes>>;

/// What a client is made of.
#[derive(Clone, Default)]
pub struct Options {
    /// A PEM file with authorities to trust beside those of the operating system.
    pub extra_roots: Option<PathBuf>,
    /// Finds addresses; the resolver of the operating system unless given.
    pub resolver: Option<Arc<dyn Resolve>>,
}

/// The authorities a client trusts.
#[derive(Clone)]
pub struct Trust(ClientConfig);

impl Trust {
    /// Reads those of the operating system, and those in a PEM file.
    pub fn new(extra_roots: Option<&Path>) -> Result<Trust, Failure> {
        tls::config(extra_roots).map(Trust)
    }
}

/// A request, but for its method.
pub struct Request<'a> {
    /// Where to; `https`, or `http` if it may go anywhere, without user name and password.
    pub url: &'a str,
    /// Headers beside `Host` and `Content-Length`.
    pub headers: Vec<(&'a str, String)>,
    /// The body.
    pub body: Bytes,
    /// How far it may go.
    pub reach: Reach,
    /// The time for everything, from looking up the name to the last byte of the answer. When the head of the
    /// answer came in time, only what is missing of its body is lost.
    pub timeout: Duration,
    /// Bytes of the answer's body that are read; what follows is left unread.
    pub keep: usize,
}

/// An answer, whatever its status. Redirects are answers too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status, such as 200.
    pub status: u16,
    /// The body, up to the bytes that were to be kept.
    pub body: Vec<u8>,
    /// Whether there was more, or should have been: it was too much, took too long or broke off.
    pub is_truncated: bool,
}

/// Sends requests; keeps connections for the next one. Cloning shares the connections.
#[derive(Clone)]
pub struct Client {
    // Apart, so that a connection made with the wider reach never serves a request with the narrower.
    public: Inner,
    any: Inner,
}

impl Client {
    /// Reads the trusted authorities. Needs a runtime only when it sends.
    pub fn new(options: Options) -> Result<Client, Failure> {
        let trust = Trust::new(options.extra_roots.as_deref())?;
        Ok(Client::trusting(trust, options.resolver))
    }

    /// The same, with authorities that were read before.
    pub fn trusting(Trust(config): Trust, resolver: Option<Arc<dyn Resolve>>) -> Client {
        let resolver = resolver.unwrap_or_else(|| Arc::new(Together::new(System::default())));
        let inner = |reach| {
            let connector = HttpsConnectorBuilder::new()
                .with_tls_config(config.clone())
                .https_or_http()
                .enable_http1()
                .wrap_connector(Connector { reach, resolver: resolver.clone() });
            legacy::Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(IDLE_CONNECTIONS)
                .http1_max_buf_size(HEAD_BYTES)
                .build(connector)
        };
        Client { public: inner(Reach::Public), any: inner(Reach::Any) }
    }

    /// Sends a POST and reads the answer, all within the request's time.
    pub async fn post(&self, request: Request<'_>) -> Result<Answer, Failure> {
        self.send(Method::POST, request).await
    }

    /// The same with a GET, which should have no body.
    pub async fn get(&self, request: Request<'_>) -> Result<Answer, Failure> {
        self.send(Method::GET, request).await
    }

    async fn send(&self, method: Method, request: Request<'_>) -> Result<Answer, Failure> {
        let Request { url, headers, body, reach, timeout: time, keep } = request;
        let mut sent = hyper::Request::new(Full::new(body));
        *sent.method_mut() = method;
        *sent.uri_mut() = target::read(url, reach)?;
        for (name, value) in headers {
            let wrong = || Failure::Header(name.to_owned());
            let value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            sent.headers_mut().append(HeaderName::try_from(name).map_err(|_| wrong())?, value);
        }
        let client = match reach {
            Reach::Public => &self.public,
            Reach::Any => &self.any,
        };
        let too_many = limit_early_heads(&mut sent);
        let end = Instant::now() + time;
        let response = tokio::select! {
            response = timeout_at(end, client.request(sent)) => response.map_err(|_| Failure::Timeout)?,
            () = too_many.notified() => return Err(Failure::Protocol),
        };
        Ok(read(response.map_err(|error| Failure::of(&error))?, keep, end).await)
    }
}

/// What is told once a receiver has sent so many heads that it seems never to answer: they would be read until the time is
/// over. Whoever drops the request then ends the connection.
fn limit_early_heads(request: &mut hyper::Request<Full<Bytes>>) -> Arc<Notify> {
    let (told, heads) = (Arc::new(Notify::new()), AtomicUsize::new(0));
    let too_many = told.clone();
    on_informational(request, move |_| {
        if heads.fetch_add(1, Relaxed) == EARLY_HEADS {
            told.notify_one();
        }
    });
    too_many
}

/// Reads the body up to `keep` bytes. Leaving more unread closes the connection. The receiver has decided when it
/// sends the status, so a body that breaks off or does not end changes nothing about it.
async fn read(response: Response<Incoming>, keep: usize, end: Instant) -> Answer {
    let status = response.status().as_u16();
    let mut stream = response.into_body();
    let mut body = Vec::new();
    loop {
        let frame = match timeout_at(end, stream.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Answer { status, body, is_truncated: false },
            Ok(Some(Err(_))) | Err(_) => return Answer { status, body, is_truncated: true },
        };
        let Ok(data) = frame.into_data() else { continue };
        let room = keep - body.len();
        body.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return Answer { status, body, is_truncated: true };
        }
    }
}
