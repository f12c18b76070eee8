//! Builds the one kind of statement whose text depends on the request: filtered, ordered, paged lists.
//!
//! Every piece of text is `&'static str`; what comes from outside can only become a value.

use latchkey_base::page::Paging;

use crate::error::Result;
use crate::row::Read;
use crate::tx::Tx;
use crate::value::Value;

/// A search index over one folded text of a table: on SQLite a table of trigrams beside it, on
/// PostgreSQL a trigram index.
#[derive(Clone, Copy)]
pub struct SearchIndex {
    /// SQLite's table of trigrams; its rowids are those of `table`.
    pub index: &'static str,
    /// The main table.
    pub table: &'static str,
    /// The text, as an expression over the main table.
    pub text: &'static str,
}

/// A trigram needs three characters; shorter terms are compared row by row.
const TRIGRAM: usize = 3;
/// Looking up more trigrams than this costs more than comparing the hits that are left.
const LOOKED_UP: usize = 4;
/// Trigrams are chosen from the first characters of a term; a long one has enough of them there.
const CHOSEN_FROM: usize = 64;
/// With more hits than this, walking the list in its order finds a page sooner than sorting all hits.
const FEW: i64 = 2000;
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
    Plain { text: &'static str, values: Vec<Value> },
    In { before: &'static str, values: Vec<Value>, after: &'static str, first: Vec<Value> },
    Search { index: SearchIndex, within: Option<&'static str>, term: String },
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
            self.conditions.push(Condition::Search { index, within, term });
        }
        self
    }

    /// Whether a text search is among the conditions, so that the list may take long.
    pub fn has_search(&self) -> bool {
        self.conditions.iter().any(|condition| matches!(condition, Condition::Search { .. }))
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
    pub async fn fetch<T: Send + 'static>(self, tx: &mut Tx, read: Read<T>) -> Result<Vec<T>> {
        let ordered = self.order_is_cheaper(tx).await?;
        let (sql, params) = self.build(tx.is_sqlite() && !ordered, tx.is_sqlite(), self.select);
        tx.query(sql, &params, read).await
    }

    /// How many rows there are, leaving order and page aside. The select must be `SELECT count(*) FROM …`.
    pub async fn count(self, tx: &mut Tx) -> Result<i64> {
        let bare = List { order: "", page: None, ..self };
        let (sql, params) = bare.build(tx.is_sqlite(), tx.is_sqlite(), bare.select);
        let rows = tx.query(sql, &params, |row| row.int(0)).await?;
        Ok(rows.first().copied().unwrap_or_default())
    }

    /// SQLite cannot estimate how many rows a search term hits, so a capped count decides between
    /// "collect the hits and sort them" and "walk in order and compare". PostgreSQL has statistics.
    async fn order_is_cheaper(&self, tx: &mut Tx) -> Result<bool> {
        for condition in &self.conditions {
            let Condition::Search { index, term, .. } = condition else { continue };
            let Some(trigrams) = trigrams(term).filter(|_| tx.is_sqlite()) else { continue };
            let sql =
                format!("SELECT count(*) FROM (SELECT 1 FROM {0} WHERE {0} MATCH $1 LIMIT $2)", index.index);
            let params = [trigrams.into(), (FEW + 1).into()];
            let hits = tx.query(sql, &params, |row| row.int(0)).await?;
            if hits.first().is_none_or(|&hits| hits <= FEW) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn build(&self, use_index: bool, sqlite: bool, select: &str) -> (String, Vec<Value>) {
        let mut sql = String::from(select);
        let mut params = Vec::new();
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
                Condition::Search { index, within, term } => {
                    push_search(&mut sql, &mut params, (index, *within, term), use_index, sqlite);
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

fn push_search(
    sql: &mut String,
    params: &mut Vec<Value>,
    (index, within, term): (&SearchIndex, Option<&'static str>, &str),
    use_index: bool,
    sqlite: bool,
) {
    if !sqlite {
        // The index is over the whole text, so that is asked for too when only a part counts.
        push(sql, params, &format!("{} LIKE ? ESCAPE '\\'", index.text), &[pattern(term).into()]);
        if let Some(part) = within {
            push(sql, params, &format!(" AND {part} LIKE ? ESCAPE '\\'"), &[pattern(term).into()]);
        }
        return;
    }
    if let Some(trigrams) = trigrams(term).filter(|_| use_index) {
        let text =
            format!("{0}.rowid IN (SELECT rowid FROM {1} WHERE {1} MATCH ?) AND ", index.table, index.index);
        push(sql, params, &text, &[trigrams.into()]);
    }
    push(sql, params, &format!("instr({}, ?) > 0", within.unwrap_or(index.text)), &[term.into()]);
}

/// The full-text query for "contains these trigrams of the term", each quoted so that nothing in it is
/// an operator; nothing when the term is too short. The rarest are chosen, as far as letters tell.
fn trigrams(term: &str) -> Option<String> {
    let letters: Vec<char> = term.chars().take(CHOSEN_FROM).collect();
    let mut ranked: Vec<&[char]> = letters.windows(TRIGRAM).collect();
    ranked
        .sort_by_key(|trigram| std::cmp::Reverse(trigram.iter().map(|&letter| rarity(letter)).sum::<u32>()));
    ranked.dedup();
    let quoted =
        |trigram: &&[char]| format!("\"{}\"", String::from_iter(trigram.iter()).replace('"', "\"\""));
    let chosen: Vec<String> = ranked.iter().take(LOOKED_UP).map(quoted).collect();
    (!chosen.is_empty()).then(|| chosen.join(" AND "))
}

/// How much a character tells two texts apart.
fn rarity(letter: char) -> u32 {
    match letter {
        '@' | '.' | '\n' | ' ' => 0,
        'a' | 'c' | 'e' | 'i' | 'l' | 'm' | 'n' | 'o' | 'r' | 's' | 't' => 1,
        'a'..='z' => 2,
        '0'..='9' => 3,
        _ => 4,
    }
}

/// The `LIKE` pattern for "contains this", with its wildcards made literal.
fn pattern(term: &str) -> String {
    let escaped = term.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}
