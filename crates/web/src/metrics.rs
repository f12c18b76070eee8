//! Counts and durations by operation, in the text format Prometheus reads.
//!
//! Labels are operation ids and status classes, both from fixed lists, so the number of series is
//! bounded whatever callers send.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Upper bounds of the duration buckets, in microseconds.
const BUCKETS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000];

/// Everything counted for one operation.
#[derive(Default)]
pub struct Series {
    by_class: [AtomicU64; 5],
    buckets: [AtomicU64; BUCKETS_US.len()],
    total_us: AtomicU64,
}

impl Series {
    /// Counts one request.
    pub fn record(&self, status: u16, duration_us: u64) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.by_class[class].fetch_add(1, Relaxed);
        self.total_us.fetch_add(duration_us, Relaxed);
        if let Some(bucket) = BUCKETS_US.iter().position(|&bound| duration_us <= bound) {
            self.buckets[bucket].fetch_add(1, Relaxed);
        }
    }
}

/// Writes all series, given with their operation ids.
pub fn render<'a>(series: impl Iterator<Item = (&'a str, &'a Series)> + Clone) -> String {
    let mut out = String::new();
    out.push_str("# HELP latchkey_http_requests_total Requests answered, by operation and status class.\n");
    out.push_str("# TYPE latchkey_http_requests_total counter\n");
    for (operation, series) in series.clone() {
        for (class, count) in series.by_class.iter().enumerate() {
            let (class, count) = (class + 1, count.load(Relaxed));
            if count > 0 {
                let _ = writeln!(
                    out,
                    "latchkey_http_requests_total{{operation=\"{operation}\",status=\"{class}xx\"}} {count}"
                );
            }
        }
    }
    out.push_str(
        "# HELP latchkey_http_request_duration_seconds Time from the request's head to its answer.\n",
    );
    out.push_str("# TYPE latchkey_http_request_duration_seconds histogram\n");
    for (operation, series) in series {
        let count: u64 = series.by_class.iter().map(|class| class.load(Relaxed)).sum();
        if count == 0 {
            continue;
        }
        let name = "latchkey_http_request_duration_seconds";
        let mut below = 0;
        for (bound, bucket) in BUCKETS_US.iter().zip(&series.buckets) {
            below += bucket.load(Relaxed);
            let seconds = *bound as f64 / 1e6;
            let _ = writeln!(out, "{name}_bucket{{operation=\"{operation}\",le=\"{seconds}\"}} {below}");
        }
        let total = series.total_us.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(out, "{name}_bucket{{operation=\"{operation}\",le=\"+Inf\"}} {count}");
        let _ = writeln!(out, "{name}_sum{{operation=\"{operation}\"}} {total}");
        let _ = writeln!(out, "{name}_count{{operation=\"{operation}\"}} {count}");
    }
    out
}

/// What a single number is.
#[derive(Clone, Copy)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// Comes and goes.
    Gauge,
}

/// Writes a single number with what it means.
pub fn single(out: &mut String, kind: MetricKind, name: &str, help: &str, value: u64) {
    let kind = match kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
    };
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_class_and_bucket() {
        let series = Series::default();
        series.record(200, 90);
        series.record(404, 3_000);
        let text = render([("GetUser", &series)].into_iter());
        assert!(text.contains("requests_total{operation=\"GetUser\",status=\"2xx\"} 1"), "{text}");
        assert!(text.contains("requests_total{operation=\"GetUser\",status=\"4xx\"} 1"), "{text}");
        assert!(text.contains("bucket{operation=\"GetUser\",le=\"0.0001\"} 1"), "{text}");
        assert!(text.contains("bucket{operation=\"GetUser\",le=\"0.005\"} 2"), "{text}");
        assert!(text.contains("count{operation=\"GetUser\"} 2"), "{text}");
    }
}
