//! Builds the one kind of statement whose text depends on the request: filtered, ordered, paged lists.
//!
//! Every piece of text is `&'static str`; what comes from outside can only become a value.

use latchkey_base::page::Paging;

use crate::error::Result;
use crate::row::Read;
use crate::sample::{Sample, trigrams};
use crate::tx::Tx;
use crate::value::Value;

/// A search index over one folded text of a table: on SQLite a table of trigrams beside it, on
/// PostgreSQL a trigram index.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SearchIndex {
    /// SQLite's table of trigrams; its rowids are those of `table`.
    pub index: &'static str,
    /// The main table.
    pub table: &'static str,
    /// The text, as an expression over the main table.
    pub text: &'static str,
}

/// A trigram needs three characters; shorter terms are compared row by row.
pub(crate) const TRIGRAM: usize = 3;
/// Looking up more trigrams than this costs more than comparing the hits that are left.
const LOOKED_UP: usize = 3;
/// Trigrams are chosen from the first characters of a term; a long one has enough of them there.
const CHOSEN_FROM: usize = 64;
/// With more hits than this, walking the list in its order finds a page sooner than sorting all hits.
const FEW: i64 = 2000;
/// Counting has no page to find soon; up to so many hits, looking each up beats comparing every row.
const FEW_TO_COUNT: i64 = 50_000;
/// `IN` lists are padded to these lengths, so that a few prepared statements serve all of them.
const LENGTHS: [usize; 5] = [1, 4, 16, 64, 256];

/// A list being built.
pub struct List {
    select: &'static str,
    conditions: Vec<Condition>,
    order: &'static str,
    page: Option<Paging>,
}

enum Condition {
    Plain {
        text: &'static str,
        values: Vec<Value>,
    },
    In {
        before: &'static str,
        values: Vec<Value>,
        after: &'static str,
        first: Vec<Value>,
    },
    /// `hits`: the rows SQLite's index found, as a JSON list. `rare`: the parts of the term that PostgreSQL's
    /// is asked for.
    Search {
        index: SearchIndex,
        within: Option<&'static str>,
        term: String,
        hits: Option<String>,
        rare: Vec<String>,
    },
}

impl List {
    /// Starts from `SELECT … FROM …`, without `WHERE`.
    pub fn new(select: &'static str) -> List {
        List { select, conditions: Vec::new(), order: "", page: None }
    }

    /// Keeps rows for which `text` holds; each `?` in it stands for the next of `values`.
    pub fn filter(mut self, text: &'static str, values: Vec<Value>) -> List {
        self.conditions.push(Condition::Plain { text, values });
        self
    }

    /// Like [`List::filter`], if there is a value.
    pub fn maybe<V: Into<Value>>(self, text: &'static str, value: Option<V>) -> List {
        match value {
            Some(value) => self.filter(text, vec![value.into()]),
            None => self,
        }
    }

    /// Adds `before (values…) after`, where `before` ends in `IN` and its `?` take `first`; nothing
    /// when there are no values.
    pub fn any_of(
        mut self,
        before: &'static str,
        first: Vec<Value>,
        values: Vec<Value>,
        after: &'static str,
    ) -> List {
        if !values.is_empty() {
            self.conditions.push(Condition::In { before, values, after, first });
        }
        self
    }

    /// Keeps rows whose indexed text contains `term`, which must be folded; with `within`, rows where
    /// that part of the text does.
    pub fn search(mut self, index: SearchIndex, within: Option<&'static str>, term: Option<String>) -> List {
        if let Some(term) = term {
            self.conditions.push(Condition::Search { index, within, term, hits: None, rare: Vec::new() });
        }
        self
    }

    /// Orders by a clause such as `created_at DESC, id DESC`.
    pub fn order(mut self, clause: &'static str) -> List {
        self.order = clause;
        self
    }

    /// Returns one page only.
    pub fn page(mut self, page: Paging) -> List {
        self.page = Some(page);
        self
    }

    /// The rows.
    pub async fn fetch<T: Send + 'static>(mut self, tx: &mut Tx, read: Read<T>) -> Result<Vec<T>> {
        self.look_up(tx, FEW).await?;
        self.run(tx, read).await
    }

    /// Like [`List::fetch`], for rows that will be changed; nothing may be searched for. Order them, so that two
    /// callers never wait for each other.
    pub async fn lock<T: Send + 'static>(self, tx: &mut Tx, read: Read<T>) -> Result<Vec<T>> {
        let (sql, params) = self.build(tx.is_sqlite());
        tx.lock_all(&[&sql], &params, read).await
    }

    /// How many rows there are, leaving order and page aside. The select must be `SELECT count(*) FROM …`.
    pub async fn count(self, tx: &mut Tx) -> Result<i64> {
        let mut bare = List { order: "", page: None, ..self };
        bare.look_up(tx, FEW_TO_COUNT).await?;
        let rows = bare.run(tx, |row| row.int(0)).await?;
        Ok(rows.first().copied().unwrap_or_default())
    }

    /// Only knowing the term, PostgreSQL can tell whether to ask the index or to walk the list.
    async fn run<T: Send + 'static>(&self, tx: &mut Tx, read: Read<T>) -> Result<Vec<T>> {
        let (sql, params) = self.build(tx.is_sqlite());
        match self.conditions.iter().any(|condition| matches!(condition, Condition::Search { .. })) {
            true => tx.query_planned(sql, &params, read).await,
            false => tx.query(sql, &params, read).await,
        }
    }

    /// Finds out how to search. On SQLite, terms are looked up in their index first: with at most `few` hits the
    /// statement gets them as a list; with more it walks in its order and compares, which finds a page sooner than
    /// sorting all hits. PostgreSQL decides that by itself, but looks up every trigram of a term, common ones too,
    /// unless it is asked for some rare ones only.
    async fn look_up(&mut self, tx: &mut Tx, few: i64) -> Result<()> {
        for condition in &mut self.conditions {
            let Condition::Search { index, term, hits, rare, .. } = condition else { continue };
            if term.chars().count() < TRIGRAM {
                continue;
            }
            let sample = tx.sample(index).await?;
            if !tx.is_sqlite() {
                let words = rarest(term, &sample, is_word);
                if sample.are_few(&words) {
                    *rare = words.iter().map(String::from_iter).collect();
                }
                continue;
            }
            // Each in quotes, so that nothing in it is an operator.
            let quoted: Vec<String> = rarest(term, &sample, |_| true)
                .iter()
                .map(|trigram| format!("\"{}\"", String::from_iter(trigram).replace('"', "\"\"")))
                .collect();
            let sql = format!("SELECT rowid FROM {0} WHERE {0} MATCH $1 LIMIT $2", index.index);
            let params = [quoted.join(" AND ").into(), (few + 1).into()];
            let found = tx.query(sql, &params, |row| row.int(0)).await?;
            let is_few = found.len() as i64 <= few;
            *hits = is_few
                .then(|| format!("[{}]", found.iter().map(i64::to_string).collect::<Vec<_>>().join(",")));
        }
        Ok(())
    }

    /// The fewest hits the index gave for a term, and the table they are of.
    fn hits(&self) -> Option<(&'static str, &str)> {
        let found = self.conditions.iter().filter_map(|condition| match condition {
            Condition::Search { index, hits: Some(hits), .. } => Some((index.table, hits.as_str())),
            _ => None,
        });
        found.min_by_key(|(_, hits)| hits.len())
    }

    fn build(&self, sqlite: bool) -> (String, Vec<Value>) {
        let mut sql = String::from(self.select);
        let mut params = Vec::new();
        if let Some((table, hits)) = self.hits() {
            // The limit keeps SQLite from merging this into the rest and then walking the whole table in
            // the order of the list, looking for hits.
            let found = format!(
                " FROM (SELECT * FROM {table} WHERE rowid IN (SELECT value FROM json_each($1)) LIMIT -1) AS {table}"
            );
            sql = sql.replace(&format!(" FROM {table}"), &found);
            params.push(hits.into());
        }
        for (position, condition) in self.conditions.iter().enumerate() {
            sql.push_str(if position == 0 { " WHERE " } else { " AND " });
            match condition {
                Condition::Plain { text, values } => {
                    push(&mut sql, &mut params, &format!("({text})"), values);
                }
                Condition::In { before, values, after, first } => {
                    push(&mut sql, &mut params, &format!("({before}"), first);
                    let length =
                        LENGTHS.into_iter().find(|&length| length >= values.len()).unwrap_or(values.len());
                    let padding = values.last().into_iter().cycle().take(length - values.len());
                    let padded: Vec<Value> = values.iter().chain(padding).cloned().collect();
                    let marks = vec!["?"; length].join(",");
                    push(&mut sql, &mut params, &format!(" ({marks}){after})"), &padded);
                }
                Condition::Search { index, within, term, rare, .. } if !sqlite && rare.is_empty() => {
                    // The index is over the whole text, so that is asked for when only a part counts, too.
                    let texts = [Some(index.text), *within].into_iter().flatten();
                    let like: Vec<String> = texts.map(|text| format!("{text} LIKE ? ESCAPE '\\'")).collect();
                    let patterns: Vec<Value> = like.iter().map(|_| pattern(term).into()).collect();
                    push(&mut sql, &mut params, &like.join(" AND "), &patterns);
                }
                Condition::Search { index, within, term, rare, .. } if !sqlite => {
                    for part in rare {
                        let like = format!("{} LIKE ? AND ", index.text);
                        push(&mut sql, &mut params, &like, &[format!("%{part}%").into()]);
                    }
                    let contains = format!("strpos({}, ?) > 0", within.unwrap_or(index.text));
                    push(&mut sql, &mut params, &contains, &[term.as_str().into()]);
                }
                Condition::Search { index, within, term, .. } => {
                    let contains = format!("instr({}, ?) > 0", within.unwrap_or(index.text));
                    push(&mut sql, &mut params, &contains, &[term.as_str().into()]);
                }
            }
        }
        if !self.order.is_empty() {
            sql.push_str(" ORDER BY ");
            sql.push_str(self.order);
        }
        if let Some(Paging { limit, offset }) = self.page {
            push(&mut sql, &mut params, " LIMIT ? OFFSET ?", &[limit.into(), offset.into()]);
        }
        (sql, params)
    }
}

/// Adds text whose `?` become numbered placeholders for `values`.
fn push(sql: &mut String, params: &mut Vec<Value>, text: &str, values: &[Value]) {
    let mut values = values.iter();
    for part in text.split_inclusive('?') {
        match part.strip_suffix('?') {
            Some(before) => {
                params.extend(values.next().cloned());
                sql.push_str(before);
                sql.push('$');
                sql.push_str(&params.len().to_string());
            }
            None => sql.push_str(part),
        }
    }
}

/// The rarest trigrams of a term among those that are wanted.
fn rarest(term: &str, sample: &Sample, is_wanted: impl Fn(&[char; TRIGRAM]) -> bool) -> Vec<[char; TRIGRAM]> {
    let start: String = term.chars().take(CHOSEN_FROM).collect();
    let mut ranked = trigrams(&start);
    ranked.retain(is_wanted);
    ranked.sort_unstable_by_key(|trigram| (sample.count(trigram), *trigram));
    ranked.dedup();
    ranked.truncate(LOOKED_UP);
    ranked
}

/// Whether PostgreSQL has a trigram in its index: only those inside of words are, and what else is a letter to
/// it depends on its settings.
fn is_word(trigram: &[char; TRIGRAM]) -> bool {
    trigram.iter().all(char::is_ascii_alphanumeric)
}

/// The `LIKE` pattern for "contains this", with its wildcards made literal.
fn pattern(term: &str) -> String {
    let escaped = term.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}
