//! One HTTP/1.1 keep-alive connection: bytes out, one reply in. Only as much of HTTP as the servers measured
//! here speak (a status line, `Content-Length`, a body), because the generator shares the processors with
//! them and must stay cheap. What it does not understand is an error, never a guess.

use std::net::SocketAddr;
use std::ops::Range;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;

const FIRST_BUFFER: usize = 16 * 1024;

pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A whole reply, borrowed from the buffer of its connection.
pub(crate) struct Reply<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a [u8],
    pub(crate) body: &'a [u8],
    /// The last `Set-Cookie`, which is where our server puts the one that matters; empty without any.
    pub(crate) cookie: &'a [u8],
    /// Where it leads; empty unless it is a redirect.
    pub(crate) location: &'a [u8],
}

impl Reply<'_> {
    pub(crate) fn ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The reply in one line, for the person reading why a run failed.
    pub(crate) fn describe(&self) -> String {
        let body = &self.body[..self.body.len().min(400)];
        format!("{} {}", self.status, String::from_utf8_lossy(body))
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; FIRST_BUFFER] })
    }

    /// Sends one request and waits for the whole reply.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<Reply<'_>> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        let head = loop {
            filled += self.fill(filled).await?;
            if let Some(head) = parse_head(&self.buffer[..filled])? {
                break head;
            }
        };
        let end = head.body.end;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        while filled < end {
            filled += self.fill(filled).await?;
        }
        if filled > end {
            return Err(format!("{} bytes follow the reply", filled - end).into());
        }
        Ok(Reply {
            status: head.status,
            content_type: &self.buffer[head.content_type],
            body: &self.buffer[head.body],
            cookie: &self.buffer[head.cookie],
            location: &self.buffer[head.location],
        })
    }

    async fn fill(&mut self, filled: usize) -> Result<usize> {
        if filled == self.buffer.len() {
            self.buffer.resize(filled * 2, 0);
        }
        match self.stream.read(&mut self.buffer[filled..]).await? {
            0 => Err("the server closed the connection inside a reply".into()),
            read => Ok(read),
        }
    }
}

#[derive(Debug, PartialEq)]
struct Head {
    status: u16,
    content_type: Range<usize>,
    cookie: Range<usize>,
    location: Range<usize>,
    body: Range<usize>,
}

/// The head at the start of `bytes`, or `None` while its empty line has not arrived.
fn parse_head(bytes: &[u8]) -> Result<Option<Head>> {
    let mut status = None;
    let mut length = None;
    let (mut content_type, mut cookie, mut location) = (0..0, 0..0, 0..0);
    let mut at = 0;
    while let Some(newline) = bytes[at..].iter().position(|b| *b == b'\n') {
        let (start, next) = (at, at + newline + 1);
        at = next;
        let line = bytes[start..next - 1].strip_suffix(b"\r").ok_or("a head line without CR")?;
        let Some(status) = status else {
            status = Some(parse_status(line)?);
            continue;
        };
        if line.is_empty() {
            let length = match (length, status) {
                (Some(length), _) => length,
                (None, 204 | 304) => 0,
                (None, _) => return Err("a reply without Content-Length".into()),
            };
            return Ok(Some(Head { status, content_type, cookie, location, body: at..at + length }));
        }
        let colon = line.iter().position(|b| *b == b':').ok_or("a header line without a colon")?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        let skipped = line.len() - line[colon + 1..].trim_ascii_start().len();
        let place = start + skipped..start + skipped + value.len();
        if name.eq_ignore_ascii_case(b"content-length") {
            length = Some(std::str::from_utf8(value)?.parse::<usize>()?);
        } else if name.eq_ignore_ascii_case(b"content-type") {
            content_type = place;
        } else if name.eq_ignore_ascii_case(b"set-cookie") {
            cookie = place;
        } else if name.eq_ignore_ascii_case(b"location") {
            location = place;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            return Err("a chunked reply, which this client does not read".into());
        }
    }
    Ok(None)
}

fn parse_status(line: &[u8]) -> Result<u16> {
    let code = line.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
    let code = code.ok_or_else(|| format!("not a status line: {}", String::from_utf8_lossy(line)))?;
    Ok(std::str::from_utf8(code)?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_status_type_and_body() {
        let bytes =
            b"HTTP/1.1 200 OK\r\nContent-Type:  application/json\r\ncontent-length: 2\r\nx: y:z\r\n\r\n{}";
        let head = parse_head(bytes).unwrap().unwrap();
        assert_eq!(head.status, 200);
        assert_eq!(&bytes[head.content_type], b"application/json");
        assert_eq!(&bytes[head.body], b"{}");
    }

    #[test]
    fn the_last_cookie_is_the_one() {
        let bytes =
            b"HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nSet-Cookie: b=2; Path=/\r\ncontent-length: 0\r\n\r\n";
        let head = parse_head(bytes).unwrap().unwrap();
        assert_eq!(&bytes[head.cookie], b"b=2; Path=/");
    }

    #[test]
    fn waits_for_every_prefix_of_a_head() {
        let bytes = b"HTTP/1.1 404 Not Found\r\ncontent-length: 10\r\n\r\n";
        for cut in 0..bytes.len() {
            assert_eq!(parse_head(&bytes[..cut]).unwrap(), None, "cut at {cut}");
        }
        assert_eq!(parse_head(bytes).unwrap().unwrap().body, bytes.len()..bytes.len() + 10);
    }

    #[test]
    fn a_reply_without_content_has_no_length() {
        let head = parse_head(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap().unwrap();
        assert_eq!(head.body.len(), 0);
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        for bad in [
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 2\r\n\r\n",
            "SSH-2.0-x\r\n",
            "HTTP/1.1 200 OK\n",
        ] {
            assert!(parse_head(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
