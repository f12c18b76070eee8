//! Wakes those who wait for events. Another node's events ring no bell here, so whoever waits looks by
//! itself now and then too.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// A bell. Cheap to clone; all clones are one bell.
#[derive(Clone)]
pub struct Bell(Arc<watch::Sender<()>>);

impl Default for Bell {
    fn default() -> Bell {
        Bell(Arc::new(watch::Sender::new(())))
    }
}

impl Bell {
    /// There are new events.
    pub fn ring(&self) {
        self.0.send_replace(());
    }

    /// From now on no ring is missed.
    pub fn listen(&self) -> Listener {
        Listener(self.0.subscribe())
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
