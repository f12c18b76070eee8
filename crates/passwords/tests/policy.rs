//! The password policy: each rule alone, at its edges, and all of them together.

use latchkey_passwords::{MAX_BYTES, Policy, SPECIAL_CHARACTERS, Weakness, check, suggestion_message};

const UNLISTED: &str = "vexed-quilt";

fn faults(policy: &Policy, password: &str) -> Vec<Weakness> {
    check(policy, password, &[])
}

#[test]
fn the_default_policy_takes_an_unlisted_password_of_eight_characters() {
    assert_eq!(faults(&Policy::default(), "vexquilt"), []);
}

#[test]
fn seven_characters_are_too_short_however_many_bytes_they_have() {
    assert_eq!(faults(&Policy::default(), "日本日本日本日"), [Weakness::TooShort { min: 8 }]);
    assert_eq!(faults(&Policy::default(), "日本日本日本日本"), []);
    assert_eq!(faults(&Policy::default(), ""), [Weakness::TooShort { min: 8 }]);
}

#[test]
fn seventy_two_characters_are_the_most_by_default() {
    assert_eq!(faults(&Policy::default(), &"é".repeat(72)), []);
    assert_eq!(faults(&Policy::default(), &"é".repeat(73)), [Weakness::TooLong { max: 72 }]);
}

#[test]
fn no_setting_raises_the_limit_in_bytes() {
    let policy = Policy { max_length: usize::MAX, ..Policy::default() };
    assert_eq!(faults(&policy, &"x".repeat(MAX_BYTES)), []);
    assert_eq!(faults(&policy, &"x".repeat(MAX_BYTES + 1)), [Weakness::TooManyBytes { max: MAX_BYTES }]);
}

#[test]
fn a_megabyte_is_reported_as_too_long_once_and_not_examined_further() {
    let policy = Policy { require_uppercase: true, min_zxcvbn_score: 4, ..Policy::default() };
    assert_eq!(faults(&policy, &"x".repeat(1 << 20)), [Weakness::TooLong { max: 72 }]);
}

#[test]
fn missing_kinds_of_characters_are_all_reported() {
    let policy = Policy {
        require_uppercase: true,
        require_lowercase: true,
        require_numbers: true,
        require_special: true,
        ..Policy::default()
    };
    assert_eq!(
        faults(&policy, "日本日本日本日本"),
        [Weakness::NoUppercase, Weakness::NoLowercase, Weakness::NoNumber, Weakness::NoSpecialChar]
    );
    assert_eq!(faults(&policy, "Vexed-qu1lt"), []);
    assert_eq!(faults(&policy, "vexed-qu1lt"), [Weakness::NoUppercase]);
    assert_eq!(faults(&policy, "VEXED-QU1LT"), [Weakness::NoLowercase]);
    assert_eq!(faults(&policy, "Vexed-quilt"), [Weakness::NoNumber]);
    assert_eq!(faults(&policy, "Vexed9qu1lt"), [Weakness::NoSpecialChar]);
}

#[test]
fn only_the_allowed_special_characters_count_when_some_are_named() {
    let policy =
        Policy { require_special: true, allowed_special_characters: "!]".into(), ..Policy::default() };
    assert_eq!(faults(&policy, UNLISTED), [Weakness::NoSpecialChar]);
    assert_eq!(faults(&policy, "vexed]quilt"), []);
}

#[test]
fn without_a_list_those_count_that_pages_name() {
    let policy = Policy { require_special: true, ..Policy::default() };
    for other in ['\\', ' ', '§', '€'] {
        assert_eq!(faults(&policy, &format!("vexed{other}quilt")), [Weakness::NoSpecialChar], "{other}");
    }
    for special in SPECIAL_CHARACTERS.chars() {
        assert_eq!(faults(&policy, &format!("vexed{special}quilt")), [], "{special}");
    }
}

#[test]
fn a_listed_password_is_breached_in_any_case_unless_the_policy_looks_away() {
    assert_eq!(faults(&Policy::default(), "PASSWORD123"), [Weakness::Breached]);
    assert_eq!(faults(&Policy { refuse_breached: false, ..Policy::default() }, "PASSWORD123"), []);
}

#[test]
fn an_identifier_in_any_case_is_no_password() {
    let identifiers = ["", "Ada@Example.com", "ÉLODIE_1984"];
    let faults = |password| check(&Policy::default(), password, &identifiers);
    assert_eq!(faults("ada@EXAMPLE.com"), [Weakness::MatchesIdentifier]);
    assert_eq!(faults("élodie_1984"), [Weakness::MatchesIdentifier]);
    assert_eq!(faults("ada@example.com2"), []);
    assert_eq!(faults(""), [Weakness::TooShort { min: 8 }]);
}

#[test]
fn guessable_passwords_are_refused_only_when_a_score_is_asked_for() {
    let policy = |min_zxcvbn_score| Policy { min_zxcvbn_score, refuse_breached: false, ..Policy::default() };
    assert_eq!(faults(&policy(0), "abcdefgh1"), []);
    let found = faults(&policy(2), "abcdefgh1");
    assert!(
        matches!(&found[..], [Weakness::NotStrongEnough { suggestions }]
        if suggestions.iter().any(|code| code == "sequences")),
        "{found:?}"
    );
    assert_eq!(faults(&policy(4), "vexed-quilt-mambo-27-orchid"), []);
}

#[test]
fn identifiers_make_a_password_easier_to_guess() {
    let policy = Policy { min_zxcvbn_score: 3, ..Policy::default() };
    let password = "qrxvantlopwe77";
    assert_eq!(check(&policy, password, &[]), []);
    assert!(matches!(check(&policy, password, &["qrxvantlopwe"])[..], [Weakness::NotStrongEnough { .. }]));
}

#[test]
fn every_refusal_for_strength_comes_with_advice_that_has_a_text() {
    let policy = Policy { min_zxcvbn_score: 4, refuse_breached: false, ..Policy::default() };
    let mut refused = 0;
    for password in [
        "password",
        "PASSWORD",
        "drowssap1",
        "p@ssw0rd",
        "qwertyuiop",
        "aaaaaaaa",
        "abcdefgh",
        "19840312",
        "Password1",
        "zxcvbn2019",
        "kvhwzqf",
        "correcthorse",
        "vexquilt",
        "Tr0ub4dour&3",
        "",
    ] {
        for weakness in faults(&policy, password) {
            if let Weakness::NotStrongEnough { suggestions } = weakness {
                refused += 1;
                assert!(!suggestions.is_empty(), "{password}");
                assert!(suggestions.iter().all(|code| suggestion_message(code).is_some()), "{suggestions:?}");
            }
        }
    }
    assert!(refused >= 12, "{refused}");
}

#[test]
fn a_code_nobody_suggests_has_no_text() {
    assert_eq!(suggestion_message("pwned"), None);
}
