//! Pictures of users and organizations: uploads made safe, stored pictures resized, default avatars drawn.
//!
//! It exists so that no byte a stranger uploaded is ever served back: every picture is decoded under
//! strict limits and written anew. All of it is functions over bytes; nothing here knows HTTP, storage,
//! ids or time, and nothing here is asynchronous.
//!
//! Decoding is slow and hungry (a progressive JPEG at the limits takes a few hundred megabytes while it
//! is decoded), so callers run these functions off the request threads and few at a time.

#![warn(missing_docs)]

mod avatar;
mod convert;
mod decode;
mod encode;
mod palette;
mod png;
mod scale;
#[cfg(test)]
mod tests;
mod webp;

pub use avatar::{default_avatar, initials};
pub use convert::{Resize, measure, normalise, resize};
pub use scale::Fit;

/// A picture this crate encoded itself, with nothing in it but pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// `image/jpeg` or `image/png`.
    pub content_type: &'static str,
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Pixels across, never more than 1024.
    pub width: u32,
    /// Pixels down, never more than 1024.
    pub height: u32,
}

/// Why a picture was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The file has more bytes than an upload may have.
    #[error("the file is larger than an upload may be")]
    TooLarge,
    /// The content is not a PNG, JPEG, GIF or WebP, or uses a rare feature of one that is not read.
    #[error("the picture is not in a supported format")]
    Unsupported,
    /// The content announces a supported format and then does not keep to it.
    #[error("the picture is damaged")]
    Undecodable,
    /// Decoding would take more pixels, or more memory, than allowed.
    #[error("the picture has too many pixels")]
    TooManyPixels,
}
