//! A page as text, for mail programs that show none: paragraphs and rows become lines, links keep their
//! address, head and styles are left out. For pages whose author wrote no text of their own.

/// Elements that begin on a line of their own.
const BLOCKS: [&str; 14] =
    ["p", "div", "table", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "section", "blockquote", "hr"];
/// Elements nothing of which is shown.
const HIDDEN: [&str; 3] = ["head", "style", "title"];
/// The references our own pages and most others use.
const REFERENCES: [(&str, &str); 12] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#x27;", "'"),
    ("&#39;", "'"),
    ("&apos;", "'"),
    ("&#x2f;", "/"),
    ("&nbsp;", " "),
    ("&copy;", "©"),
    ("&middot;", "·"),
    ("&zwnj;", ""),
    ("&amp;", "&"),
];

/// The text of a page.
pub fn text(html: &str) -> String {
    let mut written = Written::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        written.text(&rest[..at]);
        let tag = &rest[at..];
        let end = match tag.starts_with("<!--") {
            true => tag.find("-->").map(|end| end + 3),
            false => end_of_tag(tag),
        };
        let end = end.unwrap_or(tag.len());
        written.tag(&tag[..end]);
        rest = &tag[end..];
    }
    written.text(rest);
    written.lines()
}

/// Where a tag ends: a `>` inside a quoted attribute does not end it.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (index, c) in tag.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => (),
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '>' => return Some(index + 1),
            None => (),
        }
    }
    None
}

#[derive(Default)]
struct Written {
    text: String,
    /// The element whose content is left out.
    hidden: Option<String>,
    /// Where the link leads that is open, and where its text begins.
    link: Option<(String, usize)>,
}

impl Written {
    fn text(&mut self, html: &str) {
        if self.hidden.is_none() {
            let words: Vec<&str> = html.split_ascii_whitespace().collect();
            let is_spaced = html.starts_with(|c: char| c.is_ascii_whitespace());
            if is_spaced && !self.text.ends_with(['\n', ' ']) {
                self.text.push(' ');
            }
            self.text.push_str(&decoded(&words.join(" ")));
            if !words.is_empty() && html.ends_with(|c: char| c.is_ascii_whitespace()) {
                self.text.push(' ');
            }
        }
    }

    fn tag(&mut self, tag: &str) {
        let is_closing = tag.starts_with("</");
        let name: String =
            tag.trim_start_matches(['<', '/']).chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        let name = name.to_ascii_lowercase();
        match &self.hidden {
            Some(hidden) if is_closing && *hidden == name => self.hidden = None,
            Some(_) => return,
            None if HIDDEN.contains(&name.as_str()) && !is_closing => self.hidden = Some(name.clone()),
            // What is only for the list of messages would be read twice.
            None if tag.contains("display:none") && !is_closing => self.hidden = Some(name.clone()),
            None => (),
        }
        match name.as_str() {
            "br" => self.text.push('\n'),
            "a" if is_closing => self.end_link(),
            "a" => self.link = attribute(tag, "href").map(|url| (decoded(url), self.text.len())),
            "td" | "th" if is_closing => self.text.push(' '),
            "tr" if is_closing => self.text.push('\n'),
            "li" if !is_closing => self.text.push('\n'),
            _ if BLOCKS.contains(&name.as_str()) => self.text.push_str("\n\n"),
            _ => (),
        }
    }

    /// A link whose text is not its address is followed by it.
    fn end_link(&mut self) {
        let Some((url, start)) = self.link.take() else { return };
        let label = self.text.get(start..).unwrap_or_default().trim().to_owned();
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        if is_web && label != url {
            self.text.push_str(&if label.is_empty() { url } else { format!(": {url}") });
        }
    }

    /// Without spaces at the ends of lines, and with at most one empty line in a row.
    fn lines(&self) -> String {
        let mut lines: Vec<&str> = Vec::new();
        for line in self.text.lines().map(str::trim) {
            if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(line);
            }
        }
        lines.join("\n").trim().to_owned()
    }
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let start = tag.find(&format!("{name}="))? + name.len() + 1;
    let quote = tag[start..].chars().next().filter(|c| *c == '"' || *c == '\'')?;
    tag[start + 1..].split(quote).next()
}

fn decoded(text: &str) -> String {
    REFERENCES.iter().fold(text.to_owned(), |text, (reference, meaning)| text.replace(reference, meaning))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_page_becomes_lines_with_the_addresses_of_its_links() {
        let page = "<html><head><title>T</title><style>p{}</style></head><body><div style=\"display:none\">Pre</div>\
            <h1>Hello &amp; <b>you</b></h1><!-- <p>x</p> --><p>One\n two<br>three</p><table><tr><td>A</td><td>B</td></tr>\
            <tr><td>C</td></tr></table><a href=\"https://a/?b=1&amp;c=2\">Open &lt;it&gt;</a> <a href='https://d'>https://d</a></body></html>";
        assert_eq!(
            text(page),
            "Hello & you\n\nOne two\nthree\n\nA B\nC\n\nOpen <it>: https://a/?b=1&c=2 https://d"
        );
        assert_eq!(text("a < b"), "a");
    }
}
