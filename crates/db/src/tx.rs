//! A connection in use: for reading, or inside a write transaction.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::{BoxFuture, join};
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::batch::{MergedStatement, merged};
use crate::copied::CopiedRow;
use crate::error::{DbError, Result};
use crate::list::SearchIndex;
use crate::number::NumberingStatement;
use crate::postgres::PooledClient;
use crate::row::Read;
use crate::sample::{Sample, Samples};
use crate::sqlite::Sqlite;
use crate::value::Value;
use crate::{postgres, sqlite};

/// The work of a transaction. It may await nothing but the database: on SQLite it is polled once.
pub type TransactionBody<'a, T> = Pin<Box<dyn Future<Output = latchkey_base::Result<T>> + Send + 'a>>;

/// A statement and its parameters.
pub type Statement = (&'static str, Vec<Value>);

/// A row that gets the next number of its series when the transaction is committed. The number is bound
/// behind the other parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    /// What is counted, such as the events of a tenant. A transaction adds to one series only.
    pub series: String,
    /// How the row is written.
    pub statement: Statement,
}

/// A connection that statements run on.
pub struct Tx {
    inner: Inner,
    /// A statement failed. PostgreSQL refuses all others then and undoes the transaction, so SQLite
    /// has to as well.
    pub(crate) failed: bool,
    /// Rows that wait for their numbers.
    numbered: Vec<Numbered>,
    /// What is known of the search indexes; nothing inside of a write, where nothing slow belongs.
    samples: Option<Arc<Samples>>,
}

enum Inner {
    /// The writer thread's connection.
    Writer(Connection),
    /// A read connection, given back when dropped. With a place among the long reads, statements run
    /// off the calling thread; with a way to one, they do so from the first on that takes too long.
    Reader {
        connection: Option<Connection>,
        home: Arc<Sqlite>,
        long: Option<LongPlace>,
        longer: Option<Longer>,
    },
    /// A pooled PostgreSQL connection, inside a transaction or not; with its place among the long reads.
    Postgres { client: Option<PooledClient>, state: State, _long: Option<LongPlace> },
}

/// Where a PostgreSQL connection stands.
struct State {
    phase: Phase,
    /// A statement was sent and its answer has not arrived.
    is_waiting: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// Each statement by itself.
    Single,
    /// `BEGIN` travels together with the first statement.
    Beginning,
    /// Inside a transaction.
    Open,
}

impl State {
    fn new(phase: Phase) -> State {
        State { phase, is_waiting: false }
    }
}

impl Tx {
    pub(crate) fn sqlite_writer(connection: Connection) -> Tx {
        Tx::new(Inner::Writer(connection), None)
    }

    pub(crate) fn sqlite_reader(home: Arc<Sqlite>, long: Option<LongPlace>) -> Result<Tx> {
        let (connection, samples) = (Some(home.reader()?), Some(home.samples.clone()));
        Ok(Tx::new(Inner::Reader { connection, home, long, longer: None }, samples))
    }

    /// One whose statements should be short.
    pub(crate) fn sqlite_short_reader(home: Arc<Sqlite>, longer: Longer) -> Result<Tx> {
        let (connection, samples) = (Some(home.reader()?), Some(home.samples.clone()));
        Ok(Tx::new(Inner::Reader { connection, home, long: None, longer: Some(longer) }, samples))
    }

    pub(crate) fn postgres_reader(
        client: PooledClient,
        samples: Arc<Samples>,
        long: Option<LongPlace>,
    ) -> Tx {
        let state = State::new(Phase::Single);
        Tx::new(Inner::Postgres { client: Some(client), state, _long: long }, Some(samples))
    }

    pub(crate) fn postgres_transaction(client: PooledClient) -> Tx {
        let state = State::new(Phase::Beginning);
        Tx::new(Inner::Postgres { client: Some(client), state, _long: None }, None)
    }

    fn new(inner: Inner, samples: Option<Arc<Samples>>) -> Tx {
        Tx { inner, failed: false, numbered: Vec::new(), samples }
    }

    /// The writer's connection, for the writer thread.
    #[expect(clippy::unreachable, reason = "only the writer thread calls this, on the Tx it made itself")]
    pub(crate) fn writer(&self) -> &Connection {
        match &self.inner {
            Inner::Writer(connection) => connection,
            _ => unreachable!("only the writer thread asks"),
        }
    }

    /// Whether statements run on SQLite.
    pub(crate) fn is_sqlite(&self) -> bool {
        !matches!(self.inner, Inner::Postgres { .. })
    }

    /// All rows.
    pub async fn all<T: Send + 'static>(
        &mut self,
        parts: &[&str],
        params: &[Value],
        read: Read<T>,
    ) -> Result<Vec<T>> {
        self.query(parts.concat(), params, read).await
    }

    /// All rows as copies, to be compared and read later.
    pub async fn all_copied(&mut self, parts: &[&str], params: &[Value]) -> Result<Vec<CopiedRow>> {
        self.query(parts.concat(), params, CopiedRow::of).await
    }

    /// The first row, if there is one.
    pub async fn maybe<T: Send + 'static>(
        &mut self,
        parts: &[&str],
        params: &[Value],
        read: Read<T>,
    ) -> Result<Option<T>> {
        Ok(self.query(parts.concat(), params, read).await?.into_iter().next())
    }

    /// Whether there is a row.
    pub async fn exists(&mut self, parts: &[&str], params: &[Value]) -> Result<bool> {
        Ok(self.maybe(parts, params, |_| Ok(())).await?.is_some())
    }

    /// Like [`Tx::maybe`], for a row that will be changed: nobody else changes it until we commit.
    pub async fn lock<T: Send + 'static>(
        &mut self,
        parts: &[&str],
        params: &[Value],
        read: Read<T>,
    ) -> Result<Option<T>> {
        Ok(self.lock_all(parts, params, read).await?.into_iter().next())
    }

    /// Like [`Tx::all`], for rows that will be changed. Order them, so that two callers never wait
    /// for each other.
    pub async fn lock_all<T: Send + 'static>(
        &mut self,
        parts: &[&str],
        params: &[Value],
        read: Read<T>,
    ) -> Result<Vec<T>> {
        // SQLite has one writer: whoever runs is alone. Keys never change, so rows that refer to this one may
        // be added meanwhile.
        let suffix = if self.is_sqlite() { "" } else { " FOR NO KEY UPDATE" };
        self.query([&parts.concat(), suffix].concat(), params, read).await
    }

    /// Like [`Tx::maybe`], for a row that must stay as it is until we commit. Others may do the same at once; whoever
    /// wants to change it waits.
    pub async fn share<T: Send + 'static>(
        &mut self,
        parts: &[&str],
        params: &[Value],
        read: Read<T>,
    ) -> Result<Option<T>> {
        let suffix = if self.is_sqlite() { "" } else { " FOR SHARE" };
        Ok(self.query([&parts.concat(), suffix].concat(), params, read).await?.into_iter().next())
    }

    /// Waits until no other transaction has this name, and has it until we commit: for what is counted before a row is
    /// added, where there is no row to lock. Whoever takes several takes them in an order that all keep.
    pub async fn be_alone(&mut self, name: &str) -> Result<()> {
        if self.is_sqlite() {
            // It has one writer.
            return Ok(());
        }
        let sql = "SELECT 1 FROM pg_advisory_xact_lock(hashtextextended($1, 0))";
        self.maybe(&[sql], &[name.into()], |_| Ok(())).await.map(drop)
    }

    /// Rows to work on that nobody else is working on; the rest are skipped, not waited for.
    pub async fn claim<T: Send + 'static>(
        &mut self,
        parts: &[&str],
        params: &[Value],
        read: Read<T>,
    ) -> Result<Vec<T>> {
        let suffix = if self.is_sqlite() { "" } else { " FOR NO KEY UPDATE SKIP LOCKED" };
        self.query([&parts.concat(), suffix].concat(), params, read).await
    }

    /// Runs a statement and says how many rows it touched.
    pub async fn run(&mut self, parts: &[&str], params: &[Value]) -> Result<u64> {
        let sql = parts.concat();
        let outcome = match &mut self.inner {
            Inner::Postgres { client: Some(client), state, .. } => {
                asked(client, state, postgres::run_statement(client, &sql, params)).await
            }
            Inner::Postgres { client: None, .. } => Err(gone()),
            Inner::Writer(_) if self.failed => Err(undone()),
            Inner::Writer(connection) => {
                sqlite::run_statement(connection, &sqlite::placeholders(&sql), params)
            }
            Inner::Reader { .. } => Err(DbError::failed("a write was tried on a read connection")),
        };
        self.failed |= outcome.is_err();
        outcome
    }

    /// Runs statements in their order; on PostgreSQL in one round trip.
    pub async fn run_many(&mut self, statements: Vec<Statement>) -> Result<()> {
        if let Inner::Postgres { client: Some(client), state, .. } = &mut self.inner {
            let sent: Vec<MergedStatement<'_>> = statements.iter().map(as_sent).collect();
            let outcome = asked(client, state, postgres::run_statements(client, &sent)).await;
            self.failed |= outcome.is_err();
            return outcome;
        }
        for (sql, params) in statements {
            self.run(&[sql], &params).await?;
        }
        Ok(())
    }

    /// Runs statements whose order does not matter, such as rows for one table; on PostgreSQL those with the
    /// same text go in one.
    pub async fn run_rows(&mut self, statements: Vec<Statement>) -> Result<()> {
        let Inner::Postgres { client: Some(client), state, .. } = &mut self.inner else {
            return self.run_many(statements).await;
        };
        let sent = merged(statements.iter());
        let outcome = asked(client, state, postgres::run_statements(client, &sent)).await;
        self.failed |= outcome.is_err();
        outcome
    }

    /// Adds a row that gets its number when everything else is done. Whoever takes a number holds the series
    /// until the commit, so it is taken last: numbers then have no gaps, and the order of the commits.
    pub fn append(&mut self, row: Numbered) {
        self.numbered.push(row);
    }

    /// Forgets the rows of a transaction that ran here before.
    pub(crate) fn reset(&mut self) {
        self.failed = false;
        self.numbered.clear();
    }

    /// The rows that wait for their numbers.
    pub(crate) fn take_numbered(&mut self) -> Vec<Numbered> {
        std::mem::take(&mut self.numbered)
    }

    /// Gives the rows that wait their numbers; on SQLite, where a statement costs no round trip.
    pub(crate) async fn number(&mut self, numbering: &str) -> Result<Vec<(Statement, i64)>> {
        let rows = self.take_numbered();
        let mut numbered = Vec::with_capacity(rows.len());
        for series in rows.chunk_by(|left, right| left.series == right.series) {
            let count = i64::try_from(series.len()).map_err(DbError::failed)?;
            let params = [series[0].series.as_str().into(), count.into()];
            let highest = self.query(numbering.to_owned(), &params, |row| row.int(0)).await?;
            let highest = *highest.first().ok_or_else(|| DbError::failed("a series has no number"))?;
            for (number, row) in (highest - count + 1..).zip(series) {
                let (sql, mut params) = row.statement.clone();
                params.push(number.into());
                numbered.push(((sql, params), number));
            }
        }
        Ok(numbered)
    }

    /// Runs the last statements of a transaction on PostgreSQL, then those that take numbers, and commits, all
    /// in one round trip. The outer result tells whether the transaction has ended, the inner one whether it
    /// was committed, with the highest number each has taken.
    pub(crate) async fn run_and_commit(
        mut self,
        statements: &[MergedStatement<'_>],
        counted: &[NumberingStatement<'_>],
    ) -> Result<Result<Vec<i64>>> {
        let Inner::Postgres { client: Some(client), state, .. } = &mut self.inner else { return Err(gone()) };
        if statements.is_empty() && counted.is_empty() && state.phase == Phase::Beginning {
            return Ok(Ok(Vec::new()));
        }
        let committed = asked(client, state, postgres::run_and_commit(client, statements, counted)).await?;
        state.phase = Phase::Single;
        Ok(committed)
    }

    /// Runs a whole script without parameters; for migrations.
    pub(crate) async fn script(&mut self, text: &str) -> Result<()> {
        match &mut self.inner {
            Inner::Postgres { client, state, .. } => {
                let client = client.as_ref().ok_or_else(gone)?;
                asked(client, state, postgres::run_script(client, text)).await
            }
            Inner::Writer(connection) => Ok(connection.execute_batch(text)?),
            Inner::Reader { .. } => Err(DbError::failed("a write was tried on a read connection")),
        }
    }

    /// All rows of a query whose text was built.
    pub(crate) async fn query<T: Send + 'static>(
        &mut self,
        sql: String,
        params: &[Value],
        read: Read<T>,
    ) -> Result<Vec<T>> {
        let outcome = self.rows(sql, params, read).await;
        self.failed |= outcome.is_err();
        outcome
    }

    /// Like [`Tx::query`], but PostgreSQL plans it for these very values; SQLite plans by itself.
    pub(crate) async fn query_planned<T: Send + 'static>(
        &mut self,
        sql: String,
        params: &[Value],
        read: Read<T>,
    ) -> Result<Vec<T>> {
        let Inner::Postgres { client: Some(client), state, .. } = &mut self.inner else {
            return self.query(sql, params, read).await;
        };
        let rows = asked(client, state, postgres::query_planned(client, &sql, params)).await;
        let outcome = rows.and_then(|rows| postgres::read(&rows, read));
        self.failed |= outcome.is_err();
        outcome
    }

    /// Like [`Tx::query`], but SQLite gives up after so many steps of its machine: `None`.
    pub(crate) async fn query_within<T: Send + 'static>(
        &mut self,
        steps: i64,
        sql: String,
        params: &[Value],
        read: Read<T>,
    ) -> Result<Option<Vec<T>>> {
        // It has a limit of its own then, and is not done again in turn.
        let longer = self.longer().and_then(Option::take);
        self.limit_steps(Some(steps))?;
        let outcome = self.rows(sql, params, read).await;
        self.limit_steps(None)?;
        if let Some(place) = self.longer() {
            *place = longer;
        }
        if matches!(outcome, Err(DbError::GaveUp)) {
            return Ok(None);
        }
        self.failed |= outcome.is_err();
        outcome.map(Some)
    }

    fn longer(&mut self) -> Option<&mut Option<Longer>> {
        match &mut self.inner {
            Inner::Reader { longer, .. } => Some(longer),
            Inner::Writer(_) | Inner::Postgres { .. } => None,
        }
    }

    fn limit_steps(&mut self, steps: Option<i64>) -> Result<()> {
        match &mut self.inner {
            Inner::Writer(connection) | Inner::Reader { connection: Some(connection), .. } => {
                sqlite::limit_steps(connection, steps)
            }
            // A lost connection took its limit along.
            Inner::Reader { connection: None, .. } | Inner::Postgres { .. } => Ok(()),
        }
    }

    async fn rows<T: Send + 'static>(
        &mut self,
        sql: String,
        params: &[Value],
        read: Read<T>,
    ) -> Result<Vec<T>> {
        if let Inner::Reader { connection, home, long, longer } = &mut self.inner
            && let (Some(open), true) = (connection.as_mut(), longer.is_some())
        {
            match sqlite::query_short(open, &sqlite::placeholders(&sql), params, read) {
                Err(DbError::GaveUp) => {
                    // Others read with the connection meanwhile.
                    connection.take().into_iter().for_each(|connection| home.give_back(connection));
                    if let Some(longer) = longer.take() {
                        *long = Some(longer.place().await?);
                    }
                    *connection = Some(home.reader()?);
                }
                outcome => return outcome,
            }
        }
        match &mut self.inner {
            Inner::Postgres { client, state, .. } => {
                let client = client.as_ref().ok_or_else(gone)?;
                postgres::read(&asked(client, state, postgres::query(client, &sql, params)).await?, read)
            }
            Inner::Writer(_) if self.failed => Err(undone()),
            Inner::Writer(connection) => sqlite::query(connection, &sqlite::placeholders(&sql), params, read),
            Inner::Reader { connection, long: None, .. } => sqlite::query(
                connection.as_ref().ok_or_else(gone)?,
                &sqlite::placeholders(&sql),
                params,
                read,
            ),
            Inner::Reader { connection, long, .. } => {
                let owned = connection.take().ok_or_else(gone)?;
                // The place goes along: a caller who goes away does not stop the statement.
                let place = long.take();
                let params = params.to_vec();
                let (sender, answer) = oneshot::channel();
                let work = move |connection: &Connection| {
                    let _ =
                        sender.send(sqlite::query(connection, &sqlite::placeholders(&sql), &params, read));
                };
                let (owned, place) = off_thread(owned, place, Box::new(work)).await?;
                (*connection, *long) = (Some(owned), place);
                answer.await.map_err(DbError::failed)?
            }
        }
    }

    /// How common the trigrams of a search index are.
    pub(crate) async fn sample(&mut self, index: &SearchIndex) -> Result<Arc<Sample>> {
        let Some(samples) = self.samples.clone() else { return Ok(Arc::default()) };
        let sqlite = self.is_sqlite();
        let (known, is_due) = samples.known(index, sqlite);
        if !is_due {
            return Ok(known);
        }
        let sizes = self.query(Sample::size_of(index, sqlite), &[], |row| row.int(0)).await?;
        let size = sizes.first().copied().unwrap_or_default();
        if !known.is_outgrown(size) {
            return Ok(known);
        }
        // Its text is another one each time: prepared by PostgreSQL, it would only take the place of others.
        let texts =
            self.query_planned(Sample::statement(index, size, sqlite), &[], |row| row.text(0)).await?;
        let fresh = Arc::new(Sample::of(&texts, size, sqlite));
        samples.keep(index, fresh.clone());
        Ok(fresh)
    }

    /// Whether the transaction may be committed. After a failed statement PostgreSQL answers `COMMIT`
    /// by rolling back, without an error; nobody may be told that this was a success.
    pub(crate) fn check(&self) -> latchkey_base::Result<()> {
        match self.failed {
            true => Err(undone().into()),
            false => Ok(()),
        }
    }

    /// Undoes a PostgreSQL transaction.
    pub(crate) async fn roll_back(mut self) -> Result<()> {
        if let Inner::Postgres { client, state, .. } = &mut self.inner
            && state.phase == Phase::Open
        {
            let open = client.as_ref().ok_or_else(gone)?;
            postgres::run_script(open, "ROLLBACK").await?;
            state.phase = Phase::Single;
        }
        Ok(())
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        match &mut self.inner {
            Inner::Writer(_) => (),
            Inner::Reader { connection, home, .. } => {
                if let Some(connection) = connection.take() {
                    home.give_back(connection);
                }
            }
            Inner::Postgres { client, state, .. } => {
                // Dropped in mid-transaction or mid-statement (the caller went away): close the
                // connection, which rolls back, rather than give a dirty or busy one to the next request.
                if (state.phase == Phase::Open || state.is_waiting)
                    && let Some(client) = client.take()
                {
                    client.close();
                }
            }
        }
    }
}

/// A statement as it is sent.
fn as_sent((sql, params): &Statement) -> MergedStatement<'_> {
    ((*sql).into(), params.iter().collect())
}

/// Work on a connection of SQLite off the calling thread.
type Work = Box<dyn FnOnce(&Connection) + Send>;

/// A place among the long reads, and what the caller holds for as long.
pub(crate) struct LongPlace {
    pub(crate) _place: OwnedSemaphorePermit,
    pub(crate) _held: Held,
}

/// What a caller holds until the last statement of a long read has ended.
pub type Held = Box<dyn Send + Sync>;

/// Waits for the turn of a caller among those whose reads take long; made when it is needed.
pub type ReadTurn = Box<dyn FnOnce() -> BoxFuture<'static, latchkey_base::Result<Held>> + Send + Sync>;

/// The way to a place among the long reads.
pub(crate) struct Longer {
    pub(crate) turn: ReadTurn,
    pub(crate) places: Arc<Semaphore>,
}

impl Longer {
    async fn place(self) -> Result<LongPlace> {
        let held = (self.turn)().await.map_err(DbError::Refused)?;
        let place = self.places.acquire_owned().await.map_err(DbError::unavailable)?;
        Ok(LongPlace { _place: place, _held: held })
    }
}

fn off_thread(
    connection: Connection,
    place: Option<LongPlace>,
    work: Work,
) -> BoxFuture<'static, Result<(Connection, Option<LongPlace>)>> {
    let done = tokio::task::spawn_blocking(move || {
        work(&connection);
        (connection, place)
    });
    Box::pin(async move { done.await.map_err(DbError::failed) })
}

/// Awaits what PostgreSQL is asked; sends `BEGIN` ahead of the first statement in the same round trip. What is asked is
/// a box: the futures of the driver would be compiled anew for everybody who reads rows of a type of their own.
async fn asked<T>(
    client: &PooledClient,
    state: &mut State,
    statement: BoxFuture<'_, Result<T>>,
) -> Result<T> {
    state.is_waiting = true;
    if state.phase != Phase::Beginning {
        let result = statement.await;
        state.is_waiting = false;
        return result;
    }
    state.phase = Phase::Open;
    // Both are polled in order, so `BEGIN` reaches the server first.
    let (begin, result) = join(postgres::run_script(client, postgres::BEGIN), statement).await;
    state.is_waiting = false;
    begin?;
    result
}

fn undone() -> DbError {
    DbError::failed("a transaction went on after a failed statement")
}

fn gone() -> DbError {
    DbError::failed("the connection was lost in an earlier statement")
}
