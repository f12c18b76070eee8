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
/// Searches after which PostgreSQL is asked for the size of the table again.
const SEARCHES: u64 = 16;
/// PostgreSQL takes samples by the page, of a few rows each; short rows are more, up to a limit.
const PAGE_BYTES: i64 = 8192;
const PAGES: i64 = 500;
const PAGE_ROWS: i64 = 60;
/// Of a smaller sample nothing is said: the table is small, too.
const TELLING: usize = 500;
/// Rows are few when they are no more than one of so many, and no more than so many.
const SHARE: usize = 50;
const FEW: f64 = 10_000.0;

/// The samples of a database, the newest of each index.
#[derive(Default)]
pub(crate) struct Samples {
    known: Mutex<HashMap<SearchIndex, Arc<Sample>>>,
    searches: AtomicU64,
}

impl Samples {
    /// The sample of an index that was taken last, and whether to look if the table has outgrown it: always on
    /// SQLite, where looking costs nothing.
    pub(crate) fn known(&self, index: &SearchIndex, sqlite: bool) -> (Arc<Sample>, bool) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(index).cloned();
        let is_due = self.searches.fetch_add(1, Ordering::Relaxed).is_multiple_of(SEARCHES);
        (known.clone().unwrap_or_default(), sqlite || is_due || known.is_none())
    }

    /// Keeps a new sample of an index.
    pub(crate) fn keep(&self, index: &SearchIndex, sample: Arc<Sample>) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(*index, sample);
    }
}

/// Rows that were looked at, and the trigrams in them.
#[derive(Default)]
pub(crate) struct Sample {
    /// The size of the table when it was taken: the highest rowid on SQLite, bytes on PostgreSQL.
    size: i64,
    rows: usize,
    /// How many rows of the table each of them stands for.
    weight: f64,
    /// Which of them have a trigram, in order.
    seen: HashMap<[char; TRIGRAM], Vec<u16>>,
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
            // One row by chance of each step: at even distances, texts that recur at such a distance would be seen
            // always or never.
            return format!(
                "WITH RECURSIVE spread (n) AS (SELECT 1 UNION ALL SELECT n + {step} FROM spread WHERE n + {step} <= {size}) \
                 SELECT {text} FROM spread CROSS JOIN {table} ON {table}.rowid = spread.n + abs(random() % {step})"
            );
        }
        let percent = 100.0 * sampled(size);
        format!("SELECT {text} FROM {table} TABLESAMPLE SYSTEM ({percent}) LIMIT {}", PAGES * PAGE_ROWS)
    }

    /// Notes the trigrams of texts that were read.
    pub(crate) fn of(texts: &[String], size: i64, sqlite: bool) -> Sample {
        let mut seen: HashMap<_, Vec<u16>> = HashMap::new();
        for (row, text) in (0..).zip(texts) {
            for trigram in trigrams(text) {
                let rows = seen.entry(trigram).or_default();
                if rows.last() != Some(&row) {
                    rows.push(row);
                }
            }
        }
        let weight = if sqlite { (size / ROWS).max(1) as f64 } else { 1.0 / sampled(size) };
        Sample { size, rows: texts.len(), weight, seen }
    }

    /// How many of the sampled rows have a trigram.
    pub(crate) fn count(&self, trigram: &[char; TRIGRAM]) -> usize {
        self.seen.get(trigram).map_or(0, Vec::len)
    }

    /// How many of the sampled rows have all of these trigrams.
    fn count_all(&self, trigrams: &[[char; TRIGRAM]]) -> usize {
        let rows_of = |trigram| self.seen.get(trigram).map_or(&[][..], Vec::as_slice);
        let Some((first, others)) = trigrams.split_first() else { return self.rows };
        let has_all = |row: &&u16| others.iter().all(|trigram| rows_of(trigram).binary_search(row).is_ok());
        rows_of(first).iter().filter(has_all).count()
    }

    /// How many rows the table had, about.
    pub(crate) fn table_rows(&self) -> f64 {
        self.rows as f64 * self.weight
    }

    /// How many rows of the table had all of these trigrams, about.
    pub(crate) fn expected(&self, trigrams: &[[char; TRIGRAM]]) -> f64 {
        self.count_all(trigrams) as f64 * self.weight
    }

    /// Whether so few rows have all of these trigrams that finding them by those beats any other way.
    pub(crate) fn are_few(&self, trigrams: &[[char; TRIGRAM]]) -> bool {
        let both = self.count_all(trigrams);
        !trigrams.is_empty()
            && self.rows >= TELLING
            && both <= self.rows / SHARE
            && both as f64 * self.weight <= FEW
    }
}

/// Which part of a table of so many bytes PostgreSQL looks at.
fn sampled(size: i64) -> f64 {
    ((PAGES * PAGE_BYTES) as f64 / size.max(1) as f64).min(1.0)
}

/// The trigrams of a text, in its order.
pub(crate) fn trigrams(text: &str) -> Vec<[char; TRIGRAM]> {
    let letters: Vec<char> = text.chars().collect();
    letters.windows(TRIGRAM).filter_map(|window| window.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(texts: &[String], size: i64) -> Sample {
        Sample::of(texts, size, true)
    }

    #[test]
    fn trigrams_are_counted_once_for_each_text() {
        let sample = sample(&["aaaa".into(), "baaa".into(), "xy".into()], 3);
        assert_eq!(sample.count(&['a', 'a', 'a']), 2);
        assert_eq!(sample.count(&['b', 'a', 'a']), 1);
        assert_eq!(sample.count(&['x', 'y', 'z']), 0);
    }

    #[test]
    fn a_sample_is_outgrown_when_the_table_doubles_or_halves() {
        let sample = sample(&[], 100);
        assert!(!sample.is_outgrown(100) && !sample.is_outgrown(200) && !sample.is_outgrown(50));
        assert!(sample.is_outgrown(201) && sample.is_outgrown(49));
    }

    #[test]
    fn few_have_trigrams_that_seldom_stand_together() {
        let [all, few, odd]: [[char; TRIGRAM]; 3] = [['a', 'l', 'l'], ['f', 'e', 'w'], ['o', 'd', 'd']];
        let text = |n: usize| {
            format!("all {} {}", if n % 20 < 2 { "few" } else { "" }, if n % 20 == 1 { "odd" } else { "" })
        };
        let texts: Vec<String> = (0..1000).map(text).collect();
        let sample = sample(&texts, 1000);
        assert!(sample.are_few(&[['n', 'o', 't']]) && sample.are_few(&[all, ['n', 'o', 't']]));
        assert!(!sample.are_few(&[all]) && !sample.are_few(&[few]) && !sample.are_few(&[few, odd]));
        assert!(sample.are_few(&[odd, [' ', ' ', ' ']]));
        assert!(!sample.are_few(&[]));
        assert_eq!((sample.expected(&[all]), sample.expected(&[few, odd])), (1000.0, 50.0));
    }

    #[test]
    fn a_small_sample_or_a_large_table_says_nothing() {
        const RARE: [char; TRIGRAM] = ['f', 'e', 'w'];
        let texts: Vec<String> = (0..1000).map(|n| (if n < 20 { "few" } else { "" }).to_owned()).collect();
        assert!(sample(&texts, 1000).are_few(&[RARE]));
        assert!(!sample(&texts[..400], 400).are_few(&[RARE]));
        let large = sample(&texts, 2_000_000);
        assert!(!large.are_few(&[RARE]));
        assert_eq!((large.table_rows(), large.expected(&[RARE])), (1e6, 20_000.0));
    }

    #[test]
    fn texts_that_recur_at_even_distances_are_seen_as_often_as_they_are_there() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        // Of 20,000 rows one in ten is looked at, and one in ten is a hit.
        let rows = "CREATE TABLE t (x TEXT); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
                    INSERT INTO t SELECT CASE i % 10 WHEN 5 THEN 'hit' ELSE 'hay' END FROM n";
        connection.execute_batch(rows).unwrap();
        let index = SearchIndex { index: "i", table: "t", text: "t.x" };
        let mut statement = connection.prepare(&Sample::statement(&index, 20_000, true)).unwrap();
        let texts: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        let sample = sample(&texts, 20_000);
        assert_eq!(sample.table_rows(), 20_000.0);
        assert!((1_000.0..3_000.0).contains(&sample.expected(&[['h', 'i', 't']])));
    }

    #[test]
    fn postgresql_is_asked_for_the_size_first_and_then_now_and_again() {
        let index = SearchIndex { index: "i", table: "t", text: "t.x" };
        let samples = Samples::default();
        assert!(samples.known(&index, false).1 && samples.known(&index, false).1);
        samples.keep(&index, Arc::default());
        assert_eq!((0..32).filter(|_| samples.known(&index, false).1).count(), 2);
        assert!((0..32).all(|_| samples.known(&index, true).1));
    }
}
