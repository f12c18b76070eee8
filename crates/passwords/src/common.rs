//! The passwords an attacker tries first: the most used ones of public leaks, embedded so that the check works
//! without a network.
//!
//! The list is searched in the text as it lies in the binary: no table is built at start and nothing is allocated
//! for it. `data/README.md` says where the words come from.

use std::cmp::Ordering;

/// Lower-case entries, sorted by bytes, each ended by a newline.
const LIST: &[u8] = include_bytes!("../data/common.txt");

/// Whether the password, ignoring case, is one of the most used leaked passwords. Only the whole password counts:
/// `password123` is listed, `password123x` is judged by other rules.
pub fn is_breached(password: &str) -> bool {
    let needle = password.to_lowercase();
    let mut rest = LIST;
    while !rest.is_empty() {
        let (start, end) = line_around(rest, rest.len() / 2);
        match rest[start..end].cmp(needle.as_bytes()) {
            Ordering::Equal => return true,
            Ordering::Less => rest = rest.get(end + 1..).unwrap_or_default(),
            Ordering::Greater => rest = &rest[..start],
        }
    }
    false
}

/// The bounds, without its newline, of the line that contains the byte at `position`.
fn line_around(text: &[u8], position: usize) -> (usize, usize) {
    let (before, after) = text.split_at(position);
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let end = after.iter().position(|&byte| byte == b'\n').map_or(text.len(), |newline| position + newline);
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::{LIST, is_breached};

    fn entries() -> impl Iterator<Item = &'static str> {
        std::str::from_utf8(LIST).unwrap().lines()
    }

    #[test]
    fn every_entry_of_the_list_is_found() {
        assert!(entries().all(is_breached));
    }

    #[test]
    fn the_list_is_sorted_lower_case_and_long_enough_to_matter() {
        let list: Vec<_> = entries().collect();
        assert!(list.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(list.iter().all(|entry| entry.chars().count() >= 8 && *entry == entry.to_lowercase()));
        assert!(list.len() > 15_000 && LIST.len() < 1_000_000 && LIST.ends_with(b"\n"));
    }

    #[test]
    fn well_known_passwords_are_breached_in_any_case() {
        for password in ["password123", "PassWord123", "qwertyuiop", "12345678", "p@ssw0rd"] {
            assert!(is_breached(password), "{password}");
        }
    }

    #[test]
    fn only_the_whole_password_counts() {
        for password in
            ["", "\n", "passwor", "password123\n", "password123x", "xpassword123", "qwertyuiop\n1234"]
        {
            assert!(!is_breached(password), "{password:?}");
        }
    }
}
