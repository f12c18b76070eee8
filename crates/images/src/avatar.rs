//! The picture of somebody who has not uploaded one.
//!
//! It is drawn from a seed, so it needs no storage and stays the same for as long as the seed does. It is
//! SVG because it is ours: nothing from outside enters it but two letters. This module must not know
//! what the seed is; callers pass an id.

use crate::palette::{DIRECTIONS, GRADIENTS};

/// Draws the avatar of `seed`, with at most two letters or digits of `initials` on it.
///
/// The document is self-contained: no script, no style sheet, no reference to anything outside.
pub fn default_avatar(seed: &str, initials: Option<&str>) -> String {
    let hash = fnv1a(seed.as_bytes());
    let (light, dark) = pick(&GRADIENTS, hash);
    let (x1, y1, x2, y2) = pick(&DIRECTIONS, hash >> 32);
    // The name of the gradient carries the hash: inlined in one page, two avatars would otherwise share
    // the colours of the first.
    format!(
        concat!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 128 128" width="128" height="128">"#,
            r#"<defs><linearGradient id="g{hash:016x}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}">"#,
            r#"<stop offset="0" stop-color="{light}"/><stop offset="1" stop-color="{dark}"/>"#,
            r#"</linearGradient></defs><rect width="128" height="128" fill="url(#g{hash:016x})"/>"#,
            "{letters}</svg>"
        ),
        hash = hash,
        x1 = x1,
        y1 = y1,
        x2 = x2,
        y2 = y2,
        light = light,
        dark = dark,
        letters = letters(initials.unwrap_or_default()),
    )
}

/// The first letter or digit of each name, upper-cased. `None` when neither name has one.
pub fn initials(first: Option<&str>, last: Option<&str>) -> Option<String> {
    let initials: String =
        [first, last].into_iter().flatten().filter_map(|name| shown(name).next()).collect();
    (!initials.is_empty()).then_some(initials)
}

fn letters(initials: &str) -> String {
    let text: String = shown(initials).take(2).collect();
    if text.is_empty() {
        return String::new();
    }
    // `dy` rather than `dominant-baseline`, which mail programs and older renderers ignore.
    format!(
        concat!(
            r##"<text x="64" y="64" dy=".355em" text-anchor="middle" fill="#fff" font-size="46" "##,
            r#"font-weight="600" font-family="system-ui,-apple-system,'Segoe UI',Roboto,"#,
            r#"Helvetica,Arial,sans-serif">{}</text>"#
        ),
        text
    )
}

/// The letters and digits of a text, upper-cased one for one ("ß" gives "S", not "SS").
///
/// This is also what makes the text safe inside XML: none of its special characters is a letter or digit.
fn shown(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| letter.is_alphanumeric()).filter_map(|letter| letter.to_uppercase().next())
}

fn pick<T: Copy, const N: usize>(choices: &[T; N], hash: u64) -> T {
    choices[(hash % N as u64) as usize]
}

/// FNV-1a, 64 bits: stable across releases, which the hashers of the standard library are not.
fn fnv1a(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    // The last byte leaves most of the middle bits alone, and ids of one second differ late. One more
    // round of multiplying spreads it.
    let spread = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    spread ^ spread >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_picture() {
        assert_eq!(default_avatar("user_1", Some("AB")), default_avatar("user_1", Some("AB")));
        assert_ne!(default_avatar("user_1", Some("AB")), default_avatar("user_2", Some("AB")));
    }

    #[test]
    fn a_picture_does_not_change_between_releases() {
        assert_eq!(
            default_avatar("user_1", None),
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 128 128" width="128" height="128">"#,
                r#"<defs><linearGradient id="g50535a5373791212" x1="0" y1="0" x2="1" y2="1">"#,
                r##"<stop offset="0" stop-color="#f17074"/><stop offset="1" stop-color="#b41c62"/>"##,
                r#"</linearGradient></defs><rect width="128" height="128" fill="url(#g50535a5373791212)"/></svg>"#,
            )
        );
    }

    #[test]
    fn seeds_spread_over_all_gradients() {
        let mut counts = [0; GRADIENTS.len()];
        for seed in 0..1800 {
            let avatar = default_avatar(&format!("user_{seed}"), None);
            let at =
                GRADIENTS.iter().position(|(light, dark)| avatar.contains(light) && avatar.contains(dark));
            counts[at.unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (50..200).contains(count)), "{counts:?}");
    }

    #[test]
    fn markup_in_initials_does_not_reach_the_document() {
        for hostile in ["<&", "\"'>", "]]>", "<!---->", "\u{0}\u{202e}"] {
            assert_eq!(default_avatar("user_1", Some(hostile)), default_avatar("user_1", None));
        }
        assert!(default_avatar("user_1", Some("<a&b>")).ends_with(">AB</text></svg>"));
        assert!(default_avatar("user_1", Some("&amp;")).ends_with(">AM</text></svg>"));
        assert!(default_avatar("user_1", Some("<script>alert(1)</script>")).ends_with(">SC</text></svg>"));
    }

    #[test]
    fn the_seed_does_not_reach_the_document() {
        assert!(!default_avatar("\"><script>", None).contains("script"));
    }

    #[test]
    fn at_most_two_characters_are_shown() {
        assert!(default_avatar("u", Some("a-b c")).contains(">AB</text>"));
        assert!(default_avatar("u", Some("é7x")).contains(">É7</text>"));
        assert!(default_avatar("u", Some("ßx")).contains(">SX</text>"));
        assert!(default_avatar("u", Some("王")).contains(">王</text>"));
        assert!(!default_avatar("u", Some(" -!")).contains("<text"));
    }

    #[test]
    fn initials_come_from_both_names() {
        assert_eq!(initials(Some("ada"), Some("Lovelace")).as_deref(), Some("AL"));
        assert_eq!(initials(Some(" 'Abd"), None).as_deref(), Some("A"));
        assert_eq!(initials(None, Some("ørsted")).as_deref(), Some("Ø"));
        assert_eq!(initials(Some("<>"), Some("")), None);
        assert_eq!(initials(None, None), None);
    }
}
