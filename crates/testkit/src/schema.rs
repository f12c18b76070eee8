//! The tables, read from the migrations, so that a test over all of them cannot miss a new one.

use latchkey_kernel::migrations;

/// A table and its columns.
pub struct Table {
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

    /// Adds the column that a line of a migration declares, if it does.
    fn add(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let (Some(column), Some(kind)) = (words.next(), words.next()) else { return };
        match kind.trim_end_matches([',', ';']) {
            "TEXT" | "BIGINT" | "BOOLEAN" => self.texts.push(column.to_owned()),
            "BYTEA" => self.bytes.push(column.to_owned()),
            _ => (),
        }
    }
}

/// Every table of the product. Migrations write one column in a line, its name before its type; one that is added
/// later behind the name of its table.
pub fn tables() -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for line in migrations::ALL.iter().flat_map(|migration| migration.common.lines()) {
        if let Some((name, column)) =
            line.strip_prefix("ALTER TABLE ").and_then(|rest| rest.split_once(" ADD COLUMN "))
        {
            tables.iter_mut().filter(|table| table.name == name).for_each(|table| table.add(column));
        } else if let Some(rest) = line.strip_prefix("CREATE TABLE ") {
            let name = rest.split([' ', '(']).next().unwrap_or_default().to_owned();
            // Made anew by a later step.
            tables.retain(|table| table.name != name);
            tables.push(Table { name, texts: Vec::new(), bytes: Vec::new() });
        } else if let Some(table) = tables.last_mut() {
            table.add(line);
        }
    }
    tables
}
