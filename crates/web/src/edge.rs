//! What wraps every request: a trace id, a time limit, a guard against panics, one log line, one
//! count, and the error body. Kept to a single layer, because each layer costs every request.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request};
use axum::http::header::{CONNECTION, HOST};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::rng::{self, Rng};
use latchkey_base::{Code, Error};

use crate::api::Operation;
use crate::bodies::BodyShare;
use crate::metrics::{Series, render};
use crate::network::Network;
use crate::reply::{self, Unwritten};
use crate::unread::Unread;
use crate::unsent::AnswerBudget;

const TWO_HOSTS: &str =
    "The request names more than one host. Send one `Host` header, with the host of the URL.";
const TRACE_HEADER: &str = "clerk-trace-id";
/// The number of the last event that a request caused.
const EVENT_HEADER: &str = "latchkey-event-seq";

/// The edge of the server. One for the whole process.
pub struct Edge {
    routes: HashMap<String, Vec<(Method, usize)>>,
    operations: Arc<Vec<Operation>>,
    series: Vec<Series>,
    other: Series,
    timeout: Duration,
    rng: Arc<dyn Rng>,
    answers: Arc<AnswerBudget>,
    is_gated: bool,
}

/// Which operation a request is, for the extractors and handlers behind the edge.
#[derive(Clone, Copy)]
pub struct OperationIndex(pub usize);

/// The number of the last event that a request caused, told by whoever wrote it.
#[derive(Clone, Default)]
pub struct Caused(Arc<AtomicI64>);

/// Refuses writes of networks that leave too many answers unread. Whose network a request comes from is known behind the
/// gate only: visitors may come through a proxy of the application.
#[derive(Clone)]
pub struct WriteLimit(Arc<AnswerBudget>);

/// The instance and the secret key of a backend request that is not a read, for its log line.
#[derive(Clone, Default)]
pub struct RequestKey(Arc<OnceLock<(InstanceId, Option<SecretKeyId>)>>);

impl RequestKey {
    /// Notes whose request it is.
    pub fn set(&self, instance: &InstanceId, key: Option<&SecretKeyId>) {
        self.0.get_or_init(|| (instance.clone(), key.cloned()));
    }
}

impl WriteLimit {
    /// An error if a network leaves too many answers unread.
    pub fn check(&self, network: Network) -> latchkey_base::Result<()> {
        self.0.refusal(network).map_or(Ok(()), Err)
    }
}

impl Caused {
    /// Numbers only grow, so the highest is the last.
    pub fn set(&self, seq: i64) {
        self.0.fetch_max(seq, Ordering::Relaxed);
    }

    fn get(&self) -> Option<i64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|seq| *seq > 0)
    }
}

impl Edge {
    /// An edge for these operations, with the memory for its answers.
    pub fn new(
        operations: Arc<Vec<Operation>>,
        timeout: Duration,
        rng: Arc<dyn Rng>,
        answers: Arc<AnswerBudget>,
    ) -> Edge {
        let mut routes: HashMap<String, Vec<(Method, usize)>> = HashMap::new();
        for (index, operation) in operations.iter().enumerate() {
            routes.entry(operation.path.clone()).or_default().push((operation.method.clone(), index));
        }
        let series = operations.iter().map(|_| Series::default()).collect();
        Edge { routes, operations, series, other: Series::default(), timeout, rng, answers, is_gated: false }
    }

    /// The same with a gate behind it, which asks for the `WriteLimit` itself.
    #[must_use]
    pub fn gated(self) -> Edge {
        Edge { is_gated: true, ..self }
    }

    fn operation(&self, request: &Request) -> Option<usize> {
        let path = request.extensions().get::<MatchedPath>()?;
        let methods = self.routes.get(path.as_str())?;
        // The router answers HEAD with the handler of GET, so it is the same operation.
        let asked = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        methods.iter().find(|(method, _)| method == asked).map(|(_, index)| *index)
    }

    /// The metrics as text.
    pub fn metrics(&self) -> String {
        let named = self.operations.iter().map(|operation| operation.id).zip(&self.series);
        render(named.chain([("other", &self.other)]))
    }

    /// Handles one request.
    #[expect(
        clippy::disallowed_methods,
        reason = "durations need a monotonic clock, and only the edge measures them"
    )]
    pub async fn handle(&self, mut request: Request, next: Next) -> Response {
        let started = Instant::now();
        let index = self.operation(&request);
        let name = index.map_or("other", |index| self.operations[index].id);
        if let Some(index) = index {
            request.extensions_mut().insert(OperationIndex(index));
        }
        let network = request.extensions().get().copied().unwrap_or(Network::UNKNOWN);
        let caused = Caused::default();
        request.extensions_mut().insert(caused.clone());
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        let is_quiet = is_read || index.is_some_and(|index| self.operations[index].quiet);
        let unknown =
            index.is_none().then(|| format!("{} {}", request.method(), beginning(request.uri().path())));
        // Until the end of this, because whoever handles the request keeps its body as long.
        let share = request.extensions().get::<BodyShare>().cloned();
        let unread = Unread::lend(&mut request, share.clone());
        let is_write = !is_read && request.method() != Method::OPTIONS;
        if is_write {
            request.extensions_mut().insert(WriteLimit(self.answers.clone()));
        }
        let key = RequestKey::default();
        if is_write {
            request.extensions_mut().insert(key.clone());
        }
        let refusal = match names_one_host(&request) {
            true => self.answers.refusal(network).filter(|_| is_write && !self.is_gated),
            false => Some(Error::new(Code::HostInvalid).saying(TWO_HOSTS)),
        };
        let outcome = match refusal {
            None => tokio::time::timeout(self.timeout, unless_it_panics(next.run(request))).await,
            Some(refusal) => Ok(Some(failed(refusal))),
        };
        let mut response = match outcome {
            Ok(Some(response)) => response,
            Ok(None) => failed(Error::internal("a handler panicked")),
            Err(_) => failed(Error::new(Code::RequestTimeout)),
        };
        if let Some(error) = share.as_ref().and_then(BodyShare::refusal) {
            response.extensions_mut().insert(Unwritten(Arc::new(error)));
        }
        let duration_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let network = response.extensions_mut().remove().unwrap_or(network);
        let trace_id = self.trace_id();
        let mut code = code(&response);
        response = self.with_error(response, index, &trace_id);
        response = match is_read {
            true => {
                let held = self.answers.hold(response, network);
                code = code.or_else(|| self::code(&held));
                self.with_error(held, index, &trace_id)
            }
            // What is done is not told as refused.
            false => self.answers.hold_anyway(response, network),
        };
        // May wait for the rest of the body, so the answer is counted before.
        if !unread.finish().await {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Ok(value) = HeaderValue::from_str(&trace_id) {
            response.headers_mut().insert(TRACE_HEADER, value);
        }
        if let Some(seq) = caused.get() {
            response.headers_mut().insert(EVENT_HEADER, HeaderValue::from(seq));
        }
        let status = response.status().as_u16();
        index.map_or(&self.other, |index| &self.series[index]).record(status, duration_us);
        let instance = key.0.get().map(|(instance, _)| instance.as_str());
        let key = key.0.get().and_then(|(_, key)| key.as_ref()).map(SecretKeyId::as_str);
        // A successful read is the common case and tells the least.
        match is_quiet && status < 400 {
            true => tracing::debug!(
                operation = name,
                status,
                duration_us,
                trace_id,
                instance.id = instance,
                key.id = key,
                "{name} {status}"
            ),
            false => {
                let shown = unknown.as_deref().unwrap_or(name);
                tracing::info!(
                    operation = name,
                    status,
                    code,
                    duration_us,
                    trace_id,
                    instance.id = instance,
                    key.id = key,
                    "{shown} {status}"
                );
            }
        }
        response
    }

    /// The answer with its body, if it stands for an error.
    fn with_error(&self, mut response: Response, index: Option<usize>, trace_id: &str) -> Response {
        let Some(Unwritten(error)) = response.extensions_mut().remove::<Unwritten>() else { return response };
        let operation = index.map(|index| &self.operations[index]);
        log_failure(&error, operation.map_or("other", |operation| operation.id), trace_id);
        let status = operation.map_or(error.status(), |operation| operation.status(error.status()));
        match operation.is_some_and(|operation| operation.bad_requests) && error.status() == 422 {
            true => reply::error(&reply::bad_request(&error), status, trace_id, response),
            false => reply::error(&error, status, trace_id, response),
        }
    }

    fn trace_id(&self) -> String {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let bytes: [u8; 16] = rng::bytes(&*self.rng);
        bytes
            .iter()
            .flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]])
            .map(char::from)
            .collect()
    }
}

/// Which instance a request is for, and what a cache or a proxy in between takes it for, depends on its host. So
/// there may be one answer only (RFC 9112, 3.2). Over HTTP/2 the server has checked it already.
fn names_one_host(request: &Request) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (host, further) = (hosts.next(), hosts.next());
    match (request.uri().authority(), host) {
        _ if further.is_some() => false,
        (Some(authority), Some(host)) => host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes()),
        _ => true,
    }
}

/// The first two parts of a path, as far as they are plain words: enough to see what a client looked
/// for, nothing that could be anybody's address or id.
fn beginning(path: &str) -> String {
    let is_word = |part: &str| part == "v1" || part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let parts = path.split('/').skip(1).take(2);
    parts
        .map(|part| if is_word(part) && part.len() <= 40 { format!("/{part}") } else { "/…".to_owned() })
        .collect()
}

/// A response that stands for an error until its body is written.
fn failed(error: Error) -> Response {
    axum::response::IntoResponse::into_response(reply::Failure(error))
}

/// The first code that an error answers with. Which parameter it is about may be anybody's text, and is not logged.
fn code(response: &Response) -> Option<&'static str> {
    let Unwritten(error) = response.extensions().get::<Unwritten>()?;
    Some(error.code().spec().1)
}

fn log_failure(error: &Error, operation: &str, trace_id: &str) {
    let Some(cause) = error.cause() else { return };
    let mut chain = cause.to_string();
    let mut source = cause.source();
    while let Some(inner) = source {
        chain.push_str(": ");
        chain.push_str(&inner.to_string());
        source = inner.source();
    }
    tracing::error!(operation, trace_id, cause = chain, "{operation} failed");
}

/// Runs a request; `None` when it panicked.
async fn unless_it_panics(request: impl Future<Output = Response>) -> Option<Response> {
    let mut request = std::pin::pin!(request);
    std::future::poll_fn(move |context| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| request.as_mut().poll(context))) {
            Ok(poll) => poll.map(Some),
            Err(_) => std::task::Poll::Ready(None),
        }
    })
    .await
}
