//! Throw-away databases on the PostgreSQL server given: made for one run, named after it, dropped at its end.

use tokio_postgres::{Client, NoTls};

use crate::Result;

/// Connects, with the connection's own task in the background until the client is dropped.
pub(crate) async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // A broken connection shows as the error of the next statement.
    tokio::spawn(connection);
    Ok(client)
}

/// Refuses a server that acknowledges before it has written: its creates would be measured against nothing.
pub(crate) async fn check_durable(url: &str) -> Result<()> {
    let client = connect(url).await?;
    for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
        let value: String = client.query_one(&format!("SHOW {setting}"), &[]).await?.get(0);
        if value != "on" {
            return Err(format!("this PostgreSQL is not durable: {setting} is {value}").into());
        }
    }
    Ok(())
}

/// Creates `name` on the server of `url` and returns its own URL.
pub(crate) async fn create(url: &str, name: &str) -> Result<String> {
    let client = connect(url).await?;
    client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
    client.batch_execute(&format!("CREATE DATABASE {name}")).await?;
    with_database(url, name)
}

pub(crate) async fn drop(url: &str, name: &str) -> Result<()> {
    let client = connect(url).await?;
    client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
    Ok(())
}

/// What autovacuum would have done within minutes of an import: statistics, visibility, flushed index lists.
/// Done at once, so that it neither misses nor lands inside a window.
pub(crate) async fn settle(url: &str) -> Result<()> {
    let client = connect(url).await?;
    client.batch_execute("VACUUM ANALYZE").await?;
    client.batch_execute("CHECKPOINT").await?;
    Ok(())
}

/// `url` with its database replaced.
fn with_database(url: &str, name: &str) -> Result<String> {
    let authority = url.find("://").ok_or("not a postgres:// URL")? + 3;
    let (path, query) = match url.find('?') {
        Some(at) => url.split_at(at),
        None => (url, ""),
    };
    let server = match path[authority..].find('/') {
        Some(at) => &path[..authority + at],
        None => path,
    };
    Ok(format!("{server}/{name}{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_changes() {
        for (url, expected) in [
            ("postgres://u:p@127.0.0.1:5433/test", "postgres://u:p@127.0.0.1:5433/b"),
            ("postgres://127.0.0.1:5433", "postgres://127.0.0.1:5433/b"),
            ("postgresql://u@/x?host=/run/pg&port=1", "postgresql://u@/b?host=/run/pg&port=1"),
        ] {
            assert_eq!(with_database(url, "b").unwrap(), expected);
        }
        assert!(with_database("host=localhost", "b").is_err());
    }
}
