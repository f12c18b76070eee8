//! Why a command ended badly: its exit code, and a message that says what to do next.

use std::error::Error as StdError;

use crate::config::{Problem, report};

/// A command's bad end.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    /// What to tell the operator.
    pub(crate) message: String,
}

impl Failure {
    /// Something failed while it was done. `next` says what can be done about it.
    pub(crate) fn new(what: impl AsRef<str>, next: impl AsRef<str>) -> Failure {
        Failure { code: 1, message: format!("{}\n{}", what.as_ref(), next.as_ref()) }
    }

    /// The command itself must be written differently.
    pub(crate) fn usage(what: impl AsRef<str>, next: impl AsRef<str>) -> Failure {
        Failure { code: 2, ..Failure::new(what, next) }
    }
}

impl From<Vec<Problem>> for Failure {
    fn from(problems: Vec<Problem>) -> Failure {
        Failure { code: 2, message: report(&problems) }
    }
}

/// A call on the database that failed for no reason the command could foresee.
impl From<latchkey_base::Error> for Failure {
    fn from(error: latchkey_base::Error) -> Failure {
        let cause = error.cause().map_or_else(|| error.to_string(), |cause| chain(cause));
        Failure::new(
            format!("The database refused: {cause}."),
            "Check that it is running, reachable and not full, then try again.",
        )
    }
}

impl From<latchkey_db::DbError> for Failure {
    fn from(error: latchkey_db::DbError) -> Failure {
        latchkey_base::Error::from(error).into()
    }
}

/// An error and what caused it, in one line.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
