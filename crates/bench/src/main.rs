//! Latchkey's bench: starts our server and, beside it, baselines that do the least possible for the same
//! answer; loads them alike, in turns, in one run; prints rates, latencies, ratios and goals. It knows the
//! server only by its program and its API. This file holds the order of a run.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a bench reads the clock, and it is a command line that prints"
)]

mod api;
mod args;
mod bare;
mod databases;
mod engine;
mod events;
mod fill;
mod histogram;
mod http;
mod labour;
mod load;
mod organizations;
mod outbox;
mod people;
mod poster;
mod raw;
mod raw_postgres;
mod raw_sqlite;
mod receiver;
mod report;
mod scenarios;
mod seed;
mod server;
mod sessions;
mod social;
mod visitors;

use std::fs;
use std::process::ExitCode;
use std::thread::available_parallelism;

use tokio::signal::unix::{SignalKind, signal};

use crate::args::{Command, Options};
use crate::report::{Fact, Report, number};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Nothing here recovers from an error, so its text is all that matters.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    let done = match args::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(Command::Bare { listen, body_file, signs }) => {
            bare::serve(listen, &body_file, signs).await.map(|()| true)
        }
        Ok(Command::Labour { work, threads, window }) => labour::work(work, threads, window).map(|()| true),
        Ok(Command::Receive { listen }) => receiver::serve(listen).await.map(|()| true),
        Ok(Command::Post { to, body_file, window }) => {
            poster::work(to, &body_file, window).await.map(|()| true)
        }
        Ok(Command::Run(options)) => run_until_stopped(&options).await,
        Err(error) => Err(error),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("latchkey-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A line for those who watch.
fn progress(engine: &str, line: &str) {
    eprintln!("[{engine}] {line}");
}

/// Runs the bench; a signal drops it, and with it every process it started.
async fn run_until_stopped(options: &Options) -> Result<bool> {
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        done = run(options) => done,
        _ = interrupted.recv() => Err("interrupted".into()),
        _ = terminated.recv() => Err("terminated".into()),
    }
}

/// Both engines, one after the other; true when everything could be measured and nothing failed.
async fn run(options: &Options) -> Result<bool> {
    let program = fs::metadata(&options.server).map_err(|e| format!("{}: {e}", options.server.display()))?;
    let dir = options.dir.join(std::process::id().to_string());
    fs::create_dir_all(&dir)?;
    let dir = dir.canonicalize()?;
    let mut report = Report { preface: preface(options)?, ..Report::default() };
    report.facts.push(Fact {
        what: "size of the program".to_owned(),
        engine: "-",
        value: program.len() as f64 / 1e6,
        unit: "MB",
        goal: None,
    });
    if options.sqlite
        && let Err(error) = engine::sqlite(options, &dir.join("sqlite"), &mut report).await
    {
        report.broken.push(format!("sqlite: {error}"));
    }
    if let Some(url) = &options.postgres
        && let Err(error) = engine::postgres(options, url, &dir.join("postgres"), &mut report).await
    {
        report.broken.push(format!("postgres: {error}"));
    }
    print!("{}", report.render());
    if report.failed() {
        eprintln!("the servers' logs are in {}", dir.display());
    } else {
        fs::remove_dir_all(&dir)?;
    }
    Ok(!report.failed())
}

fn preface(options: &Options) -> Result<Vec<String>> {
    let (connections, seconds, rounds) = (options.connections, options.seconds, options.rounds);
    let mut lines = vec![format!(
        "{connections} connections unless said, {seconds} s measured per side in {rounds} turns, {} users seeded, {} processors shared by servers and load",
        number(options.users as f64),
        available_parallelism()?,
    )];
    if options.postgres.is_none() {
        lines.push("PostgreSQL was not measured: no URL of a server was given".to_owned());
    }
    Ok(lines)
}
