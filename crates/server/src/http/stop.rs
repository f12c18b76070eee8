//! How the server ends: the signals that ask it to, and how its connections learn of it.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::failure::Failure;

/// The signals that end the server.
pub(crate) struct StopSignal {
    terminate: Signal,
    interrupt: Signal,
}

/// Catches SIGTERM and SIGINT from now on.
pub(crate) fn stop_signal() -> Result<StopSignal, Failure> {
    let catch = |kind| {
        signal(kind).map_err(|error| {
            Failure::new(
                format!("Signals cannot be caught: {error}."),
                "Raise the limit of open files (ulimit -n).",
            )
        })
    };
    Ok(StopSignal { terminate: catch(SignalKind::terminate())?, interrupt: catch(SignalKind::interrupt())? })
}

impl StopSignal {
    /// The name of the next signal.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Tells connections to end. The one of `hyper-util` does the same for connections of hyper only, and not for
/// what comes before them.
#[derive(Default)]
pub(super) struct Stops(watch::Sender<()>);

/// What a connection holds until it has ended.
pub(super) struct Stop(watch::Receiver<()>);

impl Stops {
    /// For a connection that begins.
    pub(super) fn watch(&self) -> Stop {
        Stop(self.0.subscribe())
    }

    /// How many connections there are.
    pub(super) fn count(&self) -> usize {
        self.0.receiver_count()
    }

    /// Tells all of them, and waits for their end.
    pub(super) async fn all(self) {
        let _ = self.0.send(());
        self.0.closed().await;
    }
}

impl Stop {
    /// Waits until the connection is told to end.
    pub(super) async fn told(&mut self) {
        // It fails when nobody is left to tell it, which is the end as well.
        let _ = self.0.changed().await;
    }
}
