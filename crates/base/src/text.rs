//! Shapes of the texts people are known by: e-mail addresses, phone numbers, usernames, wallets,
//! names and locales; and the folded form in which they are compared.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use crate::error::{Code, Problem};

/// Longest first or last name.
pub const NAME_MAX: usize = 256;
/// Longest e-mail address (RFC 5321, 4.5.3.1.3).
const EMAIL_MAX: usize = 254;
/// Longest address as somebody may type it: every letter of it may take four bytes, until the domain is mapped.
const EMAIL_TYPED_MAX: usize = 4 * EMAIL_MAX;
/// Longest local part (RFC 5321, 4.5.3.1.1).
const LOCAL_PART_MAX: usize = 64;

/// The only letter besides those of ASCII whose small form is a letter of ASCII.
const KELVIN: char = '\u{212a}';

/// The form in which two texts are compared: case is forgotten, letter by letter, so that a part of a
/// text folds to a part of the folded text. `str::to_lowercase` is no help, because the small form of a
/// sigma depends on what follows it.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // Whoever has the sign for kelvin in their name is nobody with a `k`.
            KELVIN => folded.push(KELVIN),
            _ => folded.extend(letter.to_lowercase().map(|small| if small == 'ς' { 'σ' } else { small })),
        }
    }
    folded
}

/// An e-mail address in the form it is stored, shown and compared in, or `None` when it is none.
///
/// RFC 5322 dot-atom addresses only: quoted local parts, comments, address literals and display
/// names are legal there, yet never what a person means, and each has been a way to smuggle
/// something past a check. The domain is written as DNS knows it, since that is where mail goes: however `Bücher` is
/// written, the address ends in `@xn--bcher-kva.example`.
pub fn email(text: &str) -> Option<String> {
    let (local, domain) = text.rsplit_once('@').filter(|_| text.len() <= EMAIL_TYPED_MAX)?;
    let is_atom = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| {
                c.is_ascii_alphanumeric()
                    || "!#$%&'*+-/=?^_`{|}~".contains(c)
                    || (!c.is_ascii() && c.is_alphanumeric() && c != KELVIN)
            })
    };
    let local_fits = local.len() <= LOCAL_PART_MAX && local.split('.').all(is_atom);
    let address = [&local.to_lowercase(), "@", &domain_in_dns(domain)?].concat();
    (local_fits && address.len() <= EMAIL_MAX).then_some(address)
}

/// A domain name in the form it is stored and compared in, the same as behind the `@` of an address; or `None` when it
/// is none.
pub fn domain(text: &str) -> Option<String> {
    // Mapping a long name takes long.
    (text.len() <= EMAIL_TYPED_MAX).then(|| domain_in_dns(text)).flatten()
}

/// The domain of an address in the form in which it is stored.
pub fn domain_of(address: &str) -> &str {
    address.rsplit_once('@').map_or("", |(_, domain)| domain)
}

/// A domain name as DNS knows it: mapped by UTS 46, which includes NFKC and small letters, with every label that is
/// not ASCII as its A-label. `None` if it is no name of at least two labels.
fn domain_in_dns(domain: &str) -> Option<String> {
    let checks = (AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Verify);
    let name = Uts46::new().to_ascii(domain.as_bytes(), checks.0, checks.1, checks.2).ok()?;
    let (_, top) = name.rsplit_once('.')?;
    (!top.bytes().all(|byte| byte.is_ascii_digit())).then(|| name.into_owned())
}

/// The address with its domain as people read it, where that differs from how it is stored.
pub fn readable_email(address: &str) -> Option<String> {
    let (local, domain) = address.rsplit_once('@').filter(|(_, domain)| domain.contains("xn--"))?;
    readable_domain(domain)
        .map(|domain| [local, "@", &domain].concat())
        .filter(|readable| readable != address)
}

/// A domain, or the beginning of one, mapped by UTS 46 and without A-labels.
pub fn readable_domain(domain: &str) -> Option<String> {
    let (name, checked) = Uts46::new().to_unicode(domain.as_bytes(), AsciiDenyList::STD3, Hyphens::Allow);
    checked.ok().map(|()| name.into_owned())
}

/// A part of a text as it is looked for in folded texts. What stands behind an `@` is a domain, which may be written
/// in several ways.
pub fn search_term(text: &str) -> String {
    let text = text.trim();
    // Half an A-label would be read as something else.
    let is_readable = text.len() <= EMAIL_TYPED_MAX && !fold(text).contains("xn--");
    let address = text.rsplit_once('@').filter(|_| is_readable);
    match address.and_then(|(local, domain)| Some((local, readable_domain(domain)?))) {
        Some((local, domain)) => [fold(local).as_str(), "@", &fold(&domain)].concat(),
        None => fold(text),
    }
}

/// What marks an address of e-mail as one of many of the same person, as published.
pub const SUBADDRESS_MARKS: [char; 3] = ['+', '=', '#'];
/// Domains of one provider, at which dots in the local part make no difference.
pub const DOTS_IGNORED: [&str; 2] = ["gmail.com", "googlemail.com"];

/// What a provider of mailboxes makes of an address.
struct MailProvider {
    domains: &'static [&'static str],
    /// The domain that stands for all of them, where an address leads to the same mailbox at each.
    shared: Option<&'static str>,
    /// What begins a tag besides the usual marks.
    mark: Option<char>,
    /// Letters of the local part that count as the text behind them.
    alike: (&'static [char], &'static str),
}

/// Providers with rules of their own. At all others only what stands behind a mark makes no difference.
const MAIL_PROVIDERS: [MailProvider; 5] = [
    // Gmail.
    MailProvider { domains: &DOTS_IGNORED, shared: Some("gmail.com"), mark: None, alike: (&['.'], "") },
    // Proton. Whoever has an address has it at all domains.
    MailProvider {
        domains: &["proton.me", "protonmail.com", "protonmail.ch", "pm.me"],
        shared: Some("proton.me"),
        mark: None,
        alike: (&['.', '-', '_'], ""),
    },
    // iCloud.
    MailProvider {
        domains: &["icloud.com", "me.com", "mac.com"],
        shared: Some("icloud.com"),
        mark: None,
        alike: (&[], ""),
    },
    // Yahoo. Its names have no hyphens, so one begins a tag; each domain has names of its own.
    MailProvider {
        domains: &[
            "yahoo.com",
            "yahoo.co.uk",
            "yahoo.ca",
            "yahoo.de",
            "yahoo.fr",
            "yahoo.it",
            "yahoo.es",
            "yahoo.in",
            "yahoo.co.in",
            "yahoo.com.br",
            "ymail.com",
            "rocketmail.com",
        ],
        shared: None,
        mark: Some('-'),
        alike: (&[], ""),
    },
    // Yandex.
    MailProvider {
        domains: &["yandex.ru", "yandex.com", "yandex.by", "yandex.kz", "yandex.ua", "ya.ru"],
        shared: Some("yandex.ru"),
        mark: None,
        alike: (&['-'], "."),
    },
];
const OTHER_PROVIDER: MailProvider =
    MailProvider { domains: &[], shared: None, mark: None, alike: (&[], "") };

/// The mailbox an e-mail address leads to, for counting what arrives there: `a+1@x.example` and `A+2@x.example` are one, and
/// so are `a.b@gmail.com` and `ab@googlemail.com`. Not for telling who somebody is: some servers have no sub-addresses.
pub fn mailbox(address: &str) -> String {
    let Some((local, domain)) = address.rsplit_once('@') else { return fold(address) };
    let (local, domain) = (fold(local), fold(domain));
    let provider = MAIL_PROVIDERS.iter().find(|it| it.domains.contains(&&*domain)).unwrap_or(&OTHER_PROVIDER);
    let is_mark = |letter| SUBADDRESS_MARKS.contains(&letter) || provider.mark == Some(letter);
    let owner = local.split(is_mark).next().filter(|owner| !owner.is_empty()).unwrap_or(&local);
    let (letters, same) = provider.alike;
    format!("{}@{}", owner.replace(letters, same), provider.shared.unwrap_or(&domain))
}

/// A phone number in E.164 form, or `None`.
pub fn phone(text: &str) -> Option<String> {
    let digits = text.strip_prefix('+')?;
    let fits = (7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    (fits && !digits.starts_with('0')).then(|| text.to_owned())
}

/// A phone number as people write one, with spaces, dashes, dots and brackets, in E.164 form, or `None`.
pub fn typed_phone(text: &str) -> Option<String> {
    let digits: String = text.trim().chars().filter(|letter| !" -().".contains(*letter)).collect();
    phone(&digits)
}

/// A wallet address in the form it is stored in: Ethereum (`0x` and 40 hex digits, lower-cased) or
/// Solana (32 to 44 base-58 digits, kept as they are).
pub fn wallet(text: &str) -> Option<String> {
    if let Some(hex) = text.strip_prefix("0x") {
        return (hex.len() == 40 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| fold(text));
    }
    let base58 = |byte: u8| byte.is_ascii_alphanumeric() && !b"0OIl".contains(&byte);
    ((32..=44).contains(&text.len()) && text.bytes().all(base58)).then(|| text.to_owned())
}

/// What is wrong with a username, if anything.
pub fn username_problem(text: &str, min: usize, max: usize) -> Option<Problem> {
    let length = text.chars().count();
    let code = if phone(text).is_some() {
        Code::FormUsernameCannotBePhoneNumber
    } else if !text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        Code::FormUsernameInvalidCharacter
    } else if length < min || length > max {
        Code::FormUsernameInvalidLength
    } else if text.chars().all(|c| c.is_ascii_digit()) {
        Code::FormUsernameNeedsNonNumberChar
    } else {
        return None;
    };
    Some(match code {
        Code::FormUsernameInvalidLength => Problem::of(code, "username")
            .saying(format!("A username has between {min} and {max} characters.")),
        _ => Problem::of(code, "username"),
    })
}

/// What is wrong with a first or last name, if anything. Markup and links in a name end up in other
/// people's mail and pages, so they are refused.
pub fn name_problem(param: &str, text: &str) -> Option<Problem> {
    if text.chars().count() > NAME_MAX {
        return Some(
            Problem::of(Code::FormParamMaxLengthExceeded, param)
                .saying(format!("A name has at most {NAME_MAX} characters.")),
        );
    }
    let folded = fold(text);
    let is_markup = text.contains(['<', '>']);
    // `=?` begins a word that mail programs decode, and show as what it must not be.
    let is_link = ["//", ":/", "www.", "=?"].iter().any(|mark| folded.contains(mark));
    let has_control = text.chars().any(|c| c.is_control() || turns_direction(c));
    (is_markup || is_link || has_control).then(|| {
        Problem::of(Code::FormParamValueInvalid, param)
            .saying("A name must not contain links, markup or control characters.")
    })
}

/// Characters that make what follows run the other way, so that a text can show what it does not say.
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether an address is one of the test addresses that never receive anything: `name+clerk_test@…`, also with
/// more behind it that is no word of its own, such as `+clerk_test_2` and `+clerk_test2`.
pub fn is_test_email(address: &str) -> bool {
    let local = address.rsplit_once('@').map_or("", |(local, _)| local);
    local
        .match_indices("+clerk_test")
        .any(|(at, mark)| !local[at + mark.len()..].starts_with(|next: char| next.is_ascii_alphabetic()))
}

/// Whether a number is one of the fictitious ones set aside for tests: `+1XXX55501XX`.
pub fn is_test_phone(number: &str) -> bool {
    let Some(digits) = number.strip_prefix("+1") else { return false };
    digits.len() == 10 && digits[3..].starts_with("55501")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_no_links_and_do_not_turn_around() {
        let good = ["Ada", "Booking.com", "A/B Testing", "Node.js/React", "St. John", "نور", "R&D: v1.5/v2"];
        for name in good {
            assert_eq!(name_problem("name", name), None, "{name}");
        }
        let links =
            ["Verify at https://evil.com", "//evil.com", "https:/evil.com", "www.evil.com", "=?utf-8?q?a?="];
        for name in links.into_iter().chain(["<b>", "a\u{202e}moc.live", "a\u{2066}b", "a\nb"]) {
            assert!(name_problem("name", name).is_some(), "{name}");
        }
    }

    #[test]
    fn no_letter_of_another_script_is_taken_for_one_of_ascii() {
        let others = (char::from(0x80)..=char::MAX).filter(|letter| letter.is_alphanumeric());
        for letter in others {
            assert!(!fold(&letter.to_string()).is_ascii(), "{letter}");
            let address = email(&format!("{letter}@a.example"));
            assert!(!address.is_some_and(|address| address.is_ascii()), "{letter}");
        }
        assert_eq!(email("\u{212a}ate@a.example"), None);
        assert_eq!((fold("KATE"), fold("\u{212a}ate")), ("kate".into(), "\u{212a}ate".into()));
    }

    #[test]
    fn sub_addresses_lead_to_one_mailbox() {
        for address in ["ada@x.example", "ada+1@x.example", "Ada+2+3@X.example", "ada+@x.example"] {
            assert_eq!(mailbox(address), "ada@x.example");
        }
        for address in
            ["ada.b@gmail.com", "A.d.a.B@GoogleMail.com", "adab+1@googlemail.com", "a.dab=x@gmail.com"]
        {
            assert_eq!(mailbox(address), "adab@gmail.com");
        }
        for address in ["ada.b@proton.me", "A-da_B@protonmail.com", "adab+x@pm.me", "adab@protonmail.ch"] {
            assert_eq!(mailbox(address), "adab@proton.me");
        }
        for address in ["ada.b@icloud.com", "Ada.B+x@me.com", "ada.b@mac.com"] {
            assert_eq!(mailbox(address), "ada.b@icloud.com");
        }
        for address in ["ada.b@yahoo.com", "Ada.B-x@yahoo.com", "ada.b-x-y@yahoo.com"] {
            assert_eq!(mailbox(address), "ada.b@yahoo.com");
        }
        assert_ne!(mailbox("ada@yahoo.com"), mailbox("ada@yahoo.de"));
        for address in ["ada-b@yandex.ru", "Ada.B+x@ya.ru", "ada.b@yandex.com", "ada-b@yandex.kz"] {
            assert_eq!(mailbox(address), "ada.b@yandex.ru");
        }
        assert_ne!(mailbox("adab@yandex.ru"), mailbox("ada.b@yandex.ru"));
        assert_eq!(mailbox("Ada-b.c+x@outlook.com"), "ada-b.c@outlook.com");
        assert_ne!(mailbox("ada@outlook.com"), mailbox("ada@hotmail.com"));
        assert_ne!(mailbox("ad.a@x.example"), mailbox("ada@x.example"));
        assert_eq!(mailbox("+ada@x.example"), "+ada@x.example");
        assert_ne!(mailbox("ada+1@x.example"), mailbox("ada+1@y.example"));
    }

    #[test]
    fn emails_are_folded_and_odd_ones_refused() {
        assert_eq!(email("Ada.Lovelace+x@Example.COM").as_deref(), Some("ada.lovelace+x@example.com"));
        for bad in [
            "",
            "a",
            "a@",
            "@b.c",
            "a@b",
            "a@b..c",
            "a b@c.de",
            "a@b.c\n",
            "a@-b.de",
            "\"a b\"@c.de",
            "a@[127.0.0.1]",
            "Ada <a@b.de>",
            ".a@b.de",
            "a.@b.de",
            "a@b.c\0",
            "a@1.2.3.4",
            &format!("{}@b.de", "x".repeat(65)),
        ] {
            assert_eq!(email(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_mailbox_is_one_however_its_domain_is_written() {
        let ways = [
            "Ada@xn--bcher-kva.example",
            "ada@XN--BCHER-KVA.Example",
            "ada@bücher.example",
            "ada@BÜCHER.EXAMPLE",
            "ada@bu\u{308}cher.example",
            "ada@bü\u{ad}cher.example",
            "ada@ｂüｃｈｅｒ．ｅｘａｍｐｌｅ",
            "ada@bücher。example",
            "ada@bücher｡example",
            "ada@𝐛ü𝐜𝐡𝐞𝐫.example",
        ];
        for way in ways {
            assert_eq!(email(way).as_deref(), Some("ada@xn--bcher-kva.example"), "{way}");
        }
        assert_eq!(email("ada@straße.example").as_deref(), Some("ada@xn--strae-oqa.example"), "not strasse");
        assert_eq!(email("ada@ｅxample.com").as_deref(), Some("ada@example.com"));
        assert_eq!(email("ADA@例え.jp").as_deref(), Some("ada@xn--r8jz45g.jp"));
        assert_eq!(email("ａda@example.com").as_deref(), Some("ａda@example.com"), "another local part");
        for stored in ["ada@r3---sn.example", "a@b-c.de", "ada@xn--bcher-kva.example"] {
            assert_eq!(email(stored).as_deref(), Some(stored));
        }
    }

    #[test]
    fn domains_that_dns_cannot_have_are_refused() {
        let long = format!("a@{}.example", "ü".repeat(64));
        let much = format!("a@{}example.com", "ü.".repeat(100_000));
        for bad in [
            "a@xn--a.example",
            "a@xn--.example",
            "a@b＠c.de",
            "a@b／c.de",
            "a@１.２.３.４",
            "a@bücher",
            "a@bücher..example",
            "a@bücher.example.",
            "a@bü cher.example",
            "a@bü_cher.example",
            "a@-bücher.example",
            "a@\u{200d}.example",
            "a@אb.example",
            "a@\u{ad}.example",
            &long,
            &much,
        ] {
            assert_eq!(email(bad), None, "{bad:.60?}");
        }
    }

    #[test]
    fn domains_are_found_as_they_are_stored_and_as_they_are_read() {
        assert_eq!(readable_email("ada@xn--bcher-kva.example").as_deref(), Some("ada@bücher.example"));
        assert_eq!(readable_email("xn--@example.com"), None);
        for term in ["Ada@BÜCHER.ex", "ada@bu\u{308}cher.ex ", "ada@ＢÜcher。ex"] {
            assert_eq!(search_term(term), "ada@bücher.ex", "{term}");
        }
        assert_eq!(search_term(" Ada "), "ada");
        assert_eq!(search_term("ada@XN--bch"), "ada@xn--bch");
        assert_eq!(search_term("@Exa"), "@exa");
    }

    #[test]
    fn phones_are_e164_only() {
        assert_eq!(phone("+14155550100").as_deref(), Some("+14155550100"));
        for bad in [
            "",
            "+",
            "4155550100",
            "+0155550100",
            "+1 415 555 0100",
            "+12345",
            "+1234567890123456",
            "+1415555010٠",
        ] {
            assert_eq!(phone(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn people_write_phones_in_their_own_ways() {
        for written in ["+14155550155", "+1 (415) 555-0155", " +1.415.555.0155 ", "+1-415-555-0155"] {
            assert_eq!(typed_phone(written).as_deref(), Some("+14155550155"), "{written}");
        }
        for bad in ["", "(415) 555-0155", "+1 (415) 555-01x5", "+1/4155550155", "++14155550155"] {
            assert_eq!(typed_phone(bad), None, "{bad}");
        }
    }

    #[test]
    fn usernames_follow_their_rules() {
        let code = |name: &str| username_problem(name, 4, 64).map(|problem| problem.code);
        assert_eq!(code("ada_lovelace-1"), None);
        assert_eq!(code("ada"), Some(Code::FormUsernameInvalidLength));
        assert_eq!(code("ada.l"), Some(Code::FormUsernameInvalidCharacter));
        assert_eq!(code("12345"), Some(Code::FormUsernameNeedsNonNumberChar));
        assert_eq!(code("+14155550100"), Some(Code::FormUsernameCannotBePhoneNumber));
    }

    #[test]
    fn wallets_of_both_chains_are_known() {
        assert!(
            wallet("0x71C7656EC7ab88b098defB751B7401B5f6d8976F").is_some_and(|w| w.starts_with("0x71c7"))
        );
        assert!(wallet("7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV").is_some());
        assert!(wallet("0x71C7").is_none() && wallet("not a wallet").is_none());
    }

    #[test]
    fn names_with_links_or_markup_are_refused() {
        assert!(name_problem("first_name", "Ada O'Neil-Łęcka").is_none());
        assert!(name_problem("first_name", "<b>Ada</b>").is_some());
        assert!(name_problem("first_name", "Win at https://evil.example").is_some());
        assert!(name_problem("first_name", &"x".repeat(257)).is_some());
    }

    #[test]
    fn test_identifiers_are_recognised() {
        assert!(is_test_email("ada+clerk_test@example.com") && is_test_email("ada+clerk_test_2@example.com"));
        assert!(is_test_email("ada+clerk_test123@example.com"));
        assert!(!is_test_email("ada@clerk_test.com") && !is_test_email("ada+clerk_testing@example.com"));
        assert!(
            is_test_phone("+14155550123")
                && !is_test_phone("+14155551123")
                && !is_test_phone("+445555012345")
        );
    }
}
