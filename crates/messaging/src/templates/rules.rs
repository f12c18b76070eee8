//! What may be made of a template. Values in, values out.

use latchkey_base::locale::is_locale;
use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_kernel::limits::{LOCAL_PART_CHARS, TEMPLATE_NAME_CHARS, TEMPLATE_SUBJECT_CHARS};
use latchkey_letters::limits::{SMS_CHARS, TEMPLATE_BODY_BYTES};
use latchkey_letters::markup::MarkupFault;
use latchkey_letters::model::{Channel, System};
use latchkey_letters::render::{OutputKind, PreparedTemplate, prepare};
use latchkey_letters::{catalogue, layout, required, samples, variables};
use serde_json::json;

use super::input::{PreviewTemplate, PutTemplateLocale, ToggleTemplateDelivery, UpsertTemplate};
use super::model::{Changes, StoredTemplate};

/// The channel a path names.
pub fn channel(name: &str) -> Result<Channel> {
    Channel::parse(name).ok_or_else(|| Error::param(Code::TemplateTypeUnsupported, "template_type"))
}

/// The template a path names: its type, then its slug.
pub fn named(path: &[String]) -> Result<&'static System> {
    let part = |index: usize| path.get(index).map(String::as_str).unwrap_or_default();
    let channel = channel(part(0))?;
    let unknown = || {
        Error::new(Code::ResourceNotFound).saying(format!(
            "No {} template has the slug {}.",
            channel.name(),
            part(1)
        ))
    };
    catalogue::find(channel, part(1)).ok_or_else(unknown)
}

/// The locale a path names, as it is written everywhere: `pt-BR`, `zh-Hant`.
pub fn locale(path: &[String]) -> Result<String> {
    let text = path.get(2).map(String::as_str).unwrap_or_default();
    match is_locale(text) {
        true => Ok(canonical(text)),
        false => Err(Error::param(Code::FormParamFormatInvalid, "locale")
            .saying("`locale` must be a BCP 47 language tag that begins with a language code of two or three letters, such as `de` or `pt-BR`.")),
    }
}

/// A language tag in its usual case (RFC 5646, 2.1.1).
pub fn canonical(tag: &str) -> String {
    let part = |(index, part): (usize, &str)| match part.len() {
        2 if index > 0 => part.to_ascii_uppercase(),
        4 if index > 0 => format!("{}{}", part[..1].to_ascii_uppercase(), part[1..].to_ascii_lowercase()),
        _ => part.to_ascii_lowercase(),
    };
    tag.split('-').enumerate().map(part).collect::<Vec<_>>().join("-")
}

/// The tag and what it falls back to, most special first: `zh-Hant-TW`, `zh-Hant`, `zh`.
pub fn fallbacks(tag: &str) -> Vec<String> {
    let tag = canonical(tag);
    let mut chain = vec![tag.clone()];
    let mut rest = tag.as_str();
    while let Some((shorter, _)) = rest.rsplit_once('-') {
        chain.push(shorter.to_owned());
        rest = shorter;
    }
    chain
}

/// Texts that somebody wants in a template.
#[derive(Default)]
pub struct Draft<'a> {
    /// The name for people.
    pub name: Option<&'a str>,
    pub subject: Option<&'a str>,
    /// The page or text message.
    pub body: Option<&'a str>,
    /// The page as text.
    pub body_plain: Option<&'a str>,
    /// What the page was made from.
    pub markup: Option<&'a str>,
    /// The sender.
    pub from_email_name: Option<&'a str>,
    /// Where answers go.
    pub reply_to_email_name: Option<&'a str>,
}

/// Checks what somebody wants in a template. All problems are told at once, but a suspicious page is told
/// alone: it is no mistake.
pub fn check(system: &System, draft: &Draft<'_>) -> Result<()> {
    let mut problems = Vec::new();
    if draft.name.is_some_and(|name| name.chars().count() > TEMPLATE_NAME_CHARS) {
        problems.push(Problem::of(Code::FormParamMaxLengthExceeded, "name"));
    }
    if draft.markup.is_some_and(|markup| markup.len() > TEMPLATE_BODY_BYTES) {
        problems.push(Problem::of(Code::FormParamExceedsAllowedSize, "markup"));
    }
    match system.channel {
        Channel::Email => check_email(system, draft, &mut problems)?,
        Channel::Sms => check_sms(system, draft, &mut problems)?,
    }
    Error::collect(problems)
}

fn check_email(system: &System, draft: &Draft<'_>, problems: &mut Vec<Problem>) -> Result<()> {
    if let Some(subject) = draft.subject {
        match subject.trim().is_empty() {
            true => problems.push(Problem::of(Code::FormParamNil, "subject")),
            false if subject.chars().count() > TEMPLATE_SUBJECT_CHARS => {
                problems.push(Problem::of(Code::FormParamMaxLengthExceeded, "subject"));
            }
            false => check_text(system, subject, OutputKind::Line, "subject", problems)?,
        }
    }
    for (body, form, param) in
        [(draft.body, OutputKind::Html, "body"), (draft.body_plain, OutputKind::Text, "body_plain")]
    {
        let Some(body) = body else { continue };
        match body.len() > TEMPLATE_BODY_BYTES {
            true => problems.push(Problem::of(Code::FormParamExceedsAllowedSize, param)),
            false => check_body(system, body, form, param, problems)?,
        }
    }
    let names =
        [(draft.from_email_name, "from_email_name"), (draft.reply_to_email_name, "reply_to_email_name")];
    for (_, param) in names.iter().filter(|(name, _)| name.is_some_and(|name| !is_local_part(name))) {
        let problem = Problem::of(Code::FormParamFormatInvalid, param);
        problems.push(problem.saying(format!("`{param}` is the part of an address before the `@`.")));
    }
    Ok(())
}

fn check_sms(system: &System, draft: &Draft<'_>, problems: &mut Vec<Problem>) -> Result<()> {
    let for_email = [
        (draft.subject, "subject"),
        (draft.body_plain, "body_plain"),
        (draft.from_email_name, "from_email_name"),
        (draft.reply_to_email_name, "reply_to_email_name"),
    ];
    for (_, param) in for_email.iter().filter(|(value, _)| value.is_some_and(|value| !value.is_empty())) {
        let problem = Problem::of(Code::FormConditionalParamDisallowed, param);
        problems.push(problem.saying(format!("`{param}` is for e-mails only.")));
    }
    match draft.body {
        Some(body) if body.chars().count() > SMS_CHARS => {
            problems.push(Problem::of(Code::FormParamMaxLengthExceeded, "body"));
        }
        Some(body) => check_body(system, body, OutputKind::Text, "body", problems)?,
        None => (),
    }
    Ok(())
}

/// Empty is allowed: it restores the default.
fn is_local_part(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c))
    };
    text.is_empty() || text.len() <= LOCAL_PART_CHARS && text.split('.').all(is_word)
}

fn check_body(
    system: &System,
    body: &str,
    form: OutputKind,
    param: &str,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    if body.trim().is_empty() {
        let problem = Problem::of(Code::InvalidTemplateBody, param);
        problems.push(problem.saying("A template must say something. To restore its default, revert it."));
        return Ok(());
    }
    let Some(prepared) = read(body, form, param, problems)? else { return Ok(()) };
    problems.extend(required::problems(system, &prepared, param));
    check_variables(system, &prepared, param, problems);
    Ok(())
}

fn check_text(
    system: &System,
    text: &str,
    form: OutputKind,
    param: &str,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    if let Some(prepared) = read(text, form, param, problems)? {
        check_variables(system, &prepared, param, problems);
    }
    Ok(())
}

fn read<'a>(
    text: &'a str,
    form: OutputKind,
    param: &str,
    problems: &mut Vec<Problem>,
) -> Result<Option<PreparedTemplate<'a>>> {
    match prepare(text, form) {
        Ok(prepared) => Ok(Some(prepared)),
        Err(MarkupFault::Suspicious(why)) => {
            Err(Error::param(Code::EmailTemplateSuspiciousBlocked, param).saying(why))
        }
        Err(MarkupFault::Invalid(why)) => {
            problems.push(Problem::of(Code::InvalidTemplateBody, param).saying(why));
            Ok(None)
        }
    }
}

/// Only variables the template has; and it must come out with something in them.
fn check_variables(
    system: &System,
    prepared: &PreparedTemplate<'_>,
    param: &str,
    problems: &mut Vec<Problem>,
) {
    let unknown: Vec<&str> = prepared
        .parsed
        .paths
        .iter()
        .map(String::as_str)
        .filter(|path| !variables::is_available(system, path))
        .collect();
    let problem = Problem::of(Code::InvalidTemplateBody, param);
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        problems.push(
            problem
                .with("variables", unknown)
                .saying(format!("This template has no such variables: {names}.")),
        );
    } else if let Err(why) = prepared.fill(&samples::data(&json!({}))) {
        problems.push(problem.saying(why));
    }
}

impl<'a> Draft<'a> {
    /// What a change wants.
    pub fn of_change(input: &'a UpsertTemplate) -> Draft<'a> {
        Draft {
            name: input.name.as_deref(),
            subject: given(&input.subject),
            body: input.body.as_deref(),
            from_email_name: input.from_email_name.as_deref(),
            reply_to_email_name: input.reply_to_email_name.as_deref(),
            markup: given(&input.markup),
            body_plain: None,
        }
    }

    /// What a preview wants.
    pub fn of_preview(input: &'a PreviewTemplate) -> Draft<'a> {
        Draft {
            subject: given(&input.subject),
            body: input.body.as_deref(),
            from_email_name: input.from_email_name.as_deref(),
            reply_to_email_name: input.reply_to_email_name.as_deref(),
            ..Draft::default()
        }
    }

    /// What a variant wants.
    pub fn of_locale(input: &'a PutTemplateLocale) -> Draft<'a> {
        Draft {
            subject: input.subject.as_deref(),
            body: Some(&input.body),
            body_plain: input.body_plain.as_deref(),
            ..Draft::default()
        }
    }
}

fn given(patch: &Patch<String>) -> Option<&str> {
    match patch {
        Patch::Value(text) => Some(text),
        Patch::Absent | Patch::Null => None,
    }
}

/// Whether the server delivers, by either of its two names.
pub fn delivered(by_service: Option<bool>, by_clerk: Option<bool>) -> Result<Option<bool>> {
    match (by_service, by_clerk) {
        (Some(one), Some(other)) if one != other => {
            Err(Error::param(Code::FormParamValueConflict, "delivered_by_clerk").saying(
                "`delivered_by_clerk` is another name of `delivered_by_service`; the two must not differ.",
            ))
        }
        (one, other) => Ok(one.or(other)),
    }
}

/// Whether this server is to deliver the messages of a template.
pub fn toggled(input: &ToggleTemplateDelivery) -> Result<bool> {
    delivered(input.delivered_by_service, input.delivered_by_clerk)?
        .ok_or_else(|| Error::param(Code::FormParamMissing, "delivered_by_service"))
}

/// The template with a change, which was checked.
pub fn update(system: &System, before: Changes, input: UpsertTemplate) -> Result<Changes> {
    let delivered = delivered(input.delivered_by_service, input.delivered_by_clerk)?;
    let mut after = before;
    if let Some(markup) = input.markup.change() {
        let is_changed = markup.as_deref().unwrap_or_default() != after.markup.as_deref().unwrap_or_default();
        check_markup(system, is_changed, input.body.is_some())?;
        after.markup = markup;
    }
    if let Some(subject) = input.subject.change() {
        after.subject = subject.filter(|subject| !subject.is_empty());
    }
    if let Some(body) = input.body {
        after.body = Some(body);
    }
    for (text, field) in [
        (input.name, &mut after.name),
        (input.from_email_name, &mut after.from_email_name),
        (input.reply_to_email_name, &mut after.reply_to_email_name),
    ] {
        if let Some(text) = text {
            *field = Some(text).filter(|text| !text.is_empty());
        }
    }
    after.delivered_by_service = delivered.or(after.delivered_by_service);
    Ok(after)
}

/// Bodies are not made from markup here, so new markup without a new body would never be sent.
fn check_markup(system: &System, is_changed: bool, has_body: bool) -> Result<()> {
    let restricted =
        |why: &str| Err(Error::param(Code::TemplateBodyModificationRestricted, "markup").saying(why));
    match (system.channel, is_changed, has_body) {
        (_, false, _) | (Channel::Email, true, true) => Ok(()),
        (Channel::Email, true, false) => {
            restricted("Bodies are not made from markup here. Send the body too.")
        }
        (Channel::Sms, true, _) => restricted("Text messages have no markup."),
    }
}

/// Whether a template looks the same with either: to write down what it says anyway is no change. `sender` is the usual
/// one of the instance.
pub fn is_same(system: &System, sender: &str, one: &Changes, other: &Changes) -> bool {
    differing(system, sender, one) == differing(system, sender, other)
}

/// Changes without those that change nothing.
fn differing(system: &System, sender: &str, changes: &Changes) -> Changes {
    let own = |text: &Option<String>, default: &str| text.clone().filter(|text| text != default);
    Changes {
        name: own(&changes.name, system.name),
        subject: own(&changes.subject, system.subject),
        markup: own(&changes.markup, ""),
        body: own(&changes.body, &layout::body(system)),
        body_plain: changes.body_plain.clone(),
        from_email_name: own(&changes.from_email_name, sender),
        reply_to_email_name: own(&changes.reply_to_email_name, ""),
        delivered_by_service: changes.delivered_by_service.filter(|is_delivered| !is_delivered),
    }
}

/// A stored change after it was changed.
pub fn stored(
    before: Option<StoredTemplate>,
    changes: Changes,
    new: StoredTemplate,
    now: Time,
) -> StoredTemplate {
    match before {
        Some(before) => StoredTemplate { changes, updated_at: now, ..before },
        None => StoredTemplate { changes, ..new },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> &'static System {
        catalogue::find(Channel::Email, "verification_code").unwrap()
    }

    fn codes(outcome: Result<()>) -> Vec<(Code, String)> {
        let error = outcome.err();
        let problems = error.as_ref().map(Error::problems).unwrap_or_default();
        problems
            .iter()
            .map(|problem| (problem.code, problem.meta["param_name"].as_str().unwrap().to_owned()))
            .collect()
    }

    #[test]
    fn all_mistakes_are_told_at_once_and_a_trap_alone() {
        let draft = Draft {
            subject: Some(" "),
            body: Some("<p>{{no.such}}</p>"),
            from_email_name: Some("a b"),
            reply_to_email_name: Some("a\r\nBcc: x"),
            ..Draft::default()
        };
        let found: Vec<Code> = codes(check(code(), &draft)).into_iter().map(|(code, _)| code).collect();
        assert_eq!(
            found,
            [
                Code::FormParamNil,
                Code::RequiredVariableMissing,
                Code::InvalidTemplateBody,
                Code::FormParamFormatInvalid,
                Code::FormParamFormatInvalid
            ]
        );
        let trap = Draft { body: Some("<form>{{otp_code}}"), subject: Some(""), ..Draft::default() };
        assert_eq!(codes(check(code(), &trap)), [(Code::EmailTemplateSuspiciousBlocked, "body".to_owned())]);
    }

    #[test]
    fn tags_are_written_in_one_way_and_fall_back_step_by_step() {
        assert_eq!(canonical("PT-br"), "pt-BR");
        assert_eq!(fallbacks("ZH-hant-tw"), ["zh-Hant-TW", "zh-Hant", "zh"]);
        assert_eq!(fallbacks("de"), ["de"]);
    }

    #[test]
    fn both_names_of_delivery_mean_the_same_and_must_agree() {
        assert_eq!(delivered(None, Some(false)).ok().unwrap(), Some(false));
        assert_eq!(delivered(Some(true), Some(true)).ok().unwrap(), Some(true));
        assert!(delivered(Some(true), Some(false)).is_err());
        assert!(toggled(&ToggleTemplateDelivery::default()).is_err());
    }

    #[test]
    fn markup_alone_changes_nothing_that_is_sent() {
        let input = UpsertTemplate { markup: Patch::Value("<x>".into()), ..UpsertTemplate::default() };
        let refused = update(code(), Changes::default(), input.clone()).err().map(|error| error.code());
        assert_eq!(refused, Some(Code::TemplateBodyModificationRestricted));
        let with_body = UpsertTemplate { body: Some("{{otp_code}}".into()), ..input };
        assert_eq!(
            update(code(), Changes::default(), with_body).ok().unwrap().markup.as_deref(),
            Some("<x>")
        );
    }
}
