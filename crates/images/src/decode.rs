//! From hostile bytes to pixels, within limits.
//!
//! The format is told by content alone, because names and content types are the uploader's claims. Sizes
//! are checked from the header, before any pixel buffer exists: a file of a hundred bytes can announce a
//! gigapixel. This module must not know what the pixels are for, nor how they are encoded again.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use crate::{ImageError, png, webp};

/// Ten megabytes: a photo straight from a phone fits, and reading it into memory harms nobody.
const MAX_BYTES: usize = 10 * 1024 * 1024;
const MAX_SIDE: u32 = 8192;
/// Enough for 32 megapixels at six bytes each. Only the rare picture with four 16-bit channels meets this
/// limit before it meets that of its pixels.
const MAX_ALLOCATED_BYTES: u64 = 192 * 1024 * 1024;
/// Most scans of a JPEG. Cameras and programs write one, or about ten for a picture that sharpens while it
/// loads; each takes a walk over the whole picture, however few bytes it has.
const MAX_SCANS: usize = 32;

/// How many pixels a picture has, by its header: nothing is decoded. Refuses what has more than `max_pixels`, and what
/// [`decode`] would refuse by its header.
pub(crate) fn measure(upload: &[u8], max_pixels: u64) -> Result<u64, ImageError> {
    let (decoder, _) = open(upload, max_pixels)?;
    let (width, height) = decoder.dimensions();
    Ok(u64::from(width) * u64::from(height))
}

/// Decodes the first frame, turned upright, and tells the format it came in.
pub(crate) fn decode(upload: &[u8], max_pixels: u64) -> Result<(DynamicImage, ImageFormat), ImageError> {
    let (mut decoder, format) = open(upload, max_pixels)?;
    // A broken EXIF block is no reason to refuse the picture: it is about to be thrown away.
    let orientation = decoder.orientation().ok();
    let mut picture = DynamicImage::from_decoder(decoder).map_err(refused)?;
    if let Some(orientation) = orientation {
        picture.apply_orientation(orientation);
    }
    Ok((picture, format))
}

/// Reads the header, and checks what it announces.
fn open(upload: &[u8], max_pixels: u64) -> Result<(impl ImageDecoder, ImageFormat), ImageError> {
    if upload.len() > MAX_BYTES {
        return Err(ImageError::TooLarge);
    }
    let format = sniff(upload)?;
    let file = match format {
        ImageFormat::WebP => webp::inspect(upload)?.into(),
        ImageFormat::Png => png::without_profiles(upload),
        ImageFormat::Jpeg if scans(upload) > MAX_SCANS => return Err(ImageError::Unsupported),
        _ => upload.into(),
    };

    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_ALLOCATED_BYTES);
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder().map_err(refused)?;

    let (width, height) = decoder.dimensions();
    check_size(width, height, max_pixels)?;
    limits.reserve(decoder.total_bytes()).map_err(refused)?;
    decoder.set_limits(limits).map_err(refused)?;
    Ok((decoder, format))
}

/// How often a JPEG announces a scan. In the data of a scan only zero and the markers of restarts follow `FF`; the
/// embedded preview of a photo may announce some of its own.
fn scans(jpeg: &[u8]) -> usize {
    jpeg.windows(2).filter(|pair| *pair == [0xff, 0xda]).count()
}

/// SVG is absent on purpose: it is a program, and re-encoding cannot make it a picture.
fn sniff(upload: &[u8]) -> Result<ImageFormat, ImageError> {
    match image::guess_format(upload) {
        Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::Gif | ImageFormat::WebP)) => {
            Ok(format)
        }
        _ => Err(ImageError::Unsupported),
    }
}

fn check_size(width: u32, height: u32, max_pixels: u64) -> Result<(), ImageError> {
    if width == 0 || height == 0 {
        return Err(ImageError::Undecodable);
    }
    if width > MAX_SIDE || height > MAX_SIDE || u64::from(width) * u64::from(height) > max_pixels {
        return Err(ImageError::TooManyPixels);
    }
    Ok(())
}

fn refused(error: image::ImageError) -> ImageError {
    match error {
        image::ImageError::Limits(_) => ImageError::TooManyPixels,
        image::ImageError::Unsupported(_) => ImageError::Unsupported,
        _ => ImageError::Undecodable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bounded_by_side_and_by_area() {
        let check_size = |width, height| check_size(width, height, 32_000_000);
        assert_eq!(check_size(8192, 3906), Ok(()));
        assert_eq!(check_size(8193, 1), Err(ImageError::TooManyPixels));
        assert_eq!(check_size(1, 8193), Err(ImageError::TooManyPixels));
        assert_eq!(check_size(8192, 3907), Err(ImageError::TooManyPixels));
        assert_eq!(check_size(0, 10), Err(ImageError::Undecodable));
    }

    #[test]
    fn only_four_formats_are_read() {
        for other in [
            &b"BM\0\0\0\0"[..],
            b"II*\0\0\0",
            b"\0\0\x01\0\x01\0",
            b"\0\0\0\x20ftypavif\0\0",
            b"P6\n1 1\n255\n",
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
            b"<?xml version=\"1.0\"?><svg/>",
            b"%PDF-1.7",
            b"",
        ] {
            assert_eq!(sniff(other), Err(ImageError::Unsupported));
        }
    }
}
