//! The two journeys of a picture: an upload into the store, a stored picture to a reader.
//!
//! Both decode and encode, so that what leaves is only ever what this crate wrote. This module must not
//! know limits of decoding or geometry; it puts the parts in order.

use crate::decode::{self, decode};
use crate::encode::Encoding;
use crate::scale::{Fit, scale};
use crate::{Image, ImageError};

/// No picture of a person or an organization is shown larger than this.
const MAX_SIDE: u32 = 1024;
/// Below this artefacts show in faces; above it files grow and nobody sees why.
const STORED_JPEG_QUALITY: u8 = 85;

/// What a reader asks for. Sizes are brought into 1 to 1024, quality into 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resize {
    /// Pixels across; absent means as many as the height leaves.
    pub width: Option<u32>,
    /// Pixels down; absent means as many as the width leaves.
    pub height: Option<u32>,
    /// What to do when the picture has another shape than the box.
    pub fit: Fit,
    /// JPEG quality; a PNG is lossless and ignores it.
    pub quality: u8,
}

/// How many pixels an upload has, by its header. It is quick, and tells what [`normalise`] will cost; one with more than
/// `max_pixels` is refused.
pub fn measure(upload: &[u8], max_pixels: u64) -> Result<u64, ImageError> {
    decode::measure(upload, max_pixels)
}

/// Turns an upload of at most `max_pixels` into a picture that is safe to store and to serve.
///
/// The first frame is taken, turned upright, scaled down to fit 1024 × 1024 and written anew, as JPEG if
/// it was one and as PNG otherwise. Metadata, further frames and appended bytes do not survive.
pub fn normalise(upload: &[u8], max_pixels: u64) -> Result<Image, ImageError> {
    let (picture, format) = decode(upload, max_pixels)?;
    let picture = scale(picture, (MAX_SIDE, MAX_SIDE), Fit::ScaleDown);
    Encoding::after(format).encode(&picture, STORED_JPEG_QUALITY)
}

/// Makes a smaller copy of a picture that [`normalise`] returned; it never enlarges.
///
/// `content_type` is the one stored beside the bytes. A picture that is something else is refused rather
/// than served under a wrong name.
pub fn resize(image: &[u8], content_type: &str, options: Resize) -> Result<Image, ImageError> {
    let (picture, format) = decode(image, u64::from(MAX_SIDE * MAX_SIDE))?;
    let encoding = Encoding::after(format);
    if encoding.content_type() != content_type {
        return Err(ImageError::Unsupported);
    }
    let bound = (side(options.width), side(options.height));
    // With one side left open there is nothing to cut off: the box has the shape of the picture.
    let fit = match (options.width, options.height) {
        (Some(_), Some(_)) => options.fit,
        _ => Fit::ScaleDown,
    };
    encoding.encode(&scale(picture, bound, fit), options.quality)
}

fn side(asked: Option<u32>) -> u32 {
    asked.unwrap_or(MAX_SIDE).clamp(1, MAX_SIDE)
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, RgbImage};

    use super::*;

    const HALF: Resize = Resize { width: Some(50), height: None, fit: Fit::ScaleDown, quality: 80 };

    fn stored(encoding: Encoding) -> Image {
        let picture =
            DynamicImage::from(RgbImage::from_fn(100, 60, |x, y| image::Rgb([x as u8, y as u8, 90])));
        encoding.encode(&picture, 90).unwrap()
    }

    #[test]
    fn resizing_keeps_the_format() {
        for encoding in [Encoding::Jpeg, Encoding::Png] {
            let image = stored(encoding);
            let small = resize(&image.bytes, image.content_type, HALF).unwrap();
            assert_eq!((small.width, small.height), (50, 30));
            assert_eq!(small.content_type, image.content_type);
            assert_eq!(normalise(&small.bytes, 1_000_000).unwrap().width, 50);
        }
    }

    #[test]
    fn a_wrong_content_type_is_refused() {
        let image = stored(Encoding::Png);
        for content_type in ["image/jpeg", "image/svg+xml", "text/html", ""] {
            assert_eq!(resize(&image.bytes, content_type, HALF), Err(ImageError::Unsupported));
        }
    }

    #[test]
    fn resizing_is_bounded_and_never_enlarges() {
        let image = stored(Encoding::Png);
        let sized = |width, height, fit| {
            let resized = resize(&image.bytes, image.content_type, Resize { width, height, fit, quality: 0 });
            resized.map(|image| (image.width, image.height)).unwrap()
        };
        assert_eq!(sized(Some(u32::MAX), Some(u32::MAX), Fit::Crop), (100, 60));
        assert_eq!(sized(None, None, Fit::ScaleDown), (100, 60));
        assert_eq!(sized(Some(0), Some(0), Fit::Crop), (1, 1));
        assert_eq!(sized(Some(40), Some(40), Fit::Crop), (40, 40));
        assert_eq!(sized(Some(40), Some(40), Fit::ScaleDown), (40, 24));
        assert_eq!(sized(Some(80), Some(80), Fit::Crop), (80, 60));
        assert_eq!(sized(None, Some(30), Fit::Crop), (50, 30));
    }

    #[test]
    fn lower_quality_makes_a_smaller_jpeg() {
        let image = stored(Encoding::Jpeg);
        let length = |quality| {
            resize(&image.bytes, "image/jpeg", Resize { quality, ..HALF }).map(|image| image.bytes.len())
        };
        assert!(length(10).unwrap() < length(95).unwrap());
        assert!(length(255).is_ok());
    }
}
