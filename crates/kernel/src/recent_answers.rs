//! Answers given a moment ago. A page asks for its client several times while it loads, in several tabs at once; while the
//! rows of the database say the same, so does the answer to the same request.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use latchkey_base::Time;
use latchkey_db::CopiedRow;

/// How long an answer is kept. Some of what it says depends on the time alone, such as how many minutes ago somebody proved
/// who they are: that is so much out of date at most.
pub const KEPT_MS: i64 = 1000;
const SHARDS: usize = 16;
/// Memory of the answers in each shard: 16 MB in all. Most take some 6 KB.
const SHARD_BYTES: usize = 1 << 20;
/// Longest answer that is kept, with its request and its rows.
const LONGEST: usize = 64 * 1024;
/// Least time between two searches for answers that are too old.
const SWEEP_MS: i64 = 1000;

/// Headers that proxies put a new value into for each request, and that nothing here reads.
const TRACES: &[&str] = &[
    "cf-ray",
    "traceparent",
    "tracestate",
    "x-amzn-trace-id",
    "x-cloud-trace-context",
    "x-correlation-id",
    "x-request-id",
    "x-request-start",
];

/// A request, word for word.
pub struct RequestWords {
    words: Box<[u8]>,
    shard: usize,
}

/// What is shown to whoever sends the same request, if the rows are the same.
struct RecentAnswer {
    rows: Vec<CopiedRow>,
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    made_at: Time,
    good_until: Time,
    size: usize,
}

#[derive(Default)]
struct Shard {
    answers: HashMap<Box<[u8]>, RecentAnswer>,
    /// What they take.
    bytes: usize,
    /// When a full shard was last searched for answers that are too old.
    swept_at: Option<Time>,
}

/// Answers by the words of their requests.
#[derive(Default)]
pub struct RecentAnswers {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

/// Says in a response that its body follows from the request, the rows that were read of the client, and the time; and that it
/// may be given again before this moment.
#[derive(Clone, Copy)]
pub struct GoodUntil(pub Time);

impl RecentAnswer {
    /// One from the future is left by a clock that was set back.
    fn is_fresh(&self, now: Time) -> bool {
        self.made_at <= now && now < self.good_until && now.ms_since(self.made_at) < KEPT_MS
    }

    fn follows_from(&self, rows: &[CopiedRow]) -> bool {
        self.rows.len() == rows.len()
            && self.rows.iter().zip(rows).all(|(one, other)| one.says_the_same(other))
    }
}

impl Shard {
    fn has_room(&mut self, size: usize, now: Time) -> bool {
        let is_due = self.swept_at.is_none_or(|swept_at| now.ms_since(swept_at).abs() >= SWEEP_MS);
        if self.bytes + size > SHARD_BYTES && is_due {
            self.answers.retain(|_, answer| answer.is_fresh(now));
            self.bytes = self.answers.values().map(|answer| answer.size).sum();
            self.swept_at = Some(now);
        }
        self.bytes + size <= SHARD_BYTES
    }
}

impl RecentAnswers {
    /// The words of a request: where it goes, all its headers but those of traces, and whether it came over TLS. Two that have the same words get
    /// the same answer, but for what depends on the address they come from.
    pub fn words(&self, request: &Request, is_encrypted: bool) -> RequestWords {
        let mut words = Vec::with_capacity(1536);
        words.push(u8::from(is_encrypted));
        let path = request.uri().path_and_query().map_or("", |path| path.as_str());
        for text in [request.method().as_str(), request.uri().authority().map_or("", |it| it.as_str()), path]
        {
            put(&mut words, text.as_bytes());
        }
        for (name, value) in request.headers() {
            if TRACES.contains(&name.as_str()) {
                continue;
            }
            put(&mut words, name.as_str().as_bytes());
            put(&mut words, value.as_bytes());
        }
        let shard = self.hasher.hash_one(words.as_slice()) as usize % SHARDS;
        RequestWords { words: words.into(), shard }
    }

    /// The answer that was given to the same request a moment ago, if the rows say the same.
    pub fn find(&self, words: &RequestWords, rows: &[CopiedRow], now: Time) -> Option<Response> {
        let shard = self.shards[words.shard].lock().unwrap_or_else(PoisonError::into_inner);
        let answer = shard.answers.get(&words.words)?;
        if !answer.is_fresh(now) || !answer.follows_from(rows) {
            return None;
        }
        let mut response = Response::new(Body::from(answer.body.clone()));
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers.clone();
        Some(response)
    }

    /// Keeps an answer. Where there is no room, the next one is merely made again.
    pub fn keep(
        &self,
        words: RequestWords,
        rows: Vec<CopiedRow>,
        (status, headers, body): (StatusCode, HeaderMap, Bytes),
        (now, GoodUntil(good_until)): (Time, GoodUntil),
    ) {
        let size = words.words.len() + rows.iter().map(CopiedRow::size).sum::<usize>() + body.len() + 1024;
        if size > LONGEST {
            return;
        }
        let mut shard = self.shards[words.shard].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(former) = shard.answers.remove(&words.words) {
            shard.bytes -= former.size;
        }
        if shard.has_room(size, now) {
            shard.bytes += size;
            let answer = RecentAnswer { rows, status, headers, body, made_at: now, good_until, size };
            shard.answers.insert(words.words, answer);
        }
    }
}

/// Adds a text so that no two lists of texts look the same.
fn put(words: &mut Vec<u8>, text: &[u8]) {
    words.extend_from_slice(&text.len().to_ne_bytes());
    words.extend_from_slice(text);
}
