//! Four layers of settings on top of each other: built in, file, environment, flags.
//!
//! Whatever its source, a value is a text here. What the texts mean is decided in `config.rs`, once for
//! all sources.

use std::collections::BTreeMap;
use std::fmt;

use toml::{Table, Value};

use super::problem::{Problem, nearest};
use super::settings::{SETTINGS, names};

const BUILT_IN: &str = include_str!("../config.default.toml");

/// A configuration file that was read.
pub(crate) struct File {
    /// Its path, for messages.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// `config.default.toml`.
    BuiltIn,
    File(String),
    /// An environment variable.
    Variable(&'static str),
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::BuiltIn => f.write_str("the default"),
            Source::File(path) => write!(f, "the file {path}"),
            Source::Variable(name) => write!(f, "the environment variable {name}"),
            Source::Flag(name) => write!(f, "the flag --{name}"),
        }
    }
}

/// The value in force for every setting, and its source.
pub(crate) struct Layers(BTreeMap<&'static str, (String, Source)>);

impl Layers {
    /// Puts the layers on top of each other; what is wrong with them is added to `problems`.
    pub(crate) fn gather(
        file: Option<&File>,
        variables: impl Fn(&str) -> Option<String>,
        flags: impl Fn(&str) -> Option<String>,
        problems: &mut Vec<Problem>,
    ) -> Layers {
        let mut layers = Layers(BTreeMap::new());
        layers.add_file(BUILT_IN, &Source::BuiltIn, problems);
        if let Some(File { path, text }) = file {
            layers.add_file(text, &Source::File(path.clone()), problems);
        }
        for setting in SETTINGS {
            if let Some(text) = variables(setting.variable).filter(|text| !text.is_empty()) {
                layers.0.insert(setting.name, (text, Source::Variable(setting.variable)));
            }
            if let Some((flag, text)) = setting.flag.and_then(|flag| Some((flag, flags(flag)?))) {
                layers.0.insert(setting.name, (text, Source::Flag(flag)));
            }
        }
        layers
    }

    /// The value of a setting. Every name has one, because the built-in layer is complete.
    pub(crate) fn get(&self, name: &str) -> (&str, Source) {
        match self.0.get(name) {
            Some((text, source)) => (text, source.clone()),
            None => ("", Source::BuiltIn),
        }
    }

    fn add_file(&mut self, text: &str, source: &Source, problems: &mut Vec<Problem>) {
        match text.parse::<Table>() {
            Ok(table) => self.add_table("", table, source, problems),
            // The error's own display quotes the line, which may hold the master key.
            Err(error) => {
                let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                let what = format!("Line {line} is not TOML: {}.", error.message());
                let right = "Correct that line. Texts stand in quotes: listen = \"127.0.0.1:3400\".";
                problems.push(Problem::new("the whole file", source, what, right));
            }
        }
    }

    fn add_table(&mut self, prefix: &str, table: Table, source: &Source, problems: &mut Vec<Problem>) {
        for (key, value) in table {
            let full = format!("{prefix}{key}");
            let known = names().find(|name| *name == full);
            let is_parent =
                names().any(|name| name.strip_prefix(&full).is_some_and(|rest| rest.starts_with('.')));
            match (value, known) {
                (Value::Table(inner), None) if is_parent => {
                    self.add_table(&format!("{full}."), inner, source, problems);
                }
                (value, Some(name)) => match as_text(&value) {
                    Some(text) => {
                        self.0.insert(name, (text, source.clone()));
                    }
                    None => {
                        let what =
                            format!("It is {}, not a text, a number or a list of texts.", value.type_str());
                        problems.push(Problem::new(
                            &full,
                            source,
                            what,
                            "`latchkey config` shows how it is written.",
                        ));
                    }
                },
                (_, None) => problems.push(unknown(&full, source)),
            }
        }
    }
}

fn unknown(name: &str, source: &Source) -> Problem {
    let right = match nearest(name, names()) {
        Some(known) => format!("Did you mean `{known}`?"),
        None => "`latchkey config` lists all there are.".to_owned(),
    };
    Problem::new(name, source, "There is no setting of this name.", right)
}

/// A value as it would be written in the environment.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            texts.map(|texts| texts.join(","))
        }
        Value::Table(_) | Value::Datetime(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_has_every_setting_and_no_other() {
        let mut problems = Vec::new();
        let layers = Layers::gather(None, |_| None, |_| None, &mut problems);
        assert_eq!(problems, []);
        let mut expected: Vec<&str> = names().collect();
        expected.sort_unstable();
        assert_eq!(layers.0.keys().copied().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn variables_and_flags_are_named_after_the_setting() {
        for setting in SETTINGS {
            assert_eq!(setting.variable, format!("LATCHKEY_{}", setting.name.to_uppercase()));
            if let Some(flag) = setting.flag {
                assert_eq!(flag, setting.name.replace('_', "-"));
            }
        }
    }
}
