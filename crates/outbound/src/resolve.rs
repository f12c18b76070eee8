//! From names to addresses.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

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
/// Those among them of names below one registrable domain, which have one name server: it may be silent, and there may be
/// any number of such names.
const LOOKUPS_EACH: usize = 4;
/// Names of one domain that are looked up or wait for it. Those who asked may have gone away meanwhile.
const WAITING_EACH: usize = 64;
/// Domains after which those without lookups are forgotten.
const DOMAINS: usize = 256;

/// The resolver of the operating system.
pub struct System(LookupPlaces);

impl Default for System {
    fn default() -> System {
        System(LookupPlaces { all: Arc::new(Semaphore::new(LOOKUPS)), each: Arc::default() })
    }
}

impl Resolve for System {
    fn resolve(&self, host: String, port: u16) -> Addresses {
        let places = self.0.clone();
        Box::pin(async move {
            let place = places.take(&host).await?;
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

/// Places for lookups.
#[derive(Clone)]
struct LookupPlaces {
    all: Arc<Semaphore>,
    /// By domain.
    each: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

impl LookupPlaces {
    /// A place for a name. Whoever waits for one of their domain's keeps none of the others'.
    async fn take(&self, host: &str) -> io::Result<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let own = self.of_domain(host);
        // Ours is among them, and that of the table is none.
        if Arc::strong_count(&own) > WAITING_EACH + 1 {
            return Err(io::Error::other("too many names of this domain are being looked up"));
        }
        let own = own.acquire_owned().await.map_err(io::Error::other)?;
        let place = self.all.clone().acquire_owned().await.map_err(io::Error::other)?;
        Ok((own, place))
    }

    fn of_domain(&self, host: &str) -> Arc<Semaphore> {
        let host = host.to_ascii_lowercase();
        let domain = psl::domain_str(host.trim_end_matches('.')).unwrap_or(&host);
        let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
        if each.len() >= DOMAINS {
            // Whoever has a place or waits for one has a share of it, too.
            each.retain(|_, places| Arc::strong_count(places) > 1);
        }
        each.entry(domain.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(LOOKUPS_EACH))).clone()
    }
}

/// Lets those who ask for the same name at the same time wait for one lookup: a name whose server never answers
/// takes one place, however many requests wait for it.
pub struct Together<R> {
    inner: R,
    running: Running,
}

type Running = Arc<Mutex<HashMap<(String, u16), watch::Receiver<Found>>>>;
/// What was found, once it is; errors as their texts, because several are told.
type Found = Option<Result<Vec<SocketAddr>, String>>;

impl<R: Resolve> Together<R> {
    /// Asks `inner`.
    pub fn new(inner: R) -> Together<R> {
        Together { inner, running: Arc::default() }
    }

    /// The lookup that is under way, or a new one. It goes on when nobody waits for it any more.
    fn lookup(&self, host: String, port: u16) -> watch::Receiver<Found> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (host, port);
        if let Some(found) = running.get(&key) {
            return found.clone();
        }
        let (tell, found) = watch::channel(None);
        running.insert(key.clone(), found.clone());
        let (asked, others) = (self.inner.resolve(key.0.clone(), port), self.running.clone());
        tokio::spawn(async move {
            let answer = asked.await.map_err(|error| error.to_string());
            others.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            tell.send_replace(Some(answer));
        });
        found
    }
}

impl<R: Resolve> Resolve for Together<R> {
    fn resolve(&self, host: String, port: u16) -> Addresses {
        let mut found = self.lookup(host, port);
        Box::pin(async move {
            let found = found.wait_for(Option::is_some).await.map_err(io::Error::other)?;
            match &*found {
                Some(answer) => answer.clone().map_err(io::Error::other),
                None => Err(io::Error::other("the lookup has ended")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts lookups, each of which lasts until `ready` is true.
    #[derive(Clone, Default)]
    struct Counting {
        lookups: Arc<AtomicUsize>,
        ready: Arc<watch::Sender<bool>>,
    }

    impl Resolve for Counting {
        fn resolve(&self, host: String, port: u16) -> Addresses {
            self.lookups.fetch_add(1, Ordering::Relaxed);
            let mut ready = self.ready.subscribe();
            Box::pin(async move {
                ready.wait_for(|is_ready| *is_ready).await.map_err(io::Error::other)?;
                match host.as_str() {
                    "unknown.example" => Err(io::Error::other("no such name")),
                    _ => Ok(vec![SocketAddr::from(([192, 0, 2, 1], port))]),
                }
            })
        }
    }

    #[tokio::test]
    async fn names_of_one_domain_leave_lookups_to_others() {
        let System(places) = System::default();
        let name = |number: usize| format!("x{number}.Slow.example.");
        let mut held = Vec::new();
        for number in 0..LOOKUPS_EACH {
            held.push(places.take(&name(number)).await.unwrap());
        }
        let mut waiting: Vec<_> = (LOOKUPS_EACH..WAITING_EACH)
            .map(|number| take_and_return(places.clone(), name(number + 100)))
            .collect();
        while Arc::strong_count(&places.of_domain("slow.example")) < WAITING_EACH + 2 {
            tokio::task::yield_now().await;
        }
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
        assert!(places.take(&name(500)).await.is_err(), "no more of them wait");
        for number in 0..LOOKUPS - LOOKUPS_EACH {
            held.push(places.take(&format!("hooks{number}.test")).await.unwrap());
        }
        held.clear();
        for waiting in waiting.drain(..) {
            waiting.await.unwrap();
        }
        for number in 0..DOMAINS {
            drop(places.take(&format!("once{number}.test")).await.unwrap());
        }
        assert!(places.each.lock().unwrap().len() <= DOMAINS);
    }

    /// Takes a place and gives it back.
    fn take_and_return(places: LookupPlaces, name: String) -> tokio::task::JoinHandle<()> {
        tokio::spawn(async move { drop(places.take(&name).await.unwrap()) })
    }

    #[tokio::test]
    async fn requests_for_one_name_wait_for_one_lookup() {
        let inner = Counting::default();
        let names = Together::new(inner.clone());
        // Somebody who goes away does not end it.
        drop(names.resolve("slow.example".to_owned(), 443));
        let waiting: Vec<Addresses> =
            (0..50).map(|_| names.resolve("slow.example".to_owned(), 443)).collect();
        let other = names.resolve("unknown.example".to_owned(), 80);
        assert_eq!(inner.lookups.load(Ordering::Relaxed), 2);
        inner.ready.send_replace(true);
        for one in waiting {
            assert_eq!(one.await.unwrap(), [SocketAddr::from(([192, 0, 2, 1], 443))]);
        }
        assert_eq!(other.await.unwrap_err().to_string(), "no such name");
        // What was found is not kept: a name may lead elsewhere the next time.
        names.resolve("slow.example".to_owned(), 443).await.unwrap();
        assert_eq!(inner.lookups.load(Ordering::Relaxed), 3);
        assert!(names.running.lock().unwrap().is_empty());
    }
}
