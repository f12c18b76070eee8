//! Making pictures smaller.
//!
//! Sizes are computed in integers, apart from the pixels, so that the rule "never larger than it was" can
//! be read and tested on its own. This module must not know formats or files.

use image::{DynamicImage, RgbaImage, imageops};

/// Keeps the ringing around hard edges low and the result sharp.
const FILTER: imageops::FilterType = imageops::FilterType::CatmullRom;

/// How a picture is made to fit a box of another shape. Neither way makes it larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The whole picture inside the box, its shape kept.
    ScaleDown,
    /// The box filled and the overhang cut off evenly on both sides. Where the picture is smaller than
    /// the box, the box shrinks to the picture.
    Crop,
}

/// Fits `picture` into `bound`. The result has eight bits per channel.
pub(crate) fn scale(picture: DynamicImage, bound: (u32, u32), fit: Fit) -> DynamicImage {
    let size = (picture.width(), picture.height());
    match fit {
        Fit::ScaleDown => resample(picture, fitted(size, bound)),
        Fit::Crop => {
            let target = (size.0.min(bound.0), size.1.min(bound.1));
            let (width, height) = covered(size, target);
            let (left, top) = ((size.0 - width) / 2, (size.1 - height) / 2);
            resample(picture.crop_imm(left, top, width, height), target)
        }
    }
}

/// The largest size of the same shape that fits into `bound` and does not exceed `size`.
fn fitted(size: (u32, u32), bound: (u32, u32)) -> (u32, u32) {
    if size.0 <= bound.0 && size.1 <= bound.1 {
        return size;
    }
    if is_wider(size, bound) {
        (bound.0, ratio(size.1, bound.0, size.0))
    } else {
        (ratio(size.0, bound.1, size.1), bound.1)
    }
}

/// The largest part of `size` that has the shape of `target`, which must not exceed `size`.
fn covered(size: (u32, u32), target: (u32, u32)) -> (u32, u32) {
    if is_wider(size, target) {
        (ratio(size.1, target.0, target.1).min(size.0), size.1)
    } else {
        (size.0, ratio(size.0, target.1, target.0).min(size.1))
    }
}

fn is_wider(size: (u32, u32), than: (u32, u32)) -> bool {
    u64::from(size.0) * u64::from(than.1) > u64::from(than.0) * u64::from(size.1)
}

/// `value * numerator / denominator`, rounded, at least one.
fn ratio(value: u32, numerator: u32, denominator: u32) -> u32 {
    let denominator = u64::from(denominator.max(1));
    let rounded = (u64::from(value) * u64::from(numerator) + denominator / 2) / denominator;
    u32::try_from(rounded).unwrap_or(u32::MAX).max(1)
}

fn resample(picture: DynamicImage, (width, height): (u32, u32)) -> DynamicImage {
    let is_scaled = (picture.width(), picture.height()) != (width, height);
    match (picture.color().has_alpha(), is_scaled) {
        (false, false) => picture.into_rgb8().into(),
        (false, true) => imageops::resize(&picture.into_rgb8(), width, height, FILTER).into(),
        (true, false) => picture.into_rgba8().into(),
        (true, true) => {
            // A transparent pixel has a colour too, often black. Averaged as it stands, it would draw a
            // dark seam around every logo.
            let mut pixels = picture.into_rgba8();
            premultiply(&mut pixels);
            let mut pixels = imageops::resize(&pixels, width, height, FILTER);
            unpremultiply(&mut pixels);
            pixels.into()
        }
    }
}

fn premultiply(pixels: &mut RgbaImage) {
    for pixel in pixels.pixels_mut() {
        let [red, green, blue, alpha] = pixel.0;
        let weighted = |channel: u8| ((u16::from(channel) * u16::from(alpha) + 127) / 255) as u8;
        pixel.0 = [weighted(red), weighted(green), weighted(blue), alpha];
    }
}

fn unpremultiply(pixels: &mut RgbaImage) {
    for pixel in pixels.pixels_mut() {
        let [red, green, blue, alpha] = pixel.0;
        // The filter overshoots a little, so a channel can come out above its alpha.
        let full = |channel: u8| match alpha {
            0 => 0,
            _ => ((u16::from(channel) * 255 + u16::from(alpha) / 2) / u16::from(alpha)).min(255) as u8,
        };
        pixel.0 = [full(red), full(green), full(blue), alpha];
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgba, RgbaImage};

    use super::*;

    #[test]
    fn scaling_down_keeps_the_shape() {
        assert_eq!(fitted((2000, 1000), (1024, 1024)), (1024, 512));
        assert_eq!(fitted((1000, 2000), (1024, 1024)), (512, 1024));
        assert_eq!(fitted((8192, 1), (1024, 1024)), (1024, 1));
        assert_eq!(fitted((300, 200), (100, 1024)), (100, 67));
    }

    #[test]
    fn nothing_grows() {
        for size in [(1, 1), (3, 700), (700, 3), (40, 50), (1024, 1024)] {
            for bound in [(1, 1), (10, 1000), (1000, 10), (64, 64), (1024, 1024)] {
                let (width, height) = fitted(size, bound);
                assert!(width <= size.0.min(bound.0) && height <= size.1.min(bound.1));
                let target = (size.0.min(bound.0), size.1.min(bound.1));
                let (width, height) = covered(size, target);
                assert!((target.0..=size.0).contains(&width) && (target.1..=size.1).contains(&height));
            }
        }
    }

    #[test]
    fn cropping_takes_the_middle() {
        let mut pixels = RgbaImage::from_pixel(90, 30, Rgba([255, 0, 0, 255]));
        for (_, _, pixel) in pixels.enumerate_pixels_mut().filter(|(x, _, _)| (30..60).contains(x)) {
            *pixel = Rgba([0, 0, 255, 255]);
        }
        let cropped = scale(pixels.into(), (10, 10), Fit::Crop).into_rgba8();
        assert_eq!(cropped.dimensions(), (10, 10));
        assert!(cropped.pixels().all(|pixel| pixel.0 == [0, 0, 255, 255]));
    }

    #[test]
    fn hidden_colours_do_not_bleed_into_edges() {
        let mut pixels = RgbaImage::from_pixel(64, 64, Rgba([0, 0, 0, 0]));
        for (_, _, pixel) in pixels.enumerate_pixels_mut().filter(|(x, _, _)| *x < 33) {
            *pixel = Rgba([250, 250, 250, 255]);
        }
        let scaled = scale(pixels.into(), (16, 16), Fit::ScaleDown).into_rgba8();
        assert!(scaled.pixels().filter(|pixel| pixel.0[3] > 20).all(|pixel| pixel.0[0] > 240));
    }
}
