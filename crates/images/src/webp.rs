//! The RIFF container of a WebP, walked once before the decoder sees it.
//!
//! The decoder believes lengths and sizes that the file repeats in several places. A metadata chunk that
//! claims four gigabytes makes it ask for four gigabytes; a lossy frame that disagrees with its canvas is
//! decoded in full before the difference is noticed, or, beneath an alpha plane, indexes out of bounds.
//! So the repeated values are compared here. This module must not decode pixels.

use crate::ImageError;

type Size = (u32, u32);

struct Chunk<'a> {
    kind: [u8; 4],
    payload: &'a [u8],
}

/// Checks the container, and returns the file without anything appended behind it.
pub(crate) fn inspect(upload: &[u8]) -> Result<&[u8], ImageError> {
    let length = little_endian(upload, 4, 4)? as usize;
    let file = upload.get(..length.saturating_add(8)).ok_or(ImageError::Undecodable)?;
    let mut rest = file.get(12..).ok_or(ImageError::Undecodable)?;
    let mut canvas = None;
    while let Some(chunk) = next_chunk(&mut rest)? {
        match &chunk.kind {
            b"VP8X" => {
                canvas =
                    Some((little_endian(chunk.payload, 4, 3)? + 1, little_endian(chunk.payload, 7, 3)? + 1));
            }
            b"VP8 " => check_lossy(&chunk, canvas)?,
            b"ANMF" => check_frame(chunk.payload)?,
            _ => {}
        }
    }
    Ok(file)
}

fn check_frame(frame: &[u8]) -> Result<(), ImageError> {
    let size = (little_endian(frame, 6, 3)? + 1, little_endian(frame, 9, 3)? + 1);
    let mut rest = frame.get(16..).ok_or(ImageError::Undecodable)?;
    let mut after_alpha = false;
    while let Some(chunk) = next_chunk(&mut rest)? {
        if &chunk.kind == b"VP8 " {
            check_lossy(&chunk, Some(size))?;
        } else if after_alpha {
            // Whatever follows an alpha plane is decoded as a lossy frame, by position and not by name.
            return Err(ImageError::Undecodable);
        }
        after_alpha = &chunk.kind == b"ALPH";
    }
    Ok(())
}

/// Compares the size inside a lossy frame with the one around it. A lossless frame needs no such care:
/// its decoder compares before it allocates.
fn check_lossy(chunk: &Chunk<'_>, expected: Option<Size>) -> Result<(), ImageError> {
    let size = (little_endian(chunk.payload, 6, 2)? & 0x3fff, little_endian(chunk.payload, 8, 2)? & 0x3fff);
    match expected {
        Some(expected) if expected != size => Err(ImageError::Undecodable),
        _ => Ok(()),
    }
}

/// Takes one chunk off the front; `None` when fewer bytes than a chunk header are left.
fn next_chunk<'a>(rest: &mut &'a [u8]) -> Result<Option<Chunk<'a>>, ImageError> {
    let Some((kind, after_kind)) = rest.split_first_chunk::<4>() else { return Ok(None) };
    let Some((length, body)) = after_kind.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    let payload = body.get(..length).ok_or(ImageError::Undecodable)?;
    // Chunks start at even offsets; the last one may lack its padding.
    *rest = body.get(length + length % 2..).unwrap_or_default();
    Ok(Some(Chunk { kind: *kind, payload }))
}

fn little_endian(bytes: &[u8], at: usize, width: usize) -> Result<u32, ImageError> {
    let field = bytes.get(at..at + width).ok_or(ImageError::Undecodable)?;
    Ok(field.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], payload: &[u8]) -> Vec<u8> {
        let mut chunk = kind.to_vec();
        chunk.extend((payload.len() as u32).to_le_bytes());
        chunk.extend(payload);
        chunk.extend(vec![0; payload.len() % 2]);
        chunk
    }

    fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
        let body = chunks.concat();
        let mut file = b"RIFF".to_vec();
        file.extend((body.len() as u32 + 4).to_le_bytes());
        file.extend(b"WEBP");
        file.extend(body);
        file
    }

    fn canvas(width: u8, height: u8) -> Vec<u8> {
        chunk(b"VP8X", &[0x12, 0, 0, 0, width - 1, 0, 0, height - 1, 0, 0])
    }

    fn lossy(width: u16, height: u16) -> Vec<u8> {
        let mut payload = vec![0, 0, 0, 0x9d, 0x01, 0x2a];
        payload.extend(width.to_le_bytes());
        payload.extend(height.to_le_bytes());
        chunk(b"VP8 ", &payload)
    }

    fn frame(width: u8, height: u8, parts: &[Vec<u8>]) -> Vec<u8> {
        let mut payload = vec![0; 16];
        payload[6] = width - 1;
        payload[9] = height - 1;
        payload.extend(parts.concat());
        chunk(b"ANMF", &payload)
    }

    #[test]
    fn bytes_behind_the_container_are_cut_off() {
        let mut upload = file(&[lossy(4, 4)]);
        let length = upload.len();
        upload.extend(b"EXIF\xff\xff\xff\xff<script>");
        assert_eq!(inspect(&upload).map(<[u8]>::len), Ok(length));
    }

    #[test]
    fn a_chunk_longer_than_the_file_is_refused() {
        let mut upload = file(&[canvas(4, 4), lossy(4, 4), b"EXIF\xff\xff\xff\xff".to_vec()]);
        assert_eq!(inspect(&upload), Err(ImageError::Undecodable));
        upload.truncate(upload.len() - 1);
        assert_eq!(inspect(&upload), Err(ImageError::Undecodable));
    }

    #[test]
    fn a_lossy_frame_must_be_as_large_as_its_canvas() {
        assert!(inspect(&file(&[canvas(4, 6), lossy(4, 6)])).is_ok());
        assert!(inspect(&file(&[canvas(4, 6), lossy(16383, 16383)])).is_err());
        assert!(inspect(&file(&[canvas(9, 9), frame(4, 6, &[lossy(4, 6)])])).is_ok());
        assert!(inspect(&file(&[canvas(9, 9), frame(4, 6, &[lossy(5, 6)])])).is_err());
    }

    #[test]
    fn only_a_lossy_frame_may_follow_an_alpha_plane() {
        let alpha = chunk(b"ALPH", &[0; 25]);
        assert!(inspect(&file(&[canvas(9, 9), frame(4, 6, &[alpha.clone(), lossy(4, 6)])])).is_ok());
        let disguised = chunk(b"XXXX", &[0; 10]);
        assert!(inspect(&file(&[canvas(9, 9), frame(4, 6, &[alpha, disguised])])).is_err());
    }
}
