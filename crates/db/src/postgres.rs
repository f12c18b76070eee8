//! PostgreSQL: a pool of connections with cached prepared statements.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime};
use futures_util::future::{BoxFuture, join_all, join3};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tokio_postgres::NoTls;
use tokio_postgres::config::{Config, SslMode};
use tokio_postgres::types::ToSql;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::batch::{Batches, MergedStatement};
use crate::error::{DbError, Result};
use crate::number::NumberingStatement;
use crate::row::{Read, Row};
use crate::sample::Samples;
use crate::turns::{self, Turn, Turns};
use crate::value::Value;

/// How long a request waits for a free connection before it is told to come back later.
const WAIT: Duration = Duration::from_secs(5);
/// No statement of ours runs longer; one that does is cut off rather than left to pile up. Nor does one wait longer for a
/// row that somebody else changes: it keeps a connection meanwhile, for which others wait a little longer than that. What
/// is not inside of a write transaction (see [`BEGIN`]) only reads, as on SQLite.
const SESSION: &str = "-c statement_timeout=30000 -c lock_timeout=4000 -c idle_in_transaction_session_timeout=30000 \
                       -c default_transaction_read_only=on";
/// Begins a write transaction.
pub(crate) const BEGIN: &str = "BEGIN READ WRITE";

/// A pool of connections to one PostgreSQL database.
pub(crate) struct Postgres {
    pool: Pool,
    turns: Arc<Turns>,
    pub(crate) batches: Batches,
    pub(crate) samples: Arc<Samples>,
}

impl Postgres {
    pub(crate) fn open(url: &str, connections: usize) -> Result<Arc<Postgres>> {
        let mut config: Config = url.parse().map_err(DbError::failed)?;
        config.application_name("latchkey");
        // What the URL asks for comes last and wins.
        config.options(format!("{SESSION} {}", config.get_options().unwrap_or_default()));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(WAIT);
        }
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match config.get_ssl_mode() {
            SslMode::Require => Manager::from_config(config, MakeRustlsConnect::new(tls()?), recycling),
            // Without being asked for it, TLS would refuse the self-signed certificates many servers come with.
            _ => Manager::from_config(config, NoTls, recycling),
        };
        let pool = Pool::builder(manager)
            .max_size(connections)
            .wait_timeout(Some(WAIT))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(DbError::failed)?;
        let turns = Turns::new(connections);
        Ok(Arc::new(Postgres { pool, turns, batches: Batches::new(), samples: Arc::default() }))
    }

    /// A connection from the pool.
    pub(crate) fn connection(&self) -> BoxFuture<'_, Result<PooledClient>> {
        Box::pin(async {
            let turn = timeout(WAIT, self.turns.take(turns::caller())).await.map_err(DbError::unavailable)?;
            let object = self.pool.get().await.map_err(|error| match error {
                PoolError::Backend(cause) => DbError::unavailable(cause),
                other => DbError::unavailable(other),
            })?;
            Ok(PooledClient { object, _turn: turn })
        })
    }
}

/// A connection, with the turn of whoever has it.
pub(crate) struct PooledClient {
    object: Object,
    _turn: Turn,
}

impl PooledClient {
    /// Closes the connection, instead of giving it back to the pool.
    pub(crate) fn close(self) {
        drop(Object::take(self.object));
    }
}

impl Deref for PooledClient {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.object
    }
}

/// TLS that trusts what the operating system trusts.
fn tls() -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in rustls_native_certs::load_native_certs().certs {
        let _ = roots.add(certificate);
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(DbError::failed)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Statements kept prepared for each connection. The texts of lists depend on the request; without a
/// bound callers could fill the memory of both sides.
const STATEMENTS: usize = 256;

/// A prepared statement, from the connection's cache where it is there.
async fn prepared(client: &Object, sql: &str) -> Result<tokio_postgres::Statement> {
    if client.statement_cache.size() >= STATEMENTS {
        client.statement_cache.clear();
    }
    Ok(client.prepare_cached(sql).await?)
}

/// All rows of a query.
pub(crate) fn query<'a>(
    client: &'a Object,
    sql: &'a str,
    params: &'a [Value],
) -> BoxFuture<'a, Result<Vec<tokio_postgres::Row>>> {
    Box::pin(async move {
        let statement = prepared(client, sql).await?;
        Ok(client.query(&statement, &as_sql(params)).await?)
    })
}

/// What rows say.
pub(crate) fn read<T>(rows: &[tokio_postgres::Row], read: Read<T>) -> Result<Vec<T>> {
    rows.iter().map(|row| read(&Row::Postgres(row))).collect()
}

/// All rows of a query that is planned for these very values: after a few runs a prepared statement gets
/// one plan for all of them.
pub(crate) fn query_planned<'a>(
    client: &'a Object,
    sql: &'a str,
    params: &'a [Value],
) -> BoxFuture<'a, Result<Vec<tokio_postgres::Row>>> {
    Box::pin(async move {
        let typed: Vec<_> = as_sql(params).into_iter().zip(params.iter().map(Value::kind)).collect();
        Ok(client.query_typed(sql, &typed).await?)
    })
}

/// Runs statements without parameters.
pub(crate) fn run_script<'a>(client: &'a Object, text: &'a str) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move { Ok(client.batch_execute(text).await?) })
}

/// Runs a statement and says how many rows it touched.
pub(crate) fn run_statement<'a>(
    client: &'a Object,
    sql: &'a str,
    params: &'a [Value],
) -> BoxFuture<'a, Result<u64>> {
    Box::pin(async move {
        let statement = prepared(client, sql).await?;
        Ok(client.execute(&statement, &as_sql(params)).await?)
    })
}

/// Runs statements in their order, in one round trip.
pub(crate) fn run_statements<'a>(
    client: &'a Object,
    statements: &'a [MergedStatement<'a>],
) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let prepared = prepare_all(client, statements).await?;
        first_error(join_all(sent(client, &prepared, statements)).await)
    })
}

/// Runs statements, takes numbers and commits, in one round trip. The outer result tells whether the
/// transaction has ended, the inner one whether it was committed: after a failed statement PostgreSQL answers
/// the commit by rolling back.
pub(crate) fn run_and_commit<'a>(
    client: &'a Object,
    statements: &'a [MergedStatement<'a>],
    counted: &'a [NumberingStatement<'a>],
) -> BoxFuture<'a, Result<Result<Vec<i64>>>> {
    Box::pin(async move {
        let plain = prepare_all(client, statements).await?;
        let mut counting = Vec::with_capacity(counted.len());
        for counted in counted {
            counting.push(prepared(client, &counted.sql).await?);
        }
        let all = join_all(sent(client, &plain, statements));
        let numbers = join_all(counting.iter().zip(counted).map(|(statement, counted)| async move {
            let rows = client.query(statement, &as_sql(counted.params())).await?;
            let first = rows.first().ok_or_else(|| DbError::failed("a series has no number"))?;
            Ok(first.try_get(0)?)
        }));
        // They are polled in this order, so they are sent in it.
        let (outcomes, numbers, committed) = join3(all, numbers, client.batch_execute("COMMIT")).await;
        committed?;
        Ok(first_error(outcomes).and_then(|()| numbers.into_iter().collect()))
    })
}

/// All are prepared before the first is sent: one that waits for that would be overtaken by those that
/// were prepared earlier.
async fn prepare_all(
    client: &Object,
    statements: &[MergedStatement<'_>],
) -> Result<Vec<tokio_postgres::Statement>> {
    let mut ready = Vec::with_capacity(statements.len());
    for (sql, _) in statements {
        ready.push(prepared(client, sql).await?);
    }
    Ok(ready)
}

fn sent<'a>(
    client: &'a Object,
    prepared: &'a [tokio_postgres::Statement],
    statements: &'a [MergedStatement<'a>],
) -> impl Iterator<Item = impl Future<Output = Result<u64, tokio_postgres::Error>> + 'a> + 'a {
    let pairs = prepared.iter().zip(statements);
    pairs.map(move |(statement, (_, params))| async move {
        client.execute(statement, &as_sql(params.iter().copied())).await
    })
}

/// The statement that failed first is the reason; those after it only say that the transaction is over.
fn first_error(outcomes: Vec<Result<u64, tokio_postgres::Error>>) -> Result<()> {
    outcomes.into_iter().try_for_each(|outcome| outcome.map(|_| ()).map_err(DbError::from))
}

fn as_sql<'a>(params: impl IntoIterator<Item = &'a Value>) -> Vec<&'a (dyn ToSql + Sync)> {
    params.into_iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}
