//! Transactions on PostgreSQL whose statements are known beforehand: those that wait at the same time
//! travel, run and are committed together.
//!
//! A commit then costs one fsync and one round trip for all of them, and rows for the same table go in
//! one statement. None is answered before the commit. If the whole is refused, nothing of it was
//! written, and each one runs again by itself: one caller's mistake is nobody else's.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use tokio::sync::{Semaphore, oneshot};

use crate::error::{DbError, Result};
use crate::number;
use crate::postgres::Postgres;
use crate::tx::{Numbered, Statement, Tx};
use crate::value::Value;

/// Transactions that share one commit at most, so that the first does not wait for ever.
const BATCH: usize = 64;
/// Batches under way at the same time: while one waits for the disk, the next runs.
const AT_ONCE: usize = 2;

/// Parameters of one statement, with some room for those beside the rows.
const PARAMETERS: usize = 65_000;

/// Transactions waiting for their batch.
pub(crate) struct Batches {
    waiting: Mutex<Vec<Job>>,
    places: Semaphore,
}

struct Job {
    statements: Vec<Statement>,
    numbered: Vec<Numbered>,
    done: oneshot::Sender<Result<Option<i64>>>,
}

/// A statement and its parameters, as they are sent.
pub(crate) type MergedStatement<'a> = (Cow<'a, str>, Vec<&'a Value>);

impl Batches {
    pub(crate) fn new() -> Batches {
        Batches { waiting: Mutex::default(), places: Semaphore::new(AT_ONCE) }
    }

    fn take(&self) -> Vec<Job> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.len().min(BATCH);
        // Callers who have gone were told nothing, or that it took too long, and may try again.
        waiting.drain(..count).filter(|job| !job.done.is_closed()).collect()
    }
}

/// Runs statements in one transaction, together with others that wait. Tells the highest number given.
pub(crate) async fn write(
    postgres: &Arc<Postgres>,
    numbering: &'static str,
    statements: Vec<Statement>,
    numbered: Vec<Numbered>,
) -> Result<Option<i64>> {
    let (done, answer) = oneshot::channel();
    let job = Job { statements, numbered, done };
    postgres.batches.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(job);
    // In a task of its own: a caller who goes away must not take the others along.
    tokio::spawn(run_waiting(postgres.clone(), numbering));
    answer.await.map_err(DbError::failed)?
}

/// Takes all that wait when its turn comes, which may be nothing any more.
async fn run_waiting(postgres: Arc<Postgres>, numbering: &'static str) {
    let Ok(_place) = postgres.batches.places.acquire().await else { return };
    let jobs = match postgres.batches.take() {
        jobs if jobs.len() < 2 => jobs,
        jobs => together(&postgres, numbering, jobs).await,
    };
    join_all(jobs.into_iter().map(|job| alone(&postgres, numbering, job))).await;
}

/// Runs jobs as one transaction. Those it returns have to run by themselves.
async fn together(postgres: &Postgres, numbering: &str, jobs: Vec<Job>) -> Vec<Job> {
    match commit(postgres, numbering, &jobs).await.map_err(Arc::new) {
        Ok(Err(_)) => return jobs,
        Ok(Ok(numbers)) => {
            for (job, number) in jobs.into_iter().zip(numbers) {
                let _ = job.done.send(Ok(number));
            }
        }
        // It may have been committed or not, so nothing of it may run again.
        Err(reason) => {
            for job in jobs {
                let _ = job.done.send(Err(DbError::unavailable(reason.clone())));
            }
        }
    }
    Vec::new()
}

async fn alone(postgres: &Postgres, numbering: &str, job: Job) {
    let jobs = [job];
    let outcome = commit(postgres, numbering, &jobs).await.flatten();
    let [job] = jobs;
    let _ = job.done.send(outcome.map(|numbers| numbers.into_iter().next().flatten()));
}

/// Runs jobs and commits, in one round trip. The inner result has the highest number each of them was given.
async fn commit(postgres: &Postgres, numbering: &str, jobs: &[Job]) -> Result<Result<Vec<Option<i64>>>> {
    let tx = Tx::postgres_transaction(postgres.connection().await?);
    let statements = merged(jobs.iter().flat_map(|job| &job.statements));
    let mut rows: Vec<(usize, &Numbered)> = jobs
        .iter()
        .enumerate()
        .flat_map(|(job, all)| all.numbered.iter().map(move |row| (job, row)))
        .collect();
    // Two batches that take the same series take them in the same order.
    rows.sort_by(|(_, left), (_, right)| left.series.cmp(&right.series));
    let counted = number::statements(numbering, &rows.iter().map(|(_, row)| *row).collect::<Vec<_>>())?;
    let highest = match tx.run_and_commit(&statements, &counted).await? {
        Ok(highest) => highest,
        Err(error) => return Ok(Err(error)),
    };
    let given = counted.iter().zip(highest).flat_map(|(counted, highest)| counted.numbers(highest));
    let mut numbers = vec![None; jobs.len()];
    for ((job, _), number) in rows.iter().zip(given) {
        numbers[*job] = numbers[*job].max(Some(number));
    }
    Ok(Ok(numbers))
}

/// The statements in the order in which their texts come first, rows with the same text together.
pub(crate) fn merged<'a>(statements: impl Iterator<Item = &'a Statement>) -> Vec<MergedStatement<'a>> {
    let mut groups: Vec<(&str, Vec<&[Value]>)> = Vec::new();
    for (sql, row) in statements {
        match groups.iter_mut().find(|(text, _)| text == sql) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((sql, vec![row])),
        }
    }
    let mut sent = Vec::new();
    for (sql, rows) in groups {
        let mut rows = &rows[..];
        while !rows.is_empty() {
            let (count, sql) = several(sql, rows[0].len(), rows.len());
            let (now, later) = rows.split_at(count);
            sent.push((sql, now.iter().copied().flatten().collect()));
            rows = later;
        }
    }
    sent
}

/// How many of `rows` rows go in one statement: a power of two, so that a few prepared statements serve all, and
/// no more parameters than PostgreSQL takes.
pub(crate) fn together_at_most(rows: usize, width: usize) -> usize {
    1 << rows.min(PARAMETERS / width.max(1)).max(1).ilog2()
}

/// `… VALUES ($1, $2)` becomes `… VALUES ($1, $2), ($3, $4)`: for how many of `rows` rows, and the text.
fn several(sql: &str, width: usize, rows: usize) -> (usize, Cow<'_, str>) {
    let tuple = |row: usize| {
        let marks: Vec<String> = (1..=width).map(|column| format!("${}", row * width + column)).collect();
        format!("({})", marks.join(", "))
    };
    let count = together_at_most(rows, width);
    match sql.split_once(&tuple(0)) {
        Some((before, after)) if count > 1 => {
            let tuples: Vec<String> = (0..count).map(tuple).collect();
            (count, Cow::Owned([before, &tuples.join(", "), after].concat()))
        }
        _ => (1, Cow::Borrowed(sql)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_for_the_same_table_go_in_statements_of_two_four_eight() {
        let (user, event) =
            ("INSERT INTO u (a, b) VALUES ($1, $2)", "INSERT INTO e (a) VALUES ($1) RETURNING a");
        let statements: Vec<Statement> = (0..3i64)
            .flat_map(|n| [(user, vec![n.into(), (n * 10).into()]), (event, vec![n.into()])])
            .collect();
        let sent = merged(statements.iter());
        let texts: Vec<&str> = sent.iter().map(|(sql, _)| &**sql).collect();
        let (two, one) = ("INSERT INTO u (a, b) VALUES ($1, $2), ($3, $4)", user);
        assert_eq!(texts, [two, one, "INSERT INTO e (a) VALUES ($1), ($2) RETURNING a", event]);
        assert_eq!(sent[0].1, [&Value::from(0i64), &0i64.into(), &1i64.into(), &10i64.into()]);
        assert_eq!(sent[1].1, [&Value::from(2i64), &20i64.into()]);
    }

    #[test]
    fn other_statements_stay_as_they_are() {
        let statements = vec![("DELETE FROM u WHERE a = $1", vec![Value::from(1i64)]); 2];
        let sent = merged(statements.iter());
        assert_eq!(sent.len(), 2);
        assert!(sent.iter().all(|(sql, params)| sql == "DELETE FROM u WHERE a = $1" && params.len() == 1));
    }
}
