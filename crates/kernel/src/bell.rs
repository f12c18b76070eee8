//! Wakes those who wait for events. Another node's events ring no bell here, so whoever waits looks by
//! itself now and then too.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use latchkey_base::kinds::InstanceId;
use tokio::sync::watch;
use tokio::time::timeout;

/// Bells that instances share: those of one hardly wake those who wait for another.
const SHARES: usize = 64;

/// A bell. Cheap to clone; all clones are one bell.
#[derive(Clone)]
pub struct Bell(Arc<Inner>);

struct Inner {
    all: watch::Sender<()>,
    shares: Vec<watch::Sender<()>>,
}

impl Default for Bell {
    fn default() -> Bell {
        let shares = (0..SHARES).map(|_| watch::Sender::new(())).collect();
        Bell(Arc::new(Inner { all: watch::Sender::new(()), shares }))
    }
}

impl Bell {
    /// There are new events of an instance.
    pub fn ring(&self, instance: &InstanceId) {
        self.0.all.send_replace(());
        self.share(instance).send_replace(());
    }

    /// There is something new for those who work for all instances.
    pub fn ring_workers(&self) {
        self.0.all.send_replace(());
    }

    /// From now on no ring is missed, of whatever instance.
    pub fn listen(&self) -> Listener {
        Listener(self.0.all.subscribe())
    }

    /// From now on no ring of this instance is missed.
    pub fn listen_to(&self, instance: &InstanceId) -> Listener {
        Listener(self.share(instance).subscribe())
    }

    fn share(&self, instance: &InstanceId) -> &watch::Sender<()> {
        let mut hasher = DefaultHasher::new();
        instance.as_str().hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % SHARES as u64).unwrap_or_default();
        &self.0.shares[index]
    }
}

/// Somebody who waits.
pub struct Listener(watch::Receiver<()>);

impl Listener {
    /// Returns at the next ring, or after `patience`.
    pub async fn wait(&mut self, patience: Duration) {
        // The bell outlives those who listen; were it gone, waiting is all that is left.
        if let Ok(Err(_)) = timeout(patience, self.0.changed()).await {
            tokio::time::sleep(patience).await;
        }
    }
}
