//! What is wrong with a setting, said so that it can be put right: which one, where its value came from,
//! what is wrong and what would be right.
//!
//! A problem never repeats the value of a setting that may hold a secret; who makes one sees to that.

use std::fmt;
use std::io::ErrorKind;

use strsim::damerau_levenshtein;

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
        let right = match error.kind() {
            ErrorKind::PermissionDenied => {
                "Run this as the user of the server, such as `sudo -u latchkey latchkey …`.".to_owned()
            }
            _ => format!("Correct {named_by}, or leave it out to use ./latchkey.toml or no file."),
        };
        Problem {
            setting: "the whole file".to_owned(),
            source: format!("the file {path}"),
            wrong: format!("It cannot be read: {error}."),
            right,
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

/// The name that differs from a typed one by a few letters, unless none does.
pub(crate) fn mistyped<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    closest(&typed.to_lowercase().replace('-', "_"), names, |name| name)
}

/// The name that may have been meant by an unknown one: mistyped, or without the parts before the last dot, or only a
/// piece of it.
pub(crate) fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase().replace('-', "_");
    let names: Vec<&str> = names.collect();
    let all = || names.iter().copied();
    closest(&typed, all(), |name| name)
        .or_else(|| closest(&typed, all(), |name| name.rsplit('.').next().unwrap_or(name)))
        .or_else(|| all().find(|name| typed.len() >= 4 && name.contains(&typed)))
}

/// All names that are as near to a typed one as the nearest.
pub(crate) fn all_nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let Some(first) = closest(&typed, names.clone(), |name| name) else { return Vec::new() };
    let best = damerau_levenshtein(&typed, first);
    names.filter(|name| damerau_levenshtein(&typed, name) == best).collect()
}

fn closest<'a>(
    typed: &str,
    names: impl Iterator<Item = &'a str>,
    compared: fn(&str) -> &str,
) -> Option<&'a str> {
    let allowed = (typed.len() / 3).clamp(1, 3);
    let far = names.map(|name| (damerau_levenshtein(typed, &compared(name).to_lowercase()), name));
    far.filter(|(far, _)| *far <= allowed).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_as_near_are_all_named() {
        let names = || ["next", "nextjs", "nuxt", "react"].into_iter();
        assert_eq!(all_nearest("nxt", names()), ["next", "nuxt"]);
        assert_eq!(all_nearest("nexjs", names()), ["nextjs"]);
        assert_eq!(all_nearest("cobol", names()), [""; 0]);
    }

    #[test]
    fn a_piece_of_a_name_is_not_mistyped() {
        let names = || ["listen", "data_dir", "frontend_api"].into_iter();
        assert_eq!(mistyped("frontend_apo", names()), Some("frontend_api"));
        assert_eq!((mistyped("data", names()), mistyped("frontend", names())), (None, None));
    }

    #[test]
    fn the_nearest_name_is_close_or_none() {
        let names = || ["listen", "data_dir", "database"].into_iter();
        assert_eq!(nearest("lisen", names()), Some("listen"));
        assert_eq!(nearest("data-dir", names()), Some("data_dir"));
        assert_eq!(nearest("Databse", names()), Some("database"));
        assert_eq!(nearest("dtaa_dir", names()), Some("data_dir"));
        assert_eq!(nearest("colour", names()), None);
        let paths = || ["sign_up.mode", "session.lifetime_seconds", "password.min_length"].into_iter();
        for (typed, meant) in [
            ("sesion.lifetime_seconds", Some("session.lifetime_seconds")),
            ("lifetime_seconds", Some("session.lifetime_seconds")),
            ("lifetime", Some("session.lifetime_seconds")),
            ("signup.mode", Some("sign_up.mode")),
            ("mod", Some("sign_up.mode")),
            ("theme.color", None),
        ] {
            assert_eq!(nearest(typed, paths()), meant, "{typed}");
        }
    }
}
