//! Filling in a template. What people write was read by `syntax` and `markup` first; the engine gets
//! nothing else to see. It has no functions, no loader and no filters but ours; its steps and what it may
//! write are bounded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use latchkey_base::{Error, Result};
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, ErrorKind, HtmlEscape, UndefinedBehavior};
use serde_json::Value;

use super::markup::{self, Context, MarkupFault, VariablePosition};
use super::syntax::{self, Parsed, Piece};
use super::{translations, variables};
use crate::limits::{TEMPLATE_FUEL, TEMPLATE_OUTPUT_BYTES};

/// What a template makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// A page: values are escaped.
    Html,
    /// One line: values and the template have no line ends.
    Line,
    /// Lines of text: values have no line ends.
    Text,
}

/// A template for the engine, with the variables that are in it.
pub struct PreparedTemplate<'a> {
    /// What was read.
    pub parsed: Parsed<'a>,
    /// Where its variables stand, in order; nothing where all of it is text.
    pub positions: Vec<VariablePosition>,
    source: String,
    form: OutputKind,
}

/// Reads a template.
pub fn prepare(source: &str, form: OutputKind) -> Result<PreparedTemplate<'_>, MarkupFault> {
    let parsed = syntax::parse(source).map_err(MarkupFault::Invalid)?;
    let positions = match form {
        OutputKind::Html => markup::positions(&parsed.pieces)?,
        OutputKind::Line | OutputKind::Text => Vec::new(),
    };
    let source = translated(&parsed.pieces, &positions, form);
    Ok(PreparedTemplate { parsed, positions, source, form })
}

/// A template that was checked when it was saved, in the engine's words.
pub(crate) fn translate(source: &str, form: OutputKind) -> Result<String> {
    let prepared = prepare(source, form).map_err(|fault| Error::internal(format!("{fault:?}")))?;
    Ok(prepared.source)
}

/// The template in the engine's words.
fn translated(pieces: &[Piece<'_>], positions: &[VariablePosition], form: OutputKind) -> String {
    let mut contexts = positions.iter().map(|position| position.context);
    let mut source = String::new();
    for piece in pieces {
        match piece {
            // The engine would take this for a comment.
            Piece::Text(text) => source.push_str(&text.replace("{#", "{{ \"{#\" }}")),
            Piece::Value { expression, path } => match contexts.next() {
                Some(Context::Url) => source.push_str(&format!("{{{{ {expression}|web_address }}}}")),
                Some(Context::UrlPart) => source.push_str(&format!("{{{{ {expression}|url_part }}}}")),
                // Nothing makes links of what stands in a line: that is a subject.
                Some(Context::Text) | None if form != OutputKind::Line && variables::is_name(path) => {
                    source.push_str(&format!("{{{{ {expression}|unlinked }}}}"));
                }
                Some(Context::Text) | None => source.push_str(&format!("{{{{ {expression} }}}}")),
            },
            Piece::If(condition) => source.push_str(&format!("{{% if {condition} %}}")),
            Piece::ElseIf(condition) => source.push_str(&format!("{{% elif {condition} %}}")),
            Piece::Else => source.push_str("{% else %}"),
            Piece::End => source.push_str("{% endif %}"),
        }
    }
    source
}

impl PreparedTemplate<'_> {
    /// The text with values in it; the error is a sentence for the template's author.
    pub fn fill(&self, data: &Value) -> Result<String, String> {
        fill(&self.source, self.form, data)
    }
}

/// Fills in a template that was checked when it was saved.
pub fn filled(source: &str, form: OutputKind, data: &Value) -> Result<String> {
    let translated = translations::of(source, form)?;
    fill(&translated, form, data).map_err(Error::internal)
}

/// Fills in a template in the engine's words.
fn fill(translated: &str, form: OutputKind, data: &Value) -> Result<String, String> {
    let environment = environment(form);
    let template = environment.template_from_str(translated).map_err(|error| error_text(&error))?;
    let mut written = Bounded(Vec::new());
    template.render_captured_to(value(data), &mut written).map_err(|error| error_text(&error))?;
    let text = String::from_utf8(written.0).map_err(|error| error.to_string())?;
    Ok(match form {
        OutputKind::Line => line(&text),
        OutputKind::Html | OutputKind::Text => text,
    })
}

fn error_text(error: &minijinja::Error) -> String {
    let detail = error.detail().map(|detail| format!(", {detail}")).unwrap_or_default();
    match error.line() {
        Some(line) => format!("Line {line}: {}{detail}.", error.kind()),
        None => format!("The template fails: {}{detail}.", error.kind()),
    }
}

fn environment<'source>(form: OutputKind) -> Environment<'source> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_fuel(Some(TEMPLATE_FUEL));
    environment.set_auto_escape_callback(move |_| match form {
        OutputKind::Html => AutoEscape::Html,
        OutputKind::Line | OutputKind::Text => AutoEscape::None,
    });
    let values = Arc::new(ReadValues::default());
    let filter = |change: fn(String) -> String| {
        let values = values.clone();
        move |value: minijinja::Value| values.read(&value).map(change)
    };
    environment.add_filter("lower", filter(|text| text.to_lowercase()));
    environment.add_filter("upper", filter(|text| text.to_uppercase()));
    environment.add_filter("url_part", filter(|text| url_part(&text)));
    environment.add_filter("unlinked", filter(|text| unlinked(&text)));
    environment.add_filter("web_address", filter(web_address));
    let of_default = values.clone();
    environment.add_filter("default", move |value: minijinja::Value, other: String| {
        let is_empty = of_default.read(&value)?.is_empty();
        Ok::<_, minijinja::Error>(if is_empty { minijinja::Value::from(other) } else { value })
    });
    environment.set_formatter(move |out, state, value| {
        let text = values.read(value)?;
        match state.auto_escape() {
            AutoEscape::None => write!(out, "{text}")?,
            _ => write!(out, "{}", HtmlEscape(&text))?,
        }
        Ok(())
    });
    environment
}

/// How much was read of values. The engine counts steps, and a step may be about a text of any length, of which nothing
/// may be written.
#[derive(Default)]
struct ReadValues(AtomicUsize);

impl ReadValues {
    /// A value as people read it, as long as a template has not read too much of all of them.
    fn read(&self, value: &minijinja::Value) -> Result<String, minijinja::Error> {
        let bytes = value.as_str().map_or(0, str::len);
        match self.0.fetch_add(bytes, Relaxed) + bytes > TEMPLATE_OUTPUT_BYTES {
            true => Err(minijinja::Error::new(ErrorKind::InvalidOperation, "the values are too long")),
            false => Ok(shown(value)),
        }
    }
}

/// Data as the engine holds it. Lists are left out: nothing could be done with one.
fn value(data: &Value) -> minijinja::Value {
    match data {
        Value::Object(fields) => {
            minijinja::Value::from_pairs(fields.iter().map(|(name, field)| (name.as_str(), value(field))))
        }
        Value::String(text) => minijinja::Value::from(text.as_str()),
        Value::Bool(is_so) => minijinja::Value::from(*is_so),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => minijinja::Value::from(whole),
            None => minijinja::Value::from(number.to_string()),
        },
        Value::Null | Value::Array(_) => minijinja::Value::UNDEFINED,
    }
}

/// A value as people read it: what is no text or number is nothing, and no value has a line end or a
/// character that changes how the rest is read.
fn shown(value: &minijinja::Value) -> String {
    match value.kind() {
        ValueKind::String | ValueKind::Number | ValueKind::Bool => line(&value.to_string()),
        _ => String::new(),
    }
}

/// The text in one line, without control characters and those that turn the direction of writing.
pub fn line(text: &str) -> String {
    let is_hidden = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let visible = text.chars().filter(|c| !is_hidden(*c));
    let spaced: String =
        visible.map(|c| if c.is_control() || c == '\u{2028}' || c == '\u{2029}' { ' ' } else { c }).collect();
    spaced.trim().to_owned()
}

/// An address of the web, or one that leads nowhere.
fn web_address(text: String) -> String {
    let lower = text.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
    // Without a host, what follows in the template would be taken for it.
    match rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '\\', '?', '#'])) {
        true => text,
        false => "#".to_owned(),
    }
}

/// A name in which mail programs find no address of the web. They make links of words such as `evil.example/login`, also
/// where a name such as `Node.js/React` is meant. A word joiner behind the dot, which nobody sees, keeps them from it.
/// Whoever has no name goes by their address of e-mail, which people copy: that stays as it is.
fn unlinked(name: &str) -> String {
    let is_address = name.matches('@').count() == 1 && !name.contains([' ', '/', ':']);
    if is_address {
        return name.to_owned();
    }
    let mut text = String::with_capacity(name.len());
    let mut before = None;
    let mut rest = name.chars().peekable();
    while let Some(letter) = rest.next() {
        text.push(letter);
        let is_inside = before.is_some_and(char::is_alphanumeric)
            && rest.peek().is_some_and(|next| next.is_alphanumeric());
        if is_inside && matches!(letter, '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}') {
            text.push('\u{2060}');
        }
        before = Some(letter);
    }
    text
}

/// A text that is one part of an address (RFC 3986, 2.3). An `@` means something only before the path; in
/// addresses of e-mail it has to stay.
fn url_part(text: &str) -> String {
    let mut part = String::new();
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b'@' => part.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => part.push(char::from(byte)),
            _ => part.push_str(&format!("%{byte:02X}")),
        }
    }
    part
}

/// Takes so many bytes and no more.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > TEMPLATE_OUTPUT_BYTES {
            return Err(io::Error::other("the message gets too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_escaped_by_where_they_stand() {
        let data = json!({"name": "<b>\"'&\u{202e}\r\nBcc: x", "link": "javascript:x", "good": "https://a/?b=1&c=\"", "list": [1], "none": null});
        let page = "<p title=\"{{name}}\">{{{name}}}{{list}}{{none}}{{no.such.thing}}</p><a href=\"{{link}}\"></a><a href='{{good}}'></a>";
        assert_eq!(
            filled(page, OutputKind::Html, &data).unwrap(),
            "<p title=\"&lt;b&gt;&quot;&#x27;&amp;  Bcc: x\">&lt;b&gt;&quot;&#x27;&amp;  Bcc: x</p>\
             <a href=\"#\"></a><a href='https:&#x2f;&#x2f;a&#x2f;?b=1&amp;c=&quot;'></a>"
        );
        assert_eq!(
            filled("Hi {{name}}\nthere", OutputKind::Line, &data).unwrap(),
            "Hi <b>\"'&  Bcc: x there"
        );
        assert_eq!(
            filled("Hi {{name}}\nthere", OutputKind::Text, &data).unwrap(),
            "Hi <b>\"'&  Bcc: x\nthere"
        );
    }

    #[test]
    fn values_inside_an_address_stay_one_part_of_it() {
        let page = "<a href=\"https://acme.example/{{name}}?x={{name}}&y=1\">{{name}}</a>";
        for (name, part, text) in [
            ("evil.example/", "evil.example%2F", "evil.example&#x2f;"),
            ("a&b=c", "a%26b%3Dc", "a&amp;b=c"),
            ("//x?y#z \\", "%2F%2Fx%3Fy%23z%20%5C", "&#x2f;&#x2f;x?y#z \\"),
            ("é+%2f\"", "%C3%A9%2B%252f%22", "é+%2f&quot;"),
        ] {
            assert_eq!(
                filled(page, OutputKind::Html, &json!({"name": name})).unwrap(),
                format!("<a href=\"https://acme.example/{part}?x={part}&y=1\">{text}</a>")
            );
        }
        let page = "<a href=\"mailto:{{a}}\"></a><a href=\"{{b}}/{{c}}\"></a>";
        let data = json!({"a": "ada@example.com?bcc=x", "b": "https://", "c": "evil.example"});
        let expected = "<a href=\"mailto:ada@example.com%3Fbcc%3Dx\"></a><a href=\"#/evil.example\"></a>";
        assert_eq!(filled(page, OutputKind::Html, &data).unwrap(), expected);
    }

    #[test]
    fn no_name_becomes_a_link() {
        let data = json!({
            "org": {"name": "Pay at evil.example/login or 10.0.0.1"},
            "user": {"first_name": "Node.js", "unsafe_metadata": {"team": "a.example"}},
            "inviter_name": "St. John", "app": {"name": "Booking.com"},
        });
        let page = "{{org.name}} {{user.first_name|upper}} {{user.unsafe_metadata.team}} {{inviter_name}} {{app.name}}";
        let joined = "Pay at evil.\u{2060}example/login or 10.\u{2060}0.\u{2060}0.\u{2060}1 NODE.\u{2060}JS \
                      a.\u{2060}example St. John Booking.com";
        assert_eq!(filled(page, OutputKind::Text, &data).unwrap(), joined);
        assert_eq!(filled(page, OutputKind::Html, &data).unwrap(), joined.replace('/', "&#x2f;"));
        assert_eq!(filled(page, OutputKind::Line, &data).unwrap(), joined.replace('\u{2060}', ""));
        let address = json!({"inviter_name": "ada@example.com"});
        assert_eq!(filled("{{inviter_name}}", OutputKind::Text, &address).unwrap(), "ada@example.com");
        let link = "<a href=\"https://acme.example/?team={{org.name}}\"></a>";
        assert!(!filled(link, OutputKind::Html, &data).unwrap().contains("%E2%81%A0"));
    }

    #[test]
    fn values_are_never_read_as_templates() {
        let data = json!({"a": "{{b}}{% if b %}{#", "b": "secret"});
        assert_eq!(filled("{#{{a}}#}", OutputKind::Text, &data).unwrap(), "{#{{b}}{% if b %}{##}");
    }

    #[test]
    fn conditions_and_filters_work() {
        let text = "{{#if a}}{{a|upper}}{{else}}none{{/if}} {% if b == \"x y\" %}1{% elif not c %}2{% endif %} {{d|default('you')}}";
        assert_eq!(filled(text, OutputKind::Text, &json!({"a": "ä", "b": "x y"})).unwrap(), "Ä 1 you");
        assert_eq!(filled(text, OutputKind::Text, &json!({"d": "me"})).unwrap(), "none 2 me");
    }

    #[test]
    fn endless_output_is_cut_off_with_an_error() {
        let data = json!({"a": "x".repeat(8000)});
        let prepared = prepare("{{a}}", OutputKind::Text).ok().unwrap();
        assert!(prepared.fill(&data).is_ok());
        let many = "{{a}}".repeat(1000);
        assert!(prepare(&many, OutputKind::Text).ok().unwrap().fill(&data).is_err());
        let steps = format!("{{% if {} %}}{{% endif %}}", ["b"; 16].join(" or ")).repeat(1000);
        assert!(prepare(&steps, OutputKind::Text).ok().unwrap().fill(&data).unwrap_err().contains("fuel"));
        assert!(prepare(&"{{b}}".repeat(2001), OutputKind::Text).is_err());
    }

    /// Of a value of spaces nothing is written, and it is still read.
    #[test]
    fn values_that_show_nothing_are_not_read_without_end() {
        let data = json!({"a": " ".repeat(8000)});
        for source in ["{{a}}", "{{a|upper}}", "{{a|default('x')}}"] {
            let filled =
                |times: usize| prepare(&source.repeat(times), OutputKind::Text).ok().unwrap().fill(&data);
            assert!(filled(10).is_ok());
            assert!(filled(30).unwrap_err().contains("too long"), "{source}");
        }
    }

    #[test]
    fn the_longest_chains_in_the_deepest_blocks_are_filled_in() {
        let condition = format!("a{}", " or a".repeat(15));
        let block = |inner: String| {
            let else_ifs = format!("{{%elif {condition}%}}").repeat(16);
            format!("{{%if {condition}%}}{else_ifs}{{%else%}}{inner}{{%endif%}}")
        };
        let deepest = (0..16).fold("{{b}}".to_owned(), |inner, _| block(inner));
        assert_eq!(filled(&deepest, OutputKind::Text, &json!({"b": "x"})).unwrap(), "x");
    }
}
