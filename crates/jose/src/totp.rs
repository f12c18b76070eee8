//! Time-based one-time codes (RFC 6238), and the base32 in which their secrets travel.
//!
//! The parameters are fixed to what every authenticator app supports: SHA-1, six digits, thirty seconds.
//! Time comes in as a number and the last used step as another; this module must not know clocks, users
//! or storage.

use crate::digest::{constant_time_eq, hmac_sha1};

const STEP_SECONDS: i64 = 30;
/// Clocks of phones drift, and typing takes time: one step to either side (RFC 6238, section 5.2).
const WINDOW: [i64; 3] = [-1, 0, 1];

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// Far above any real secret, far below a burden.
const MAX_SECRET_BYTES: usize = 128;

/// The code of one thirty-second step since 1970.
pub fn totp_code(secret: &[u8], step: i64) -> String {
    let mac = hmac_sha1(secret, &step.to_be_bytes());
    // Dynamic truncation, RFC 4226, section 5.3: the last half-byte says where to read 31 bits.
    let offset = usize::from(mac[19] & 0x0f);
    let read = mac.iter().skip(offset).take(4).fold(0, |value: u32, byte| value << 8 | u32::from(*byte));
    format!("{:06}", (read & 0x7fff_ffff) % 1_000_000)
}

/// Checks a code at a time, and returns the step it belongs to, to be stored as the last used one.
///
/// A step at or before `last_used_step` is not accepted, so that a code seen over a shoulder cannot be
/// used again (RFC 6238, section 5.2). All candidates are always compared.
pub fn verify_totp(secret: &[u8], code: &str, unix_seconds: i64, last_used_step: Option<i64>) -> Option<i64> {
    // An empty secret is a missing one; everybody could compute its codes.
    if secret.is_empty() {
        return None;
    }
    let now = unix_seconds.div_euclid(STEP_SECONDS);
    let mut matched = None;
    for step in WINDOW.map(|offset| now + offset) {
        let is_equal = constant_time_eq(totp_code(secret, step).as_bytes(), code.as_bytes());
        if is_equal && last_used_step.is_none_or(|last| step > last) {
            matched = Some(step);
        }
    }
    matched
}

/// Writes base32 as authenticator apps expect it: upper case, no padding.
pub fn base32_encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for group in bytes.chunks(5) {
        let bits = (0..5).fold(0, |bits: u64, at| bits << 8 | u64::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..(group.len() * 8).div_ceil(5) {
            text.push(char::from(ALPHABET[(bits >> (35 - 5 * at) & 31) as usize]));
        }
    }
    text
}

/// Reads base32 (RFC 4648) in either case, with its padding or without. `None` for anything else, for an
/// empty text, and for more than 128 bytes.
///
/// Bits that fill no byte are dropped even if they are set: secrets made by picking random letters have
/// such bits, and apps ignore them.
pub fn base32_decode(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=');
    let is_padded = letters.len() != text.len();
    // A group of eight letters holds five bytes; a last one of 1, 3 or 6 letters holds half a byte too much.
    if letters.is_empty()
        || matches!(letters.len() % 8, 1 | 3 | 6)
        || is_padded && text.len() != letters.len().next_multiple_of(8)
        || letters.len() * 5 / 8 > MAX_SECRET_BYTES
    {
        return None;
    }
    let mut bytes = Vec::with_capacity(letters.len() * 5 / 8);
    for group in letters.as_bytes().chunks(8) {
        let mut bits: u64 = 0;
        for letter in group {
            bits = bits << 5 | value(*letter)?;
        }
        bits <<= 40 - 5 * group.len();
        bytes.extend(bits.to_be_bytes().iter().skip(3).take(group.len() * 5 / 8));
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u64> {
    match letter.to_ascii_uppercase() {
        letter @ b'A'..=b'Z' => Some(u64::from(letter - b'A')),
        digit @ b'2'..=b'7' => Some(u64::from(digit - b'2') + 26),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_match_rfc_6238() {
        // Appendix B, SHA-1; the last six of its eight digits.
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(totp_code(SECRET, seconds / 30), code);
            assert_eq!(verify_totp(SECRET, code, seconds, None), Some(seconds / 30));
        }
    }

    #[test]
    fn codes_match_rfc_4226() {
        let codes =
            ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871"];
        for (step, code) in (0..).zip(codes) {
            assert_eq!(totp_code(SECRET, step), code);
        }
    }

    #[test]
    fn one_step_to_either_side_is_accepted() {
        let code = totp_code(SECRET, 1000);
        for (step, matched) in
            [(998, None), (999, Some(1000)), (1000, Some(1000)), (1001, Some(1000)), (1002, None)]
        {
            assert_eq!(verify_totp(SECRET, &code, step * 30, None), matched);
            assert_eq!(verify_totp(SECRET, &code, step * 30 + 29, None), matched);
        }
    }

    #[test]
    fn a_code_works_once_and_no_older_one_after_it() {
        let now = 1000 * 30;
        let used = verify_totp(SECRET, &totp_code(SECRET, 1000), now, None);
        assert_eq!(used, Some(1000));
        assert_eq!(verify_totp(SECRET, &totp_code(SECRET, 1000), now, used), None);
        assert_eq!(verify_totp(SECRET, &totp_code(SECRET, 999), now, used), None);
        assert_eq!(verify_totp(SECRET, &totp_code(SECRET, 1001), now, used), Some(1001));
    }

    #[test]
    fn other_texts_are_no_codes() {
        let code = totp_code(SECRET, 1000);
        for text in [
            "",
            "0",
            "000000",
            &code[..5],
            &format!("{code}0"),
            &format!(" {code}"),
            "１２３４５６",
            "abcdef",
        ] {
            assert_eq!(verify_totp(SECRET, text, 30_000, None), None);
        }
        assert_eq!(verify_totp(b"", &totp_code(b"", 1000), 30_000, None), None);
    }

    #[test]
    fn extreme_times_do_not_panic() {
        for seconds in [i64::MIN, -1, 0, i64::MAX] {
            assert_eq!(verify_totp(SECRET, "x", seconds, Some(i64::MAX)), None);
            let step = seconds.div_euclid(30);
            assert_eq!(verify_totp(SECRET, &totp_code(SECRET, step), seconds, None), Some(step));
        }
    }

    #[test]
    fn base32_matches_rfc_4648() {
        for (plain, text) in [
            ("f", "MY======"),
            ("fo", "MZXQ===="),
            ("foo", "MZXW6==="),
            ("foob", "MZXW6YQ="),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI======"),
        ] {
            let bare = text.trim_end_matches('=');
            assert_eq!(base32_encode(plain.as_bytes()), bare);
            for text in [text, bare, &bare.to_lowercase()] {
                assert_eq!(base32_decode(text).as_deref(), Some(plain.as_bytes()));
            }
        }
        assert_eq!(base32_encode(b""), "");
    }

    #[test]
    fn base32_is_strict_about_everything_else() {
        for text in [
            "",
            "=",
            "========",
            "M",
            "MZX",
            "MZXW6Y",
            "MZ XQ",
            "MZ-XQ",
            "MZXQ=",
            "MZXQ=====",
            "MZXW6YTB=",
            "M1",
            "M8",
            "MZ=Q",
            "MÄ",
            "mzxq\n",
        ] {
            assert_eq!(base32_decode(text), None, "{text}");
        }
    }

    #[test]
    fn base32_is_bounded() {
        let longest = vec![0xa5; 128];
        assert_eq!(base32_decode(&base32_encode(&longest)), Some(longest));
        assert_eq!(base32_decode(&base32_encode(&[0; 129])), None);
        assert_eq!(base32_decode(&"A".repeat(1_000_000)), None);
    }

    #[test]
    fn bits_that_fill_no_byte_are_dropped() {
        assert_eq!(base32_decode("MZ"), base32_decode("MY"));
    }
}
