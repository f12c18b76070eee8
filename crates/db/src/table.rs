//! A table as its store knows it: one constant that finding, locking, inserting and saving derive from.
//!
//! The texts are made once for each table and stay the same ever after, so engines prepare each of them once.

use std::sync::OnceLock;

use latchkey_base::{Result, Time};

use crate::row::Read;
use crate::tx::{Statement, Tx};
use crate::value::Value;

/// A table and its columns. A row is given as the values of its key, of the columns that are saved, and of
/// those that are written once, in this order.
pub struct Table {
    name: &'static str,
    key: &'static [&'static str],
    saved: &'static [&'static str],
    fixed: &'static [&'static str],
    read: &'static [&'static str],
    aged_by: &'static str,
    due_by: &'static str,
    texts: OnceLock<Texts>,
}

/// The statements of a table.
struct Texts {
    select: String,
    of_instance: String,
    find: String,
    insert: String,
    insert_new: String,
    put: String,
    save: String,
    delete: String,
    delete_old: String,
    next_due: String,
    put_off: String,
}

impl Table {
    /// A table whose rows have this key. Where rows belong to an instance, its id comes first.
    pub const fn new(name: &'static str, key: &'static [&'static str]) -> Table {
        Table {
            name,
            key,
            saved: &[],
            fixed: &[],
            read: &[],
            aged_by: "",
            due_by: "",
            texts: OnceLock::new(),
        }
    }

    /// The columns that change when a row is saved.
    pub const fn saved(mut self, columns: &'static [&'static str]) -> Table {
        self.saved = columns;
        self
    }

    /// The columns that are written with a new row and left alone when it is saved.
    pub const fn fixed(mut self, columns: &'static [&'static str]) -> Table {
        self.fixed = columns;
        self
    }

    /// The columns that are read, where that is not a whole row.
    pub const fn read(mut self, columns: &'static [&'static str]) -> Table {
        self.read = columns;
        self
    }

    /// The column with the time by which a row is old.
    pub const fn aged_by(mut self, column: &'static str) -> Table {
        self.aged_by = column;
        self
    }

    /// The column with the time from which a row waits for its turn.
    pub const fn due_by(mut self, column: &'static str) -> Table {
        self.due_by = column;
        self
    }

    /// Selects rows: the start of a statement that says which.
    pub fn select(&'static self) -> &'static str {
        &self.texts().select
    }

    /// Selects rows of the instance whose id is the first parameter; more conditions may follow.
    pub fn of_instance(&'static self) -> &'static str {
        &self.texts().of_instance
    }

    /// The row with this key.
    pub async fn find<T: Send + 'static>(
        &'static self,
        tx: &mut Tx,
        key: &[Value],
        read: Read<T>,
    ) -> Result<Option<T>> {
        Ok(tx.maybe(&[&self.texts().find], key, read).await?)
    }

    /// The row with this key, to change it: nobody else changes it until we commit.
    pub async fn lock<T: Send + 'static>(
        &'static self,
        tx: &mut Tx,
        key: &[Value],
        read: Read<T>,
    ) -> Result<Option<T>> {
        Ok(tx.lock(&[&self.texts().find], key, read).await?)
    }

    /// The row with this key, which will be changed, unless somebody else is about to.
    pub async fn claim<T: Send + 'static>(
        &'static self,
        tx: &mut Tx,
        key: &[Value],
        read: Read<T>,
    ) -> Result<Option<T>> {
        Ok(tx.claim(&[&self.texts().find], key, read).await?.into_iter().next())
    }

    /// The row with this key, which must stay as it is until we commit. Others may read it so at once.
    pub async fn share<T: Send + 'static>(
        &'static self,
        tx: &mut Tx,
        key: &[Value],
        read: Read<T>,
    ) -> Result<Option<T>> {
        Ok(tx.share(&[&self.texts().find], key, read).await?)
    }

    /// Adds a row.
    pub async fn insert(&'static self, tx: &mut Tx, row: &[Value]) -> Result<()> {
        tx.run(&[&self.texts().insert], row).await?;
        Ok(())
    }

    /// Adds a row unless there is one with its key. Says whether it did.
    pub async fn insert_new(&'static self, tx: &mut Tx, row: &[Value]) -> Result<bool> {
        Ok(tx.run(&[&self.texts().insert_new], row).await? > 0)
    }

    /// Adds a row, or saves the one with its key.
    pub async fn put(&'static self, tx: &mut Tx, row: &[Value]) -> Result<()> {
        tx.run(&[&self.texts().put], row).await?;
        Ok(())
    }

    /// Saves the row with this key. What is written once may be given or left out.
    pub async fn save(&'static self, tx: &mut Tx, row: &[Value]) -> Result<()> {
        tx.run(&[&self.texts().save], &row[..row.len().min(self.saved_width())]).await?;
        Ok(())
    }

    /// Deletes the row with this key. Says whether there was one.
    pub async fn delete(&'static self, tx: &mut Tx, key: &[Value]) -> Result<bool> {
        Ok(tx.run(&[&self.texts().delete], key).await? > 0)
    }

    /// Deletes up to `limit` rows, of whatever instance, whose time was before `before`, the oldest first. Says
    /// how many.
    pub async fn delete_old(&'static self, tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
        Ok(tx.run(&[&self.texts().delete_old], &[before.into(), limit.into()]).await?)
    }

    /// The key of the row, of whatever instance, that has waited longest for its turn by `now`. Times after `latest`
    /// were never meant: their rows wait too.
    pub async fn next_due<T: Send + 'static>(
        &'static self,
        tx: &mut Tx,
        (now, latest): (Time, Time),
        read: Read<T>,
    ) -> Result<Option<T>> {
        Ok(tx.maybe(&[&self.texts().next_due], &[now.into(), latest.into()], read).await?)
    }

    /// Lets the row with this key wait until then.
    pub async fn put_off(&'static self, tx: &mut Tx, mut key: Vec<Value>, until: Time) -> Result<()> {
        key.push(until.into());
        tx.run(&[&self.texts().put_off], &key).await?;
        Ok(())
    }

    /// [`Table::insert`] as a statement, for callers that send several at once.
    pub fn inserting(&'static self, row: Vec<Value>) -> Statement {
        (&self.texts().insert, row)
    }

    /// [`Table::put`] as a statement.
    pub fn putting(&'static self, row: Vec<Value>) -> Statement {
        (&self.texts().put, row)
    }

    /// [`Table::save`] as a statement.
    pub fn saving(&'static self, mut row: Vec<Value>) -> Statement {
        row.truncate(self.saved_width());
        (&self.texts().save, row)
    }

    /// [`Table::delete`] as a statement.
    pub fn deleting(&'static self, key: Vec<Value>) -> Statement {
        (&self.texts().delete, key)
    }

    fn saved_width(&self) -> usize {
        self.key.len() + self.saved.len()
    }

    fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| self.derived())
    }

    fn derived(&self) -> Texts {
        let Table { name, key, saved, fixed, read, aged_by, due_by, .. } = self;
        let columns = [*key, saved, fixed].concat();
        let marks: Vec<String> = (1..=columns.len()).map(|mark| format!("${mark}")).collect();
        let equal = |columns: &[&str], first: usize| -> Vec<String> {
            columns.iter().enumerate().map(|(at, column)| format!("{column} = ${}", first + at)).collect()
        };
        let given: Vec<String> = saved.iter().map(|column| format!("{column} = excluded.{column}")).collect();
        let conflict = match given.is_empty() {
            true => "DO NOTHING".to_owned(),
            false => format!("DO UPDATE SET {}", given.join(", ")),
        };
        let read = if read.is_empty() { &columns } else { *read };
        let (keys, by_key) = (key.join(", "), equal(key, 1).join(" AND "));
        let select = format!("SELECT {} FROM {name}", read.join(", "));
        let insert = format!("INSERT INTO {name} ({}) VALUES ({})", columns.join(", "), marks.join(", "));
        Texts {
            of_instance: format!("{select} WHERE instance_id = $1"),
            find: format!("{select} WHERE {by_key}"),
            insert_new: format!("{insert} ON CONFLICT ({keys}) DO NOTHING"),
            put: format!("{insert} ON CONFLICT ({keys}) {conflict}"),
            save: format!("UPDATE {name} SET {} WHERE {by_key}", equal(saved, key.len() + 1).join(", ")),
            delete: format!("DELETE FROM {name} WHERE {by_key}"),
            delete_old: format!(
                "DELETE FROM {name} WHERE ({keys}) IN \
                 (SELECT {keys} FROM {name} WHERE {aged_by} < $1 ORDER BY {aged_by} LIMIT $2)"
            ),
            next_due: format!(
                "SELECT {keys} FROM {name} WHERE {due_by} <= $1 OR {due_by} > $2 ORDER BY {due_by}, {keys} LIMIT 1"
            ),
            put_off: format!("UPDATE {name} SET {due_by} = ${} WHERE {by_key}", key.len() + 1),
            select,
            insert,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SESSIONS: Table = Table::new("sessions", &["instance_id", "id"])
        .saved(&["status", "document"])
        .fixed(&["user_id"])
        .aged_by("expire_at")
        .due_by("due_at");
    static DOCUMENTS: Table =
        Table::new("documents", &["id"]).saved(&["document", "size"]).read(&["document"]);

    #[test]
    fn statements_have_the_columns_in_the_order_of_a_row() {
        let texts = SESSIONS.texts();
        let select = "SELECT instance_id, id, status, document, user_id FROM sessions";
        assert_eq!(SESSIONS.select(), select);
        assert_eq!(SESSIONS.of_instance(), format!("{select} WHERE instance_id = $1"));
        assert_eq!(texts.find, format!("{select} WHERE instance_id = $1 AND id = $2"));
        let insert =
            "INSERT INTO sessions (instance_id, id, status, document, user_id) VALUES ($1, $2, $3, $4, $5)";
        assert_eq!(texts.insert, insert);
        assert_eq!(texts.insert_new, format!("{insert} ON CONFLICT (instance_id, id) DO NOTHING"));
        let put = "ON CONFLICT (instance_id, id) DO UPDATE SET status = excluded.status, document = excluded.document";
        assert_eq!(texts.put, format!("{insert} {put}"));
        assert_eq!(
            texts.save,
            "UPDATE sessions SET status = $3, document = $4 WHERE instance_id = $1 AND id = $2"
        );
        assert_eq!(texts.delete, "DELETE FROM sessions WHERE instance_id = $1 AND id = $2");
        assert_eq!(
            texts.delete_old,
            "DELETE FROM sessions WHERE (instance_id, id) IN \
             (SELECT instance_id, id FROM sessions WHERE expire_at < $1 ORDER BY expire_at LIMIT $2)"
        );
        assert_eq!(
            texts.next_due,
            "SELECT instance_id, id FROM sessions WHERE due_at <= $1 OR due_at > $2 \
             ORDER BY due_at, instance_id, id LIMIT 1"
        );
        assert_eq!(texts.put_off, "UPDATE sessions SET due_at = $3 WHERE instance_id = $1 AND id = $2");
    }

    #[test]
    fn only_the_columns_wanted_are_read() {
        assert_eq!(DOCUMENTS.texts().find, "SELECT document FROM documents WHERE id = $1");
        assert_eq!(
            DOCUMENTS.inserting(vec![]).0,
            "INSERT INTO documents (id, document, size) VALUES ($1, $2, $3)"
        );
    }

    #[test]
    fn saving_leaves_alone_what_is_written_once() {
        let row: Vec<Value> = ["i", "s", "active", "{}", "u"].map(Value::from).into();
        assert_eq!(SESSIONS.saving(row.clone()).1, row[..4]);
        assert_eq!(SESSIONS.saving(row[..4].to_vec()).1, row[..4]);
    }

    #[test]
    fn texts_are_made_once() {
        assert!(std::ptr::eq(SESSIONS.select(), SESSIONS.select()));
    }
}
