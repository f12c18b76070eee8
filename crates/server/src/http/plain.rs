//! Plain HTTP at a port that speaks TLS: somebody wrote `http://`. They are told so, in plain HTTP.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ANSWER: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 55\r\nConnection: close\r\n\r\nThis port speaks TLS. Write https:// instead of http.\r\n";
/// What is read of such a request at most: closing a connection before its client has sent everything can take
/// the answer back.
const READ_AT_MOST: u64 = 64 * 1024;

/// Whether the first byte is the letter of a method. Handshakes begin with the byte 22.
pub(super) async fn is_plain(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    let length = stream.peek(&mut first).await?;
    Ok(length == 1 && first[0].is_ascii_uppercase())
}

/// Says what to do, and waits until the client closes. The caller limits the time.
pub(super) async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    tracing::debug!("a client speaks plain HTTP at a port for TLS");
    stream.write_all(ANSWER.as_bytes()).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(READ_AT_MOST), &mut tokio::io::sink()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_as_long_as_it_says() {
        let (head, body) = ANSWER.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "it has {}", body.len());
    }
}
