//! The run on one engine: start, seed, load, rest, start again. What differs between the engines is the
//! database's address, the raw inserts and one goal.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::api::Api;
use crate::args::{Options, Part};
use crate::outbox::Outbox;
use crate::people::People;
use crate::raw_postgres::RawPostgres;
use crate::raw_sqlite::RawSqlite;
use crate::report::{Fact, Goal, Load, Report, number};
use crate::scenarios::Subject;
use crate::seed::Seeded;
use crate::server::{Server, Settings};
use crate::{Result, databases, events, organizations, progress, sessions, social};

const STARTS: usize = 5;
/// How long a server rests before its memory counts as idle: allocators give back with a delay.
const REST: Duration = Duration::from_secs(3);

pub(crate) async fn sqlite(options: &Options, dir: &Path, report: &mut Report) -> Result<()> {
    fs::create_dir_all(dir)?;
    let database = format!("sqlite:{}", dir.join("latchkey.db").display());
    let settings = Settings { binary: options.server.clone(), dir: dir.to_owned(), database };
    let server = settings.start().await?;
    let mut subject = unseeded("sqlite", options, &settings, &server)?;
    let mut searches = Vec::new();
    seed_and_search(&mut subject, None, &mut searches).await?;
    report.facts.push(seeding(&subject));
    if options.part == Part::All {
        subject.against_bare(0.25, &mut report.loads).await?;
    }
    report.loads.append(&mut searches);
    if options.measures(Part::Sessions) {
        sessions::measure(&subject, &server, &mut report.loads).await?;
        report.loads.push(social::measure(&subject, &settings, &server).await?);
    }
    if options.measures(Part::Events) {
        let database = format!("sqlite:{}", dir.join("outbox.db").display());
        let outbox = Outbox::open(&database, subject.people).await?;
        events::measure(&subject, &outbox, &mut report.loads).await?;
    }
    if options.measures(Part::Organizations) {
        organizations::measure(&subject, &settings, &server, report).await?;
    }
    if !options.measures(Part::Creates) {
        return server.stop().await;
    }
    progress("sqlite", "filling a raw database of the same size");
    let raw = RawSqlite::open(&dir.join("raw.db"), subject.people, subject.seeded.users).await?;
    let load = subject.creates(|| raw.run(options.connections, options.window())).await?;
    report.loads.push(load);
    rest_and_restart("sqlite", &settings, server, report).await
}

pub(crate) async fn postgres(options: &Options, url: &str, dir: &Path, report: &mut Report) -> Result<()> {
    let name = format!("latchkey_bench_{}", std::process::id());
    let [raw_name, outbox_name] = ["raw", "outbox"].map(|part| format!("{name}_{part}"));
    databases::check_durable(url).await?;
    let database = databases::create(url, &name).await?;
    let raw = databases::create(url, &raw_name).await?;
    let outbox = databases::create(url, &outbox_name).await?;
    let done = on_postgres(options, Databases { own: database, raw, outbox }, dir, report).await;
    for name in [&outbox_name, &raw_name, &name] {
        databases::drop(url, name).await?;
    }
    done
}

/// The URLs of the databases of one run.
struct Databases {
    /// The server's.
    own: String,
    raw: String,
    outbox: String,
}

async fn on_postgres(options: &Options, databases: Databases, dir: &Path, report: &mut Report) -> Result<()> {
    let Databases { own, raw, outbox } = databases;
    let settings = Settings { binary: options.server.clone(), dir: dir.to_owned(), database: own.clone() };
    let server = settings.start().await?;
    let mut subject = unseeded("postgres", options, &settings, &server)?;
    let mut searches = Vec::new();
    seed_and_search(&mut subject, Some(&own), &mut searches).await?;
    report.facts.push(seeding(&subject));
    if options.part == Part::All {
        subject.against_bare(0.12, &mut report.loads).await?;
    }
    report.loads.append(&mut searches);
    if options.measures(Part::Sessions) {
        sessions::measure(&subject, &server, &mut report.loads).await?;
        report.loads.push(social::measure(&subject, &settings, &server).await?);
    }
    if options.measures(Part::Events) {
        let outbox = Outbox::open(&outbox, subject.people).await?;
        events::measure(&subject, &outbox, &mut report.loads).await?;
    }
    if options.measures(Part::Organizations) {
        organizations::measure(&subject, &settings, &server, report).await?;
    }
    if !options.measures(Part::Creates) {
        return server.stop().await;
    }
    progress("postgres", "filling a raw database of the same size");
    let raw = RawPostgres::open(raw, subject.people, subject.seeded.users).await?;
    let load = subject.creates(|| raw.run(options.window())).await?;
    report.loads.push(load);
    rest_and_restart("postgres", &settings, server, report).await
}

fn unseeded<'a>(
    engine: &'static str,
    options: &'a Options,
    settings: &Settings,
    server: &Server,
) -> Result<Subject<'a>> {
    let api = Arc::new(Api::new(server.address, &settings.secret_key(server)?));
    let people = People::new(options.users);
    let body_file = settings.dir.join("bare-reply");
    Ok(Subject { engine, options, api, people, seeded: Arc::default(), body_file })
}

/// Seeds all users, on PostgreSQL settled at `url`, and measures searches at every size on the way.
async fn seed_and_search(
    subject: &mut Subject<'_>,
    url: Option<&str>,
    searches: &mut Vec<Load>,
) -> Result<()> {
    for size in subject.options.sizes() {
        subject.seed(size).await?;
        if let Some(url) = url {
            subject.say("vacuum and checkpoint after seeding");
            databases::settle(url).await?;
        }
        if subject.options.measures(Part::Searches) {
            subject.search(searches).await?;
        }
        // The time for seeding is over.
        if subject.seeded.users < size {
            break;
        }
    }
    Ok(())
}

fn seeding(subject: &Subject<'_>) -> Fact {
    let Seeded { users, took, .. } = &*subject.seeded;
    let what = format!("seeding {} users", number(*users as f64));
    fact(subject.engine, &what, *users as f64 / took.as_secs_f64(), "users/s")
}

/// Memory after the load, then start-up and memory on the data it left.
async fn rest_and_restart(
    engine: &'static str,
    settings: &Settings,
    server: Server,
    report: &mut Report,
) -> Result<()> {
    progress(engine, "resting, then starting again on the same data");
    let small = Some(Goal::Below(40.0));
    sleep(REST).await;
    let after_load = megabytes(server.own_memory()?);
    server.stop().await?;
    let mut took = Vec::new();
    let mut fresh = 0.0;
    for turn in 1..=STARTS {
        let server = settings.start().await?;
        took.push(server.ready_after.as_secs_f64() * 1e3);
        if turn == STARTS {
            sleep(REST).await;
            fresh = megabytes(server.resident()?);
        }
        server.stop().await?;
    }
    took.sort_by(f64::total_cmp);
    let quick = Some(Goal::Below(100.0));
    report
        .facts
        .push(Fact { goal: quick, ..fact(engine, "start on existing data, median", took[STARTS / 2], "ms") });
    report.facts.push(fact(engine, "start on existing data, slowest of five", took[STARTS - 1], "ms"));
    report.facts.push(Fact { goal: small, ..fact(engine, "idle memory after start", fresh, "MB") });
    report.facts.push(fact(engine, "own memory after the load", after_load, "MB"));
    Ok(())
}

fn fact(engine: &'static str, what: &str, value: f64, unit: &'static str) -> Fact {
    Fact { what: what.to_owned(), engine, value, unit, goal: None }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
