//! Certificates that are renewed while the server runs.
//!
//! The files are looked at every few seconds. Whether they were rewritten, replaced or are reached by other
//! links now shows in what the system knows of them, so their content is read only after a change. Watching
//! them by notifications would need a dependency, and misses changes of links and on network file systems.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use latchkey_base::Time;
use latchkey_base::time::{Clock, SystemClock};
use tokio::time::{MissedTickBehavior, interval};

use super::certificate::Certificate;
use super::shown::Shown;
use crate::config::{Pair, Problem, TlsFiles};

/// How often files are looked at. A change is used after the second look that finds it.
const LOOK: Duration = Duration::from_secs(3);

/// Looks after the files of one listener.
#[derive(Clone)]
pub(super) struct Watch {
    /// Which listener, for the log.
    name: &'static str,
    files: Vec<Watched>,
    shown: Arc<Shown>,
}

/// A pair of files, and what was seen of them.
#[derive(Clone)]
struct Watched {
    pair: Pair,
    /// As they were when they were read last, whatever came of it.
    read: Traces,
    /// As they were at the last look.
    seen: Traces,
}

/// What the system knows of the two files.
type Traces = [Option<Trace>; 2];

/// Where a file lies, its size, and when it was changed.
#[derive(Clone, Debug, PartialEq)]
struct Trace {
    place: (u64, u64),
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Watch {
    /// Reads the certificates of a listener for the first time.
    pub(super) fn begin(
        name: &'static str,
        files: &TlsFiles,
        now: Time,
    ) -> Result<(Watch, Arc<Shown>), Vec<Problem>> {
        let (mut watched, mut certificates, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for pair in &files.pairs {
            // Before they are read, so that no change in between is overlooked.
            let traces = traces(pair);
            watched.push(Watched { pair: pair.clone(), read: traces.clone(), seen: traces });
            match Certificate::read(pair) {
                Ok(certificate) => certificates.push(certificate),
                Err(fault) => problems.push(files.problem(fault.part, fault.what, fault.right)),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        for certificate in &certificates {
            tracing::info!("the {name} has a certificate for {}", certificate.described());
            warn_of(name, certificate, now);
        }
        let shown = Arc::new(Shown::new(certificates));
        Ok((Watch { name, files: watched, shown: shown.clone() }, shown))
    }

    /// Looks at all files once, and reads those that have changed and rest: two files are never replaced at the
    /// same moment, and half of a change is no reason to complain.
    pub(super) fn look(&mut self, now: Time) {
        for (place, watched) in self.files.iter_mut().enumerate() {
            let traces = traces(&watched.pair);
            let is_at_rest = traces == watched.seen;
            watched.seen = traces;
            let is_new = is_at_rest && watched.seen != watched.read;
            if is_new && take(self.name, &watched.pair, place, &self.shown, now) {
                watched.read = watched.seen.clone();
            }
        }
    }
}

/// Looks after the files for ever.
pub(super) async fn follow(mut watches: Vec<Watch>) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        // A file system that hangs must not hold up requests.
        let looked = tokio::task::spawn_blocking(move || {
            for watch in &mut watches {
                watch.look(SystemClock.now());
            }
            watches
        });
        match looked.await {
            Ok(back) => watches = back,
            Err(error) => {
                tracing::error!(%error, "certificates are no longer read again when they change: restart the server");
                return;
            }
        }
    }
}

/// Shows what the files hold now, or goes on with what it was. Whether they need not be read again as they are.
fn take(name: &str, pair: &Pair, place: usize, shown: &Shown, now: Time) -> bool {
    let certificate = match Certificate::read(pair) {
        Ok(certificate) => certificate,
        Err(fault) if fault.is_passing => {
            tracing::warn!("the {name} keeps its present certificate for now: {fault}");
            return false;
        }
        Err(fault) => {
            tracing::error!(
                "the {name} keeps its present certificate, because the new one cannot be used: {fault} The files are \
                 read again when they change."
            );
            return true;
        }
    };
    let described = certificate.described();
    let chain = certificate.key.cert.clone();
    warn_of(name, &certificate, now);
    match shown.replace(place, certificate) {
        Some(before) if before.key.cert == chain => {
            tracing::debug!("the {name} has read its certificate again: {described}");
        }
        _ => tracing::info!("the {name} has a new certificate for {described}"),
    }
    true
}

fn warn_of(name: &str, certificate: &Certificate, now: Time) {
    if let Some(doubt) = certificate.doubt(now) {
        let described = certificate.described();
        tracing::warn!(
            "the certificate of the {name} {doubt}, so clients will refuse it: renew it ({described}); new files are \
             used without a restart"
        );
    }
}

fn traces(pair: &Pair) -> Traces {
    [trace(&pair.certificate), trace(&pair.key)]
}

/// Follows links, so a link that leads elsewhere is a change.
fn trace(path: &Path) -> Option<Trace> {
    let found = std::fs::metadata(path).ok()?;
    Some(Trace {
        place: (found.dev(), found.ino()),
        size: found.size(),
        written: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests;
