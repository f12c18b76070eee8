//! What the log may say of why a message was not sent. Mail servers and providers repeat the address or the number in
//! their replies; the whole reply is kept with the message, where its owner reads it.

/// Digits that make a number: status codes have fewer.
const NUMBER_DIGITS: usize = 7;
/// Names of mailboxes that are looked for inside of words too; shorter ones are parts of too many words.
const NAME_CHARS: usize = 3;

/// A reason without addresses and numbers, of the recipient or of anybody else.
pub(super) fn redacted(why: &str, to: &str) -> String {
    let mailbox = to.rsplit_once('@').map_or("", |(name, _)| name).to_lowercase();
    let name = mailbox.split('+').next().unwrap_or_default();
    let without_numbers = without_numbers(why);
    let words = without_numbers.split(' ').map(|word| if is_about(word, name) { "[address]" } else { word });
    words.collect::<Vec<&str>>().join(" ")
}

/// Whether a word is an address, written plainly or escaped, or the name of the recipient's mailbox.
fn is_about(word: &str, name: &str) -> bool {
    let word = word.to_lowercase();
    let is_name = match name.chars().count() {
        0 => false,
        1..NAME_CHARS => word.split(|c: char| !c.is_alphanumeric()).any(|part| part == name),
        _ => word.contains(name),
    };
    is_name || ["@", "%40", "&#64;", "\\u0040"].iter().any(|at| word.contains(at))
}

/// The text with every number of some length taken out, however it is grouped.
fn without_numbers(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || " ()+-./".contains(c);
    let mut rest = text;
    let mut kept = String::new();
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let (group, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
        kept.push_str(before);
        match group.bytes().filter(u8::is_ascii_digit).count() < NUMBER_DIGITS {
            true => kept.push_str(group),
            false => kept.push_str("[number] "),
        }
        rest = after;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_that_repeat_the_recipient_are_logged_without() {
        for (why, to, logged) in [
            (
                "permanent error (550): 5.1.1 <Ada@Example.com>: Recipient address rejected",
                "ada@example.com",
                "permanent error (550): 5.1.1 [address] Recipient address rejected",
            ),
            ("550 ada... User unknown", "ada+news@example.com", "550 [address] User unknown"),
            ("no mailbox 'jo' here", "jo@example.com", "no mailbox [address] here"),
            ("a job of joe", "jo@example.com", "a job of joe"),
            ("to=ada%40example.com refused", "x@y.example", "[address] refused"),
            (
                "400: The number +49 (30) 123-4567 is unreachable",
                "+49301234567",
                "400: The number +[number] is unreachable",
            ),
            ("400: 15555550100 is no number (21211).", "+15555550100", "400: [number] is no number (21211)."),
            (
                "The mail server did not take the message in time.",
                "ada@example.com",
                "The mail server did not take the message in time.",
            ),
        ] {
            assert_eq!(redacted(why, to), logged);
        }
    }
}
