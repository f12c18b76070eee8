//! The system templates, all of them.

use std::collections::BTreeSet;

use serde_json::json;

use super::render::{OutputKind, filled, prepare};
use super::{catalogue, layout, markup, plain, required, samples, syntax, variables};
use crate::limits::{SMS_CHARS, TEMPLATE_BODY_BYTES};
use crate::model::Channel;

fn sample() -> serde_json::Value {
    samples::data(
        &json!({"name": "Acme", "url": "https://acme.example", "domain_name": "acme.example", "logo_image_url": ""}),
    )
}

#[test]
fn every_template_obeys_the_rules_for_those_of_instances() {
    let mut seen = BTreeSet::new();
    for system in catalogue::ALL {
        let name = format!("{}/{}", system.channel.name(), system.slug);
        assert!(seen.insert(name.clone()), "{name} twice");
        let form = if system.channel == Channel::Email { OutputKind::Html } else { OutputKind::Text };
        let (body, text) = (layout::body(system), layout::text(system));
        assert!(body.len() < TEMPLATE_BODY_BYTES / 4, "{name} is large");
        for (source, form) in
            [(body.as_str(), form), (text.as_str(), OutputKind::Text), (system.subject, OutputKind::Line)]
        {
            let prepared = prepare(source, form).unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
            for path in &prepared.parsed.paths {
                assert!(variables::is_available(system, path), "{name}: {path}");
            }
            prepared.fill(&sample()).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        }
        let shown = required::problems(system, &prepare(&body, form).ok().unwrap(), "body");
        assert!(shown.is_empty(), "{name}: {shown:?}");
        for required in system.required {
            assert!(variables::is_available(system, required), "{name}: {required}");
        }
    }
}

#[test]
fn every_variable_has_a_sample() {
    for system in catalogue::ALL {
        for path in variables::available(system) {
            let pointer = format!("/{}", path.replace('.', "/"));
            assert!(sample().pointer(&pointer).is_some(), "{path}");
        }
    }
}

#[test]
fn text_messages_fit_into_two_parts_and_say_the_code_first() {
    for system in catalogue::of(Channel::Sms) {
        let text = filled(system.title, OutputKind::Text, &sample()).ok().unwrap();
        assert!(text.is_ascii() && text.len() < 160.min(SMS_CHARS), "{}: {text}", system.slug);
    }
    let code = catalogue::find(Channel::Sms, "verification_code").unwrap();
    let text = filled(code.title, OutputKind::Text, &sample()).ok().unwrap();
    assert_eq!(text, "424242 is your Acme verification code. Do not share it.\n\n@acme.example #424242");
}

#[test]
fn the_text_of_an_e_mail_says_what_its_page_says() {
    let code = catalogue::find(Channel::Email, "verification_code").unwrap();
    let text = filled(&layout::text(code), OutputKind::Text, &sample()).ok().unwrap();
    assert_eq!(
        text,
        "Your verification code\n\nEnter this code to continue to Acme. It is good for 10 minutes.\n\n    424242\n\n\
         Do not share this code with anybody. Nobody at Acme will ever ask you for it.\n\n\
         Asked for from: Firefox on Linux, 203.0.113.7\nTime: 1 January 2026, 09:30 UTC\n\n\
         If you did not ask for this, you can ignore this e-mail. Nothing will happen.\n\n-- \nAcme\nhttps://acme.example"
    );
    let page = filled(&layout::body(code), OutputKind::Html, &sample()).ok().unwrap();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<String>>();
    let left_out = &words(&text) - &words(&plain::text(&page));
    assert!(left_out.iter().all(|word| word.ends_with(':') || word == "--"), "{left_out:?}");
}

/// Reading a page of 60 KB takes about as long whatever stands in it.
#[test]
#[expect(clippy::disallowed_methods, reason = "pages are compared with each other")]
fn no_page_takes_long_to_read() {
    let time = |page: &str| {
        let pieces = syntax::parse(page).unwrap().pieces;
        let began = std::time::Instant::now();
        let _ = markup::positions(&pieces);
        began.elapsed()
    };
    let usual = (0..5).map(|_| time(&"<p>word </p>".repeat(5000))).max().unwrap();
    for page in [
        format!("<!--{}{}-->", " ".repeat(30_000), ">".repeat(30_000)),
        format!("<!--[if{}-->", "a>".repeat(30_000)),
        format!("<a href='https://a/{}{}'>", "x".repeat(50_000), "{{a}}".repeat(1900)),
        format!("<a href='{{{{b}}}}/{}{}'>", "x".repeat(50_000), "{{a}}".repeat(1900)),
        format!("<style>{}</style>", "</style".repeat(8000)),
        format!("<{}", "a b='c' ".repeat(7000)),
    ] {
        let taken = (0..3).map(|_| time(&page)).min().unwrap();
        assert!(taken < 30 * usual, "{taken:?} instead of {usual:?}: {}", &page[..20]);
    }
}
