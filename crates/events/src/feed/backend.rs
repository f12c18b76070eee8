//! `GET /events`: a page at once, or as soon as something happens.

use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::limits::{EVENT_WAIT_SECONDS, EVENTS_PAGE};
use latchkey_kernel::slow::{LanePlace, WorkOwner};
use latchkey_kernel::waiter::{Waiter, patience};
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::model::StoredEvent;
use super::store;
use super::view::{self, FeedView};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Events");
    api.get("/events", "ListEvents", list)
        .summary("What happened, in order and without gaps")
        .returns::<FeedView>()
        .errors(&[410, 503]);
}

/// Query of `ListEvents`.
#[derive(Deserialize, JsonSchema)]
struct FeedQuery {
    /// The number of the last event the caller knows; without it the feed begins with the oldest kept.
    #[schemars(range(min = 0))]
    after: Option<i64>,
    /// At most so many.
    #[serde(default = "page")]
    #[schemars(range(min = 1, max = 500))]
    limit: i64,
    /// How many seconds to wait for the next event where there is none yet, at most 25, such as `20` or `20s`.
    wait: Option<String>,
}

fn page() -> i64 {
    EVENTS_PAGE
}

async fn list(cx: Cx, key: SecretKey, Query(query): Query<FeedQuery>) -> Result<Response, Failure> {
    let (page, _place) = awaited(&cx, &key, &query).await?;
    cx.reply(&view::feed(&page.events, page.last_seq, page.has_more, &cx.app.master))
}

struct Page {
    events: Vec<StoredEvent>,
    /// Where to go on: also where there is nothing, because nothing has happened yet or all of it was deleted.
    last_seq: i64,
    has_more: bool,
}

/// The next events, with the place that a long page takes until it is written. Waits for the first as long as the caller
/// wants.
async fn awaited(cx: &Cx, key: &SecretKey, query: &FeedQuery) -> Result<(Page, Option<LanePlace>)> {
    let patience = patience(query.wait.as_deref(), EVENT_WAIT_SECONDS)?;
    let mut waiter =
        Waiter::new(cx.app.bell.listen_to(&key.instance), &cx.app.feed_places, &key.instance, patience);
    loop {
        let place = place(cx, key, query.limit).await?;
        let page = next(cx, key, query).await?;
        if !page.events.is_empty() {
            return Ok((page, place));
        }
        drop(place);
        if !waiter.again().await? {
            return Ok((page, None));
        }
    }
}

/// Long pages have megabytes: a few are read and written at once, and tenants take turns.
async fn place(cx: &Cx, key: &SecretKey, limit: i64) -> Result<Option<LanePlace>> {
    match limit > EVENTS_PAGE {
        true => cx.app.long_reads.place(&WorkOwner::backend(&key.instance)).await.map(Some),
        false => Ok(None),
    }
}

async fn next(cx: &Cx, key: &SecretKey, query: &FeedQuery) -> Result<Page> {
    let mut tx = cx.app.db.read().await?;
    // Before the events: whatever has a number up to this one can be seen from now on.
    let head = store::head(&mut tx, &key.instance).await?;
    let events = store::page(&mut tx, &key.instance, query.after.unwrap_or_default(), query.limit).await?;
    let last_seq = events.last().map_or(head, |last| last.seq);
    let page = Page { has_more: last_seq < head, last_seq, events };
    let Some(after) = query.after else { return Ok(page) };
    if after > head {
        let text = format!("The last event has the number {head}.");
        return Err(Error::param(Code::FormParamValueInvalid, "after").saying(text));
    }
    let is_whole = page.events.first().map_or(after == head, |first| first.seq == after + 1);
    match is_whole {
        true => Ok(page),
        // Nobody may take a part for the whole.
        false => Err(Error::new(Code::EventsGone)),
    }
}
