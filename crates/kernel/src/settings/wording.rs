//! What is wrong with a setting, told to people who do not write Rust.

/// What the reader of JSON says, in our words.
pub(super) fn in_our_words(text: &str) -> String {
    let unknown = text.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected "));
    if let Some((given, known)) = unknown {
        return format!("{given} is not known; it can be {}.", known.trim_start_matches("one of "));
    }
    let kind =
        ["invalid type: ", "invalid value: "].iter().find_map(|beginning| text.strip_prefix(beginning));
    if let Some((given, expected)) = kind.and_then(|rest| rest.split_once(", expected ")) {
        return format!("It must be {}, not {given}.", plain_type(expected));
    }
    let mut letters = text.chars();
    let capital = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{capital}{}.", letters.as_str())
}

fn plain_type(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a boolean" => "true or false",
        "a string" | "a borrowed string" => "a text",
        "a sequence" => "a list",
        "a map" => "an object",
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("enum ") => "one of the known words",
        _ => expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_without_words_of_the_reader() {
        for (text, told) in [
            (
                "invalid value: integer `-1`, expected usize",
                "It must be a whole number that is not negative, not integer `-1`.",
            ),
            ("invalid type: string \"x\", expected a boolean", "It must be true or false, not string \"x\"."),
            ("invalid type: null, expected struct Session", "It must be an object, not null."),
            (
                "unknown variant `x`, expected one of `a`, `b`, `c`",
                "`x` is not known; it can be `a`, `b`, `c`.",
            ),
            ("unknown variant `x`, expected `a` or `b`", "`x` is not known; it can be `a` or `b`."),
            ("duplicate field `x`", "Duplicate field `x`."),
        ] {
            assert_eq!(in_our_words(text), told);
        }
    }
}
