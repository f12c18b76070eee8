//! `GET /events`: a page at once, or as soon as something happens.

use std::time::Duration;

use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::model::StoredEvent;
use super::store;
use super::view::{self, FeedView};
use crate::AppState;
use crate::auth::SecretKey;
use crate::cx::Cx;
use crate::limits::{EVENT_WAIT_SECONDS, EVENTS_PAGE};

/// How often somebody who waits looks by themselves: another node rings no bell here.
const LOOK: Duration = Duration::from_millis(500);

/// Adds the operation.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Events");
    api.get("/events", "ListEvents", list)
        .summary("What happened, in order and without gaps")
        .query::<FeedQuery>()
        .returns::<FeedView>()
        .errors(&[410]);
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

impl FeedQuery {
    fn patience(&self) -> Result<Duration> {
        let Some(text) = &self.wait else { return Ok(Duration::ZERO) };
        let seconds = text.strip_suffix('s').unwrap_or(text).parse().ok();
        let seconds = seconds.filter(|seconds| *seconds <= EVENT_WAIT_SECONDS).ok_or_else(|| {
            Error::param(Code::FormParamValueInvalid, "wait").saying(format!(
                "It must be a number of seconds from 0 to {EVENT_WAIT_SECONDS}, such as 20s."
            ))
        })?;
        Ok(Duration::from_secs(seconds))
    }
}

async fn list(cx: Cx, key: SecretKey, Query(query): Query<FeedQuery>) -> Result<Response, Failure> {
    let page = awaited(&cx, &key, &query).await?;
    cx.reply(&view::feed(&page.events, query.after.unwrap_or_default(), page.has_more, &cx.app.master)?)
}

struct Page {
    events: Vec<StoredEvent>,
    has_more: bool,
}

/// The next events. Waits for the first as long as the caller wants.
async fn awaited(cx: &Cx, key: &SecretKey, query: &FeedQuery) -> Result<Page> {
    let mut listener = cx.app.bell.listen_to(&key.instance);
    let deadline = Instant::now() + query.patience()?;
    let mut place = None;
    loop {
        let page = next(cx, key, query).await?;
        let left = deadline.saturating_duration_since(Instant::now());
        if !page.events.is_empty() || left.is_zero() {
            return Ok(page);
        }
        if place.is_none() {
            place = Some(cx.app.feed_places.try_acquire().map_err(|_| busy())?);
        }
        listener.wait(left.min(LOOK)).await;
    }
}

fn busy() -> Error {
    Error::new(Code::ServiceUnavailable).saying("Too many are waiting for events.").retry_after(1)
}

async fn next(cx: &Cx, key: &SecretKey, query: &FeedQuery) -> Result<Page> {
    let mut tx = cx.app.db.read().await?;
    // Before the events: whatever has a number up to this one can be seen from now on.
    let head = store::head(&mut tx, &key.instance).await?;
    let events = store::page(&mut tx, &key.instance, query.after.unwrap_or_default(), query.limit).await?;
    let last = events.last().map_or(head, |last| last.seq);
    let page = Page { has_more: last < head, events };
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
