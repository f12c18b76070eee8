//! From pixels to the two formats that are stored and served.
//!
//! JPEG for photographs that came as JPEG, PNG for everything else, because only PNG keeps transparency
//! and flat colours. Neither encoder is given metadata, so none can be written.

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{DynamicImage, ImageFormat};

use crate::{Image, ImageError};

/// What a picture is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Jpeg,
    Png,
}

impl Encoding {
    /// The encoding that suits a picture which came in as `format`.
    pub(crate) fn after(format: ImageFormat) -> Encoding {
        match format {
            ImageFormat::Jpeg => Encoding::Jpeg,
            _ => Encoding::Png,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Encoding::Jpeg => "image/jpeg",
            Encoding::Png => "image/png",
        }
    }

    /// Writes the file. `quality` (1 to 100) concerns JPEG only.
    pub(crate) fn encode(self, picture: &DynamicImage, quality: u8) -> Result<Image, ImageError> {
        let mut bytes = Vec::new();
        let written = match self {
            Encoding::Jpeg => {
                let encoder = JpegEncoder::new_with_quality(&mut bytes, quality.clamp(1, 100));
                picture.to_rgb8().write_with_encoder(encoder)
            }
            Encoding::Png => {
                let encoder =
                    PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
                picture.write_with_encoder(encoder)
            }
        };
        // Writing to memory fails for no picture that was decoded; the type asks for an answer anyway.
        written.map_err(|_| ImageError::Undecodable)?;
        Ok(Image {
            content_type: self.content_type(),
            bytes,
            width: picture.width(),
            height: picture.height(),
        })
    }
}
