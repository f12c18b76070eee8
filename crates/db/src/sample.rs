//! How common trigrams are, from a sample of a table's rows.
//!
//! Looking up a common trigram walks over a good part of the table, so a search asks the index for the rarest
//! ones of its term. A sample that is out of date makes searches slower, never wrong.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::list::{SearchIndex, TRIGRAM};

/// Rows looked at: enough to tell a trigram in one row of a hundred from one in a thousand.
const ROWS: i64 = 2000;
/// Searches after which the size of the table is looked at again.
const SEARCHES: u64 = 16;
/// PostgreSQL's pages; it takes samples by the page, a few rows each.
const PAGE_BYTES: i64 = 8192;
const PAGES: i64 = 500;
/// Of a smaller sample nothing is said: the table is small, too.
const TELLING: u32 = 500;
/// A trigram is rare when no more than one row of so many has it.
const RARE: u32 = 50;

/// The samples of a database, the newest of each index.
#[derive(Default)]
pub(crate) struct Samples {
    known: Mutex<HashMap<SearchIndex, Arc<Sample>>>,
    searches: AtomicU64,
}

impl Samples {
    /// The sample of an index that was taken last, and whether to look if the table has outgrown it.
    pub(crate) fn known(&self, index: &SearchIndex) -> (Arc<Sample>, bool) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(index).cloned();
        let is_due = self.searches.fetch_add(1, Ordering::Relaxed).is_multiple_of(SEARCHES);
        (known.clone().unwrap_or_default(), is_due || known.is_none())
    }

    /// Keeps a new sample of an index.
    pub(crate) fn keep(&self, index: &SearchIndex, sample: Arc<Sample>) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(*index, sample);
    }
}

/// A count of trigrams.
#[derive(Default)]
pub(crate) struct Sample {
    /// The size of the table when it was taken: the highest rowid on SQLite, bytes on PostgreSQL.
    size: i64,
    rows: u32,
    seen: HashMap<[char; TRIGRAM], u32>,
}

impl Sample {
    /// Whether the table has grown or shrunk so much that a new sample is due.
    pub(crate) fn is_outgrown(&self, size: i64) -> bool {
        size > self.size.saturating_mul(2) || self.size > size.saturating_mul(2)
    }

    /// The statement that tells the size of the table.
    pub(crate) fn size_of(index: &SearchIndex, sqlite: bool) -> String {
        match sqlite {
            true => format!("SELECT coalesce(max(rowid), 0) FROM {}", index.table),
            false => format!("SELECT pg_relation_size('{}')", index.table),
        }
    }

    /// The statement that reads the texts of rows spread over the table.
    pub(crate) fn statement(index: &SearchIndex, size: i64, sqlite: bool) -> String {
        let SearchIndex { table, text, .. } = index;
        if sqlite {
            let step = (size / ROWS).max(1);
            return format!(
                "WITH RECURSIVE spread (n) AS (SELECT 1 UNION ALL SELECT n + {step} FROM spread WHERE n < {size}) \
                 SELECT {text} FROM spread JOIN {table} ON {table}.rowid = spread.n"
            );
        }
        let percent = (100.0 * (PAGES * PAGE_BYTES) as f64 / size.max(1) as f64).min(100.0);
        format!("SELECT {text} FROM {table} TABLESAMPLE SYSTEM ({percent}) LIMIT {}", 2 * ROWS)
    }

    /// Counts each trigram once for each text it is in.
    pub(crate) fn of(texts: &[String], size: i64) -> Sample {
        let mut seen = HashMap::new();
        for text in texts {
            let mut trigrams: Vec<[char; TRIGRAM]> = trigrams(text);
            trigrams.sort_unstable();
            trigrams.dedup();
            for trigram in trigrams {
                *seen.entry(trigram).or_default() += 1;
            }
        }
        Sample { size, rows: texts.len().try_into().unwrap_or(u32::MAX), seen }
    }

    /// How many of the sampled rows have a trigram.
    pub(crate) fn count(&self, trigram: &[char; TRIGRAM]) -> u32 {
        self.seen.get(trigram).copied().unwrap_or_default()
    }

    /// Whether so few rows have a trigram that finding them by it beats any other way.
    pub(crate) fn is_rare(&self, trigram: &[char; TRIGRAM]) -> bool {
        self.rows >= TELLING && self.count(trigram) <= self.rows / RARE
    }
}

/// The trigrams of a text, in its order.
pub(crate) fn trigrams(text: &str) -> Vec<[char; TRIGRAM]> {
    let letters: Vec<char> = text.chars().collect();
    letters.windows(TRIGRAM).filter_map(|window| window.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigrams_are_counted_once_for_each_text() {
        let sample = Sample::of(&["aaaa".into(), "baaa".into(), "xy".into()], 3);
        assert_eq!(sample.count(&['a', 'a', 'a']), 2);
        assert_eq!(sample.count(&['b', 'a', 'a']), 1);
        assert_eq!(sample.count(&['x', 'y', 'z']), 0);
    }

    #[test]
    fn a_sample_is_outgrown_when_the_table_doubles_or_halves() {
        let sample = Sample::of(&[], 100);
        assert!(!sample.is_outgrown(100) && !sample.is_outgrown(200) && !sample.is_outgrown(50));
        assert!(sample.is_outgrown(201) && sample.is_outgrown(49));
    }

    #[test]
    fn a_trigram_of_one_row_in_fifty_is_rare_and_a_small_sample_says_nothing() {
        let texts: Vec<String> =
            (0..1000).map(|n| format!("all {}", if n < 20 { "few" } else { "" })).collect();
        let sample = Sample::of(&texts, 1000);
        assert!(sample.is_rare(&['f', 'e', 'w']) && sample.is_rare(&['n', 'o', 't']));
        assert!(!sample.is_rare(&['a', 'l', 'l']));
        assert!(!Sample::of(&texts[..400], 400).is_rare(&['n', 'o', 't']));
    }

    #[test]
    fn the_size_is_looked_at_first_and_then_now_and_again() {
        let index = SearchIndex { index: "i", table: "t", text: "t.x" };
        let samples = Samples::default();
        assert!(samples.known(&index).1 && samples.known(&index).1);
        samples.keep(&index, Arc::default());
        assert_eq!((0..32).filter(|_| samples.known(&index).1).count(), 2);
    }
}
