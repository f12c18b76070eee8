//! Language tags (BCP 47, RFC 5646, section 2.1), as locales are named everywhere.

/// Longer ones are never needed (RFC 5646, 4.4.1).
const MAX_LEN: usize = 35;

/// Whether a text is a well-formed language tag, such as `en-US`. A language has a code of two or three
/// letters: longer ones are allowed by the grammar, but no language has one, and `german` is a slip.
pub fn is_locale(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let mut rest = parts.as_slice();
    let mut take = |most: usize, fits: fn(&str) -> bool| {
        let count = rest.iter().take(most).take_while(|part| fits(part)).count();
        rest = rest.get(count..).unwrap_or_default();
        count
    };
    if text.len() > MAX_LEN || take(1, |part| is_letters(part, 2) || is_letters(part, 3)) == 0 {
        return false;
    }
    take(3, |part| is_letters(part, 3));
    take(1, |part| is_letters(part, 4));
    take(1, is_region);
    take(usize::MAX, is_variant);
    while take(1, |part| is_mixed(part, 1, 1) && !part.eq_ignore_ascii_case("x")) == 1 {
        if take(usize::MAX, |part| is_mixed(part, 2, 8)) == 0 {
            return false;
        }
    }
    let is_private = take(1, |part| part.eq_ignore_ascii_case("x")) == 1;
    let is_complete = !is_private || take(usize::MAX, |part| is_mixed(part, 1, 8)) > 0;
    is_complete && rest.is_empty()
}

fn is_letters(part: &str, len: usize) -> bool {
    part.len() == len && part.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_mixed(part: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_region(part: &str) -> bool {
    is_letters(part, 2) || (part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_variant(part: &str) -> bool {
    is_mixed(part, 5, 8) || (is_mixed(part, 4, 4) && part.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::is_locale;

    #[test]
    fn locales_are_well_formed_language_tags() {
        for tag in [
            "en",
            "EN",
            "haw",
            "en-US",
            "es-419",
            "zh-Hant-TW",
            "zh-cmn-Hans-CN",
            "sl-rozaj-1994",
            "de-CH-1996",
            "de-DE-u-co-phonebk",
            "en-a-bbb-x-a",
            "de-x-shop",
        ] {
            assert!(is_locale(tag), "{tag}");
        }
    }

    #[test]
    fn names_of_languages_and_malformed_tags_are_none() {
        for tag in [
            "",
            "e",
            "german",
            "english-US",
            "en_US",
            "en-",
            "-en",
            "en--US",
            "en-U",
            "en-US-Hant",
            "en-US-DE",
            "x-shop",
            "de-x",
            "de-u",
            "12",
            "d3",
            "de-DE-u-co-phonebk-x-aaaaaaaa-bbbbbbbb",
            "dé",
        ] {
            assert!(!is_locale(tag), "{tag}");
        }
    }
}
