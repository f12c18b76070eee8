//! `GET /events`: a page at once, or as soon as something happens.

use std::time::Duration;

use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

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
    let mut events = awaited(&cx, &key, &query).await?;
    let has_more = events.len() as i64 > query.limit;
    events.truncate(usize::try_from(query.limit).unwrap_or_default());
    cx.reply(&view::feed(&events, query.after.unwrap_or_default(), has_more, &cx.app.master)?)
}

/// The next events, one more than asked for. Waits for the first as long as the caller wants.
async fn awaited(cx: &Cx, key: &SecretKey, query: &FeedQuery) -> Result<Vec<StoredEvent>> {
    let mut listener = cx.app.bell.listen();
    let deadline = tokio::time::Instant::now() + query.patience()?;
    loop {
        let events = next(cx, key, query).await?;
        let left = deadline.saturating_duration_since(tokio::time::Instant::now());
        if !events.is_empty() || left.is_zero() {
            return Ok(events);
        }
        listener.wait(left.min(LOOK)).await;
    }
}

async fn next(cx: &Cx, key: &SecretKey, query: &FeedQuery) -> Result<Vec<StoredEvent>> {
    let mut tx = cx.app.db.read().await?;
    let events =
        store::after(&mut tx, &key.instance, query.after.unwrap_or_default(), query.limit + 1).await?;
    let Some(after) = query.after else { return Ok(events) };
    let head = match events.last() {
        Some(last) => last.seq,
        None => store::head(&mut tx, &key.instance).await?,
    };
    let first = events.first().map_or(head + 1, |first| first.seq);
    match (after > head, first > after + 1) {
        (true, _) => Err(Error::param(Code::FormParamValueInvalid, "after")
            .saying(format!("The last event has the number {head}."))),
        // Nobody may take a part for the whole.
        (_, true) => Err(Error::new(Code::EventsGone)),
        _ => Ok(events),
    }
}
