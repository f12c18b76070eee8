//! Rows that get the next numbers of their series, on PostgreSQL. Taking the numbers and writing the rows is one
//! statement, which travels with the commit: whoever takes a number holds its series until then, and everybody
//! else waits for it.

use crate::batch::together_at_most;
use crate::error::{DbError, Result};
use crate::tx::Numbered;
use crate::value::Value;

/// A statement that takes numbers of one series, writes rows with them and returns the highest.
pub(crate) struct NumberingStatement<'a> {
    pub(crate) sql: String,
    /// The series and how many numbers it takes.
    head: [Value; 2],
    rows: Vec<&'a Numbered>,
}

impl NumberingStatement<'_> {
    pub(crate) fn params(&self) -> Vec<&Value> {
        let rows = self.rows.iter().flat_map(|row| &row.statement.1);
        self.head.iter().chain(rows).collect()
    }

    /// The numbers of its rows, once the highest is known.
    pub(crate) fn numbers(&self, highest: i64) -> impl Iterator<Item = i64> {
        let count = i64::try_from(self.rows.len()).unwrap_or_default();
        highest - count + 1..=highest
    }
}

/// The statements for rows in which those of one series stand together, in their order.
pub(crate) fn statements<'a>(numbering: &str, rows: &[&'a Numbered]) -> Result<Vec<NumberingStatement<'a>>> {
    let mut all = Vec::new();
    for alike in
        rows.chunk_by(|left, right| left.series == right.series && left.statement.0 == right.statement.0)
    {
        let mut left = alike;
        while !left.is_empty() {
            let width = left[0].statement.1.len();
            let (now, later) = left.split_at(together_at_most(left.len(), width));
            let count = i64::try_from(now.len()).map_err(DbError::failed)?;
            let head = [now[0].series.as_str().into(), count.into()];
            all.push(NumberingStatement { sql: text(numbering, now[0], count)?, head, rows: now.to_vec() });
            left = later;
        }
    }
    Ok(all)
}

/// `INSERT INTO t (…) VALUES (…)` with the number last becomes one insert of `count` rows out of a list. The
/// types are written down, because in such a list they do not follow from the columns.
fn text(numbering: &str, row: &Numbered, count: i64) -> Result<String> {
    let (sql, params) = &row.statement;
    let (target, _) =
        sql.split_once(" VALUES ").ok_or_else(|| DbError::failed("numbered rows are inserted"))?;
    let columns: Vec<String> = (1..=params.len()).map(|column| format!("c{column}")).collect();
    let columns = columns.join(", ");
    let mut mark = 2;
    let mut tuples = Vec::new();
    for behind in (0..count).rev() {
        let mut marks = String::new();
        for value in params {
            mark += 1;
            marks += &format!("${mark}::{}, ", value.kind());
        }
        tuples.push(format!("({marks}{behind})"));
    }
    let tuples = tuples.join(", ");
    Ok(format!(
        "WITH head (last) AS ({numbering}) {target} SELECT {columns}, head.last - v.behind \
         FROM head, (VALUES {tuples}) AS v ({columns}, behind) RETURNING (SELECT last FROM head)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(series: &str) -> Numbered {
        let statement = ("INSERT INTO e (s, t, n) VALUES ($1, $2, $3)", vec![series.into(), 1i64.into()]);
        Numbered { series: series.to_owned(), statement }
    }

    #[test]
    fn rows_of_a_series_go_in_statements_of_two_four_eight() {
        let rows = ["a", "a", "a", "b"].map(row);
        let all = statements("TAKE $1 $2", &rows.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(all.iter().map(|one| one.rows.len()).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(
            all[0].sql,
            "WITH head (last) AS (TAKE $1 $2) INSERT INTO e (s, t, n) SELECT c1, c2, head.last - v.behind \
             FROM head, (VALUES ($3::text, $4::int8, 1), ($5::text, $6::int8, 0)) AS v (c1, c2, behind) \
             RETURNING (SELECT last FROM head)"
        );
        assert_eq!(all[0].params()[..2], [&Value::from("a"), &2i64.into()]);
        assert_eq!(all[0].params().len(), 6);
        assert_eq!(all[0].numbers(9).collect::<Vec<_>>(), [8, 9]);
    }

    #[test]
    fn no_statement_has_more_parameters_than_postgresql_takes() {
        let row =
            Numbered { series: "a".to_owned(), statement: ("INSERT INTO e VALUES ()", vec![1i64.into(); 9]) };
        let rows = vec![row; 10_000];
        let all = statements("TAKE", &rows.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(all.iter().map(|one| one.rows.len()).sum::<usize>(), 10_000);
        assert!(all.iter().all(|one| one.params().len() <= 65_535));
    }
}
