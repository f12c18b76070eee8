//! What a template must show: the code or the link its messages are for.

use latchkey_base::{Code, Problem};

use super::branches::always_shown;
use super::render::PreparedTemplate;
use super::syntax::Piece;
use super::visibility::VariableUse;
use crate::model::System;

/// What is wrong with how a body shows what its messages are for. Readers must see it, whatever its conditions
/// say; and nothing may ask for the address of it, or a picture would use up the link.
pub fn problems(system: &System, prepared: &PreparedTemplate<'_>, param: &str) -> Vec<Problem> {
    let seen = always_shown(&prepared.parsed.pieces, |nth, path| is_seen(prepared, nth, path));
    let missing = system.required.iter().filter(|name| !seen.contains(**name)).map(|name| {
        Problem::of(Code::RequiredVariableMissing, param)
            .with("variable", *name)
            .saying(format!("The template must show {{{{{name}}}}}{}.", reason(prepared, name)))
    });
    let loaded = system
        .required
        .iter()
        .filter(|name| uses(prepared, name).any(|purpose| purpose == VariableUse::Loaded));
    let loaded = loaded.map(|name| {
        Problem::of(Code::InvalidTemplateBody, param)
            .saying(format!("{{{{{name}}}}} must not stand in an address that is loaded by itself."))
    });
    missing.chain(loaded).collect()
}

/// Why what stands in the body is not enough.
fn reason(prepared: &PreparedTemplate<'_>, name: &str) -> &'static str {
    match (prepared.parsed.shown.contains(name), is_link(name)) {
        (false, _) => "",
        (true, _) if seen_anywhere(prepared, name) => " in every branch of its conditions",
        (true, false) => " in text that every reader sees",
        (true, true) => " in text that every reader sees, or as the address of an `<a>`",
    }
}

fn seen_anywhere(prepared: &PreparedTemplate<'_>, name: &str) -> bool {
    values(prepared).any(|(nth, path)| path == name && is_seen(prepared, nth, path))
}

/// Whether readers see a variable where it stands, or can follow it.
fn is_seen(prepared: &PreparedTemplate<'_>, nth: usize, path: &str) -> bool {
    match prepared.positions.get(nth).map(|position| position.purpose) {
        Some(VariableUse::Link) => is_link(path),
        Some(VariableUse::Unseen | VariableUse::Loaded) => false,
        // What is no page is all text.
        Some(VariableUse::Text) | None => true,
    }
}

fn is_link(name: &str) -> bool {
    name.ends_with("_link") || name.ends_with("_url")
}

fn uses<'a>(prepared: &'a PreparedTemplate<'_>, name: &'a str) -> impl Iterator<Item = VariableUse> + 'a {
    let standing = values(prepared).filter(move |(_, path)| *path == name);
    standing.filter_map(|(nth, _)| prepared.positions.get(nth).map(|position| position.purpose))
}

/// The variables with their number.
fn values<'a>(prepared: &'a PreparedTemplate<'_>) -> impl Iterator<Item = (usize, &'a str)> {
    let paths = prepared.parsed.pieces.iter().filter_map(|piece| match piece {
        Piece::Value { path, .. } => Some(path.as_str()),
        _ => None,
    });
    paths.enumerate()
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::super::model::Channel;
    use super::super::render::{OutputKind, prepare};
    use super::*;

    fn codes(slug: &str, body: &str) -> Vec<Code> {
        let system = catalogue::find(Channel::Email, slug).unwrap();
        let prepared = prepare(body, OutputKind::Html).unwrap();
        problems(system, &prepared, "body").into_iter().map(|problem| problem.code).collect()
    }

    #[test]
    fn a_code_must_be_read_and_a_link_followed() {
        for body in ["{{otp_code}}", "<p title='{{otp_code}}'>{{otp_code}}</p>"] {
            assert_eq!(codes("verification_code", body), [], "{body}");
        }
        for body in [
            "<p title='{{otp_code}}'>Hello</p>",
            "<title>{{otp_code}}</title>",
            "<img alt='{{otp_code}}'>",
            "<p hidden>{{otp_code}}</p>",
            "<a href='https://a.example/?{{otp_code}}'>go</a>",
            "<a href='{{otp_code}}'>go</a>",
            "<!--[if mso]>{{otp_code}}<![endif]-->",
            "{{#if user.id}}{{otp_code}}{{else}}<p hidden>{{otp_code}}</p>{{/if}}",
        ] {
            assert_eq!(codes("verification_code", body), [Code::RequiredVariableMissing], "{body}");
        }
        for body in ["{{magic_link}}", "<a href='{{magic_link}}'>go</a>"] {
            assert_eq!(codes("magic_link_sign_in", body), [], "{body}");
        }
        for body in ["<a href='https://a.example/?{{magic_link}}'>go</a>", "<p title='{{magic_link}}'>a</p>"]
        {
            assert_eq!(codes("magic_link_sign_in", body), [Code::RequiredVariableMissing], "{body}");
        }
    }

    #[test]
    fn nothing_asks_for_a_link_before_its_reader_does() {
        let both = [Code::RequiredVariableMissing, Code::InvalidTemplateBody];
        assert_eq!(codes("magic_link_sign_in", "<img src='{{magic_link}}'>"), both);
        let shown = "<a href='{{magic_link}}'>go</a><td background='https://a.example/?{{magic_link}}'>";
        assert_eq!(codes("magic_link_sign_in", shown), [Code::InvalidTemplateBody]);
        assert_eq!(codes("magic_link_sign_in", "{{magic_link}}<img src='{{app.logo_image_url}}'>"), []);
    }
}
