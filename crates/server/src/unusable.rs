//! Why a database cannot be used, and what to do about it.

use std::error::Error as StdError;

use latchkey_db::{DbError, Location};

use crate::failure::{Failure, chain};
use crate::show;

/// Where the URL of PostgreSQL is set.
const PLACE: &str = "LATCHKEY_DATABASE, or in `database` of latchkey.toml";
/// Words of PostgreSQL about what passes by itself. It tells its code only after somebody has signed in.
const PASSING: [&str; 5] =
    ["starting up", "shutting down", "too many", "connection slots", "not yet accepting connections"];

/// What a command ends with where the database cannot be opened or migrated.
pub(crate) fn unusable(database: &Location, cause: &(dyn StdError + 'static)) -> Failure {
    match database {
        Location::Sqlite(_) => Failure::new(
            format!("The database cannot be opened: {}.", chain(cause)),
            "Check LATCHKEY_DATABASE, and that the directory it names is there and can be written.",
        ),
        Location::Postgres(url) => on_postgres(url, cause),
    }
}

/// What is wrong with a PostgreSQL database.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reason {
    /// Nothing answers.
    Unreached,
    /// It answers, but TLS fails.
    Tls,
    /// The URL cannot be understood.
    Url,
    /// It refuses this user or this database.
    Access,
    /// The extension is missing.
    Extension,
    /// It refuses for a while.
    Passing,
    /// A statement failed.
    Statement,
}

fn on_postgres(url: &str, cause: &(dyn StdError + 'static)) -> Failure {
    let (place, reason) = (show::without_password(url), reason(cause));
    let is_reached = reason != Reason::Unreached;
    let said = match show::has_several_ats(url) && is_reached {
        // The driver may take a part of the password for the host or the database, and repeat it.
        true => "its URL has more than one @, so it is not clear where the password ends".to_owned(),
        false => bottom(cause).to_string(),
    };
    let what = if is_reached { "used" } else { "reached" };
    Failure::new(
        format!("PostgreSQL cannot be {what} at {place}: {said}."),
        match show::has_special_password(url) && reason != Reason::Passing {
            true => format!("{}\n{}", advice(reason), show::PERCENT),
            false => advice(reason),
        },
    )
}

fn advice(reason: Reason) -> String {
    match reason {
        Reason::Unreached => format!("Start it, or correct host and port in {PLACE}."),
        Reason::Tls => format!(
            "It was reached. `sslmode=require` asks for TLS with a certificate that an authority of this system has \
             signed: set that up in PostgreSQL, or leave `sslmode` out of the URL in {PLACE}."
        ),
        Reason::Url => format!("Write postgres://USER:PASSWORD@HOST/DATABASE in {PLACE}."),
        Reason::Access => format!(
            "It was reached, and refuses. Check the user with its password and rights, the name of the database, and how \
             they are written in {PLACE}."
        ),
        Reason::Extension => "Install the extension pg_trgm where PostgreSQL runs (Debian: it is in the package \
                              postgresql; elsewhere often postgresql-contrib)."
            .to_owned(),
        Reason::Passing => "Try again in a moment. If it stays so, the log of PostgreSQL says more.".to_owned(),
        Reason::Statement => "It was reached, and user and password are right, but a statement failed. Latchkey needs \
                              PostgreSQL 15 or newer and a database of its own; with both, this is a mistake in Latchkey: \
                              please report it with this message."
            .to_owned(),
    }
}

/// What lies at the bottom says it: the drivers above only repeat that there is no connection.
fn bottom<'a>(cause: &'a (dyn StdError + 'static)) -> &'a (dyn StdError + 'static) {
    errors(cause).last().unwrap_or(cause)
}

/// An error and those that caused it, the first cause last.
fn errors<'a>(top: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(top), |error| (*error).source())
}

fn reason(cause: &(dyn StdError + 'static)) -> Reason {
    let said = bottom(cause).to_string();
    // The driver's words for the kind of an error stand right above what caused it.
    let has = |kind: &str| errors(cause).any(|error| error.to_string() == kind);
    if has("error performing TLS handshake") {
        return Reason::Tls;
    }
    if has("invalid connection string") || has("invalid configuration") {
        return Reason::Url;
    }
    match sqlstate(&said) {
        Some(code) => of_code(code, &said),
        None if has("db error") && PASSING.iter().any(|words| said.contains(words)) => Reason::Passing,
        None if has("db error") || has("authentication error") => Reason::Access,
        None if matches!(cause.downcast_ref(), Some(DbError::Unavailable(_))) => Reason::Unreached,
        None => Reason::Statement,
    }
}

/// The code of `ERROR 42501: permission denied`, as `latchkey_db` writes the errors of statements.
fn sqlstate(said: &str) -> Option<&str> {
    let (_, code) = said.split_once(": ")?.0.split_once(' ')?;
    let is_code =
        code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    is_code.then_some(code)
}

fn of_code(code: &str, said: &str) -> Reason {
    match (code, &code[..2]) {
        ("0A000" | "58P01", _) if said.contains("pg_trgm") => Reason::Extension,
        ("42501", _) | (_, "28" | "3D") => Reason::Access,
        (_, "08" | "40" | "53" | "55" | "57" | "58") => Reason::Passing,
        _ => Reason::Statement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error of the driver, with what caused it.
    #[derive(Debug)]
    struct Said(&'static str, Option<Box<Said>>);

    impl std::fmt::Display for Said {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl StdError for Said {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            self.1.as_deref().map(|inner| inner as &dyn StdError)
        }
    }

    fn error(texts: &[&'static str]) -> Said {
        let (first, rest) = texts.split_first().unwrap();
        Said(first, (!rest.is_empty()).then(|| Box::new(error(rest))))
    }

    #[test]
    fn what_postgresql_says_tells_what_to_do() {
        for (texts, expected) in [
            (&["error connecting to server", "Connection refused (os error 111)"][..], Reason::Unreached),
            (&["db error", "FATAL: password authentication failed for user \"lk\""], Reason::Access),
            (&["db error", "FATAL: database \"lk\" does not exist"], Reason::Access),
            (&["db error", "FATAL: the database system is starting up"], Reason::Passing),
            (&["error performing TLS handshake", "server does not support TLS"], Reason::Tls),
            (&["invalid configuration", "password missing"], Reason::Url),
            (&["ERROR 42501: permission denied for schema public"], Reason::Access),
            (&["ERROR 0A000: extension \"pg_trgm\" is not available"], Reason::Extension),
            (&["ERROR 53100: could not extend file"], Reason::Passing),
            (&["ERROR 42P07: relation \"users\" already exists"], Reason::Statement),
        ] {
            let cause = DbError::Unavailable(Box::new(error(texts)));
            assert_eq!(reason(&cause), expected, "{texts:?}");
        }
        let failed = DbError::Failed(Box::new(error(&["something else: happened"])));
        assert_eq!(reason(&failed), Reason::Statement);
    }

    #[test]
    fn a_statement_that_fails_is_not_blamed_on_the_password() {
        let cause = DbError::Failed(Box::new(error(&["ERROR 42601: syntax error"])));
        let place = Location::Postgres("postgres://lk:hunter2@db/lk".to_owned());
        let Failure { code, message } = unusable(&place, &cause);
        assert_eq!(code, 1);
        assert!(
            message.starts_with(
                "PostgreSQL cannot be used at postgres://lk@db/lk: ERROR 42601: syntax error.\n"
            )
        );
        assert!(!message.contains("Check the user") && !message.contains("hunter2"), "{message}");
    }

    #[test]
    fn a_driver_that_took_the_password_apart_is_not_repeated() {
        let said = "FATAL: database \"w#rd@host/lk\" does not exist";
        let cause = DbError::Unavailable(Box::new(error(&["db error", said])));
        let place = Location::Postgres("postgres://lk:p@ss/w#rd@host/lk".to_owned());
        let message = unusable(&place, &cause).message;
        assert!(message.contains("postgres://lk@host/lk: its URL has more than one @"), "{message}");
        assert!(!message.contains("w#rd") && message.contains("%40 %2F %23 %3A %3F"), "{message}");
    }
}
