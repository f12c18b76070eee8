//! What is wrong with a setting, said so that it can be put right: which one, where its value came from,
//! what is wrong and what would be right.
//!
//! A problem never repeats the value of a setting that may hold a secret; who makes one sees to that.

use std::fmt;

use super::layers::Source;

/// One thing to put right.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    setting: String,
    source: String,
    wrong: String,
    right: String,
}

impl Problem {
    /// An environment variable whose name is close to that of a setting.
    pub(crate) fn mistyped(typed: &str, known: &str) -> Problem {
        Problem {
            setting: format!("LATCHKEY_{}", typed.to_uppercase()),
            source: "the environment".to_owned(),
            wrong: "There is no setting of this name.".to_owned(),
            right: format!("Did you mean LATCHKEY_{}?", known.to_uppercase()),
        }
    }

    /// A problem of `setting`, whose value came from `source`.
    pub(crate) fn new(
        setting: &str,
        source: &Source,
        wrong: impl Into<String>,
        right: impl Into<String>,
    ) -> Problem {
        Problem {
            setting: setting.to_owned(),
            source: source.to_string(),
            wrong: wrong.into(),
            right: right.into(),
        }
    }

    /// The file itself cannot be read.
    pub(crate) fn unreadable(path: &str, named_by: &str, error: &std::io::Error) -> Problem {
        Problem {
            setting: "the whole file".to_owned(),
            source: format!("the file {path}"),
            wrong: format!("It cannot be read: {error}."),
            right: format!("Correct {named_by}, or leave it out to use ./latchkey.toml or no file."),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { setting, source, wrong, right } = self;
        write!(f, "{setting}, from {source}\n    {wrong}\n    {right}")
    }
}

/// All problems as one message.
pub(crate) fn report(problems: &[Problem]) -> String {
    let count = match problems.len() {
        1 => "There is a problem".to_owned(),
        several => format!("There are {several} problems"),
    };
    let list: String = problems.iter().map(|problem| format!("\n  {problem}\n")).collect();
    format!("{count} in the configuration:\n{list}\n`latchkey config` explains every setting.")
}

/// The name that is closest to a mistyped one, unless none is close.
pub(crate) fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase().replace('-', "_");
    let allowed = (typed.len() / 3).clamp(1, 3);
    names
        .map(|name| (distance(&typed, name), name))
        .filter(|(far, _)| *far <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be added, dropped or changed to get from one text to the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, left) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, right) in to.iter().enumerate() {
            let changed = diagonal + usize::from(left != *right);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_close_or_none() {
        let names = || ["listen", "data_dir", "database"].into_iter();
        assert_eq!(nearest("lisen", names()), Some("listen"));
        assert_eq!(nearest("data-dir", names()), Some("data_dir"));
        assert_eq!(nearest("Databse", names()), Some("database"));
        assert_eq!(nearest("colour", names()), None);
    }
}
