//! The chunks of a PNG, walked once before the decoder sees it.
//!
//! A colour profile is packed, and the decoder unpacks it while it reads the header: a file of a few hundred kilobytes
//! takes hundreds of megabytes. Profiles are never applied, so it is not shown any. This module must not decode pixels.

use std::borrow::Cow;

/// Where the chunks begin.
const SIGNATURE: usize = 8;
/// The length and the kind of a chunk stand before what it says, a sum behind.
const AROUND: usize = 12;

/// The kind of a chunk with a profile.
const PROFILE: &[u8] = b"iCCP";

/// The file without colour profiles. What is broken is left to the decoder.
pub(crate) fn without_profiles(upload: &[u8]) -> Cow<'_, [u8]> {
    let Some((signature, mut rest)) = upload.split_at_checked(SIGNATURE) else { return upload.into() };
    if !rest.windows(PROFILE.len()).any(|bytes| bytes == PROFILE) {
        return upload.into();
    }
    let mut kept = signature.to_vec();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let end = AROUND.saturating_add(u32::from_be_bytes(*length) as usize).min(rest.len());
        let (chunk, others) = rest.split_at(end);
        if !after.starts_with(PROFILE) {
            kept.extend_from_slice(chunk);
        }
        rest = others;
    }
    kept.extend_from_slice(rest);
    match kept.len() == upload.len() {
        true => upload.into(),
        false => kept.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], payload: &[u8]) -> Vec<u8> {
        [&(payload.len() as u32).to_be_bytes(), &kind[..], payload, b"sum!"].concat()
    }

    #[test]
    fn profiles_are_left_out_and_nothing_else() {
        let signature = b"\x89PNG\r\n\x1a\n".to_vec();
        let (header, pixels, end) = (chunk(b"IHDR", b"iCCP"), chunk(b"IDAT", b"..."), chunk(b"IEND", b""));
        let plain = [&signature[..], &header, &pixels, &end].concat();
        assert!(matches!(without_profiles(&plain), Cow::Borrowed(same) if same == plain));
        let profile = chunk(b"iCCP", &[7; 1000]);
        let with = [&signature[..], &header, &profile, &pixels, &profile, &end].concat();
        assert_eq!(without_profiles(&with), plain);
    }

    #[test]
    fn broken_files_stay_as_they_are() {
        let long = [b"\x89PNG\r\n\x1a\n".as_slice(), &u32::MAX.to_be_bytes(), b"IDAT123"].concat();
        for broken in [b"".as_slice(), b"\x89PNG", b"\x89PNG\r\n\x1a\n\0\0", &long] {
            assert_eq!(without_profiles(broken), broken);
        }
    }
}
