//! How common trigrams are, from a sample of a table's rows.
//!
//! PostgreSQL keeps such statistics itself. SQLite has none, and looking up a common trigram walks over
//! a good part of the table, so a search asks for the rarest ones of its term. A sample that is out of
//! date makes searches slower, never wrong.

use std::collections::HashMap;

use crate::list::{SearchIndex, TRIGRAM};

/// Rows looked at: enough to tell a trigram in one row of a hundred from one in a thousand.
const ROWS: i64 = 2000;

/// A count of trigrams.
#[derive(Default)]
pub(crate) struct Sample {
    /// The highest rowid when it was taken.
    highest: i64,
    seen: HashMap<[char; TRIGRAM], u32>,
}

impl Sample {
    /// Whether the table has grown so much that a new sample is due.
    pub(crate) fn is_outgrown(&self, highest: i64) -> bool {
        highest > self.highest.saturating_mul(2) || self.highest > highest.saturating_mul(2)
    }

    /// The statement that reads the texts of rows spread evenly over the table.
    pub(crate) fn statement(index: &SearchIndex, highest: i64) -> String {
        let SearchIndex { table, text, .. } = index;
        let step = (highest / ROWS).max(1);
        format!(
            "WITH RECURSIVE spread (n) AS (SELECT 1 UNION ALL SELECT n + {step} FROM spread WHERE n < {highest}) \
             SELECT {text} FROM spread JOIN {table} ON {table}.rowid = spread.n"
        )
    }

    /// Counts each trigram once for each text it is in.
    pub(crate) fn of(texts: &[String], highest: i64) -> Sample {
        let mut seen = HashMap::new();
        for text in texts {
            let mut trigrams: Vec<[char; TRIGRAM]> = trigrams(text);
            trigrams.sort_unstable();
            trigrams.dedup();
            for trigram in trigrams {
                *seen.entry(trigram).or_default() += 1;
            }
        }
        Sample { highest, seen }
    }

    /// How many of the sampled rows have a trigram.
    pub(crate) fn count(&self, trigram: &[char; TRIGRAM]) -> u32 {
        self.seen.get(trigram).copied().unwrap_or_default()
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
}
