//! The constants of tables, read from the text of their stores: each says the columns the database has, is one
//! of a kind, and keeps to the rows of a tenant.

use latchkey_app::GROUPS;
use latchkey_testkit::{TestServer, tables};

use crate::architecture::{TABLE, code, has_word, product, shown, strings};

/// A table as its store declares it.
struct Constant {
    file: String,
    /// The name of the constant.
    name: String,
    is_public: bool,
    table: String,
    key: Vec<String>,
    /// All columns of a row, with the key.
    columns: Vec<String>,
    /// Columns that are named once more: those that are read, and those that tell the age or whose turn it is.
    named: Vec<String>,
}

/// Tables without a constant, and why.
const WITHOUT: [(&str, &str); 1] =
    [("event_heads", "one statement takes the numbers, in whatever transaction")];

/// Constants whose key is not that of the table, and why.
const OTHER_KEY: [(&str, &str); 1] = [("events", "the number of an event is bound behind its other values")];

/// Tables of tenants whose key does not begin with the tenant, and why.
const ACROSS_TENANTS: [(&str, &str); 1] =
    [("secret_keys", "a key is what tells the tenant in the first place")];

/// Selections that do not keep to one tenant, and why.
const ALL_TENANTS: [(&str, &str); 1] =
    [("[WEBHOOK_ENDPOINTS.select(), WAITING]", "workers serve the endpoints of all tenants")];

fn constants() -> Vec<Constant> {
    let mut found = Vec::new();
    for (path, text) in product() {
        for (at, _) in text.match_indices(TABLE) {
            let declaration = text[at..].split(';').next().unwrap();
            let (before, name) = text[..at].rsplit_once("static ").unwrap();
            let listed = |call: &str, end: char| {
                let list =
                    declaration.split_once(call).map_or("", |(_, rest)| rest.split(end).next().unwrap());
                strings(list)
            };
            let mut key = listed(TABLE, ']');
            let table = key.remove(0);
            found.push(Constant {
                file: shown(&path),
                name: name.split(':').next().unwrap().to_owned(),
                is_public: !before.ends_with('\n'),
                table,
                columns: [key.clone(), listed(".saved(", ']'), listed(".fixed(", ']')].concat(),
                named: [listed(".read(", ']'), listed(".aged_by(", ')'), listed(".due_by(", ')')].concat(),
                key,
            });
        }
    }
    assert!(found.len() >= 26, "only {} constants were found", found.len());
    found
}

fn is_listed(list: &[(&str, &str)], table: &str) -> bool {
    list.iter().any(|(name, _)| *name == table)
}

#[tokio::test]
async fn constants_of_tables_say_the_columns_and_keys_the_database_has() {
    let t = TestServer::start().await;
    let (columns, key) = match t.db().engine() {
        "SQLite" => (
            "SELECT name FROM pragma_table_info($1)",
            "SELECT name FROM pragma_table_info($1) WHERE pk > 0 ORDER BY pk",
        ),
        _ => (
            "SELECT column_name::text FROM information_schema.columns \
             WHERE table_schema = 'public' AND table_name = $1::text",
            "SELECT k.column_name::text FROM information_schema.table_constraints c \
             JOIN information_schema.key_column_usage k USING (table_schema, table_name, constraint_name) \
             WHERE table_schema = 'public' AND table_name = $1::text AND c.constraint_type = 'PRIMARY KEY' \
             ORDER BY k.ordinal_position",
        ),
    };
    let mut tx = t.db().read().await.unwrap();
    for mut constant in constants() {
        let table = [constant.table.as_str().into()];
        let mut stored = tx.all(&[columns], &table, |row| row.text(0)).await.unwrap();
        let stored_key = tx.all(&[key], &table, |row| row.text(0)).await.unwrap();
        assert!(constant.named.iter().all(|column| stored.contains(column)), "{}", constant.name);
        assert!(
            !stored.is_empty(),
            "{}: there is no table `{}`; is its migration in kernel/migrations.rs?",
            constant.name,
            constant.table
        );
        assert_eq!(constant.key == stored_key, !is_listed(&OTHER_KEY, &constant.table), "{}", constant.name);
        stored.sort();
        constant.columns.sort();
        assert_eq!(constant.columns, stored, "{}", constant.name);
    }
}

#[test]
fn every_table_has_one_constant() {
    let constants = constants();
    for table in tables() {
        let of_table: Vec<&str> = constants
            .iter()
            .filter(|constant| constant.table == table.name)
            .map(|constant| constant.name.as_str())
            .collect();
        let expected = if is_listed(&WITHOUT, &table.name) { 0 } else { 1 };
        assert_eq!(of_table.len(), expected, "{}: {of_table:?}", table.name);
    }
}

#[test]
fn rows_that_get_old_are_deleted_by_the_group_of_their_store() {
    let registered = GROUPS.iter().map(|group| group.aged.len()).sum::<usize>();
    let mut declared = 0;
    for (path, text) in product() {
        let aged = text.matches(".aged_by(\"").count();
        let listed = text.matches(": AgedRows = AgedRows {").count();
        assert!(aged <= listed, "{}: rows that are aged by a column, and no `AgedRows`", shown(&path));
        declared += listed;
    }
    assert_eq!(declared, registered, "an `AgedRows` is missing in the `aged` of its group");
}

/// Elsewhere it may be read by: what is written by it there, no other test would see.
#[test]
fn a_constant_of_a_table_writes_in_its_own_file_only() {
    for constant in constants().into_iter().filter(|constant| constant.is_public) {
        for (path, text) in product().into_iter().filter(|(path, _)| shown(path) != constant.file) {
            let code = code(&text);
            for line in code.lines().filter(|line| has_word(line, &constant.name)) {
                let reads =
                    ["select()", "of_instance()", "find("].map(|read| format!("{}.{read}", constant.name));
                let is_reading = line.starts_with("use ") || reads.iter().any(|read| line.contains(read));
                assert!(is_reading, "{} is used in {}: {line}", constant.table, shown(&path));
            }
        }
    }
}

#[test]
fn constants_of_tables_of_tenants_keep_to_the_tenant() {
    let of_tenants: Vec<String> =
        tables().into_iter().filter(|table| table.is_of_a_tenant()).map(|table| table.name).collect();
    let constants = constants();
    for constant in constants.iter().filter(|constant| of_tenants.contains(&constant.table)) {
        let is_first = constant.key[0] == "instance_id";
        assert_eq!(is_first, !is_listed(&ACROSS_TENANTS, &constant.table), "{}", constant.table);
    }
    for (path, text) in product() {
        for constant in constants.iter().filter(|constant| of_tenants.contains(&constant.table)) {
            for (at, _) in text.match_indices(&format!("{}.select()", constant.name)) {
                let function = function_around(&text, at);
                let names_tenant = function.contains("instance_id = $1")
                    || function.contains(".filter(\"instance_id = ?\"")
                    || (function.contains("filtered(") && text.contains(".filter(\"instance_id = ?\""));
                let is_known = ALL_TENANTS.iter().any(|(part, _)| function.contains(part));
                assert!(names_tenant || is_known, "{} in {}", constant.name, shown(&path));
            }
        }
    }
}

/// The function of a text that a place lies in.
fn function_around(text: &str, at: usize) -> &str {
    let start = text[..at].rfind("\n}\n").unwrap_or_default();
    let end = text[at..].find("\n}\n").map_or(text.len(), |end| at + end);
    &text[start..end]
}
