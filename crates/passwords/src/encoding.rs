//! How digests write bytes and numbers, and the one comparison every format ends with.
//!
//! Digests come from exports of many systems, so base64 is read in both alphabets and with or without padding.
//! Numbers are read strictly: `str::parse` would take `+5`, which no exporter writes.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use subtle::ConstantTimeEq as _;

use crate::error::DigestError;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Decodes standard or URL-safe base64, padded or not.
pub(crate) fn base64(text: &str) -> Result<Vec<u8>, DigestError> {
    let engine = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    engine.decode(text).map_err(|_| DigestError::Malformed)
}

/// Decodes hexadecimal digits of either case.
pub(crate) fn hex(text: &str) -> Result<Vec<u8>, DigestError> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return Err(DigestError::Malformed);
    };
    pairs
        .iter()
        .map(|&[high, low]| Some(nibble(high)? << 4 | nibble(low)?))
        .collect::<Option<_>>()
        .ok_or(DigestError::Malformed)
}

/// Encodes as lower-case hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|n| char::from_digit(n.into(), 16))
        .collect()
}

/// Decodes exactly `N` bytes of hexadecimal digits.
pub(crate) fn hex_array<const N: usize>(text: &str) -> Result<[u8; N], DigestError> {
    hex(text)?.try_into().map_err(|_| DigestError::Malformed)
}

/// Reads a decimal cost. Digits that overflow are a cost too, only a larger one than anybody can pay.
pub(crate) fn number(text: &str) -> Result<u32, DigestError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DigestError::Malformed);
    }
    text.parse().map_err(|_| DigestError::TooCostly)
}

/// Compares in time that depends on the lengths only.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| value.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_in_both_alphabets_and_without_padding() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            assert_eq!(base64(text), Ok(vec![0xfb, 0xff]), "{text}");
        }
        assert_eq!(base64("+_8="), Err(DigestError::Malformed));
    }

    #[test]
    fn hex_round_trips_and_refuses_what_is_not_hex() {
        assert_eq!(hex("00fFa5"), Ok(vec![0, 0xff, 0xa5]));
        assert_eq!(to_hex(&[0, 0xff, 0xa5]), "00ffa5");
        for text in ["0", "0g", "+1", "é"] {
            assert_eq!(hex(text), Err(DigestError::Malformed), "{text}");
        }
    }

    #[test]
    fn numbers_have_no_sign_and_overflow_is_a_cost() {
        assert_eq!(number("007"), Ok(7));
        assert_eq!(number("+7"), Err(DigestError::Malformed));
        assert_eq!(number(""), Err(DigestError::Malformed));
        assert_eq!(number("4294967296"), Err(DigestError::TooCostly));
    }
}
