//! Follows the frames of an HTTP/2 connection as they arrive, without reading what is in them.
//!
//! Two things are seen here that `h2` does not mind: a head that was begun and never ends, and frames that cost
//! work and are no requests (pings and settings want an answer, resets throw work away; CVE-2019-9512, -9514,
//! -9515, CVE-2023-44487). Window updates are such frames as well, but requests and answers earn some: there are many
//! during a large answer. Data is not counted: `h2` bounds frames of it that are empty.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::patience::Heads;

/// `PRI * HTTP/2.0` and so on, with which a client begins (RFC 9113, 3.4).
const PREFACE_BYTES: usize = 24;
/// Length, kind, flags and stream of a frame (RFC 9113, 4.1).
const FRAME_HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 0x4;

/// Frames that are no requests: so many at once (a browser that leaves a page resets all its streams, and some
/// tell the priority of each), and one more for each of these times after.
pub(super) const FREE_FRAMES: u32 = 1000;
const FRAME_EVERY: Duration = Duration::from_millis(10);
/// Window updates beside those, for each request, and one for each of so many bytes that were sent. Some clients tell of
/// every frame of data, for the stream and for the connection.
const UPDATES_OF_REQUEST: u32 = 4;
const BYTES_OF_UPDATE: usize = 512;
/// Window updates that can be earned before they are used.
const EARNED_UPDATES: u32 = 10_000;

/// Where in the frames a connection is.
pub(super) struct Frames {
    part: FramePart,
    /// Frames, or series of frames that make up one head, that are complete.
    complete: usize,
    /// Whether further frames belong to a head that has begun.
    is_within_head: bool,
    free: u32,
    freed: Instant,
    /// Window updates that were earned.
    updates: u32,
    /// Bytes that were sent and have earned nothing yet.
    unrewarded: usize,
}

enum FramePart {
    Preface { left: usize },
    Head { bytes: [u8; FRAME_HEAD], filled: usize },
    Payload { kind: u8, flags: u8, left: usize },
}

const NEXT: FramePart = FramePart::Head { bytes: [0; FRAME_HEAD], filled: 0 };

impl Frames {
    pub(super) fn new() -> Frames {
        Frames {
            part: FramePart::Preface { left: PREFACE_BYTES },
            complete: 0,
            is_within_head: false,
            free: FREE_FRAMES,
            freed: Instant::now(),
            updates: 0,
            unrewarded: 0,
        }
    }

    fn begin(&mut self, bytes: [u8; FRAME_HEAD]) -> io::Result<()> {
        let [high, middle, low, kind, flags, ..] = bytes;
        let left = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        match kind {
            DATA => {}
            HEADERS => self.earn(UPDATES_OF_REQUEST),
            WINDOW_UPDATE if self.updates > 0 => self.updates -= 1,
            _ => self.count()?,
        }
        self.part = FramePart::Payload { kind, flags, left };
        if left == 0 {
            self.end(kind, flags);
        }
        Ok(())
    }

    fn end(&mut self, kind: u8, flags: u8) {
        if kind == HEADERS || kind == CONTINUATION {
            self.is_within_head = flags & END_HEADERS == 0;
        }
        if !self.is_within_head {
            self.complete += 1;
        }
        self.part = NEXT;
    }

    fn earn(&mut self, updates: u32) {
        self.updates = self.updates.saturating_add(updates).min(EARNED_UPDATES);
    }

    fn count(&mut self) -> io::Result<()> {
        let earned = self.freed.elapsed().as_millis() / FRAME_EVERY.as_millis();
        if earned > 0 {
            self.free = self.free.saturating_add(u32::try_from(earned).unwrap_or(u32::MAX)).min(FREE_FRAMES);
            self.freed = Instant::now();
        }
        let left = self.free.checked_sub(1);
        self.free = left.ok_or_else(|| io::Error::other("too many frames that are no requests"))?;
        Ok(())
    }
}

impl Heads for Frames {
    fn arrived(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let step = match &mut self.part {
                FramePart::Preface { left } | FramePart::Payload { left, .. } => {
                    let step = bytes.len().min(*left);
                    *left -= step;
                    step
                }
                FramePart::Head { bytes: head, filled } => {
                    let step = bytes.len().min(FRAME_HEAD - *filled);
                    head[*filled..*filled + step].copy_from_slice(&bytes[..step]);
                    *filled += step;
                    step
                }
            };
            bytes = &bytes[step..];
            match self.part {
                FramePart::Preface { left: 0 } => self.part = NEXT,
                FramePart::Payload { kind, flags, left: 0 } => self.end(kind, flags),
                FramePart::Head { bytes, filled: FRAME_HEAD } => self.begin(bytes)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn sent(&mut self, bytes: usize) {
        self.unrewarded += bytes;
        let updates = self.unrewarded / BYTES_OF_UPDATE;
        self.unrewarded %= BYTES_OF_UPDATE;
        self.earn(u32::try_from(updates).unwrap_or(u32::MAX));
    }

    /// Anything that is not complete but a body, whose time is limited with its request.
    fn begun(&mut self) -> Option<usize> {
        let is_begun = match self.part {
            FramePart::Preface { left } => left < PREFACE_BYTES,
            FramePart::Head { filled, .. } => filled > 0 || self.is_within_head,
            FramePart::Payload { kind, .. } => kind != DATA,
        };
        is_begun.then_some(self.complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: u8 = 6;

    fn frame(kind: u8, flags: u8, length: u8) -> Vec<u8> {
        [&[0, 0, length, kind, flags, 0, 0, 0, 1], &vec![0; usize::from(length)][..]].concat()
    }

    fn after(bytes: &[u8]) -> Option<usize> {
        let whole = [&[0; PREFACE_BYTES], bytes].concat();
        let begun = |step: usize| {
            let mut frames = Frames::new();
            assert_eq!(frames.begun(), None);
            whole.chunks(step).for_each(|piece| frames.arrived(piece).unwrap());
            frames.begun()
        };
        assert_eq!(begun(1), begun(whole.len()), "it does not matter how they arrive");
        begun(whole.len())
    }

    #[tokio::test]
    async fn a_head_ends_with_its_last_frame() {
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[0, 0]), Some(0));
        assert_eq!(after(&frame(HEADERS, END_HEADERS, 3)), None);
        assert_eq!(after(&frame(HEADERS, 0, 3)), Some(0));
        let head =
            [frame(HEADERS, 0, 3), frame(CONTINUATION, 0, 200), frame(CONTINUATION, END_HEADERS, 0)].concat();
        assert_eq!(after(&head), None);
        assert_eq!(after(&head[..head.len() - 1]), Some(0));
        assert_eq!(after(&[&head[..], &frame(HEADERS, END_HEADERS, 9)[..12]].concat()), Some(1));
    }

    #[tokio::test]
    async fn a_body_is_no_head() {
        assert_eq!(after(&frame(DATA, 0, 100)[..50]), None);
    }

    #[tokio::test(start_paused = true)]
    async fn frames_that_are_no_requests_are_few() {
        let mut frames = Frames::new();
        frames.arrived(&[0; PREFACE_BYTES]).unwrap();
        for _ in 0..FREE_FRAMES {
            frames.arrived(&frame(PING, 0, 8)).unwrap();
            frames.arrived(&frame(DATA, 0, 1)).unwrap();
        }
        tokio::time::advance(FRAME_EVERY).await;
        frames.arrived(&frame(PING, 0, 8)).unwrap();
        assert!(frames.arrived(&frame(PING, 0, 8)).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn window_updates_are_earned_by_requests_and_answers() {
        let mut frames = Frames::new();
        frames.arrived(&[0; PREFACE_BYTES]).unwrap();
        let update = |frames: &mut Frames, times: u32| {
            (0..times).try_for_each(|_| frames.arrived(&frame(WINDOW_UPDATE, 0, 4)))
        };
        update(&mut frames, FREE_FRAMES).unwrap();
        // Two for each frame of data that is as small as they come.
        for _ in 0..1000 {
            frames.arrived(&frame(HEADERS, END_HEADERS, 9)).unwrap();
            frames.sent(300);
            update(&mut frames, 2).unwrap();
        }
        // Much is sent, and the client tells of it in small steps.
        for _ in 0..1000 {
            frames.sent(16 * 1024);
            update(&mut frames, 32).unwrap();
        }
        frames.sent(100_000_000);
        let left = (0..).take_while(|_| update(&mut frames, 1).is_ok()).count();
        assert_eq!(left, EARNED_UPDATES as usize);
    }
}
