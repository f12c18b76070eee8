//! HTTP/2 by hand, for clients that no library would be; over pipes in memory, so that time can be a test's own.

use std::net::Ipv4Addr;

use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use super::*;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RESET: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const ACK: u8 = 1;
/// GET of `/` at `x`: of the static table of RFC 7541 the fields 2, 7, 4, and 1 with a value of its own.
pub(super) const GET_ROOT: [u8; 6] = [0x82, 0x87, 0x84, 0x01, 1, b'x'];
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame with what it carries.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

/// A client, and the end of the server's side.
pub(super) struct Client {
    pub(super) pipe: DuplexStream,
    pub(super) server: JoinHandle<Ended>,
    pub(super) stops: Option<Stops>,
    pub(super) side: Arc<SideService>,
}

impl Client {
    /// One whose windows begin with this size.
    pub(super) async fn new(window: u32) -> Client {
        let mut client = Client::silent(side(LIMITS, None));
        client.begin(window).await;
        client
    }

    /// One that has sent nothing.
    pub(super) fn silent(side: Arc<SideService>) -> Client {
        Client::at(side, Ipv4Addr::LOCALHOST)
    }

    /// One at another address that has sent nothing.
    pub(super) fn at(side: Arc<SideService>, address: Ipv4Addr) -> Client {
        let (pipe, other) = tokio::io::duplex(64 * 1024);
        let stops = Stops::default();
        let (stop, own) = (stops.watch(), side.clone());
        let server = tokio::spawn(async move {
            let stream = Unstalled::new(other, own.limits.stall);
            super::super::http2::serve(&own, stream, peer((address, 1).into()), stop).await
        });
        Client { pipe, server, stops: Some(stops), side }
    }

    pub(super) async fn begin(&mut self, window: u32) {
        self.pipe.write_all(PREFACE).await.unwrap();
        let setting = [&[0, 4][..], &window.to_be_bytes()].concat();
        self.send(SETTINGS, 0, 0, &setting).await.unwrap();
    }

    pub(super) async fn send(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
    ) -> std::io::Result<()> {
        self.pipe.write_all(&frame(kind, flags, stream, payload)).await
    }

    /// Asks for `/`.
    pub(super) async fn ask(&mut self, stream: u32) -> std::io::Result<()> {
        self.send(HEADERS, END_STREAM | END_HEADERS, stream, &GET_ROOT).await
    }

    /// The next frame; nothing when the server has closed.
    pub(super) async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.pipe.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.pipe.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    pub(super) async fn next_of(&mut self, kind: u8) -> Option<Frame> {
        loop {
            match self.next().await {
                Some(frame) if frame.kind != kind => {}
                found => return found,
            }
        }
    }

    /// Why the server ended the connection.
    pub(super) async fn refused(self) -> String {
        match self.server.await.unwrap() {
            Ok(()) => "it was not refused".to_owned(),
            Err(error) => crate::failure::chain(&*error),
        }
    }
}

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The head of a GET of this path at `x`.
pub(super) fn get_of(path: &str) -> Vec<u8> {
    [&[0x82, 0x87, 0x01, 1, b'x'][..], &field(":path", path)].concat()
}

/// A header field of its own, in plain letters (RFC 7541, 6.2.2).
pub(super) fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}
