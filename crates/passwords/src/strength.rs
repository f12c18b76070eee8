//! Guessability as zxcvbn estimates it, and its advice in the words the sign-up form knows.
//!
//! The form's texts are keyed by the suggestion codes of zxcvbn-ts; the Rust port has its own enum. This file is the
//! only place that knows both.

use zxcvbn::feedback::Suggestion;
use zxcvbn::zxcvbn;

/// How much of a password zxcvbn reads. Its time grows with the cube of the length: a hundred characters full of digits
/// and punctuation that can stand for letters take most of a second, which anybody could ask for at the sign-up form;
/// fifty take a sixteenth of one. Fifty characters it finds weak are rarely made strong by more of them.
const MAX_CHARS: usize = 50;

/// What to improve: the codes of zxcvbn's suggestions when the password scores below `min_score`, and `None` when it
/// is strong enough. `identifiers` count as words a guesser knows.
pub(crate) fn suggestions(password: &str, identifiers: &[&str], min_score: u8) -> Option<Vec<String>> {
    let prefix: String = password.chars().take(MAX_CHARS).collect();
    let estimate = zxcvbn(&prefix, identifiers);
    if u8::from(estimate.score()) >= min_score {
        return None;
    }
    // A middling password gets no advice from zxcvbn, but whoever asks for the highest score must tell the person
    // something.
    match estimate.feedback().map(|feedback| feedback.suggestions()) {
        None | Some([]) => Some(vec![code(Suggestion::AddAnotherWordOrTwo).to_owned()]),
        Some(given) => Some(given.iter().map(|suggestion| code(*suggestion).to_owned()).collect()),
    }
}

/// The English sentence for a code in [`Weakness::NotStrongEnough`](crate::Weakness::NotStrongEnough).
pub fn suggestion_message(code: &str) -> Option<&'static str> {
    Some(match code {
        "allUppercase" => "Capitalize some, but not all letters.",
        "anotherWord" => "Add more words that are less common.",
        "associatedYears" => "Avoid years that are associated with you.",
        "capitalization" => "Capitalize more than the first letter.",
        "dates" => "Avoid dates and years that are associated with you.",
        "l33t" => "Avoid predictable letter substitutions like '@' for 'a'.",
        "longerKeyboardPattern" => "Use longer keyboard patterns and change typing direction multiple times.",
        "noNeed" => "You can create strong passwords without using symbols, numbers, or uppercase letters.",
        "recentYears" => "Avoid recent years.",
        "repeated" => "Avoid repeated words and characters.",
        "reverseWords" => "Avoid reversed spellings of common words.",
        "sequences" => "Avoid common character sequences.",
        "useWords" => "Use multiple words, but avoid common phrases.",
        _ => return None,
    })
}

const fn code(suggestion: Suggestion) -> &'static str {
    match suggestion {
        Suggestion::AddAnotherWordOrTwo => "anotherWord",
        Suggestion::AllUppercaseIsAlmostAsEasyToGuessAsAllLowercase => "allUppercase",
        Suggestion::AvoidDatesAndYearsThatAreAssociatedWithYou => "dates",
        Suggestion::AvoidRecentYears => "recentYears",
        Suggestion::AvoidRepeatedWordsAndCharacters => "repeated",
        Suggestion::AvoidSequences => "sequences",
        Suggestion::AvoidYearsThatAreAssociatedWithYou => "associatedYears",
        Suggestion::CapitalizationDoesntHelpVeryMuch => "capitalization",
        Suggestion::NoNeedForSymbolsDigitsOrUppercaseLetters => "noNeed",
        Suggestion::PredictableSubstitutionsDontHelpVeryMuch => "l33t",
        Suggestion::ReversedWordsArentMuchHarderToGuess => "reverseWords",
        Suggestion::UseAFewWordsAvoidCommonPhrases => "useWords",
        Suggestion::UseALongerKeyboardPatternWithMoreTurns => "longerKeyboardPattern",
    }
}
