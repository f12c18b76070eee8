//! Rows that get old, as the stores of the groups say: a job deletes them in small transactions.

use latchkey_base::Time;
use latchkey_base::kinds::InstanceId;
use latchkey_db::{TransactionBody, Tx};

use crate::settings::EventSettings;

/// Rows that are of no use some time after the moment their table is aged by.
#[derive(Clone, Copy)]
pub struct AgedRows {
    /// What they are, in the plural.
    pub name: &'static str,
    /// How long after that moment they stay.
    pub kept_ms: i64,
    /// Deletes up to so many of any instance whose moment was before the one given, and says how many.
    pub delete: for<'a> fn(&'a mut Tx, Time, i64) -> TransactionBody<'a, u64>,
}

/// What happened in an instance, which says itself how long it is kept.
#[derive(Clone, Copy)]
pub struct InstanceHistory {
    /// What it consists of, in the plural.
    pub name: &'static str,
    /// For how many days.
    pub days: fn(&EventSettings) -> i64,
    /// Deletes up to so many rows of the instance that are from before the moment given, and says how many.
    pub delete: for<'a> fn(&'a mut Tx, InstanceId, Time, i64) -> TransactionBody<'a, u64>,
}
