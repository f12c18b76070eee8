//! What browsers cost: tokens, clients, sign-ins; beside the raw work under them, which nobody can do without.
//!
//! Two baselines stand beside the minting of tokens. The raw one signs on every processor and does nothing else.
//! While the server is loaded, the generator of the load takes its share of the same processors, which a real
//! server's clients do not; so the goal is taken against the raw rate of what the generator left. The database's
//! share is not left out: it is part of the product. The other baseline is a bare axum handler that signs once
//! per request, loaded alike: what it is ahead by is our own.

use std::fs;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::Result;
use crate::bare::Bare;
use crate::http::Connection;
use crate::labour::{Labour, Work};
use crate::load::{self, Outcome};
use crate::report::{Goal, Load, millis, number};
use crate::scenarios::Subject;
use crate::server::{Server, hash_threads};
use crate::visitors::Visitors;

/// Sign-ins under way for each hashing thread: enough that it never waits for the next one.
const SIGN_INS_PER_THREAD: usize = 8;
/// The load under which the latency of a mint is looked at: far from what the machine can do, so that it is the
/// latency of one mint and not of a queue of them.
const CALM_CONNECTIONS: usize = 4;
const CALM_SHARE: f64 = 0.1;

/// Everything about sessions.
pub(crate) async fn measure(subject: &Subject<'_>, server: &Server, loads: &mut Vec<Load>) -> Result<()> {
    subject.say("making people with passwords and signing them in");
    let visitors = Visitors::new(&subject.api, server.frontend, "session.example.com").await?;
    let raw = mints(subject, &visitors, loads).await?;
    loads.push(
        subject
            .compare_at(visitors.address, "GET /client", visitors.clients(), Some(Goal::AtLeast(0.2)))
            .await?,
    );
    loads.push(sign_ins(subject, &visitors).await?);
    loads.push(calm_mints(subject, &visitors, raw).await?);
    Ok(())
}

/// Mints beside raw signing and beside the signing handler. Returns the raw rate.
async fn mints(subject: &Subject<'_>, visitors: &Visitors, loads: &mut Vec<Load>) -> Result<f64> {
    let (connections, window) = (subject.options.connections, subject.options.window());
    let requests = visitors.mints();
    let mut request = Vec::new();
    requests(&mut request);
    let mut connection = Connection::open(visitors.address).await?;
    let reply = subject.api.once(&mut connection, &request).await?;
    let bare = Bare::start_signing(&subject.body_file, &reply).await?;
    let (mut ours, mut handler, mut raw) = (Outcome::new(), Outcome::new(), Labour::default());
    let (processors, mut generator) = (available_parallelism()?.get(), Vec::new());
    for _ in 0..subject.options.rounds {
        raw.then(Labour::run(Work::Sign, processors, window).await?);
        handler.then(load::run(bare.address, connections, window, &requests).await?);
        let (cpu, began) = (own_cpu()?, Instant::now());
        ours.then(load::run(visitors.address, connections, window, &requests).await?);
        generator.push((own_cpu()? - cpu).div_duration_f64(began.elapsed()));
        let [ours, handler, raw] = [ours.rate(), handler.rate(), raw.rate()].map(number);
        subject.say(&format!("tokens: {ours}/s, signing handler {handler}/s, raw signing {raw}/s"));
    }
    let row = |against: String, ratio: f64, goal| Load {
        scenario: "POST /client/sessions/{id}/tokens".to_owned(),
        engine: subject.engine,
        connections,
        outcome: ours.clone(),
        against,
        ratio: Some(ratio),
        goal,
    };
    let generator = generator.iter().sum::<f64>() / generator.len() as f64;
    let left = raw.rate() * (1.0 - generator / processors as f64);
    let against = format!("raw signing {}/s, {} beside the load", number(raw.rate()), number(left));
    loads.push(row(against, ours.rate() / left, Some(Goal::AtLeast(0.85))));
    let alike = handler.rate();
    loads.push(row(format!("axum that signs {}/s", number(alike)), ours.rate() / alike, None));
    Ok(raw.rate())
}

/// The processor time this process has used. The kernel counts it in hundredths of a second, whatever its own
/// clock does.
fn own_cpu() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name stands in parentheses and may hold anything; user and system time are the 12th and 13th after it.
    let (_, numbers) = stat.rsplit_once(')').ok_or("/proc/self/stat without a name")?;
    let ticks = |at: usize| Ok(numbers.split_whitespace().nth(at).unwrap_or_default().parse::<u64>()?);
    let (user, system): (Result<u64>, Result<u64>) = (ticks(11), ticks(12));
    Ok(Duration::from_millis((user? + system?) * 10))
}

/// Sign-ins beside raw checks of a password, on as many threads as the server hashes on.
async fn sign_ins(subject: &Subject<'_>, visitors: &Visitors) -> Result<Load> {
    let (connections, window) = (SIGN_INS_PER_THREAD * hash_threads(), subject.options.window());
    let requests = visitors.sign_ins();
    let (mut ours, mut raw) = (Outcome::new(), Labour::default());
    for _ in 0..subject.options.rounds {
        raw.then(Labour::run(Work::Verify, hash_threads(), window).await?);
        ours.then(load::run(visitors.address, connections, window, &requests).await?);
        let (raw, ours) = (raw.rate(), ours.rate());
        subject.say(&format!("password sign-ins: {ours:.1}/s, raw checks {raw:.1}/s"));
    }
    Ok(Load {
        scenario: "POST /client/sign_ins, password".to_owned(),
        engine: subject.engine,
        connections,
        against: format!("raw argon2id {:.1}/s", raw.rate()),
        ratio: Some(ours.rate() / raw.rate()),
        goal: Some(Goal::AtLeast(0.9)),
        outcome: ours,
    })
}

/// The latency of mints at a constant, low rate: alone, and while passwords are checked as fast as they can be.
async fn calm_mints(subject: &Subject<'_>, visitors: &Visitors, raw_rate: f64) -> Result<Load> {
    let every = Duration::from_secs_f64(CALM_CONNECTIONS as f64 / (raw_rate * CALM_SHARE).max(1.0));
    let (address, window) = (visitors.address, subject.options.window());
    let (mints, sign_ins) = (visitors.mints(), visitors.sign_ins());
    let (mut idle, mut busy, mut hashing) = (Outcome::new(), Outcome::new(), Outcome::new());
    for _ in 0..subject.options.rounds {
        idle.then(load::run_paced(address, CALM_CONNECTIONS, window, &mints, every).await?);
        let beside = load::run(address, SIGN_INS_PER_THREAD * hash_threads(), window, &sign_ins);
        let paced = load::run_paced(address, CALM_CONNECTIONS, window, &mints, every);
        let (paced, beside) = tokio::join!(paced, beside);
        busy.then(paced?);
        hashing.then(beside?);
        let [alone, beside] = [idle.p99(), busy.p99()].map(millis);
        let rate = hashing.rate();
        subject.say(&format!("a token: p99 {alone} ms, beside {rate:.1} sign-ins/s {beside} ms"));
    }
    for outcome in [idle.first_failure.take(), hashing.first_failure.take()].into_iter().flatten() {
        busy.fail(outcome);
    }
    Ok(Load {
        scenario: format!("tokens beside {:.1} sign-ins/s: p99", hashing.rate()),
        engine: subject.engine,
        connections: CALM_CONNECTIONS,
        against: format!("idle p99 {} ms", millis(idle.p99())),
        ratio: busy.p99().zip(idle.p99()).map(|(busy, idle)| busy.div_duration_f64(idle)),
        goal: Some(Goal::Below(3.0)),
        outcome: busy,
    })
}
