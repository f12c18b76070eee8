//! The little language of templates: variables and conditions, nothing that repeats or calls.
//!
//! Two notations mean the same: `{{name}}` and `{{#if name}} … {{else}} … {{/if}}` as published, and
//! `{% if name == "x" %} … {% endif %}`. Three braces are read as two: values are always escaped. Whatever
//! is not listed here is refused, so a template cannot loop, build large texts, or reach into the engine.

use std::collections::BTreeSet;

use crate::limits::TEMPLATE_TAGS;

/// Conditions inside conditions; deeper is a mistake.
const DEPTH_MAX: usize = 16;
// The engine reads and drops each of these chains by calling itself, so a long one would end its stack and
// with it the server.
/// Further conditions of one block.
const ELSE_IFS_MAX: usize = 16;
/// Words of one condition.
const CONDITION_WORDS_MAX: usize = 32;
/// Filters of one variable.
const FILTERS_MAX: usize = 8;
/// What may be done to a value before it is shown.
const FILTERS: [&str; 3] = ["default", "lower", "upper"];
const WORDS: [&str; 3] = ["and", "not", "or"];

/// Begins a comment that may hold tags itself.
const COMMENT: &str = "{{!--";

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece<'a> {
    /// Text as it is.
    Text(&'a str),
    /// A variable with its filters, as the engine reads it, and its path.
    Value {
        /// Such as `user.first_name|default("there")`.
        expression: String,
        /// Such as `user.first_name`.
        path: String,
    },
    /// Begins what is shown if a condition holds.
    If(String),
    /// Begins what is shown if this one holds and none before did.
    ElseIf(String),
    /// Begins what is shown if none did.
    Else,
    /// Ends it.
    End,
}

/// A template that was read.
#[derive(Debug, PartialEq)]
pub struct Parsed<'a> {
    /// Its parts, in order.
    pub pieces: Vec<Piece<'a>>,
    /// Every variable in it, also those of conditions.
    pub paths: BTreeSet<String>,
    /// The variables it shows.
    pub shown: BTreeSet<String>,
}

/// Reads a template. The error is a sentence for its author.
pub fn parse(source: &str) -> Result<Parsed<'_>, String> {
    let mut parsed = Parsed { pieces: Vec::new(), paths: BTreeSet::new(), shown: BTreeSet::new() };
    let (mut rest, mut tags) = (source, 0);
    while let Some(at) = next_tag(rest) {
        if at > 0 {
            parsed.pieces.push(Piece::Text(&rest[..at]));
        }
        let (open, close) = fences(&rest[at..]);
        let inner = &rest[at + open.len()..];
        let end = inner.find(close).ok_or_else(|| format!("`{open}` has no `{close}`."))?;
        tags += 1;
        if tags > TEMPLATE_TAGS {
            return Err(format!(
                "There may be {TEMPLATE_TAGS} variables, comments, and beginnings, branches and ends of conditions."
            ));
        }
        if open != COMMENT {
            parsed.tag(inner[..end].trim(), open == "{%")?;
        }
        rest = &inner[end + close.len()..];
    }
    if !rest.is_empty() {
        parsed.pieces.push(Piece::Text(rest));
    }
    check_blocks(&parsed.pieces)?;
    Ok(parsed)
}

fn next_tag(text: &str) -> Option<usize> {
    // In one go: looking for each notation apart would read the rest of the text again for every tag.
    let is_tag = |at: &usize| matches!(text.as_bytes().get(at + 1), Some(b'{' | b'%'));
    text.match_indices('{').map(|(at, _)| at).find(is_tag)
}

fn fences(tag: &str) -> (&'static str, &'static str) {
    match tag {
        _ if tag.starts_with("{%") => ("{%", "%}"),
        _ if tag.starts_with(COMMENT) => (COMMENT, "--}}"),
        _ if tag.starts_with("{{{") => ("{{{", "}}}"),
        _ => ("{{", "}}"),
    }
}

impl<'a> Parsed<'a> {
    fn tag(&mut self, inner: &str, is_statement: bool) -> Result<(), String> {
        let (word, rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        let piece = match (is_statement, word) {
            (true, "if") | (false, "#if") => Piece::If(self.condition(rest)?),
            (false, "#unless") => Piece::If(format!("not ({})", self.condition(rest)?)),
            (true, "elif") => Piece::ElseIf(self.condition(rest)?),
            (_, "else") if rest.is_empty() => Piece::Else,
            (true, "endif") | (false, "/if" | "/unless") => Piece::End,
            // A comment: `{{! … }}`; the longer kind does not get here.
            (false, _) if inner.starts_with('!') => return Ok(()),
            (true, _) => {
                return Err(format!("`{{% {inner} %}}` is not known; there are if, elif, else and endif."));
            }
            (false, _) => self.value(inner)?,
        };
        self.pieces.push(piece);
        Ok(())
    }

    fn value(&mut self, inner: &str) -> Result<Piece<'a>, String> {
        let mut parts = split(inner, '|').into_iter();
        let path = parts.next().unwrap_or_default().trim().to_owned();
        if !is_path(&path) {
            return Err(format!("`{{{{{inner}}}}}` is not a variable."));
        }
        if parts.len() > FILTERS_MAX {
            return Err(format!("A variable may have {FILTERS_MAX} filters."));
        }
        let mut expression = path.clone();
        for filter in parts {
            expression.push('|');
            expression.push_str(
                &read_filter(filter.trim())
                    .ok_or_else(|| format!("`{}` is not known here.", filter.trim()))?,
            );
        }
        self.paths.insert(path.clone());
        self.shown.insert(path.clone());
        Ok(Piece::Value { expression, path })
    }

    /// A condition, word by word: variables, texts, `==`, `!=`, `and`, `or`, `not`.
    fn condition(&mut self, text: &str) -> Result<String, String> {
        let mut words = Vec::new();
        for word in split(text, ' ').into_iter().map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "==" | "!=" => words.push(word.to_owned()),
                _ if WORDS.contains(&word) => words.push(word.to_owned()),
                _ if is_path(word) => {
                    self.paths.insert(word.to_owned());
                    words.push(word.to_owned());
                }
                _ => words.push(read_text(word).ok_or_else(|| format!("`{text}` is not a condition."))?),
            }
        }
        match words.len() {
            0 => Err("A condition is missing.".to_owned()),
            1..=CONDITION_WORDS_MAX => Ok(words.join(" ")),
            _ => Err(format!("A condition may have {CONDITION_WORDS_MAX} words.")),
        }
    }
}

/// Splits at a character that stands outside of quotes.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut quote = None;
    let is_cut = |c: char| {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            _ => (),
        }
        quote.is_none() && c == at
    };
    text.split(is_cut).collect()
}

fn read_filter(text: &str) -> Option<String> {
    let (name, argument) = match text.strip_suffix(')') {
        Some(call) => {
            let (name, argument) = call.split_once('(')?;
            (name, Some(read_text(argument.trim())?))
        }
        None => (text, None),
    };
    let fits = FILTERS.contains(&name) && (name == "default") == argument.is_some();
    fits.then(|| match argument {
        Some(argument) => format!("{name}({argument})"),
        None => name.to_owned(),
    })
}

/// A quoted text as the engine reads it, without anything it would take for more than that.
fn read_text(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let is_plain = !inner.contains(|c: char| c == quote || c == '"' || c == '\\' || c.is_control());
    is_plain.then(|| format!("\"{inner}\""))
}

/// Whether a text is the name of a variable: words with dots between them.
pub fn is_path(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    text.len() <= 200 && !WORDS.contains(&text) && text.split('.').all(is_word)
}

/// A block that is not at its end yet.
#[derive(Default)]
struct Open {
    has_else: bool,
    else_ifs: usize,
}

fn check_blocks(pieces: &[Piece<'_>]) -> Result<(), String> {
    let mut open: Vec<Open> = Vec::new();
    for piece in pieces {
        let depth = open.len();
        match (piece, open.last_mut()) {
            (Piece::Text(_) | Piece::Value { .. }, _) => (),
            (Piece::If(_), _) if depth == DEPTH_MAX => {
                return Err(format!("Conditions may stand inside each other {DEPTH_MAX} deep."));
            }
            (Piece::If(_), _) => open.push(Open::default()),
            (Piece::ElseIf(_), Some(block)) if block.else_ifs == ELSE_IFS_MAX => {
                return Err(format!("A condition may have {ELSE_IFS_MAX} others after it."));
            }
            (Piece::ElseIf(_), Some(block)) if !block.has_else => block.else_ifs += 1,
            (Piece::Else, Some(block)) if !block.has_else => block.has_else = true,
            (Piece::ElseIf(_) | Piece::Else, _) => {
                return Err("There is an `else` without its `if`.".to_owned());
            }
            (Piece::End, None) => return Err("There is an end without its `if`.".to_owned()),
            (Piece::End, Some(_)) => drop(open.pop()),
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err("An `if` has no end.".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(source: &str) -> Vec<String> {
        parse(source).unwrap().paths.into_iter().collect()
    }

    #[test]
    fn both_notations_mean_the_same() {
        let published = parse("a {{#if x.y}}{{{ x.y }}}{{else}}b{{/if}}").unwrap();
        let other = parse("a {% if x.y %}{{x.y}}{% else %}b{% endif %}").unwrap();
        assert_eq!(published, other);
        assert_eq!(paths("{{#unless a}}{{b|default('c d')|upper}}{{/unless}}{{! not {this} }}"), ["a", "b"]);
        assert_eq!(paths("{{!-- {{x}} }} --}}{{a}}{{!--y--}}{{!----}}{{! z }}"), ["a"]);
        assert_eq!(paths("{% if a == \"x y\" and not b %}{% elif c %}{% endif %}"), ["a", "b", "c"]);
    }

    #[test]
    fn nothing_that_repeats_calls_or_computes_is_read() {
        let bad = [
            "{% for x in y %}{% endfor %}",
            "{% set a = 1 %}",
            "{% include 'x' %}",
            "{% raw %}",
            "{{ range(9) }}",
            "{{ a[0] }}",
            "{{ a ~ a }}",
            "{{ 'x' * 9 }}",
            "{{ a.b() }}",
            "{{ a|safe }}",
            "{{ a|default(b) }}",
            "{{ a|default(\"\\x41\") }}",
            "{{ self }}x{{",
            "{{",
            "{{!-- x }}",
            "{{}}",
            "{{#each a}}{{/each}}",
            "{{> logo}}",
            "{% if %}{% endif %}",
            "{{#if a}}",
            "{{/if}}",
            "{{else}}",
            "{{#if a}}{{else}}{{else}}{{/if}}",
            "{{ a-b }}",
            "{{ 1 }}",
            "{% if a is b %}{% endif %}x{%",
            "{{ a..b }}",
            "{{ \u{430} }}",
        ];
        for source in bad {
            assert!(parse(source).is_err(), "{source}");
        }
        assert!(parse(&format!("{}{}", "{{#if a}}".repeat(17), "{{/if}}".repeat(17))).is_err());
    }

    #[test]
    fn chains_are_bounded() {
        let else_ifs = |count: usize| format!("{{% if a %}}{}{{% endif %}}", "{%elif \"\"%}".repeat(count));
        let words = |count: usize| format!("{{% if a{} %}}{{% endif %}}", " or \"\"".repeat(count));
        let filters = |count: usize| format!("{{{{a{}}}}}", "|upper".repeat(count));
        assert!(parse(&else_ifs(16)).is_ok() && parse(&words(15)).is_ok() && parse(&filters(8)).is_ok());
        for (source, why) in [
            (else_ifs(17), "16 others"),
            (else_ifs(9_000), "2000 variables"),
            (words(16), "32 words"),
            (words(17_000), "32 words"),
            (format!("{{% if {}a %}}{{% endif %}}", "not ".repeat(20_000)), "32 words"),
            (filters(9), "8 filters"),
            (filters(16_000), "8 filters"),
        ] {
            assert!(parse(&source).unwrap_err().contains(why), "{why}");
        }
    }
}
