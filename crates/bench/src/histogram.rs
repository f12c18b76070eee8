//! Latencies in a fixed number of counters: 64 steps per power of two, so that a quantile is off by less
//! than 1.6 % and recording one is an addition. It knows nothing of what was measured.

use std::time::Duration;

const STEP_BITS: u32 = 6;
const STEPS: usize = 1 << STEP_BITS;
/// From 64 ns up to 2^40 ns (18 minutes), longer than any window of the bench.
const OCTAVES: usize = 34;

#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; OCTAVES * STEPS], total: 0 }
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.counts[slot(ns)] += 1;
        self.total += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    pub(crate) fn count(&self) -> u64 {
        self.total
    }

    /// The latency that `share` (0 to 1) of the records do not exceed; `None` without records.
    pub(crate) fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (slot, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Some(Duration::from_nanos(middle(slot)));
            }
        }
        None
    }
}

fn slot(ns: u64) -> usize {
    let ns = ns.max(STEPS as u64);
    let shift = ns.ilog2() - STEP_BITS;
    let step = (ns >> shift) as usize - STEPS;
    (shift as usize * STEPS + step).min(OCTAVES * STEPS - 1)
}

fn middle(slot: usize) -> u64 {
    let shift = slot / STEPS;
    let low = ((slot % STEPS + STEPS) as u64) << shift;
    low + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_two_percent() {
        let mut h = Histogram::new();
        for us in 1..=10_000 {
            h.record(Duration::from_micros(us));
        }
        for (share, us) in [(0.5, 5_000.0), (0.99, 9_900.0), (1.0, 10_000.0)] {
            let found = h.quantile(share).unwrap().as_nanos() as f64 / 1_000.0;
            assert!((found / us - 1.0).abs() < 0.02, "{share}: {found} for {us}");
        }
        assert_eq!(h.count(), 10_000);
    }

    #[test]
    fn extremes_do_not_overflow_and_nothing_has_no_quantile() {
        assert_eq!(Histogram::new().quantile(0.5), None);
        let mut h = Histogram::new();
        h.record(Duration::ZERO);
        h.record(Duration::MAX);
        let mut other = Histogram::new();
        other.merge(&h);
        assert_eq!(other.count(), 2);
        assert!(other.quantile(0.0).unwrap() < Duration::from_micros(1));
    }
}
