//! What the commands print: results to standard output, remarks to standard error.
//!
//! A reader that goes away (`latchkey openapi | head`) is no failure, so nothing here panics or fails
//! when a pipe is closed.

use std::io::Write;

use latchkey_base::Time;
use serde::Serialize;

/// Prints a result.
pub(crate) fn result(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Prints a remark.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a result as JSON.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => result(&text),
        Err(error) => note(&format!("the result cannot be written as JSON: {error}")),
    }
}

/// Labels and values, one line each, the values below each other.
pub(crate) fn aligned(rows: &[(&str, &str)]) -> String {
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
    let lines: Vec<String> = rows.iter().map(|(label, value)| format!("  {label:width$}  {value}")).collect();
    lines.join("\n")
}

/// A table with a head, its columns below each other.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&head).chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let lines: Vec<String> = std::iter::once(&head).chain(rows).map(line).collect();
    lines.join("\n")
}

/// A time for people, to the second.
pub(crate) fn rfc3339(time: Time) -> String {
    jiff::Timestamp::from_millisecond(time.ms())
        .map_or_else(|_| time.ms().to_string(), |moment| format!("{moment:.0}"))
}

/// A connection URL without its password and its options, which may hold one too.
pub(crate) fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    // The driver takes everything up to the first @ for user and password.
    let (user, place) = rest.split_once('@').map_or(("", rest), |(user, place)| (user, place));
    let user = user.split([':', '/', '?']).next().unwrap_or_default();
    let place = place.split('?').next().unwrap_or_default();
    match user {
        "" => format!("{scheme}://{place}"),
        user => format!("{scheme}://{user}@{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_below_each_other() {
        assert_eq!(aligned(&[("a", "1"), ("long", "2")]), "  a     1\n  long  2");
        let rows = [vec!["a".to_owned(), "b".to_owned()], vec!["long".to_owned(), String::new()]];
        assert_eq!(table(&["ID", "X"], &rows), "ID    X\na     b\nlong");
    }

    #[test]
    fn the_database_is_shown_without_its_password() {
        for (url, shown) in [
            ("postgres://host/db", "postgres://host/db"),
            ("postgres://me@host:5432/db", "postgres://me@host:5432/db"),
            ("postgresql://me:hunter2@host/db?sslmode=require", "postgresql://me@host/db"),
            ("postgres://me:hun/ter?2@host/db", "postgres://me@host/db"),
            ("postgres:///db?host=/run&password=hunter2", "postgres:///db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
