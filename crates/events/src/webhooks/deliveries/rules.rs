//! Decisions about deliveries.

use latchkey_base::{Code, Error, Result, Time};

use super::input::ListWebhookDeliveries;
use super::model::{DeliveryStatus, Filter};
use crate::webhooks::rules::kind;

/// Requests end after half a minute, and what goes on without them reads the clock again before it causes an event. So of
/// two events the one that happened so much later has the greater number too.
const LONGEST_REQUEST_MS: i64 = 60_000;
/// Smaller numbers are times in seconds.
const YEAR_1973_MS: i64 = 100_000_000_000;

/// Which deliveries a query asks for.
pub fn filter(query: &ListWebhookDeliveries) -> Result<Filter> {
    if let Some(name) = &query.kind {
        kind(name, "type")?;
    }
    let status = query.status.as_deref().map(status).transpose()?;
    Ok(Filter { status, kind: query.kind.clone(), before_seq: query.before_seq })
}

/// How a delivery stands, by its name.
pub fn status(name: &str) -> Result<DeliveryStatus> {
    DeliveryStatus::parse(name).ok_or_else(|| {
        Error::param(Code::FormParamValueInvalid, "status")
            .saying("`status` must be pending, succeeded or failed.")
    })
}

/// A time of a request. One in seconds would be a day of 1970, and everything would be sent again.
pub fn since(ms: i64) -> Result<Time> {
    match (1..YEAR_1973_MS).contains(&ms) {
        true => Err(Error::param(Code::FormParamValueInvalid, "since")
            .saying("`since` must be a time in milliseconds, such as 1767225600000.")),
        false => Ok(Time::from_ms(ms)),
    }
}

/// A time before which every event has a smaller number than all events since `since`.
pub fn surely_before(since: Time) -> Time {
    since.plus_ms(-LONGEST_REQUEST_MS)
}

#[cfg(test)]
mod tests {
    use latchkey_base::page::Paging;

    use super::*;

    fn query(status: Option<&str>, kind: Option<&str>) -> ListWebhookDeliveries {
        ListWebhookDeliveries {
            status: status.map(str::to_owned),
            kind: kind.map(str::to_owned),
            before_seq: None,
            paging: Paging { limit: 10, offset: 0 },
        }
    }

    #[test]
    fn a_filter_knows_every_status_and_kind_and_no_other() {
        for status in DeliveryStatus::ALL {
            assert_eq!(filter(&query(Some(status.name()), None)).unwrap().status, Some(status));
        }
        let param = |query| filter(&query).unwrap_err().problems()[0].meta["param_name"].clone();
        assert_eq!(param(query(Some("lost"), None)), "status");
        assert_eq!(param(query(None, Some("user.lost"))), "type");
        assert_eq!(filter(&query(None, Some("user.created"))).unwrap().kind.as_deref(), Some("user.created"));
    }
}
