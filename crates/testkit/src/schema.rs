//! The tables, read from the migrations, so that a test over all of them cannot miss a new one.

use latchkey_app::migrations;

/// A table and its columns.
pub struct Table {
    /// Its name.
    pub name: String,
    /// The columns that can be shown as text.
    pub texts: Vec<String>,
    /// The columns of bytes.
    pub bytes: Vec<String>,
}

impl Table {
    /// Whether its rows belong to an instance.
    pub fn is_of_a_tenant(&self) -> bool {
        self.texts.iter().any(|column| column == "instance_id")
    }
}

/// Every table of the product. Migrations write one column in a line, its name before its type.
pub fn tables() -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for line in migrations::ALL.iter().flat_map(|migration| migration.common.lines()) {
        if let Some(rest) = line.strip_prefix("CREATE TABLE ") {
            let name = rest.split([' ', '(']).next().unwrap_or_default().to_owned();
            // Made anew by a later step.
            tables.retain(|table| table.name != name);
            tables.push(Table { name, texts: Vec::new(), bytes: Vec::new() });
        }
        let mut words = line.split_whitespace();
        let (Some(column), Some(kind), Some(table)) = (words.next(), words.next(), tables.last_mut()) else {
            continue;
        };
        match kind.trim_end_matches(',') {
            "TEXT" | "BIGINT" | "BOOLEAN" => table.texts.push(column.to_owned()),
            "BYTEA" => table.bytes.push(column.to_owned()),
            _ => (),
        }
    }
    tables
}
