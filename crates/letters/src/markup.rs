//! Where in a page a variable stands, and what a page must not contain.
//!
//! The walk follows the HTML standard's tokenizer as far as pages of e-mails go, and refuses whatever
//! readers would read in different ways: a variable inside a tag name, an attribute without quotes, a style
//! sheet. Conditions may only stand between tags, so that every outcome is read as it was walked.

use super::syntax::Piece;
use super::visibility::{HiddenElements, VariableUse, address};

/// Why a page is refused.
#[derive(Debug, PartialEq)]
pub enum MarkupFault {
    /// It cannot be sent as it is.
    Invalid(String),
    /// It does what only pages do that are after somebody's secrets.
    Suspicious(String),
}

/// How a variable is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// As text, or as part of a quoted attribute.
    Text,
    /// As an address of its own: only one of the web is shown.
    Url,
    /// As a part of an address, which it must not change or leave.
    UrlPart,
}

/// Where a variable stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariablePosition {
    /// How it is escaped.
    pub context: Context,
    /// What it does there.
    pub purpose: VariableUse,
}

/// Elements that run code, ask for input, load other pages, or are read differently by different readers.
const FORBIDDEN: [&str; 27] = [
    "applet",
    "base",
    "button",
    "dialog",
    "embed",
    "form",
    "frame",
    "frameset",
    "iframe",
    "input",
    "isindex",
    "keygen",
    "math",
    "noembed",
    "noframes",
    "noscript",
    "object",
    "option",
    "param",
    "plaintext",
    "portal",
    "script",
    "select",
    "svg",
    "template",
    "textarea",
    "xmp",
];
/// Attributes that hold an address.
const URLS: [&str; 9] =
    ["action", "background", "cite", "data", "href", "longdesc", "poster", "src", "xlink:href"];
/// How an address may begin. Without a scheme it would lead nowhere from a mailbox.
const SCHEMES: [&str; 6] = ["https://", "http://", "mailto:", "tel:", "cid:", "#"];
/// Elements whose content is no markup.
const RAW: [&str; 2] = ["style", "title"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Data,
    TagOpen,
    TagName,
    InTag,
    AttributeName,
    AfterName,
    BeforeValue,
    Value(Option<char>),
    Declaration,
    Comment,
    Raw,
}

/// The place of every variable of a page, in order.
pub fn positions(pieces: &[Piece<'_>]) -> Result<Vec<VariablePosition>, MarkupFault> {
    let mut walk = Walk::new();
    let (mut found, mut conditions) = (Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(text) => text.chars().try_for_each(|c| walk.step(c))?,
            Piece::Value { path, .. } => found.push(walk.value(path)?),
            Piece::If(_) | Piece::ElseIf(_) | Piece::Else | Piece::End if walk.state != State::Data => {
                return Err(invalid("A condition may only stand between tags."));
            }
            Piece::If(_) => conditions.push(walk.hidden()),
            Piece::ElseIf(_) | Piece::Else | Piece::End => {
                // Otherwise what comes after it would be seen by some and not by others.
                if conditions.last().is_some_and(|before| *before != walk.hidden()) {
                    return Err(invalid("What a branch of a condition hides, it must also show again."));
                }
                if *piece == Piece::End {
                    conditions.pop();
                }
            }
        }
    }
    match (walk.first, walk.state) {
        (Some(fault), _) => Err(fault),
        (None, State::Data) if !walk.is_conditional => Ok(found),
        (None, _) => Err(invalid("The page ends inside a tag, a comment or a style sheet.")),
    }
}

fn invalid(text: impl Into<String>) -> MarkupFault {
    MarkupFault::Invalid(text.into())
}

struct Walk {
    state: State,
    element: String,
    is_closing: bool,
    attribute: String,
    /// The value of the attribute so far.
    value: String,
    /// Whether the value begins with a variable.
    is_variable: bool,
    /// Whether a variable in the value was taken for a part of an address: then all behind it are.
    is_in_path: bool,
    /// What came last in a comment, a declaration or a style sheet.
    tail: String,
    comment: CommentStart,
    is_refresh: bool,
    /// Whether this is a comment to all readers but those its condition names, who read it as markup.
    is_conditional: bool,
    /// The last characters.
    recent: [char; 3],
    hidden_elements: HiddenElements,
    /// The first thing that is wrong. Something suspicious may still come, and weighs more.
    first: Option<MarkupFault>,
}

impl Walk {
    fn new() -> Walk {
        Walk {
            state: State::Data,
            element: String::new(),
            is_closing: false,
            attribute: String::new(),
            value: String::new(),
            is_variable: false,
            is_in_path: false,
            tail: String::new(),
            comment: CommentStart::default(),
            is_refresh: false,
            is_conditional: false,
            recent: ['\0'; 3],
            hidden_elements: HiddenElements::default(),
            first: None,
        }
    }

    fn note(&mut self, outcome: Result<(), MarkupFault>) -> Result<(), MarkupFault> {
        match outcome {
            Err(MarkupFault::Invalid(text)) => {
                self.first.get_or_insert(MarkupFault::Invalid(text));
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn step(&mut self, c: char) -> Result<(), MarkupFault> {
        self.watch(c)?;
        match (self.state, c) {
            (State::Data, '<') => self.state = State::TagOpen,
            (State::Data, _) => (),
            (State::TagOpen, _) => self.open(c),
            (State::TagName, _) if self.element.is_empty() && !c.is_ascii_alphabetic() => self.close(c),
            (State::TagName, '>')
            | (State::InTag, '>')
            | (State::AttributeName | State::AfterName | State::BeforeValue, '>') => {
                self.end_attribute()?;
                self.end_tag()?;
            }
            (State::TagName, _) if c.is_ascii_whitespace() || c == '/' => self.state = State::InTag,
            (State::TagName, _) => self.element.push(c.to_ascii_lowercase()),
            (State::InTag, _) if c.is_ascii_whitespace() || c == '/' => (),
            (State::InTag, _) => self.begin_attribute(c),
            (State::AttributeName | State::AfterName, '=') => self.state = State::BeforeValue,
            (State::AttributeName, _) if c.is_ascii_whitespace() => self.state = State::AfterName,
            (State::AttributeName | State::AfterName, '/') => {
                self.end_attribute()?;
                self.state = State::InTag;
            }
            (State::AttributeName, _) => self.attribute.push(c.to_ascii_lowercase()),
            (State::AfterName, _) if c.is_ascii_whitespace() => (),
            (State::AfterName, _) => {
                self.end_attribute()?;
                self.begin_attribute(c);
            }
            (State::BeforeValue, _) if c.is_ascii_whitespace() => (),
            (State::BeforeValue, '"' | '\'') => self.state = State::Value(Some(c)),
            (State::BeforeValue, _) => {
                self.state = State::Value(None);
                self.value.push(c);
            }
            (State::Value(Some(quote)), _) if c == quote => {
                self.end_attribute()?;
                self.state = State::InTag;
            }
            (State::Value(None), _) if c.is_ascii_whitespace() => {
                self.end_attribute()?;
                self.state = State::InTag;
            }
            (State::Value(None), '>') => {
                self.end_attribute()?;
                self.end_tag()?;
            }
            (State::Value(_), _) => self.value.push(c),
            (State::Declaration | State::Comment | State::Raw, _) => self.skip(c)?,
        }
        Ok(())
    }

    /// For most readers the end of a comment is the end of a conditional one, whatever it stands in: then they
    /// would go on in the middle of what others take for a tag.
    fn watch(&mut self, c: char) -> Result<(), MarkupFault> {
        let is_end = c == '>' && matches!(self.recent, [_, '-', '-'] | ['-', '-', '!']);
        self.recent = [self.recent[1], self.recent[2], c];
        match is_end && self.is_conditional && !matches!(self.state, State::Declaration | State::Comment) {
            true => self.note(Err(invalid("A conditional comment must end with `<![endif]-->`."))),
            false => Ok(()),
        }
    }

    fn open(&mut self, c: char) {
        self.element.clear();
        self.is_closing = c == '/';
        self.is_refresh = false;
        self.state = match c {
            '/' => State::TagName,
            '!' => self.begin_declaration(""),
            '?' => self.begin_declaration("?"),
            _ if c.is_ascii_alphabetic() => {
                self.element.push(c.to_ascii_lowercase());
                State::TagName
            }
            '<' => State::TagOpen,
            _ => State::Data,
        };
    }

    /// `</` without a name: readers skip to the next `>`, whatever is quoted before it.
    fn close(&mut self, c: char) {
        self.state = match c {
            '>' => State::Data,
            _ => self.begin_declaration("/"),
        };
    }

    /// Only `<!` can begin a comment; what else is skipped has something before it.
    fn begin_declaration(&mut self, before: &str) -> State {
        before.clone_into(&mut self.tail);
        State::Declaration
    }

    /// Inside what is not markup: looks for its end.
    fn skip(&mut self, c: char) -> Result<(), MarkupFault> {
        let small = c.to_ascii_lowercase();
        self.tail.push(small);
        if self.state == State::Comment {
            self.comment.push(small);
        }
        match self.state {
            State::Declaration if self.tail == "--" => {
                self.tail.clear();
                self.comment = CommentStart::default();
                self.state = State::Comment;
            }
            State::Declaration if c == '>' => {
                self.is_conditional &= !self.tail.ends_with("-->") && !self.tail.ends_with("--!>");
                self.state = State::Data;
            }
            // `<!-->` and `<!--->` are whole comments too. Inside of a conditional one they end both.
            State::Comment if c == '>' && ends_comment(&self.tail) => {
                self.is_conditional = false;
                self.state = State::Data;
            }
            State::Comment if c == '>' && self.comment.is_condition() => {
                self.is_conditional = true;
                self.state = State::Data;
            }
            State::Raw if self.ends_raw(c) => {
                check_style(&self.tail)?;
                self.is_closing = true;
                self.state = if c == '>' { State::Data } else { State::InTag };
            }
            _ => (),
        }
        Ok(())
    }

    /// Whether the element whose content is no markup ends here: its name must be whole.
    fn ends_raw(&self, c: char) -> bool {
        let is_end = c.is_ascii_whitespace() || c == '/' || c == '>';
        is_end && self.tail[..self.tail.len() - 1].ends_with(&format!("</{}", self.element))
    }

    fn begin_attribute(&mut self, c: char) {
        self.attribute.clear();
        self.attribute.push(c.to_ascii_lowercase());
        self.value.clear();
        (self.is_variable, self.is_in_path) = (false, false);
        self.state = State::AttributeName;
    }

    fn end_attribute(&mut self) -> Result<(), MarkupFault> {
        let name = std::mem::take(&mut self.attribute);
        if name.is_empty() {
            return Ok(());
        }
        let value = squeezed(&self.value);
        self.hidden_elements.attribute(&name, &value);
        if self.is_conditional && value.contains('<') {
            // Nobody knows where Outlook takes the element around it to end.
            self.note(Err(invalid("A conditional comment must have no tag inside of an attribute.")))?;
        }
        match name.as_str() {
            "autofocus" | "contenteditable" | "srcdoc" | "formaction" | "ping" => {
                return Err(MarkupFault::Suspicious(format!("`{name}` is not allowed in e-mails.")));
            }
            _ if name.starts_with("on") => {
                return Err(MarkupFault::Suspicious(format!("`{name}` runs code.")));
            }
            "http-equiv" => self.is_refresh = value == "refresh",
            "style" => check_style(&value)?,
            "srcset" => self.note(value.split(',').try_for_each(check_url))?,
            _ if URLS.contains(&name.as_str()) && !self.is_variable => self.note(check_url(&value))?,
            _ if name.contains(['<', '"', '\'', '`']) => {
                self.note(Err(invalid("A tag is not written correctly.")))?;
            }
            _ => (),
        }
        Ok(())
    }

    fn end_tag(&mut self) -> Result<(), MarkupFault> {
        let name = self.element.as_str();
        // Outlook gets its own settings in such an element.
        let is_for_outlook = name == "noscript" && self.is_conditional;
        if FORBIDDEN.contains(&name) && !is_for_outlook {
            return Err(MarkupFault::Suspicious(format!("`<{name}>` is not allowed in e-mails.")));
        }
        if name == "meta" && self.is_refresh {
            return Err(MarkupFault::Suspicious("An e-mail must not lead elsewhere by itself.".to_owned()));
        }
        self.hidden_elements.tag(name, self.is_closing);
        self.tail.clear();
        self.state = match RAW.contains(&name) && !self.is_closing {
            true => State::Raw,
            false => State::Data,
        };
        Ok(())
    }

    /// What keeps readers from seeing what stands here: a condition of theirs, and elements.
    fn hidden(&self) -> (bool, usize) {
        (self.is_conditional, self.hidden_elements.depth())
    }

    /// The place of a variable that stands here.
    fn value(&mut self, path: &str) -> Result<VariablePosition, MarkupFault> {
        let context = self.context(path)?;
        let purpose = match self.state {
            State::Data => VariableUse::Text,
            State::Value(_) => address(&self.element, &self.attribute, context == Context::Url),
            _ => VariableUse::Unseen,
        };
        let is_hidden = self.hidden_elements.hides() || self.is_conditional;
        let purpose = if is_hidden && purpose != VariableUse::Loaded { VariableUse::Unseen } else { purpose };
        Ok(VariablePosition { context, purpose })
    }

    fn context(&mut self, path: &str) -> Result<Context, MarkupFault> {
        match self.state {
            State::Data => Ok(Context::Text),
            State::Raw if self.element == "title" => Ok(Context::Text),
            State::Value(Some(_)) => self.attribute_value(path),
            State::TagOpen => Err(invalid(format!("`{{{{{path}}}}}` stands behind a `<`."))),
            _ => Err(invalid(format!("`{{{{{path}}}}}` may only stand in text or in a quoted attribute."))),
        }
    }

    fn attribute_value(&mut self, path: &str) -> Result<Context, MarkupFault> {
        let name = self.attribute.as_str();
        if name.starts_with("on") || name == "style" || name == "srcset" || name == "http-equiv" {
            return Err(invalid(format!("`{{{{{path}}}}}` must not stand in `{name}`.")));
        }
        if !URLS.contains(&name) {
            return Ok(Context::Text);
        }
        if self.is_in_path {
            return Ok(Context::UrlPart);
        }
        let context = match squeezed(&self.value).as_str() {
            "" if !self.is_variable => {
                self.is_variable = true;
                Ok(Context::Url)
            }
            rest if self.is_variable => check_part(rest, path),
            begun => check_url(begun).and_then(|()| check_part(authority(begun), path)),
        }?;
        self.is_in_path = context == Context::UrlPart;
        Ok(context)
    }
}

/// What of a comment tells whether it becomes markup for those who know conditions: `<!--[if mso]>`. Kept apart, because a
/// comment has any number of places where it could end.
#[derive(Default)]
struct CommentStart {
    /// The first letters behind the space it begins with.
    letters: String,
    has_bracket: bool,
}

impl CommentStart {
    fn push(&mut self, c: char) {
        let is_indent = self.letters.is_empty() && c.is_whitespace();
        if self.letters.len() < "[if".len() && !is_indent {
            self.letters.push(c);
        }
        self.has_bracket |= c == ']';
    }

    fn is_condition(&self) -> bool {
        self.letters == "[if" && self.has_bracket
    }
}

fn ends_comment(tail: &str) -> bool {
    tail == ">" || tail == "->" || tail.ends_with("-->") || tail.ends_with("--!>")
}

/// An address as readers take it: without spaces and control characters, whatever its case.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect::<String>().to_lowercase()
}

fn check_url(url: &str) -> Result<(), MarkupFault> {
    let url = squeezed(url);
    match url.as_str() {
        "" => Ok(()),
        _ if SCHEMES.iter().any(|scheme| url.starts_with(scheme)) => Ok(()),
        // Written with escapes it is still the same to a reader.
        _ if url.contains("script:")
            || url.contains("&colon")
            || url.contains("&#")
            || url.starts_with("data:") =>
        {
            Err(MarkupFault::Suspicious("An address must not run code.".to_owned()))
        }
        _ => Err(invalid(format!(
            "The address `{}` must begin with https://.",
            url.chars().take(60).collect::<String>()
        ))),
    }
}

/// What stands behind the scheme and its slashes: an address of the web begins with whom it leads to. Other
/// addresses have no such part, as if it had ended.
fn authority(begun: &str) -> &str {
    let web = begun.strip_prefix("https:").or_else(|| begun.strip_prefix("http:"));
    // Readers take any number of slashes of either kind for two.
    web.map_or("/", |rest| rest.trim_start_matches(['/', '\\']))
}

/// The context of a variable behind `begun`. Nobody's name may say whom an address leads to.
fn check_part(begun: &str, path: &str) -> Result<Context, MarkupFault> {
    // `&#46;` is a dot, whatever it looks like.
    match begun.replace("&#", "").contains(['/', '?', '#']) {
        true => Ok(Context::UrlPart),
        false => Err(invalid(format!("Before `{{{{{path}}}}}` the address needs a `/`, `?` or `#`."))),
    }
}

fn check_style(style: &str) -> Result<(), MarkupFault> {
    let style = squeezed(style);
    match ["javascript:", "vbscript:", "expression(", "-moz-binding", "behavior:"]
        .iter()
        .any(|word| style.contains(word))
    {
        true => Err(MarkupFault::Suspicious("A style must not run code.".to_owned())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::syntax::parse;
    use super::*;

    fn walk(page: &str) -> Result<Vec<Context>, MarkupFault> {
        let positions = positions(&parse(page).unwrap().pieces)?;
        Ok(positions.into_iter().map(|position| position.context).collect())
    }

    #[test]
    fn variables_are_known_by_where_they_stand() {
        let page = r#"<!doctype html><title>{{a}}</title><style>a{b:c}</style><!-- x > y --><p title='{{b}}'>1 < 2 {{c}}</p>
            <a href="{{d}}?x={{e}}">{{#if f}}<b>{{f}}</b>{{/if}}</a><img src="https://x/{{g}}" alt=""/>"#;
        let expected = [
            Context::Text,
            Context::Text,
            Context::Text,
            Context::Url,
            Context::UrlPart,
            Context::Text,
            Context::UrlPart,
        ];
        assert_eq!(walk(page), Ok(expected.to_vec()));
    }

    #[test]
    fn a_variable_may_be_part_of_an_address_but_not_of_whom_it_leads_to() {
        for url in
            ["https://a.example/{{x}}", "https://a.example?b={{x}}", "HTTP://a#{{x}}", "{{a}}/{{x}}{{y}}"]
        {
            let found = walk(&format!("<a href='{url}'>")).unwrap();
            assert_eq!(found.last(), Some(&Context::UrlPart), "{url}");
        }
        for url in ["mailto:{{x}}", "mailto:a@b.example?subject={{x}}", "tel:{{x}}", "#{{x}}"] {
            assert_eq!(walk(&format!("<a href='{url}'>")), Ok(vec![Context::UrlPart]), "{url}");
        }
        for url in [
            "https://{{x}}",
            "https://{{x}}/",
            "https:///{{x}}",
            "https:// /\\{{x}}",
            "https://a.example{{x}}",
            "https://a.example{{x}}/b",
            "https://a@{{x}}",
            "https://a.example:{{x}}",
            "https://a&#46;{{x}}",
            "https://a&period;{{x}}",
            "{{a}}{{x}}",
            "{{a}}.b{{x}}",
        ] {
            let page = format!("<a href='{url}'>");
            assert!(matches!(walk(&page), Err(MarkupFault::Invalid(_))), "{url}: {:?}", walk(&page));
        }
    }

    #[test]
    fn variables_stand_nowhere_else() {
        for page in [
            "<{{a}}>",
            "<a {{a}}>",
            "<a x={{a}}>",
            "<a {{a}}='b'>",
            "<style>{{a}}</style>",
            "<!-- {{a}} -->",
            "<p style='{{a}}'>",
            "<img srcset='{{a}}'>",
            "<a href='x{{a}}'>",
            "<a x='{{#if a}}b{{/if}}'>",
            "<p",
            "<!--",
            "<style>",
            "<a href='/x'>",
            "<!{{a}}>",
            "<a href='htt{{a}}'>",
            "<!--[if mso]>a",
            "<!--[if mso]>a-->",
            "<!--[if mso]><p title='--><b>'><![endif]-->",
            "<!--[if mso]><p title='--!><b>'><![endif]-->",
            "<!--[if mso]><!><p title='--><b>'><![endif]-->",
            "<!--[if mso]><noscript><p title='</noscript><b>'></noscript><![endif]-->",
            "<!--[if mso]>x{{#if a}}<![endif]-->{{/if}}{{b}}",
            "{{#if a}}<!--[if mso]>{{else}}{{/if}}<![endif]-->",
            "<div hidden>{{#if a}}</div>{{/if}}{{b}}",
            "{{#if a}}{{#if b}}<div hidden>{{/if}}{{/if}}",
        ] {
            assert!(matches!(walk(page), Err(MarkupFault::Invalid(_))), "{page}: {:?}", walk(page));
        }
    }

    #[test]
    fn what_outlook_is_told_is_read_like_the_rest() {
        let page = "<!--[if mso | IE]><noscript><xml><o:x>96</o:x></xml></noscript><style>a{b:c}</style><![endif]-->\
            <!--[if mso]><v:rect href='{{a}}'><![endif]-->{{b}}<!--[if !mso]><!-->{{c}}<!--<![endif]--><!-- x -->";
        assert_eq!(walk(page), Ok(vec![Context::Url, Context::Text, Context::Text]));
    }

    #[test]
    fn what_runs_code_or_asks_for_secrets_is_suspicious() {
        for page in [
            "<script>",
            "<SCRIPT src=x>",
            "<iframe src='https://x'>",
            "<form action='https://x'>",
            "<input>",
            "<object>",
            "<embed>",
            "<base href='https://x'>",
            "<svg>",
            "<a href='javascript:x'>",
            "<a href=' jAva\nscript:x'>",
            "<a href=javascript:x>",
            "<img src='data:text/html,x'>",
            "<p onclick='x'>",
            "<p onload=x>",
            "<p/onload=x>",
            "<iframe srcdoc='x'>",
            "<b ping=x>",
            "<meta http-equiv='refresh' content='0'>",
            "<p style='x:expression(y)'>",
            "<style>a{b:url(javascript:x)}</style>",
            "<a href='java&#115;cript&colon;x'>",
            "<!--><script>-->",
            "<!doctype><script>",
            "</script>",
            "<<script>",
            "<style></style x><script>",
            "<title></title\n><script>",
            "<!--[if mso]><script><![endif]-->",
            "<!-- [IF gte mso 9]><p onclick='x'><![endif]-->",
            "<!--[if mso]><!--><script><!--<![endif]-->",
            "<!--[if mso]>a<![endif]--><noscript>",
            "</ x='><script>'>",
            "</ x=\"><script>\">",
            "<?-- > <script> -->",
            "<!--[if mso]>a<![endif]--></!--><script>",
            "<keygen>",
            "<isindex prompt='Password'>",
            "<dialog open>",
            "<p contenteditable>",
            "<p autofocus tabindex='0'>",
        ] {
            assert!(matches!(walk(page), Err(MarkupFault::Suspicious(_))), "{page}: {:?}", walk(page));
        }
    }
}
