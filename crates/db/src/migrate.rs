//! Brings the schema up to date from one text for both engines.
//!
//! The text uses `TEXT BIGINT BOOLEAN BYTEA`. For SQLite, whose strict tables know other words, they
//! are replaced and every table is made `STRICT`; for PostgreSQL every text gets collation `"C"`, so
//! that ids and cursors sort alike on both. What has no common form (search indexes) may stand in
//! a sibling for each engine. Shipped files never change.

use latchkey_base::Result;

use crate::tx::Tx;

/// One step of the schema.
pub struct Migration {
    /// File name, which also orders the steps.
    pub name: &'static str,
    /// The text for both engines.
    pub common: &'static str,
    /// What only SQLite needs.
    pub sqlite: &'static str,
    /// What only PostgreSQL needs.
    pub postgres: &'static str,
}

/// Waiting for another node, or building an index over much, may take longer than a statement of a request may.
const PATIENT: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0";
/// Any number serves, as long as every node uses the same.
const LOCK: &str = "SELECT pg_advisory_xact_lock(4714330913001)";
const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT NOT NULL PRIMARY KEY)";

/// Applies what is missing, in the caller's transaction.
pub(crate) async fn run(tx: &mut Tx, migrations: &'static [Migration]) -> Result<Vec<&'static str>> {
    if !tx.is_sqlite() {
        tx.script(PATIENT).await?;
        tx.script(LOCK).await?;
    }
    tx.script(TABLE).await?;
    let done = tx.all(&["SELECT name FROM schema_migrations"], &[], |row| row.text(0)).await?;
    let mut applied = Vec::new();
    for migration in migrations.iter().filter(|migration| !done.iter().any(|name| name == migration.name)) {
        if tx.is_sqlite() {
            tx.script(&for_sqlite(migration.common)).await?;
            tx.script(migration.sqlite).await?;
        } else {
            tx.script(&for_postgres(migration.common)).await?;
            tx.script(migration.postgres).await?;
        }
        tx.run(&["INSERT INTO schema_migrations (name) VALUES ($1)"], &[migration.name.into()]).await?;
        applied.push(migration.name);
    }
    Ok(applied)
}

/// Notes a step that is about to run in the caller's transaction. False if it has run before; where another node runs
/// it at this moment, that is waited for.
pub(crate) async fn begin(tx: &mut Tx, name: &'static str) -> Result<bool> {
    if !tx.is_sqlite() {
        tx.script(PATIENT).await?;
    }
    let sql = "INSERT INTO schema_migrations (name) VALUES ($1) ON CONFLICT DO NOTHING";
    Ok(tx.run(&[sql], &[name.into()]).await? > 0)
}

fn for_sqlite(text: &str) -> String {
    let text = replace_words(text, |word| match word {
        "BIGINT" | "BOOLEAN" => Some("INTEGER"),
        "BYTEA" => Some("BLOB"),
        _ => None,
    });
    // A table definition is the only statement that ends in a line of its own.
    text.replace("\n);", "\n) STRICT;")
}

fn for_postgres(text: &str) -> String {
    replace_words(text, |word| (word == "TEXT").then_some("TEXT COLLATE \"C\""))
}

/// Replaces whole words outside of comments.
fn replace_words(text: &str, replacement: fn(&str) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let code = line.split("--").next().unwrap_or_default();
        let mut rest = code;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
            let length = rest[start..]
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len() - start);
            let word = &rest[start..start + length];
            out.push_str(&rest[..start]);
            out.push_str(replacement(word).unwrap_or(word));
            rest = &rest[start + length..];
        }
        out.push_str(rest);
        if code.len() < line.len() {
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "CREATE TABLE a ( -- TEXT in a comment\n  text_id TEXT NOT NULL,\n  n BIGINT,\n  b BYTEA\n);\n";

    #[test]
    fn words_are_replaced_whole_and_outside_of_comments() {
        assert_eq!(
            for_sqlite(TEXT),
            "CREATE TABLE a ( \n  text_id TEXT NOT NULL,\n  n INTEGER,\n  b BLOB\n) STRICT;\n"
        );
        assert_eq!(
            for_postgres(TEXT),
            "CREATE TABLE a ( \n  text_id TEXT COLLATE \"C\" NOT NULL,\n  n BIGINT,\n  b BYTEA\n);\n"
        );
    }
}
