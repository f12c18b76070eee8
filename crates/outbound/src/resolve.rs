//! From names to addresses.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// Addresses, once they are known.
pub type Addresses = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Finds the addresses of a name.
pub trait Resolve: Send + Sync {
    /// The addresses of `host`, best first, with `port`.
    fn resolve(&self, host: String, port: u16) -> Addresses;
}

/// Lookups that may run at once. Each takes a thread of a pool others need too, and a name server chosen by
/// an attacker can let it wait for long.
const LOOKUPS: usize = 32;

/// The resolver of the operating system.
pub struct System(Arc<Semaphore>);

impl Default for System {
    fn default() -> System {
        System(Arc::new(Semaphore::new(LOOKUPS)))
    }
}

impl Resolve for System {
    fn resolve(&self, host: String, port: u16) -> Addresses {
        let places = self.0.clone();
        Box::pin(async move {
            let place = places.acquire_owned().await.map_err(io::Error::other)?;
            // In a task, because a lookup goes on when nobody waits for it any more, and must keep its place.
            let lookup = tokio::spawn(async move {
                let found = tokio::net::lookup_host((host, port)).await.map(Iterator::collect);
                drop(place);
                found
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}
