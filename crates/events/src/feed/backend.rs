//! `GET /events`: a page at once, or as soon as something happens.

use axum::response::Response;
use latchkey_base::page::Paging;
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::limits::{EVENT_WAIT_SECONDS, EVENTS_PAGE};
use latchkey_kernel::reads::{LongTurn, Reads};
use latchkey_kernel::slow::WorkOwner;
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
    let (page, turn) = awaited(&cx, &key, &query).await?;
    turn.write(|| cx.reply(&view::feed(&page.events, page.last_seq, page.has_more, &cx.app.master)))
}

struct Page {
    events: Vec<StoredEvent>,
    /// Where to go on: also where there is nothing, because nothing has happened yet or all of it was deleted.
    last_seq: i64,
    has_more: bool,
}

/// The next events, with the turn that a page of megabytes has until it is written. Waits for the first as long as the caller
/// wants, which nobody does in turn.
async fn awaited(cx: &Cx, key: &SecretKey, query: &FeedQuery) -> Result<(Page, LongTurn)> {
    let patience = patience(query.wait.as_deref(), EVENT_WAIT_SECONDS)?;
    let mut waiter =
        Waiter::new(cx.app.bell.listen_to(&key.instance), &cx.app.feed_places, &key.instance, patience);
    loop {
        let turn = LongTurn::default();
        let page = next(cx, key, query, &turn).await?;
        if !page.events.is_empty() {
            return Ok((page, turn));
        }
        drop(turn);
        if !waiter.again().await? {
            return Ok((page, LongTurn::default()));
        }
    }
}

async fn next(cx: &Cx, key: &SecretKey, query: &FeedQuery, turn: &LongTurn) -> Result<Page> {
    let reads = Reads::new(&cx.app, WorkOwner::backend(&key.instance)).in_turn(turn);
    let mut tx = reads.page(Paging { limit: query.limit, offset: 0 }).await?;
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
