//! What the commands print: results to standard output, remarks to standard error.
//!
//! A reader that goes away (`latchkey openapi | head`) is no failure, so nothing here panics or fails
//! when a pipe is closed.

use std::io::Write;

use latchkey_base::Time;
use latchkey_base::kinds::InstanceId;
use latchkey_kernel::instances::keys::publishable_key;
use serde::Serialize;

use crate::config::Config;
use crate::provision::{Made, Storage};
use crate::reach;

/// Prints a result.
pub(crate) fn result(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Prints a remark.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a result as JSON.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => result(&text),
        Err(error) => note(&format!("the result cannot be written as JSON: {error}")),
    }
}

/// Labels and values, one line each, the values below each other.
pub(crate) fn aligned(rows: &[(&str, &str)]) -> String {
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
    let lines: Vec<String> = rows.iter().map(|(label, value)| format!("  {label:width$}  {value}")).collect();
    lines.join("\n")
}

/// A table with a head, its columns below each other.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&head).chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let lines: Vec<String> = std::iter::once(&head).chain(rows).map(line).collect();
    lines.join("\n")
}

/// A time for people, to the second.
pub(crate) fn rfc3339(time: Time) -> String {
    jiff::Timestamp::from_millisecond(time.ms())
        .map_or_else(|_| time.ms().to_string(), |moment| format!("{moment:.0}"))
}

/// The keys of an instance, as `keys` and `instances create` print them.
#[derive(Serialize)]
pub(crate) struct Keys {
    instance_id: InstanceId,
    environment: &'static str,
    secret_key: String,
    publishable_key: String,
    api_url: String,
    frontend_api: String,
}

impl Keys {
    /// The keys of an instance of the server that `config` describes.
    pub(crate) fn new(config: &Config, storage: &Storage, made: &Made) -> Keys {
        let instance = storage.instances.iter().find(|instance| instance.id == made.id);
        let host = instance.map(|instance| reach::key_host(config, storage, instance));
        let frontend_api = host.unwrap_or_else(|| made.frontend_api.clone());
        Keys {
            instance_id: made.id.clone(),
            environment: made.environment.name(),
            secret_key: made.key.expose().to_owned(),
            publishable_key: publishable_key(made.environment, &frontend_api),
            api_url: config.api_url(config.listen),
            frontend_api,
        }
    }

    /// Prints them for people or as one JSON object.
    pub(crate) fn print(&self, as_json: bool) {
        if as_json {
            return json(self);
        }
        result(&aligned(&[
            ("api url", &self.api_url),
            ("secret key", &self.secret_key),
            ("publishable key", &self.publishable_key),
            ("frontend api", &self.frontend_api),
            ("instance", &format!("{} ({})", self.instance_id, self.environment)),
        ]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_below_each_other() {
        assert_eq!(aligned(&[("a", "1"), ("long", "2")]), "  a     1\n  long  2");
        let rows = [vec!["a".to_owned(), "b".to_owned()], vec!["long".to_owned(), String::new()]];
        assert_eq!(table(&["ID", "X"], &rows), "ID    X\na     b\nlong");
    }
}
