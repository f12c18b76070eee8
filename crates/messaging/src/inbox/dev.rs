//! `GET /v1/inbox`, and the same as `GET /dev/inbox`, which is a page for browsers.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use latchkey_base::kinds::MessageId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::limits::{INBOX_MESSAGES, INBOX_PATIENCE, INBOX_WAIT_SECONDS};
use latchkey_kernel::reads::Reads;
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::waiter::{Waiter, patience};
use latchkey_kernel::wire::ListView;
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::model::{InboxFilter, Sealed};
use super::reader::Reader;
use super::view::{self, MessageView};
use super::{page, store};
use crate::messages::model::read_id;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Inbox");
    api.get("/inbox", "ListInboxMessages", list)
        .summary("Messages of a development instance, newest first")
        .returns::<ListView<MessageView>>()
        .errors(&[400, 422, 503]);
}

/// Which messages.
#[derive(Deserialize, JsonSchema)]
pub struct InboxQuery {
    /// Only to this address or number.
    to: Option<String>,
    /// Only those written at this time (in milliseconds) or later.
    #[schemars(range(min = 0))]
    since: Option<i64>,
    /// Only those after the message of this id.
    after: Option<String>,
    /// At most so many.
    #[serde(default = "all")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// How many seconds to wait for the first message where there is none yet, such as `5` or `5s`; up to 30.
    wait: Option<String>,
}

fn all() -> i64 {
    INBOX_MESSAGES
}

/// Browsers get the page, programs the messages.
pub async fn page_or_list(
    State(state): State<AppState>,
    headers: HeaderMap,
    request: axum::extract::Request,
) -> Result<Response, Failure> {
    if latchkey_kernel::page::is_wanted(&headers) {
        return Ok(page::show(State(state)).await?);
    }
    let (mut parts, _) = request.into_parts();
    let cx = from(&mut parts, &state).await?;
    let reader = from(&mut parts, &state).await?;
    list(cx, reader, from(&mut parts, &state).await?).await
}

async fn from<T: axum::extract::FromRequestParts<AppState, Rejection = Failure>>(
    parts: &mut axum::http::request::Parts,
    state: &AppState,
) -> Result<T, Failure> {
    T::from_request_parts(parts, state).await
}

/// The newest messages; waits for the first as long as the caller wants.
pub async fn list(cx: Cx, reader: Reader, Query(query): Query<InboxQuery>) -> Result<Response, Failure> {
    let wanted = wanted(&cx, &reader, &query).await?;
    let sealed = awaited(&cx, &reader, &wanted, query.wait.as_deref()).await?;
    let total_count = total(&cx, &reader, &wanted, sealed.len()).await?;
    let open = |sealed| view::message(sealed, &cx.app.master);
    let data: Vec<MessageView> = sealed.into_iter().map(open).collect::<Result<_>>()?;
    cx.reply(&ListView { total_count, data })
}

/// How many messages match. Whoever got less than a page knows without counting.
async fn total(cx: &Cx, reader: &Reader, wanted: &InboxFilter, found: usize) -> Result<i64> {
    match found as i64 {
        found if found < wanted.limit => Ok(found),
        _ => {
            let mut tx = cx.backend_reads(&reader.instance).long().await?;
            store::count(&mut tx, &reader.instance, wanted).await
        }
    }
}

async fn wanted(cx: &Cx, reader: &Reader, query: &InboxQuery) -> Result<InboxFilter> {
    let after = match &query.after {
        Some(text) => Some(place(cx, reader, text).await?),
        None => None,
    };
    let to = query.to.as_ref().map(|to| to.to_lowercase());
    Ok(InboxFilter { to, since: query.since.map(Time::from_ms), after, limit: query.limit })
}

/// Where the message stands that others are to follow.
async fn place(cx: &Cx, reader: &Reader, text: &str) -> Result<(Time, MessageId)> {
    let unknown = || Error::param(Code::FormParamValueInvalid, "after").saying("There is no such message.");
    let id = read_id(text).ok_or_else(unknown)?;
    let at = store::written_at(&mut cx.app.db.read().await?, &reader.instance, &id).await?;
    Ok((at.ok_or_else(unknown)?, id))
}

/// The messages, as soon as there is one or the time is over.
async fn awaited(cx: &Cx, reader: &Reader, wanted: &InboxFilter, wait: Option<&str>) -> Result<Vec<Sealed>> {
    let patience = patience(wait, INBOX_WAIT_SECONDS)?.min(INBOX_PATIENCE);
    let mut waiter = Waiter::new(
        cx.app.bell.listen_to(&reader.instance),
        &cx.app.inbox_places,
        &reader.instance,
        patience,
    );
    loop {
        // Its turn among long reads, if it has to wait for one, ends with the look: the wait for a message may be long.
        let reads = Reads::new(&cx.app, WorkOwner::backend(&reader.instance));
        let found = store::list(&mut reads.short().await?, &reader.instance, wanted).await?;
        if !found.is_empty() || !waiter.again().await? {
            return Ok(found);
        }
    }
}
