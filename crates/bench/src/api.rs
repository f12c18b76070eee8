//! Requests of the Backend API as bytes, in the order and with the headers every scenario shares. The bare
//! handler receives these very bytes too.

use std::fmt::Display;
use std::io::Write;
use std::net::SocketAddr;

use crate::Result;
use crate::http::{Connection, Reply};

pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    headers: String,
}

impl Api {
    pub(crate) fn new(address: SocketAddr, secret_key: &str) -> Self {
        let headers = format!(
            "Host: {address}\r\nAuthorization: Bearer {secret_key}\r\nAccept: application/json\r\nUser-Agent: latchkey-bench\r\n"
        );
        Self { address, headers }
    }

    pub(crate) fn get(&self, out: &mut Vec<u8>, path: impl Display) {
        // Writing to a vector cannot fail.
        let _ = write!(out, "GET /v1{path} HTTP/1.1\r\n{}\r\n", self.headers);
    }

    pub(crate) fn send(&self, out: &mut Vec<u8>, method: &str, path: impl Display, body: &str) {
        let (headers, length) = (&self.headers, body.len());
        let _ = write!(
            out,
            "{method} /v1{path} HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
    }

    /// One request whose answer matters; anything but 2xx is an error.
    pub(crate) async fn once<'c>(&self, to: &'c mut Connection, request: &[u8]) -> Result<Reply<'c>> {
        let reply = to.exchange(request).await?;
        if reply.ok() { Ok(reply) } else { Err(reply.describe().into()) }
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        Connection::open(self.address).await
    }
}
