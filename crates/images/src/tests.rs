//! Uploads of every format, and uploads made to do harm.

use std::io::Cursor;

use image::codecs::gif::GifEncoder;
use image::codecs::png::PngEncoder;
use image::{DynamicImage, Frame, ImageEncoder, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};

use crate::{Fit, Image, ImageError, Resize, measure, resize};

const MAX_PIXELS: u64 = 32_000_000;

/// Every upload is measured the way it is decoded.
fn normalise(upload: &[u8]) -> Result<Image, ImageError> {
    let measured = measure(upload, MAX_PIXELS);
    let image = crate::normalise(upload, MAX_PIXELS);
    if image.is_ok() {
        assert!(measured.is_ok(), "what is decoded can be measured");
    }
    image
}

fn sample(width: u32, height: u32) -> DynamicImage {
    RgbImage::from_fn(width, height, |x, y| Rgb([(x * 7) as u8, (y * 5) as u8, (x + y) as u8])).into()
}

fn written(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn pixels(bytes: &[u8]) -> RgbaImage {
    image::load_from_memory(bytes).unwrap().into_rgba8()
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

/// A PNG chunk with its checksum.
fn chunk(kind: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut checked = kind.to_vec();
    checked.extend(payload);
    let crc = checked.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    });
    let mut chunk = (payload.len() as u32).to_be_bytes().to_vec();
    chunk.extend(checked);
    chunk.extend((!crc).to_be_bytes());
    chunk
}

/// The start of a PNG that announces this size, eight bits of RGBA, and then has hardly any data.
fn announced(width: u32, height: u32, bits: u8) -> Vec<u8> {
    let mut header = width.to_be_bytes().to_vec();
    header.extend(height.to_be_bytes());
    header.extend([bits, 6, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend(chunk(b"IHDR", &header));
    png.extend(chunk(b"IDAT", &[0x78, 0x9c, 0x03, 0x00]));
    png
}

#[test]
fn every_format_comes_back_as_jpeg_or_png() {
    for (format, content_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/png"),
        (ImageFormat::WebP, "image/png"),
    ] {
        let image = normalise(&written(&sample(60, 40), format)).unwrap();
        assert_eq!((image.content_type, image.width, image.height), (content_type, 60, 40));
        let read = pixels(&image.bytes);
        assert_eq!(read.dimensions(), (60, 40));
        let [red, green, blue, alpha] = read.get_pixel(10, 20).0.map(i32::from);
        assert_eq!(alpha, 255);
        assert!((red - 70).abs() < 25 && (green - 100).abs() < 25 && (blue - 30).abs() < 25, "{format:?}");
    }
}

#[test]
fn lossless_pictures_keep_their_pixels_and_transparency() {
    let picture =
        DynamicImage::from(RgbaImage::from_fn(9, 9, |x, y| Rgba([200, 100, x as u8, y as u8 * 28])));
    for format in [ImageFormat::Png, ImageFormat::WebP] {
        let image = normalise(&written(&picture, format)).unwrap();
        assert_eq!(pixels(&image.bytes), picture.to_rgba8());
    }
}

#[test]
fn large_pictures_are_scaled_to_fit() {
    let image = normalise(&written(&sample(1500, 750), ImageFormat::Jpeg)).unwrap();
    assert_eq!((image.width, image.height), (1024, 512));
    let deep = DynamicImage::from(sample(20, 1100).into_rgb16());
    let image = normalise(&written(&deep, ImageFormat::Png)).unwrap();
    assert_eq!((image.width, image.height), (19, 1024));
}

#[test]
fn announced_gigapixels_are_refused_before_memory_is_taken() {
    for (width, height, bits) in
        [(30_000, 30_000, 8), (u32::MAX >> 1, 1, 8), (8192, 8192, 8), (6000, 5000, 16)]
    {
        assert_eq!(normalise(&announced(width, height, bits)), Err(ImageError::TooManyPixels));
    }
    let mut gif = written(&sample(4, 4), ImageFormat::Gif);
    gif[6..10].copy_from_slice(&[0xff; 4]);
    assert_eq!(normalise(&gif), Err(ImageError::TooManyPixels));
    let mut jpeg = written(&sample(4, 4), ImageFormat::Jpeg);
    let size = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap() + 5;
    jpeg[size..size + 4].copy_from_slice(&[0xff; 4]);
    assert_eq!(normalise(&jpeg), Err(ImageError::TooManyPixels));
}

#[test]
fn a_picture_is_measured_by_its_header_and_refused_by_its_pixels() {
    let header = announced(5000, 5000, 8);
    assert_eq!(measure(&header, 25_000_000), Ok(25_000_000));
    assert_eq!(measure(&header, 24_999_999), Err(ImageError::TooManyPixels));
    assert_eq!(crate::normalise(&header, 24_999_999), Err(ImageError::TooManyPixels));
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        assert_eq!(measure(&written(&sample(60, 40), format), 2400), Ok(2400));
        assert_eq!(measure(&written(&sample(60, 40), format), 2399), Err(ImageError::TooManyPixels));
    }
}

#[test]
fn a_jpeg_with_many_scans_is_refused_before_it_is_decoded() {
    let mut jpeg = written(&sample(4, 4), ImageFormat::Jpeg);
    let scan = jpeg.windows(2).position(|marker| marker == [0xff, 0xda]).unwrap();
    let again: Vec<u8> = jpeg[scan..jpeg.len() - 2].to_vec();
    for _ in 0..40 {
        jpeg.splice(scan..scan, again.iter().copied());
    }
    assert_eq!(measure(&jpeg, MAX_PIXELS), Err(ImageError::Unsupported));
}

#[test]
fn uploads_over_ten_megabytes_are_refused_unread() {
    let mut upload = written(&sample(4, 4), ImageFormat::Png);
    upload.resize(10 * 1024 * 1024, 0);
    assert!(normalise(&upload).is_ok());
    upload.push(0);
    assert_eq!(normalise(&upload), Err(ImageError::TooLarge));
}

#[test]
fn svg_is_refused_however_it_begins() {
    for svg in [
        "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>",
        "<?xml version=\"1.0\"?><!DOCTYPE svg><svg/>",
        "\u{feff} \n<svg/>",
        "<html><script>alert(1)</script></html>",
    ] {
        assert_eq!(normalise(svg.as_bytes()), Err(ImageError::Unsupported));
    }
}

#[test]
fn a_script_hidden_in_a_picture_does_not_survive() {
    const SCRIPT: &[u8] = b"<script>alert(document.domain)</script>";
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let mut upload = written(&sample(30, 30), format);
        upload.extend(SCRIPT);
        assert!(!contains(&normalise(&upload).unwrap().bytes, b"script"), "{format:?}");
    }
    let mut png = written(&sample(30, 30), ImageFormat::Png);
    png.splice(33..33, chunk(b"tEXt", &[b"Comment\0", SCRIPT].concat()));
    assert!(contains(&png, SCRIPT) && !contains(&normalise(&png).unwrap().bytes, b"script"));
    let mut jpeg = written(&sample(30, 30), ImageFormat::Jpeg);
    let comment = [&[0xff, 0xfe, 0, SCRIPT.len() as u8 + 2], SCRIPT].concat();
    jpeg.splice(2..2, comment);
    assert!(contains(&jpeg, SCRIPT) && !contains(&normalise(&jpeg).unwrap().bytes, b"script"));
}

#[test]
fn an_animation_becomes_its_first_frame() {
    let mut upload = Vec::new();
    let mut encoder = GifEncoder::new(&mut upload);
    for colour in [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]] {
        encoder.encode_frame(Frame::new(RgbaImage::from_pixel(8, 8, Rgba(colour)))).unwrap();
    }
    drop(encoder);
    let image = normalise(&upload).unwrap();
    assert_eq!(image.content_type, "image/png");
    assert!(pixels(&image.bytes).pixels().all(|pixel| pixel.0 == [255, 0, 0, 255]));
}

/// An EXIF block that says nothing but the orientation (tag 0x0112).
fn exif(orientation: u8) -> Vec<u8> {
    let mut tiff = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    tiff.extend([orientation, 0, 0, 0, 0, 0, 0]);
    tiff
}

#[test]
fn photographs_are_turned_upright_and_lose_their_metadata() {
    let mut picture = RgbImage::from_pixel(32, 16, Rgb([255, 255, 255]));
    for (_, _, pixel) in picture.enumerate_pixels_mut().filter(|(x, _, _)| *x < 8) {
        *pixel = Rgb([255, 0, 0]);
    }
    let mut jpeg = written(&picture.clone().into(), ImageFormat::Jpeg);
    let block = [b"Exif\0\0", exif(6).as_slice()].concat();
    jpeg.splice(2..2, [&[0xff, 0xe1, 0, block.len() as u8 + 2], block.as_slice()].concat());
    let mut png = Vec::new();
    let mut encoder = PngEncoder::new(&mut png);
    encoder.set_exif_metadata(exif(6)).unwrap();
    picture.write_with_encoder(encoder).unwrap();

    for upload in [jpeg, png] {
        let image = normalise(&upload).unwrap();
        assert_eq!((image.width, image.height), (16, 32));
        let read = pixels(&image.bytes);
        assert!(read.get_pixel(8, 2).0[1] < 60 && read.get_pixel(8, 30).0[1] > 200);
        assert!(!contains(&image.bytes, b"Exif") && !contains(&image.bytes, b"eXIf"));
    }
}

#[test]
fn no_prefix_of_a_picture_panics() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let whole = written(&sample(24, 24), format);
        for length in 0..whole.len() {
            let _ = normalise(&whole[..length]);
        }
        let few = &whole[..40.min(whole.len())];
        assert!(normalise(few).is_err(), "{format:?}");
    }
}

/// A linear congruential generator: the same "random" bytes in every run.
fn noise(state: &mut u64) -> u8 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 56) as u8
}

#[test]
fn noise_and_damage_never_panic() {
    let mut state = 1;
    let options = Resize { width: Some(5), height: Some(9), fit: Fit::Crop, quality: 50 };
    for magic in [&b""[..], b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\x40\0\0\0WEBPVP8 "] {
        for _ in 0..200 {
            let mut upload = magic.to_vec();
            upload.extend((0..120).map(|_| noise(&mut state)));
            let _ = normalise(&upload);
            let _ = resize(&upload, "image/png", options);
        }
    }
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let whole = written(&sample(20, 20), format);
        for _ in 0..300 {
            let mut upload = whole.clone();
            for _ in 0..=noise(&mut state) % 4 {
                let at =
                    (usize::from(noise(&mut state)) << 8 | usize::from(noise(&mut state))) % upload.len();
                upload[at] = noise(&mut state);
            }
            let _ = normalise(&upload);
        }
    }
}
