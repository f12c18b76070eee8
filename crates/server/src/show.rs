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

/// What to write for characters in a password that mean something in a URL.
pub(crate) const PERCENT: &str =
    "In the password, write @ / # : ? as %40 %2F %23 %3A %3F, and a % that stands for itself as %25.";

/// A connection URL without its password and its options, which may hold one too. Where it is not clear what belongs to
/// the password, too much is hidden rather than too little.
pub(crate) fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let Some((credentials, place)) = rest.rsplit_once('@') else {
        return format!("{scheme}://{}", known_place(rest));
    };
    let user = credentials.split([':', '/', '?', '#', '@']).next().unwrap_or_default();
    // The last @ may be one in the value of an option.
    let has_option = credentials.split_once('?').is_some_and(|(_, options)| options.contains('='));
    let place = if has_option { "…" } else { place.split('?').next().unwrap_or_default() };
    match user {
        "" => format!("{scheme}://{place}"),
        user => format!("{scheme}://{user}@{place}"),
    }
}

/// Host, port and database of a URL without an @. What looks like a user with a password is no host.
fn known_place(rest: &str) -> String {
    let place = rest.split('?').next().unwrap_or_default();
    // Digits may be a password as well as a port.
    let is_host = |one: &str| one.starts_with('[') || !one.contains(':');
    match place.split('/').next().unwrap_or_default().split(',').all(is_host) {
        true => place.to_owned(),
        false => format!("{}:…", place.split(':').next().unwrap_or_default()),
    }
}

/// Whether the driver, which takes the first @ for the end of the password, may have taken a part of it for something else.
pub(crate) fn has_several_ats(url: &str) -> bool {
    url.matches('@').count() > 1
}

/// Whether the password of a connection URL has characters that mean something else there.
pub(crate) fn has_special_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let Some((credentials, _)) = rest.rsplit_once('@') else { return false };
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let is_escape =
        |after: &str| after.get(..2).is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
    user.contains(['@', '/', '#', '?'])
        || password.contains(['@', '/', '#', '?', ':'])
        || password.split('%').skip(1).any(|after| !is_escape(after))
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
            ("postgres://me:p@ss/w#rd@host/db", "postgres://me@host/db"),
            ("postgres://me:p@ss?w:rd@host:5432/db?x=y", "postgres://me@host:5432/db"),
            ("postgres://me@corp:hunter2@host/db", "postgres://me@host/db"),
            // What may be the value of an option is hidden, and the host with it.
            ("postgres://me:one@host/db?password=hun@ter2", "postgres://me@…"),
            ("postgres:///db?password=hun@ter2", "postgres://…"),
            // Somebody forgot the host.
            ("postgres://me:hunter2/db", "postgres://me:…"),
            ("postgres://me:12345/db", "postgres://me:…"),
            ("postgres://[::1]:5432,b/db", "postgres://[::1]:5432,b/db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }

    #[test]
    fn passwords_that_a_url_cannot_hold_are_noticed() {
        for password in ["p@ss", "a/b", "a#b", "a?b", "a:b", "100%", "a%zz"] {
            let url = format!("postgres://me:{password}@host/db");
            assert!(has_special_password(&url), "{url}");
        }
        for url in ["postgres://me:p%40ss@host/db?a=b", "postgres://me@host/db", "postgres:///db?host=/run"] {
            assert!(!has_special_password(url), "{url}");
        }
        assert!(
            has_several_ats("postgres://me:p@ss@host/db") && !has_several_ats("postgres://me:pass@host/db")
        );
    }
}
