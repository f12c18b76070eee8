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
/// So few hits are collected without weighing anything.
const FEW: i64 = 100;
/// Collecting every hit beats comparing every row as long as no more than one row in so many is a hit,
const SHARE: f64 = 3.0;
/// and hits are no more than this, so that a search takes some ten megabytes at most.
const MOST: i64 = 250_000;
/// Steps of SQLite's machine that a walk may take for each hit that would have been few: a row takes 6 of them,
/// or 20 with some filters, so that is a few times what the walk is expected to take.
const STEPS: i64 = 32;
/// `IN` lists are padded to these lengths, so that a few prepared statements serve all of them.
const LENGTHS: [usize; 5] = [1, 4, 16, 64, 256];

/// A list being built.
pub struct List {
    select: &'static str,
    conditions: Vec<Condition>,
    group: &'static str,
    order: &'static str,
    is_sorted: bool,
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
        List { select, conditions: Vec::new(), group: "", order: "", is_sorted: false, page: None }
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

    /// Makes one row of those that are equal in these columns.
    pub fn group(mut self, columns: &'static str) -> List {
        self.group = columns;
        self
    }

    /// Orders by a clause such as `created_at DESC, id DESC`, which an index has.
    pub fn order(mut self, clause: &'static str) -> List {
        self.order = clause;
        self
    }

    /// Orders by a clause that no index has: all rows must be found before the first is known.
    pub fn sort(mut self, clause: &'static str) -> List {
        self.is_sorted = true;
        self.order(clause)
    }

    /// Returns one page only.
    pub fn page(mut self, page: Paging) -> List {
        self.page = Some(page);
        self
    }

    /// The rows.
    pub async fn fetch<T: Send + 'static>(mut self, tx: &mut Tx, read: Read<T>) -> Result<Vec<T>> {
        let page = self.page.filter(|_| !self.is_sorted);
        let wanted = page.map(|page| page.offset.saturating_add(page.limit));
        if tx.is_sqlite()
            && wanted.is_some()
            && let Some(few) = self.look_up(tx, wanted).await?
            && self.hits().is_none()
        {
            // Hits may all lie at the far end, or other conditions may leave few of them.
            let (sql, params) = self.build(true);
            if let Some(rows) = tx.query_within(few.saturating_mul(STEPS), sql, &params, read).await? {
                return Ok(rows);
            }
        }
        if self.hits().is_none() {
            self.look_up(tx, None).await?;
        }
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
        bare.look_up(tx, None).await?;
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

    /// Finds out how to search for the first `wanted` rows in the order of an index, or for all. On SQLite, terms
    /// are looked up in their index first: few hits are given to the statement as a list; with more it walks and
    /// compares. Returns how many were few, if anything could be looked up. PostgreSQL decides that by itself, but
    /// looks up every trigram of a term, common ones too, unless it is asked for some rare ones only.
    async fn look_up(&mut self, tx: &mut Tx, wanted: Option<i64>) -> Result<Option<i64>> {
        let mut most = None;
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
            let few = few(wanted, sample.table_rows());
            most = most.max(Some(few));
            let trigrams = rarest(term, &sample, |_| true);
            // Looking up costs by the hit, too. It is spared where too many are expected.
            if sample.expected(&trigrams) > few as f64 {
                continue;
            }
            // Each in quotes, so that nothing in it is an operator.
            let quoted: Vec<String> = trigrams
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
        Ok(most)
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
        let found = self.hits();
        if let Some((table, hits)) = found {
            // Without that word SQLite may walk the whole table in the order of the list, looking for hits.
            let by_rowid = format!(" FROM {table} NOT INDEXED WHERE {table}.rowid IN (SELECT");
            sql = sql.replace(&format!(" FROM {table}"), &by_rowid);
            // Sorting takes the keys only; the rows of the page are read afterwards.
            if self.page.is_some() {
                sql.push_str(&format!(" {table}.rowid{by_rowid}"));
            }
            sql.push_str(" value FROM json_each($1))");
            params.push(hits.into());
        }
        for (position, condition) in self.conditions.iter().enumerate() {
            sql.push_str(if position == 0 && found.is_none() { " WHERE " } else { " AND " });
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
        if !self.group.is_empty() {
            sql.push_str(" GROUP BY ");
            sql.push_str(self.group);
        }
        let order = if self.order.is_empty() { String::new() } else { format!(" ORDER BY {}", self.order) };
        sql.push_str(&order);
        if let Some(Paging { limit, offset }) = self.page {
            push(&mut sql, &mut params, " LIMIT ? OFFSET ?", &[limit.into(), offset.into()]);
            if found.is_some() {
                sql.push(')');
                sql.push_str(&order);
            }
        }
        (sql, params)
    }
}

/// Up to how many hits among so many rows collecting them all is the sooner way. That costs by the hit. Walking
/// costs by the row, about as much: every row when all hits are wanted, otherwise as many for each wanted hit as
/// there are rows for one. The two are even where hits × hits = wanted × rows.
fn few(wanted: Option<i64>, rows: f64) -> i64 {
    let all = rows / SHARE;
    let few = wanted.map_or(all, |wanted| (wanted as f64 * rows).sqrt().min(all));
    (few as i64).clamp(FEW, MOST)
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

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: SearchIndex = SearchIndex { index: "t_search", table: "t", text: "t.x" };

    #[test]
    fn what_is_few_follows_from_page_and_table() {
        for (wanted, rows, expected) in [
            (Some(10), 1e3, 100),
            (Some(10), 1e4, 316),
            (Some(10), 1e5, 1000),
            (Some(10), 1e6, 3162),
            (Some(500), 1e4, 2236),
            (Some(5_010), 1e4, 3333),
            (Some(i64::MAX), 1e4, 3333),
            (None, 1e4, 3333),
            (None, 1e6, MOST),
            (None, 0.0, FEW),
            (Some(0), 1e6, FEW),
        ] {
            assert_eq!(few(wanted, rows), expected, "{wanted:?} of {rows}");
        }
    }

    /// How SQLite goes about a list for which the index gave these hits.
    fn plan(list: List, found: Option<&str>) -> Vec<String> {
        let mut list = list.filter("tenant = ?", vec!["a".into()]).search(INDEX, None, Some("needle".into()));
        for condition in &mut list.conditions {
            if let Condition::Search { hits, .. } = condition {
                *hits = found.map(str::to_owned);
            }
        }
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let tables = "CREATE TABLE t (tenant TEXT, at INTEGER, x TEXT, document TEXT); CREATE INDEX ix ON t (tenant, at)";
        connection.execute_batch(tables).unwrap();
        let (sql, params) = list.build(true);
        let mut statement =
            connection.prepare(&format!("EXPLAIN QUERY PLAN {}", sql.replace('$', "?"))).unwrap();
        for (position, value) in params.iter().enumerate() {
            statement.raw_bind_parameter(position + 1, value).unwrap();
        }
        statement.raw_query().mapped(|row| row.get("detail")).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_page_is_walked_by_its_index_and_few_hits_are_read_by_rowid() {
        let page =
            || List::new("SELECT document FROM t").order("at DESC").page(Paging { limit: 10, offset: 0 });
        let count = || List::new("SELECT count(*) FROM t");
        assert_eq!(plan(page(), None), ["SEARCH t USING INDEX ix (tenant=?)"]);
        for list in [page(), count()] {
            let plan = plan(list, Some("[1,2]"));
            assert!(
                plan.iter().any(|step| step == "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"),
                "{plan:?}"
            );
            assert!(!plan.iter().any(|step| step.contains("INDEX ix") || step == "SCAN t"), "{plan:?}");
        }
    }
}
