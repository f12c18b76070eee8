//! The bare handler: axum, no middleware, no work, answering bytes that our server answered before. It runs as
//! a process of its own (`latchkey-bench bare`), so that both are loaded across the same loopback.

use std::fs;
use std::hint::black_box;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use bytes::Bytes;
use latchkey_jose::rsa::SigningKey;
use tokio::net::TcpListener;

use crate::Result;
use crate::http::Reply;
use crate::server::{free_address, wait_for_port};

/// The running bare process; it ends with this value.
pub(crate) struct Bare {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Bare {
    /// Starts a bare handler that answers `reply` to everything. `file` carries the reply across.
    pub(crate) async fn start(file: &Path, reply: &Reply<'_>) -> Result<Self> {
        Self::start_with(file, reply, &[]).await
    }

    /// The same, but it signs the request's body each time before it answers: the least that minting a token
    /// over HTTP takes.
    pub(crate) async fn start_signing(file: &Path, reply: &Reply<'_>) -> Result<Self> {
        Self::start_with(file, reply, &["--signs"]).await
    }

    async fn start_with(file: &Path, reply: &Reply<'_>, more: &[&str]) -> Result<Self> {
        fs::write(file, encode(reply))?;
        let address = free_address()?;
        let child = Command::new(std::env::current_exe()?)
            .args(["bare", "--listen", &address.to_string(), "--body-file"])
            .arg(file)
            .args(more)
            .stdin(Stdio::null())
            .spawn()?;
        let bare = Self { child, address };
        wait_for_port(address).await?;
        Ok(bare)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // Already gone is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process itself: serves until killed.
pub(crate) async fn serve(listen: SocketAddr, file: &Path, signs: bool) -> Result<()> {
    let mut answer = Answer::decode(&fs::read(file)?)?;
    if signs {
        answer.key = Some(Arc::new(SigningKey::generate()?));
    }
    let listener = TcpListener::bind(listen).await?.tap_io(|stream| {
        // Without it a reply in two segments would wait for the client's acknowledgement.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().fallback(answer_it).with_state(answer)).await?;
    Ok(())
}

#[derive(Clone)]
struct Answer {
    status: StatusCode,
    content_type: HeaderValue,
    body: Bytes,
    key: Option<Arc<SigningKey>>,
}

/// Takes the request's body too: a handler that leaves it unread may cost its connection.
async fn answer_it(State(answer): State<Answer>, body: Bytes) -> Response {
    if let Some(key) = &answer.key
        && black_box(key.sign_rs256(&body)).is_err()
    {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    (answer.status, [(header::CONTENT_TYPE, answer.content_type)], answer.body).into_response()
}

impl Answer {
    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut parts = bytes.splitn(3, |b| *b == b'\n');
        let mut part = || parts.next().ok_or("a body file is status, content type, body");
        let status = StatusCode::from_bytes(part()?)?;
        let content_type = HeaderValue::from_bytes(part()?)?;
        Ok(Self { status, content_type, body: Bytes::copy_from_slice(part()?), key: None })
    }
}

fn encode(reply: &Reply<'_>) -> Vec<u8> {
    let status = reply.status.to_string();
    [status.as_bytes(), reply.content_type, reply.body].join(&b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_survives_its_file() {
        let reply = Reply {
            status: 201,
            content_type: b"application/json",
            body: b"{\n}\n",
            cookie: b"",
            location: b"",
        };
        let answer = Answer::decode(&encode(&reply)).unwrap();
        assert_eq!(answer.status, 201);
        assert_eq!(answer.content_type, "application/json");
        assert_eq!(answer.body, reply.body);
    }
}
