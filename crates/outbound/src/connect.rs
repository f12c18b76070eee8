//! Makes connections, and only to addresses that were checked.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use crate::failure::Failure;
use crate::reach::Reach;
use crate::resolve::Resolve;

/// How long one address may take. A request has its own deadline; this one leaves time for another address,
/// and ends connections nobody waits for any more.
const CONNECT: Duration = Duration::from_secs(5);
/// Addresses of a name that are tried.
const ADDRESSES: usize = 4;

/// Connects within one reach.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) reach: Reach,
    pub(crate) resolver: Arc<dyn Resolve>,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
            let standard = if uri.scheme_str() == Some("https") { 443 } else { 80 };
            let port = uri.port_u16().unwrap_or(standard);
            let addresses = connector.addresses(host, port).await?;
            first(host, &addresses).await
        })
    }
}

impl Connector {
    /// The addresses of a host that may be reached; the connection goes to one of these very addresses, so
    /// that it does not help to answer the next lookup differently.
    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let mut found = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => {
                let looked_up = self.resolver.resolve(host.to_owned(), port).await;
                looked_up.map_err(|_| Failure::NameNotFound(host.to_owned()))?
            }
        };
        if found.is_empty() {
            return Err(Failure::NameNotFound(host.to_owned()));
        }
        found.retain(|address| self.reach.allows(address.ip()));
        found.truncate(ADDRESSES);
        match found.is_empty() {
            true => Err(Failure::AddressNotAllowed(host.to_owned())),
            false => Ok(found),
        }
    }
}

/// A connection to the first address that takes one.
async fn first(host: &str, addresses: &[SocketAddr]) -> Result<TokioIo<TcpStream>, Failure> {
    let mut failure = Failure::NameNotFound(host.to_owned());
    for address in addresses {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Requests are small and written at once; waiting to fill a packet only costs time.
                let _ = stream.set_nodelay(true);
                return Ok(TokioIo::new(stream));
            }
            Ok(Err(error)) => failure = Failure::connect(host, &error),
            Err(_) => failure = Failure::connect(host, &std::io::ErrorKind::TimedOut.into()),
        }
    }
    Err(failure)
}
