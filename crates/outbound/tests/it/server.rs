//! A server that says exactly what a test wants it to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use latchkey_outbound::client::{Answer, Client, Options, Request};
use latchkey_outbound::failure::Failure;
use latchkey_outbound::reach::Reach;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

/// What a server does with a request.
#[derive(Clone, Copy)]
pub(crate) enum Say {
    /// Sends these bytes and waits for the next request.
    This(&'static str),
    /// Sends these bytes and closes.
    ThenClose(&'static str),
    /// Sends these bytes, then says nothing any more.
    ThenHang(&'static str),
    /// Sends these bytes, then others for ever.
    ThenEndless(&'static str, &'static str),
}

/// A listening server.
pub(crate) struct Server {
    /// Its port on this machine.
    pub(crate) port: u16,
    /// Connections it took so far.
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) async fn start(say: Say) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, SeqCst);
                tokio::spawn(serve(stream, say));
            }
        });
        Server { port, connections }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }
}

/// Answers every request on a connection.
pub(crate) async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, say: Say) {
    while read_request(&mut stream).await {
        let (Say::This(text) | Say::ThenClose(text) | Say::ThenHang(text) | Say::ThenEndless(text, _)) = say;
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
        match say {
            Say::This(_) => {}
            Say::ThenClose(_) => return drop(stream.shutdown().await),
            Say::ThenHang(_) => std::future::pending().await,
            Say::ThenEndless(_, more) => while stream.write_all(more.as_bytes()).await.is_ok() {},
        }
    }
}

/// Reads one request with its body. Says whether there was one.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut seen = Vec::new();
    let mut part = [0; 4096];
    loop {
        match stream.read(&mut part).await {
            Ok(count) if count > 0 => seen.extend_from_slice(&part[..count]),
            _ => return false,
        }
        let text = String::from_utf8_lossy(&seen).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        if body.len() >= length.map_or(0, |length| length.trim().parse().unwrap()) {
            return true;
        }
    }
}

pub(crate) fn client() -> Client {
    Client::new(Options::default()).unwrap()
}

/// Sends something to a URL, with 1 KB of answer and three seconds of time.
pub(crate) async fn post(client: &Client, url: &str, reach: Reach) -> Result<Answer, Failure> {
    let headers = vec![("content-type", "application/json".to_owned())];
    let body = Bytes::from_static(b"{}");
    let timeout = Duration::from_secs(3);
    client.post(Request { url, headers, body, reach, timeout, keep: 1024 }).await
}
