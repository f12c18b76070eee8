//! Which messages there are, and which variant of a template they are made from.

use std::collections::BTreeSet;

use latchkey_base::locale::is_locale;
use latchkey_base::secret::Secret;
use latchkey_kernel::cx::Act;
use latchkey_kernel::limits::VERIFICATION_MS;
use serde_json::{Map, Value, json};

use super::model::{Message, Recipient};
use crate::templates::model::StoredTemplate;
use crate::templates::rules::{canonical, fallbacks};

/// Languages of a browser that are looked at; nobody reads more.
const LANGUAGES: usize = 10;
/// What the templates themselves are written in.
const OWN_LANGUAGE: &str = "en";

fn message<'a>(to: Recipient<'a>, slug: &'static str, data: Map<String, Value>) -> Message<'a> {
    let Recipient { account, channel, to, identification, locale } = to;
    Message { account, identification, locale, channel, to, slug, data, expire_at: None }
}

fn proof<'a>(act: &Act, to: Recipient<'a>, slug: &'static str, name: &str, secret: &str) -> Message<'a> {
    let data =
        [(name.to_owned(), json!(secret)), ("ttl_minutes".to_owned(), json!(VERIFICATION_MS / 60_000))];
    let expire_at = Some(act.now.plus_ms(VERIFICATION_MS));
    Message { expire_at, ..message(to, slug, Map::from_iter(data)) }
}

/// A one-time code.
pub fn code<'a>(act: &Act, to: Recipient<'a>, digits: &Secret) -> Message<'a> {
    proof(act, to, "verification_code", "otp_code", digits.expose())
}

/// A code to choose a new password with. Those without an account get one that opens nothing, and must not
/// learn of it here.
pub fn reset_code<'a>(act: &Act, to: Recipient<'a>, digits: &Secret) -> Message<'a> {
    proof(act, to, "reset_password_code", "otp_code", digits.expose())
}

/// A code that shows that an organization uses the domain of an address. The organization is given by its name and the
/// URL of its logo.
pub fn affiliation_code<'a>(
    act: &Act,
    to: Recipient<'a>,
    digits: &Secret,
    (name, logo): (&str, &str),
) -> Message<'a> {
    let mut message = proof(act, to, "affiliation_code", "otp_code", digits.expose());
    message.data.insert("org".to_owned(), json!({"name": name, "logo_image_url": logo}));
    message
}

/// What a link is for.
#[derive(Clone, Copy)]
pub enum Purpose {
    SignIn,
    SignUp,
    /// Proving that an address is one's own.
    Profile,
}

/// A link that proves the address.
pub fn link<'a>(act: &Act, to: Recipient<'a>, purpose: Purpose, url: &str) -> Message<'a> {
    let slug = match purpose {
        Purpose::SignIn => "magic_link_sign_in",
        Purpose::SignUp => "magic_link_sign_up",
        Purpose::Profile => "magic_link_user_profile",
    };
    proof(act, to, slug, "magic_link", url)
}

/// A message that tells of something.
pub fn notice<'a>(to: Recipient<'a>, slug: &'static str, data: Map<String, Value>) -> Message<'a> {
    message(to, slug, data)
}

/// The languages somebody reads, best first: their own if it is known, else that of the attempt, else those
/// of their browser. What a browser refuses is no way out either: `de;q=0` also where it asks for `de-AT`.
pub fn languages(own: Option<&str>, attempt: Option<&str>, accepted: &str) -> Vec<String> {
    let wanted = match own.or(attempt).filter(|tag| is_locale(tag)) {
        Some(tag) => fallbacks(tag),
        None => {
            let (accepted, refused) = accepted_languages(accepted);
            let all = accepted.iter().flat_map(|tag| fallbacks(tag));
            all.filter(|tag| !refused.contains(tag)).collect()
        }
    };
    let mut seen = BTreeSet::new();
    wanted.into_iter().filter(|tag| seen.insert(tag.clone())).collect()
}

/// The languages of an `Accept-Language` header, best first, and those it refuses (RFC 9110, 12.5.4).
fn accepted_languages(header: &str) -> (Vec<String>, Vec<String>) {
    let read = |part: &str| {
        let (tag, weight) = part.split_once(';').unwrap_or((part, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.trim().parse::<f32>().ok());
        let weight = weight.filter(|weight| *weight >= 0.0)?;
        is_locale(tag.trim()).then(|| (canonical(tag.trim()), weight))
    };
    let mut found: Vec<(String, f32)> = header.split(',').take(LANGUAGES).filter_map(read).collect();
    found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let (accepted, refused): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, weight)| *weight > 0.0);
    let tags = |of: Vec<(String, f32)>| of.into_iter().map(|(tag, _)| tag).collect();
    (tags(accepted), tags(refused))
}

/// The variant of a template for somebody who reads these languages, if there is one. Whoever reads English is
/// served well by the template itself, and better than by a variant in what they read less.
pub fn variant<'a>(stored: &'a [StoredTemplate], languages: &[String]) -> Option<&'a StoredTemplate> {
    let of = |tag: &String| stored.iter().find(|stored| !stored.locale.is_empty() && stored.locale == *tag);
    let best = languages.iter().find(|tag| *tag == OWN_LANGUAGE || of(tag).is_some())?;
    of(best)
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::kinds::InstanceId;
    use latchkey_base::rng::SeededRng;
    use latchkey_letters::catalogue;
    use latchkey_letters::model::Channel;

    use super::*;

    #[test]
    fn the_language_somebody_chose_counts_before_that_of_their_browser() {
        assert_eq!(languages(Some("pt-br"), Some("de"), "fr"), ["pt-BR", "pt"]);
        assert_eq!(languages(None, Some("de"), "fr"), ["de"]);
        assert_eq!(languages(None, None, "fr;q=0.5, de-AT, *;q=0.1, es;q=0, x y"), ["de-AT", "de", "fr"]);
        assert_eq!(languages(None, None, "en-GB, en-US, en, de"), ["en-GB", "en", "en-US", "de"]);
        assert!(languages(None, None, "").is_empty());
        assert_eq!(languages(None, None, "de-AT, DE;q=0, fr;q=0.0, fr-CA;q=0.1"), ["de-AT", "fr-CA"]);
    }

    #[test]
    fn the_template_itself_is_the_one_in_english() {
        let system = catalogue::find(Channel::Email, "verification_code").unwrap();
        let id = InstanceId::new(Time::from_ms(1_767_225_600_000), &SeededRng::new(1));
        let chosen = |variants: &[&str], accepted: &str| {
            let stored: Vec<StoredTemplate> = variants
                .iter()
                .map(|locale| StoredTemplate::new(id.clone(), system, locale, Time::from_ms(0)))
                .collect();
            variant(&stored, &languages(None, None, accepted)).map(|stored| stored.locale.clone())
        };
        assert_eq!(chosen(&["de"], "en-US,en;q=0.9,de;q=0.1"), None);
        assert_eq!(chosen(&["de"], "en-GB,de"), None);
        assert_eq!(chosen(&["de"], "de,en;q=0.9").as_deref(), Some("de"));
        assert_eq!(chosen(&["de"], "fr,de;q=0.5,en;q=0.1").as_deref(), Some("de"));
        assert_eq!(chosen(&["de"], "en;q=0,de;q=0.1").as_deref(), Some("de"));
        assert_eq!(chosen(&["de", "en"], "en-US,de;q=0.1").as_deref(), Some("en"));
        assert_eq!(chosen(&["de", "en-GB"], "en-GB,de;q=0.1").as_deref(), Some("en-GB"));
        assert_eq!(chosen(&["", "fr"], "es"), None);
    }
}
