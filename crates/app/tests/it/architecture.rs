//! The arrows between crates and files, and other rules about the text of the code, kept by reading it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use latchkey_base::Code;
use latchkey_kernel::events::Event;
use latchkey_testkit::tables;

use crate::layers::{CRATES, product_crates};

/// The sources of a crate: path and text. Unit tests at the foot of a file are left out.
pub(crate) fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
    collect(&root, &mut found);
    assert!(!found.is_empty(), "{name} has no sources");
    found
}

/// The sources of the whole product.
pub(crate) fn product() -> Vec<(PathBuf, String)> {
    product_crates().flat_map(sources).collect()
}

fn collect(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_tests = path.file_name().is_some_and(|name| name == "tests.rs" || name == "tests");
        if path.is_dir() && !is_tests {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_tests {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
            found.push((path, code));
        }
    }
}

/// The text without comments and without the contents of strings.
pub(crate) fn code(text: &str) -> String {
    parts(text).0
}

/// The strings of a text, one by one.
pub(crate) fn strings(text: &str) -> Vec<String> {
    parts(text).1
}

/// Code and strings of a text, apart; comments are in neither. Reads as much of Rust's grammar as this
/// repository uses.
fn parts(text: &str) -> (String, Vec<String>) {
    let (mut code, mut strings) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
            code.push('\n');
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            let (string, after) = raw.split_once("\"#").unwrap();
            strings.push(string.to_owned());
            code.push_str("\"\"");
            rest = after;
        } else if rest.starts_with("'\"'") || rest.starts_with("b'\"'") || rest.starts_with("'\\'") {
            rest = &rest[rest.find('\'').unwrap() + 3..];
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let end = end_of_string(quoted);
            strings.push(quoted[..end].to_owned());
            code.push_str("\"\"");
            rest = &quoted[end + 1..];
        } else {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    (code, strings)
}

fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index,
            _ => (),
        }
    }
    text.len() - 1
}

pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

const SQL: [&str; 5] = ["SELECT ", "INSERT INTO", "UPDATE ", "DELETE FROM", " WHERE "];

/// Where the constant of a table begins, from which its statements derive.
pub(crate) const TABLE: &str = "Table::new(";

fn has_sql(text: &str) -> bool {
    strings(text).iter().any(|string| SQL.iter().any(|keyword| string.contains(keyword)))
        || code(text).contains(TABLE)
}

/// Every file of the crates that contains one of the words, as `crate/path word`.
fn uses(crates: &[&str], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for name in crates {
        for (path, text) in sources(name) {
            let code = code(&text);
            for word in words.iter().filter(|word| has_word(&code, word)) {
                found.push(format!("{} {word}", shown(&path)));
            }
        }
    }
    found
}

pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.rsplit_once("/../").map_or(text.to_string(), |(_, rest)| rest.to_owned())
}

const NOTHING: [String; 0] = [];

#[test]
fn base_knows_no_http_no_sql_and_nothing_asynchronous() {
    let words = ["axum", "http", "hyper", "tower", "tokio", "rusqlite", "tokio_postgres", "async", "await"];
    assert_eq!(uses(&["base"], &words), NOTHING);
    assert!(!sources("base").iter().any(|(_, text)| code(text).contains("latchkey_")));
    let with_sql = sources("base").into_iter().filter(|(_, text)| has_sql(text)).count();
    assert_eq!(with_sql, 0);
}

#[test]
fn only_the_database_crate_names_an_engine() {
    let others = CRATES.into_iter().filter(|name| !["bench", "db", "testkit"].contains(name));
    let engines = ["rusqlite", "tokio_postgres", "deadpool_postgres", "sqlx"];
    assert_eq!(uses(&others.collect::<Vec<_>>(), &engines), NOTHING);
}

/// The files of this name in all resources.
fn files(name: &str) -> Vec<(PathBuf, String)> {
    let all = product().into_iter();
    let found: Vec<_> = all.filter(|(path, _)| path.file_name().is_some_and(|file| file == name)).collect();
    assert!(!found.is_empty(), "no {name}");
    found
}

#[track_caller]
fn none_contains(name: &str, words: &[&str]) {
    for (path, text) in files(name) {
        let code = code(&text);
        for word in words {
            assert!(!has_word(&code, word), "{} must not know `{word}`", shown(&path));
        }
    }
}

#[track_caller]
fn none_has_sql(name: &str) {
    for (path, text) in files(name) {
        assert!(!has_sql(&text), "{} must not contain SQL", shown(&path));
    }
}

#[test]
fn models_are_plain_values() {
    none_contains("model.rs", &["async", "await", "axum", "latchkey_db", "latchkey_web", "JsonSchema"]);
    none_has_sql("model.rs");
}

#[test]
fn rules_are_pure() {
    // Rules that grew large enough for a file of their own.
    let own = [
        "codes.rs",
        "factors.rs",
        "keys.rs",
        "metadata.rs",
        "scope.rs",
        "sets.rs",
        "shortcodes.rs",
        "sizes.rs",
    ];
    for file in own.into_iter().chain(["rules.rs"]) {
        none_contains(file, &["async", "await", "axum", "latchkey_db", "latchkey_web", "store", "Tx"]);
        none_has_sql(file);
    }
}

#[test]
fn stores_know_no_http_and_no_rules() {
    none_contains("store.rs", &["axum", "latchkey_web", "Cx", "SecretKey", "cx", "auth"]);
    for (path, text) in files("store.rs") {
        let knows_rules =
            code(&text).lines().any(|line| line.starts_with("use ") && line.contains("rules::"));
        assert!(!knows_rules, "{}", shown(&path));
    }
}

#[test]
fn views_are_pure() {
    none_contains("view.rs", &["async", "await", "axum", "latchkey_db", "store", "Tx"]);
    none_has_sql("view.rs");
}

#[test]
fn handlers_contain_no_sql() {
    none_has_sql("backend.rs");
    for (path, text) in product() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let may = ["store.rs", "outbox.rs"].contains(&name.as_str())
            || is_whole_resource(&path, &text)
            || SQL_ELSEWHERE.iter().any(|(file, _)| *file == shown(&path));
        assert!(may || !has_sql(&text), "SQL in {}", shown(&path));
    }
}

/// Whether a resource is this one file, which holds all of it with the SQL: it lies beside the folders of a group, has
/// none of its own, and declares its table.
fn is_whole_resource(path: &Path, text: &str) -> bool {
    let shown = shown(path);
    let in_group = !shown.starts_with("kernel/") && shown.split('/').count() == 3;
    in_group && !path.with_extension("").is_dir() && code(text).contains(TABLE)
}

#[test]
fn a_resource_of_one_file_is_short() {
    let whole: Vec<_> = product().into_iter().filter(|(path, text)| is_whole_resource(path, text)).collect();
    assert!(!whole.is_empty());
    for (path, text) in whole {
        assert!(text.lines().count() < 150, "{} wants a folder", shown(&path));
    }
}

/// Where SQL stands outside of `store.rs`, `outbox.rs` and resources of one file, and why.
const SQL_ELSEWHERE: [(&str, &str); 4] = [
    ("organizations/src/memberships/list.rs", "a list is built from its filters, piece by piece"),
    ("organizations/src/orgs/list.rs", "a list is built from its filters, piece by piece"),
    ("people/src/users/credentials.rs", "the store of the credentials table, beside what it holds"),
    ("people/src/users/list.rs", "a list is built from its filters, piece by piece"),
];

#[test]
fn list_of_files_with_sql_is_not_longer_than_needed() {
    let all = product();
    for (file, _) in SQL_ELSEWHERE {
        let listed = all.iter().find(|(path, _)| shown(path) == file);
        assert!(listed.is_some_and(|(_, text)| has_sql(text)), "{file} has no SQL any more");
    }
}

/// Every table with the files that write it.
fn writers() -> Vec<(String, Vec<String>)> {
    let files: Vec<_> = product().into_iter().map(|(path, text)| (path, strings(&text), text)).collect();
    let of_table = |table: String| {
        let writes = ["INSERT INTO", "UPDATE", "DELETE FROM"].map(|keyword| format!("{keyword} {table}"));
        let declaration = format!("{TABLE}\"{table}\"");
        let is_written = |strings: &[String]| {
            strings.iter().any(|string| writes.iter().any(|write| has_word(string, write)))
        };
        let writers =
            files.iter().filter(|(_, strings, text)| is_written(strings) || text.contains(&declaration));
        (table, writers.map(|(path, ..)| shown(path)).collect())
    };
    tables().into_iter().map(|table| of_table(table.name)).collect()
}

#[test]
fn every_table_is_written_in_one_place() {
    for (table, writers) in writers() {
        assert_eq!(writers.len(), 1, "{table} is written by {writers:?}");
    }
}

/// How high the crate of a file stands.
fn layer(file: &str) -> usize {
    CRATES.iter().position(|name| file.split('/').next() == Some(*name)).unwrap()
}

/// The order of the layers holds for statements too: what they name is no import that another test would see.
#[test]
fn no_statement_reads_a_table_of_a_layer_above() {
    let writers = writers();
    let mut read = 0;
    for (path, text) in product() {
        let file = shown(&path);
        let texts = on_one_line(&strings(&text).join(" "));
        for (table, writers) in &writers {
            let reads =
                ["FROM", "JOIN"].iter().any(|keyword| has_word(&texts, &format!("{keyword} {table}")));
            let is_above = layer(&writers[0]) > layer(&file);
            assert!(!reads || !is_above, "{file} reads `{table}` of {}", writers[0]);
            read += usize::from(reads);
        }
    }
    assert!(read >= 40, "only {read} readers were found");
}

/// Nor does a part of a statement name what only tables of layers above have, by whatever alias it calls the table.
#[test]
fn no_statement_names_a_column_of_a_layer_above() {
    let layers: BTreeMap<String, usize> =
        writers().into_iter().map(|(table, writers)| (table, layer(&writers[0]))).collect();
    let mut lowest = BTreeMap::<String, usize>::new();
    for table in tables() {
        let at = layers[&table.name];
        for column in table.texts.into_iter().chain(table.bytes) {
            lowest.entry(column).and_modify(|lowest| *lowest = at.min(*lowest)).or_insert(at);
        }
    }
    let mut named = 0;
    for (path, text) in product().into_iter().filter(|(_, text)| has_sql(text)) {
        let file = shown(&path);
        let texts = strings(&text).join(" ");
        let is_other = |c: char| !c.is_alphanumeric() && !"_.".contains(c);
        for (alias, column) in texts.split(is_other).filter_map(|word| word.split_once('.')) {
            let Some(lowest) = lowest.get(column) else { continue };
            assert!(*lowest <= layer(&file), "{file} names `{alias}.{column}`, which no table below has");
            named += 1;
        }
    }
    assert!(named >= 400, "only {named} columns were found");
}

/// Statements about a tenant's table that do not name the tenant, and why.
const ACROSS_TENANTS: [(&str, &str); 3] = [
    ("FROM secret_keys k", "a key is what tells the tenant in the first place"),
    ("FROM webhook_deliveries WHERE next_at IS NOT NULL", "a number for those who watch the server"),
    ("FROM messages WHERE next_at IS NOT NULL", "a number for those who watch the server"),
];

#[test]
fn every_statement_about_a_table_of_tenants_names_the_tenant() {
    let tenant_tables: Vec<String> =
        tables().into_iter().filter(|table| table.is_of_a_tenant()).map(|table| table.name).collect();
    assert!(tenant_tables.len() >= 8, "{tenant_tables:?}");
    let mut checked = 0;
    for (path, text) in product() {
        for (at, statement) in statements(&text) {
            let touches = |table: &String| {
                ["FROM", "INTO", "UPDATE", "JOIN"]
                    .iter()
                    .any(|keyword| has_word(&statement, &format!("{keyword} {table}")))
            };
            if !tenant_tables.iter().any(touches) {
                continue;
            }
            checked += 1;
            let is_known = ACROSS_TENANTS.iter().any(|(start, _)| statement.contains(start));
            let is_whole = statement.contains(" WHERE ") || statement.starts_with("INSERT");
            let names_tenant = match is_whole {
                true => statement.contains("instance_id"),
                false => is_completed(&text, at),
            };
            assert!(names_tenant || is_known, "{}: {statement}", shown(&path));
        }
    }
    assert!(checked >= 20, "only {checked} statements were found");
}

/// The SQL statements of a text with the place where they start.
fn statements(text: &str) -> Vec<(usize, String)> {
    let found = strings(text).into_iter().filter(|string| {
        ["SELECT ", "INSERT ", "UPDATE ", "DELETE "].iter().any(|keyword| string.starts_with(keyword))
    });
    let mut from = 0;
    let place = |statement: String| {
        from = text[from..].find(&statement).map_or(from, |at| from + at);
        (from, on_one_line(&statement))
    };
    found.map(place).collect()
}

/// A text without its breaks of lines.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("\\ ", "")
}

/// Whether a `SELECT … FROM …` without condition gets one that names the tenant: as a constant, in every
/// place that uses it; as the start of a list, in the filters that follow.
fn is_completed(text: &str, at: usize) -> bool {
    let line_start = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let line = &text[line_start..at];
    let Some(name) = line.trim_start().strip_prefix("const ").and_then(|rest| rest.split(':').next()) else {
        return text[at..].lines().take(12).any(|line| line.contains("instance_id = ?"))
            || text.contains(".filter(\"instance_id = ?\"");
    };
    let uses: Vec<&str> = text.match_indices(&format!("[{name}")).map(|(at, _)| &text[at..]).collect();
    let names_tenant = |rest: &&str| {
        let call = rest.split(']').next().unwrap_or_default();
        call.contains("instance_id = $1")
    };
    !uses.is_empty() && uses.iter().all(names_tenant)
}

#[test]
fn every_code_of_the_catalogue_is_used() {
    let mut text = String::new();
    for (_, source) in product_crates().chain(["web", "db", "server"]).flat_map(sources) {
        text.push_str(&code(&source));
    }
    for (path, source) in sources("base") {
        // The catalogue itself declares the codes; that is no use.
        let source =
            if path.ends_with("error.rs") { source.split("catalogue! {").next().unwrap() } else { &source };
        text.push_str(&code(source));
    }
    let unused: Vec<String> = Code::ALL
        .iter()
        .map(|code| format!("{code:?}"))
        .filter(|name| !has_word(&text, &format!("Code::{name}")))
        .collect();
    assert_eq!(unused, NOTHING);
}

#[test]
fn a_kind_of_event_is_said_to_be_emitted_if_something_emits_it() {
    let declares = |path: &Path| path.ends_with("kernel/src/events.rs");
    // Keys are made and revoked on the command line.
    let all = product().into_iter().chain(sources("server"));
    let text: String = all.filter(|(path, _)| !declares(path)).map(|(_, text)| code(&text)).collect();
    for kind in Event::ALL.iter().chain(Event::FEED_ONLY) {
        assert_eq!(kind.is_emitted(), has_word(&text, &format!("Event::{kind:?}")), "{kind:?}");
    }
}

#[test]
fn nothing_is_left_undone_or_silenced() {
    for name in CRATES {
        for (path, text) in sources(name) {
            let code = code(&text);
            for word in ["#[allow", "#![allow", "todo!", "unimplemented!", "dbg!", "FIXME", "XXX"] {
                assert!(!code.contains(word), "{word} in {}", shown(&path));
            }
            for (number, line) in text.lines().enumerate() {
                let is_bare = line.contains("TODO") && !line.contains("TODO(#");
                assert!(!is_bare, "{}:{} has a TODO without an issue", shown(&path), number + 1);
            }
            for silenced in code.split("#[expect(").skip(1).chain(code.split("#![expect(").skip(1)) {
                let attribute = silenced.split(")]").next().unwrap_or_default();
                assert!(attribute.contains("reason ="), "{}: expect without a reason", shown(&path));
            }
        }
    }
}

#[test]
fn time_and_randomness_come_in_as_arguments() {
    let pure: Vec<_> = product_crates().chain(["db", "images", "jose", "passwords"]).collect();
    let words = ["SystemTime", "SystemRng", "SystemClock", "getrandom"];
    assert_eq!(uses(&pure, &words), NOTHING);
}

/// How many lines there may be between the braces of a closure that is given to a transaction.
const LINES_OF_TRANSACTION: usize = 5;

/// What happens inside is found by its name, and says what it takes and returns; a closure shows neither.
#[test]
fn a_transaction_closure_only_passes_arguments_on() {
    let mut checked = 0;
    for (path, text) in CRATES.into_iter().flat_map(sources) {
        for body in transaction_bodies(&code(&text)) {
            let lines = body.lines().count();
            assert!(lines <= LINES_OF_TRANSACTION, "{} has one of {lines} lines:\n{body}", shown(&path));
            checked += 1;
        }
    }
    assert!(checked >= 200, "only {checked} closures were found");
}

/// What the closures do that get a transaction, without what wraps it.
fn transaction_bodies(code: &str) -> Vec<&str> {
    let starts = ["|tx|", "|tx,", "|tx:"].into_iter().flat_map(|start| code.match_indices(start));
    let after_arguments = starts.filter_map(|(at, _)| code[at + 1..].split_once('|'));
    after_arguments.map(|(_, rest)| unwrapped(&rest[..end_of_expression(rest)])).collect()
}

fn end_of_expression(text: &str) -> usize {
    let mut depth = 0;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b',' | b';' | b')' | b']' | b'}' if depth == 0 => return index,
            b')' | b']' | b'}' => depth -= 1,
            _ => (),
        }
    }
    text.len()
}

fn unwrapped(body: &str) -> &str {
    let wrappers = [("{", "}"), ("Box::pin(", ")"), ("async move {", "}")];
    wrappers.into_iter().fold(body.trim(), |body, (open, close)| {
        let inner = body.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inner.unwrap_or(body).trim()
    })
}

/// Two types of one name are told apart by their paths only, and nobody reads those.
#[test]
fn every_type_used_outside_its_file_has_a_noun_of_its_own() {
    let mut names = BTreeMap::<String, Vec<String>>::new();
    for (path, text) in product_crates().chain(["db", "web"]).flat_map(sources) {
        let file = shown(&path);
        for line in code(&text).lines().filter(|line| line.starts_with("pub")) {
            let end = if line.starts_with("pub(") { ") " } else { " " };
            let item = line.split_once(end).map_or("", |(_, item)| item);
            let kinds = ["struct ", "enum ", "trait ", "type "];
            let declared = kinds.iter().find_map(|kind| item.strip_prefix(kind));
            let name = declared.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric()).collect());
            if let Some(name) = name {
                names.entry(name).or_default().push(file.clone());
            }
        }
    }
    let homonyms: Vec<_> = names.into_iter().filter(|(_, paths)| paths.len() > 1).collect();
    assert!(homonyms.is_empty(), "{homonyms:#?}");
}

/// A file of tests without its `mod` line compiles, passes, and tests nothing.
#[test]
fn every_file_of_tests_is_run() {
    for name in CRATES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("tests/it");
        if !folder.is_dir() {
            continue;
        }
        let mut files = Vec::new();
        collect(&folder, &mut files);
        let mut modules: Vec<String> = files.iter().filter_map(|(path, _)| module_of(path)).collect();
        let mut declared: Vec<String> =
            files.iter().flat_map(|(_, text)| text.lines().filter_map(declaration)).collect();
        modules.sort();
        declared.sort();
        assert_eq!(modules, declared, "the files of crates/{name}/tests/it and their `mod` lines");
    }
}

/// The module in a file; `main.rs` has none.
fn module_of(path: &Path) -> Option<String> {
    let name = path.file_stem()?.to_str()?;
    let module = if name == "mod" { path.parent()?.file_name()?.to_str()? } else { name };
    (module != "main").then(|| module.to_owned())
}

/// The module that a line declares, if its text is in another file.
fn declaration(line: &str) -> Option<String> {
    let line = line.trim();
    let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub(super) ")).unwrap_or(line);
    Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
}

#[test]
fn every_module_says_what_it_is() {
    for name in CRATES {
        for (path, text) in sources(name) {
            assert!(text.starts_with("//! "), "{} does not say what it is", shown(&path));
        }
    }
}

/// Whoever looks for a function looks into the files, which say by their names what they hold.
#[test]
fn a_mod_file_names_modules_and_does_nothing() {
    for (path, text) in product().into_iter().filter(|(path, _)| path.ends_with("mod.rs")) {
        assert!(!code(&text).contains("fn "), "{} has a function", shown(&path));
    }
}

#[test]
fn files_stay_short_enough_to_be_read() {
    for name in CRATES {
        for (path, text) in sources(name) {
            let lines = text.lines().count();
            assert!(lines <= 600, "{} has {lines} lines", shown(&path));
        }
    }
}

#[test]
fn bodies_of_transactions_are_told_from_what_wraps_them() {
    let text = "db.write(move |tx| {\n  Box::pin(async move {\n    a(tx, b)?;\n    c(tx)\n  })\n});\n\
                table.change(id, |tx, act| Box::pin(set(tx, act)), d);";
    assert_eq!(transaction_bodies(text), ["a(tx, b)?;\n    c(tx)", "set(tx, act)"]);
}

#[test]
fn statements_and_strings_are_told_from_comments_and_code() {
    let text =
        "// SELECT 1 FROM users\nlet a = \"SELECT \\\"x\\\" FROM b\"; let c = r#\"D \"q\" E\"#; b'\"' f";
    let (code, strings) = parts(text);
    assert_eq!(strings, ["SELECT \\\"x\\\" FROM b", "D \"q\" E"]);
    assert!(has_word(&code, "let") && has_word(&code, "f") && !has_word(&code, "SELECT"));
}
