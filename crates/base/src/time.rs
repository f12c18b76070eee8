//! Time as milliseconds since 1970 in UTC, and the clock it comes from.
//!
//! A request reads the clock once; rules and stores receive `now` as a value. Only [`SystemClock`]
//! asks the operating system.

use std::borrow::Cow;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(i64);

impl Time {
    /// The moment that many milliseconds after 1970.
    pub const fn from_ms(ms: i64) -> Time {
        Time(ms)
    }

    /// Milliseconds since 1970.
    pub const fn ms(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// This moment moved by so many milliseconds, never past the ends of the range.
    pub const fn plus_ms(self, ms: i64) -> Time {
        Time(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this moment, never negative.
    pub const fn ms_since(self, earlier: Time) -> i64 {
        let elapsed = self.0.saturating_sub(earlier.0);
        if elapsed < 0 { 0 } else { elapsed }
    }

    /// Reads an RFC 3339 date and time such as `2012-10-20T07:15:20.902Z`.
    pub fn parse_rfc3339(text: &str) -> Option<Time> {
        text.parse::<jiff::Timestamp>().ok().map(|moment| Time(moment.as_millisecond()))
    }
}

impl Time {
    /// The moment as people write it, to the minute: `1 January 2026, 09:30 UTC`.
    pub fn spoken(self) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        moment.strftime("%-d %B %Y, %H:%M UTC").to_string()
    }

    /// The moment in RFC 3339 format: `2012-10-20T07:15:20.902Z`.
    pub fn rfc3339(self) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }

    /// The year in UTC.
    pub fn year(self) -> i16 {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        moment.to_zoned(jiff::tz::TimeZone::UTC).year()
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "format": "int64" })
    }
}

/// Where the current time comes from.
pub trait Clock: Send + Sync {
    /// The current moment.
    fn now(&self) -> Time;
}

/// The machine's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that moves only when told to, for tests.
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `start`.
    pub fn new(start: Time) -> ManualClock {
        ManualClock(AtomicI64::new(start.0))
    }

    /// Moves the clock forward.
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_spoken_to_the_minute() {
        assert_eq!(
            Time::from_ms(1_767_225_600_000 + 9 * 3_600_000 + 1_859_999).spoken(),
            "1 January 2026, 09:30 UTC"
        );
        assert_eq!(Time::from_ms(1_767_225_600_000).year(), 2026);
        assert_eq!(Time(1_350_717_320_902).rfc3339(), "2012-10-20T07:15:20.902Z");
        assert_eq!(Time(1_350_717_320_000).rfc3339(), "2012-10-20T07:15:20.000Z");
    }

    #[test]
    fn rfc3339_is_read_with_and_without_fraction_and_offset() {
        assert_eq!(Time::parse_rfc3339("2012-10-20T07:15:20.902Z"), Some(Time(1_350_717_320_902)));
        assert_eq!(Time::parse_rfc3339("2012-10-20T09:15:20+02:00"), Some(Time(1_350_717_320_000)));
        for bad in ["", "2012-10-20", "yesterday", "1350717320902", "2012-13-01T00:00:00Z"] {
            assert_eq!(Time::parse_rfc3339(bad), None, "{bad}");
        }
    }
}
