//! Pictures made to do harm: to the server that decodes them, and to the browser that shows them.

use latchkey_testkit::{PICTURE, TestServer};

/// A PNG chunk with its checksum.
fn chunk(kind: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let checked = [kind.as_slice(), payload].concat();
    let crc = checked.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    });
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length, checked.as_slice(), &(!crc).to_be_bytes()].concat()
}

/// A PNG that announces a size and then has hardly any data.
pub(crate) fn announced(width: u32, height: u32) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    let start = b"\x89PNG\r\n\x1a\n".to_vec();
    [start, chunk(b"IHDR", &header), chunk(b"IDAT", b"\x78\x9c\x03\0"), chunk(b"IEND", b"")].concat()
}

/// A GIF of one red pixel, then as many green ones as wanted.
fn animated(frames: usize) -> Vec<u8> {
    let mut gif = b"GIF89a\x01\0\x01\0\x80\0\0\xff\0\0\0\xff\0".to_vec();
    let frame = |code: u8| [b",\0\0\0\0\x01\0\x01\0\0\x02\x02".as_slice(), &[code, 0x01, 0]].concat();
    gif.extend(frame(0x44));
    (1..frames).for_each(|_| gif.extend(frame(0x4c)));
    gif.push(b';');
    gif
}

/// A server and the address of a picture of somebody on it.
async fn somebody() -> (TestServer, String) {
    let t = TestServer::start().await;
    let user = t.post("/v1/users", serde_json::json!({"username": "somebody"})).await.ok();
    let path = format!("/v1/users/{}/profile_image", user["id"].as_str().unwrap());
    (t, path)
}

#[tokio::test]
async fn damaged_and_foreign_files_are_refused_and_not_kept() {
    let (t, path) = somebody().await;
    let before = t.everything().await;
    let mut uploads: Vec<Vec<u8>> =
        (0..PICTURE.len() - 13).map(|length| PICTURE[..length].to_vec()).collect();
    uploads.extend([
        b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_vec(),
        b"<?xml version=\"1.0\"?><!DOCTYPE svg [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><svg>&x;</svg>"
            .to_vec(),
        b"<html><script>alert(1)</script></html>".to_vec(),
        b"%PDF-1.7".to_vec(),
        b"PK\x03\x04".to_vec(),
        b"\x1f\x8b\x08\0\0\0\0\0".to_vec(),
        b"BM\0\0\0\0".to_vec(),
        b"GIF89a".to_vec(),
        b"\xff\xd8\xff".to_vec(),
        b"RIFF\x40\0\0\0WEBPVP8 ".to_vec(),
    ]);
    for upload in uploads {
        let answer = t.upload(&t.tenant, &path, &upload).await;
        answer.is_error(400, "request_body_invalid");
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn announced_gigapixels_are_refused_before_memory_is_taken() {
    let (t, path) = somebody().await;
    let before = t.everything().await;
    for (width, height) in
        [(30_000, 30_000), (8193, 1), (1, 8193), (8192, 8192), (u32::MAX >> 1, u32::MAX >> 1)]
    {
        let answer = t.upload(&t.tenant, &path, &announced(width, height)).await;
        answer.is_error(400, "image_too_many_pixels");
        let text = answer.json["errors"][0]["long_message"].as_str().unwrap();
        assert!(text.contains("too many pixels"), "{width}×{height}: {text}");
    }
    assert_eq!(t.everything().await, before);
}

/// A zlib stream of a few hundred kilobytes that unpacks to a quarter of a gigabyte of zeros: after one
/// literal, "repeat the last byte 258 times", over and over, in the fixed code of RFC 1951, 3.2.6.
fn bomb() -> Vec<u8> {
    let mut bits = vec![true, true, false];
    let mut push = |code: u32, length: u32| bits.extend((0..length).rev().map(|at| code >> at & 1 == 1));
    push(0b0011_0000, 8);
    (0..1_000_000).for_each(|_| push(0b1_1000_1010_0000, 13));
    push(0, 7);
    let bytes = bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit)));
    [0x78, 0x9c].into_iter().chain(bytes).chain([0; 4]).collect()
}

#[tokio::test]
async fn compressed_bomb_in_a_picture_is_refused_or_left_packed() {
    let (t, path) = somebody().await;
    let header = [0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0];
    let start = [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &header)].concat();
    let pixels = [start.clone(), chunk(b"IDAT", &bomb()), chunk(b"IEND", b"")].concat();
    let beside = |kind: &[u8; 4], name: &[u8]| {
        let payload = [name, &bomb()].concat();
        [start.clone(), chunk(kind, &payload), PICTURE[33..].to_vec()].concat()
    };
    let uploads = [
        pixels,
        beside(b"iCCP", b"profile\0\0"),
        beside(b"zTXt", b"Comment\0\0"),
        beside(b"iTXt", b"Comment\0\x01\0\0\0"),
    ];
    for upload in uploads {
        let answer = t.upload(&t.tenant, &path, &upload).await;
        let refused = [(400, "request_body_invalid"), (400, "image_too_many_pixels")];
        assert!(
            [(200, ""), refused[0], refused[1]].contains(&(answer.status, answer.code())),
            "{:#}",
            answer.json
        );
    }
}

#[tokio::test]
async fn upload_over_10_megabytes_is_too_large() {
    let (t, path) = somebody().await;
    let before = t.everything().await;
    let mut upload = PICTURE.to_vec();
    upload.resize(10 * 1024 * 1024 + 1, 0);
    t.upload(&t.tenant, &path, &upload).await.is_error(413, "image_too_large");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn script_behind_or_inside_a_picture_is_not_served() {
    let (t, path) = somebody().await;
    let script = b"<html><script>alert(document.domain)</script>";
    let behind = [PICTURE, script].concat();
    let comment = chunk(b"tEXt", &[b"Comment\0".as_slice(), script].concat());
    let inside = [&PICTURE[..33], &comment, &PICTURE[33..]].concat();
    for upload in [behind, inside] {
        let user = t.upload(&t.tenant, &path, &upload).await.ok();
        let url = user["image_url"].as_str().unwrap().strip_prefix("http://127.0.0.1:3400").unwrap();
        let served = t.call(None, "GET", url, None).await;
        assert_eq!((served.status, served.header("content-type")), (200, "image/png"));
        assert_eq!(served.header("x-content-type-options"), "nosniff");
        assert!(served.header("content-security-policy").contains("default-src 'none'"));
        assert!(!String::from_utf8_lossy(&served.bytes).contains("script"));
    }
}

#[tokio::test]
async fn animation_becomes_its_first_frame_however_many_follow() {
    let (t, path) = somebody().await;
    let mut served = Vec::new();
    for frames in [1, 2, 50_000] {
        let user = t.upload(&t.tenant, &path, &animated(frames)).await.ok();
        let url = user["image_url"].as_str().unwrap().strip_prefix("http://127.0.0.1:3400").unwrap();
        served.push(t.call(None, "GET", url, None).await.bytes);
    }
    assert!(served[0].starts_with(b"\x89PNG"));
    assert!(served.iter().all(|bytes| *bytes == served[0]));
}

#[tokio::test]
async fn picture_is_only_resized_within_bounds() {
    let (t, path) = somebody().await;
    let user = t.upload(&t.tenant, &path, PICTURE).await.ok();
    let url = user["image_url"].as_str().unwrap().strip_prefix("http://127.0.0.1:3400").unwrap();
    for bad in
        ["width=0", "width=1025", "height=99999999999", "width=-1", "quality=0", "quality=101", "fit=stretch"]
    {
        let answer = t.call(None, "GET", &format!("{url}?{bad}"), None).await;
        assert_eq!(answer.status, 422, "{bad}");
    }
    assert_eq!(t.call(None, "GET", &format!("{url}?width=1024&height=1024"), None).await.status, 200);
}
