//! What of a page its readers see.

/// What a variable does where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableUse {
    /// Readers see it.
    Text,
    /// It is the address behind something readers can choose.
    Link,
    /// It is, or is part of, an address that is asked for as soon as the page is shown.
    Loaded,
    /// Some readers or none see it.
    Unseen,
}

/// Attributes whose address is asked for without anybody choosing to.
const LOADED: [&str; 6] = ["action", "background", "data", "poster", "src", "xlink:href"];
/// Elements whose content is shown only where they are not known.
const FALLBACKS: [&str; 4] = ["audio", "canvas", "datalist", "video"];
/// Elements without content.
const EMPTY: [&str; 11] =
    ["area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"];
/// Styles that hide an element, without spaces.
const HIDING: [&str; 2] = ["display:none", "visibility:hidden"];

/// Follows the tags of a page, and knows whether an element that is open at the moment hides its content.
#[derive(Default)]
pub struct HiddenElements {
    /// The element that hides what is in it.
    element: String,
    /// How many elements of that name are open; nothing is hidden at 0.
    depth: usize,
    /// Whether an attribute of the tag that is read hides its element.
    is_hiding: bool,
}

impl HiddenElements {
    /// Whether what stands here is hidden.
    pub fn hides(&self) -> bool {
        self.depth > 0
    }

    /// How many elements hide it.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Takes note of an attribute; its value is without spaces and in lower case.
    pub fn attribute(&mut self, name: &str, value: &str) {
        self.is_hiding |=
            name == "hidden" || name == "style" && HIDING.iter().any(|style| value.contains(style));
    }

    /// Takes note of the end of a tag.
    pub fn tag(&mut self, name: &str, is_closing: bool) {
        let is_hiding = std::mem::take(&mut self.is_hiding) || FALLBACKS.contains(&name);
        match (self.depth, is_closing) {
            (0, false) if is_hiding && !EMPTY.contains(&name) => {
                (self.element, self.depth) = (name.to_owned(), 1);
            }
            (0, _) => (),
            (_, false) if name == self.element => self.depth += 1,
            (_, true) if name == self.element => self.depth -= 1,
            _ => (),
        }
    }
}

/// What an address does in an attribute of an element. A part of another address leads where that one says.
pub fn address(element: &str, attribute: &str, is_whole: bool) -> VariableUse {
    match (element, attribute) {
        _ if LOADED.contains(&attribute) => VariableUse::Loaded,
        ("link", "href") => VariableUse::Loaded,
        ("a" | "area", "href") if is_whole => VariableUse::Link,
        _ => VariableUse::Unseen,
    }
}

#[cfg(test)]
mod tests {
    use super::super::markup::positions;
    use super::super::syntax::parse;
    use super::*;

    fn uses(page: &str) -> Vec<VariableUse> {
        positions(&parse(page).unwrap().pieces)
            .unwrap()
            .into_iter()
            .map(|position| position.purpose)
            .collect()
    }

    #[test]
    fn what_readers_see_is_told_from_what_they_do_not() {
        for (page, purpose) in [
            ("{{x}}", VariableUse::Text),
            ("<p class='hidden'>{{x}}</p>", VariableUse::Text),
            ("<p hidden>a</p>{{x}}", VariableUse::Text),
            ("<img hidden>{{x}}", VariableUse::Text),
            ("<p hidden><p>a</p></p>{{x}}", VariableUse::Text),
            ("<!--[if mso]>a<![endif]-->{{x}}", VariableUse::Text),
            ("<!--[if !mso]><!-->{{x}}<!--<![endif]-->", VariableUse::Text),
            ("<a href='{{x}}'>b</a>", VariableUse::Link),
            ("<a href='https://a.example/{{x}}'>b</a>", VariableUse::Unseen),
            ("<p title='{{x}}'>", VariableUse::Unseen),
            ("<img alt='{{x}}'>", VariableUse::Unseen),
            ("<title>{{x}}</title>", VariableUse::Unseen),
            ("<p hidden>{{x}}</p>", VariableUse::Unseen),
            ("<div HIDDEN=''><div></div>{{x}}</div>", VariableUse::Unseen),
            ("<p style='color:red; Display : none'>{{x}}</p>", VariableUse::Unseen),
            ("<p hidden><a href='{{x}}'>b</a></p>", VariableUse::Unseen),
            ("<video>{{x}}</video>", VariableUse::Unseen),
            ("<!--[if mso]>{{x}}<![endif]-->", VariableUse::Unseen),
            ("<img src='{{x}}'>", VariableUse::Loaded),
            ("<img src='https://a.example/{{x}}'>", VariableUse::Loaded),
            ("<td background='{{x}}'>", VariableUse::Loaded),
            ("<link href='{{x}}'>", VariableUse::Loaded),
            ("<p hidden><img src='{{x}}'></p>", VariableUse::Loaded),
        ] {
            assert_eq!(uses(page), [purpose], "{page}");
        }
    }
}
