//! What becomes of a delivery after an attempt, and of an endpoint after several.

use std::time::Duration;

use latchkey_base::Time;
use latchkey_base::rng::{self, Rng};

use crate::feed::model::StoredEvent;
use crate::webhooks::deliveries::model::{Delivery, DeliveryAttempt, DeliveryStatus, HELD, HOLDING_ATTEMPTS};
use crate::webhooks::model::Endpoint;

/// How long to wait after each attempt that failed; after the last one there is no other.
const PAUSES_MS: [i64; 7] = [
    5_000,
    5 * MINUTE_MS,
    30 * MINUTE_MS,
    120 * MINUTE_MS,
    300 * MINUTE_MS,
    600 * MINUTE_MS,
    600 * MINUTE_MS,
];
const MINUTE_MS: i64 = 60_000;
/// From the end of the time for an answer until another try, if nobody noted what became of it.
const GRACE_MS: i64 = 5_000;
/// Attempts of one delivery that are remembered.
const LOG: usize = 20;
/// After so long without a success nothing is sent to an endpoint any more.
const PATIENCE_MS: i64 = 5 * 24 * 3_600_000;

/// The delivery of an event that was not tried yet.
pub(super) fn new(endpoint: &Endpoint, event: &StoredEvent, now: Time) -> Delivery {
    Delivery {
        instance: endpoint.instance.clone(),
        endpoint: endpoint.id.clone(),
        seq: event.seq,
        event_id: event.id.clone(),
        kind: event.kind.clone(),
        subject: event.subject.clone(),
        status: DeliveryStatus::Pending,
        attempts: 0,
        next_at: None,
        log: Vec::new(),
        created_at: now,
        updated_at: now,
    }
}

/// A delivery whose event cannot be sent any more.
pub(super) fn lost(mut delivery: Delivery, why: &str, now: Time) -> Delivery {
    let error = Some(why.to_owned());
    let response = String::new();
    delivery.log.push(DeliveryAttempt { at: now, status_code: None, duration_ms: 0, response, error });
    Delivery { status: DeliveryStatus::Failed, next_at: None, updated_at: now, ..delivery }
}

/// What a delivery has become by an attempt.
pub(super) fn tried(mut delivery: Delivery, attempt: DeliveryAttempt, now: Time, rng: &dyn Rng) -> Delivery {
    delivery.attempts += 1;
    delivery.updated_at = now;
    let pause = usize::try_from(delivery.attempts - 1).ok().and_then(|index| PAUSES_MS.get(index));
    (delivery.status, delivery.next_at) = match (attempt.is_success(), pause) {
        (true, _) => (DeliveryStatus::Succeeded, None),
        (false, Some(pause)) => (DeliveryStatus::Pending, Some(now.plus_ms(jittered(*pause, rng)))),
        (false, None) => (DeliveryStatus::Failed, None),
    };
    delivery.log.push(attempt);
    let surplus = delivery.log.len().saturating_sub(LOG);
    delivery.log.drain(..surplus);
    delivery
}

/// A tenth more or less, so that what failed together does not come back together.
fn jittered(pause_ms: i64, rng: &dyn Rng) -> i64 {
    let [byte] = rng::bytes::<1>(rng);
    pause_ms * (900 + i64::from(byte) * 200 / 255) / 1000
}

/// A delivery that waits behind another one about the same subject.
pub(super) fn held(delivery: Delivery, now: Time) -> Delivery {
    Delivery { status: DeliveryStatus::Pending, next_at: Some(HELD), updated_at: now, ..delivery }
}

/// A delivery whose answer takes long. It is on its way until its time is over; should nobody be left by then who
/// waits for the answer, it is tried again.
pub(super) fn late(delivery: Delivery, answer_timeout: Duration, now: Time) -> Delivery {
    let answer_ms = i64::try_from(answer_timeout.as_millis()).unwrap_or(i64::MAX / 2);
    let next_at = Some(now.plus_ms(answer_ms + GRACE_MS));
    Delivery { status: DeliveryStatus::Pending, next_at, updated_at: now, ..delivery }
}

/// A delivery nobody came to.
pub(super) fn left(delivery: Delivery, now: Time) -> Delivery {
    Delivery { status: DeliveryStatus::Pending, next_at: Some(now), updated_at: now, ..delivery }
}

/// Whether those behind it wait for this delivery. One that waits itself holds nobody up: all go together.
pub(super) fn is_holding(delivery: &Delivery) -> bool {
    let is_held = delivery.next_at == Some(HELD);
    delivery.status == DeliveryStatus::Pending && !is_held && delivery.attempts < HOLDING_ATTEMPTS
}

/// Since when an endpoint fails, after the attempts of a batch; and whether it has for too long.
pub(super) fn health(failing_since: Option<Time>, outcomes: &[bool], now: Time) -> (Option<Time>, bool) {
    if outcomes.is_empty() {
        return (failing_since, false);
    }
    if outcomes.contains(&true) {
        return (None, false);
    }
    let since = failing_since.unwrap_or(now);
    (Some(since), now.ms_since(since) >= PATIENCE_MS)
}

#[cfg(test)]
mod tests {
    use latchkey_base::Id;
    use latchkey_base::rng::SeededRng;

    use super::*;
    use crate::webhooks::deliveries::model::LONGEST_PAUSE_MS;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn fresh() -> Delivery {
        Delivery {
            instance: Id::unset(),
            endpoint: Id::unset(),
            seq: 1,
            event_id: Id::unset(),
            kind: "user.created".to_owned(),
            subject: "user_1".to_owned(),
            status: DeliveryStatus::Pending,
            attempts: 0,
            next_at: None,
            log: Vec::new(),
            created_at: NOW,
            updated_at: NOW,
        }
    }

    fn answered(status_code: Option<u16>) -> DeliveryAttempt {
        DeliveryAttempt { at: NOW, status_code, duration_ms: 3, response: String::new(), error: None }
    }

    #[test]
    fn failures_follow_the_schedule_within_a_tenth_and_end() {
        let rng = SeededRng::new(3);
        let mut delivery = fresh();
        for pause in PAUSES_MS {
            assert!(jittered(pause, &rng) < LONGEST_PAUSE_MS);
            delivery = tried(delivery, answered(Some(500)), NOW, &rng);
            let waits = delivery.next_at.unwrap().ms_since(NOW);
            assert!((pause * 9 / 10..=pause * 11 / 10).contains(&waits), "{waits} for {pause}");
            assert_eq!(delivery.status, DeliveryStatus::Pending);
        }
        delivery = tried(delivery, answered(None), NOW, &rng);
        assert_eq!((delivery.status, delivery.next_at, delivery.attempts), (DeliveryStatus::Failed, None, 8));
        assert_eq!(delivery.log.len(), 8);
    }

    #[test]
    fn any_2xx_is_a_success_and_nothing_else() {
        let rng = SeededRng::new(3);
        for (status, expected) in [
            (Some(200), DeliveryStatus::Succeeded),
            (Some(204), DeliveryStatus::Succeeded),
            (Some(299), DeliveryStatus::Succeeded),
            (Some(199), DeliveryStatus::Pending),
            (Some(301), DeliveryStatus::Pending),
            (Some(410), DeliveryStatus::Pending),
            (None, DeliveryStatus::Pending),
        ] {
            assert_eq!(tried(fresh(), answered(status), NOW, &rng).status, expected, "{status:?}");
        }
    }

    #[test]
    fn an_event_that_fails_for_long_gives_way() {
        let rng = SeededRng::new(3);
        let mut delivery = fresh();
        let mut held = Vec::new();
        for _ in 0..5 {
            delivery = tried(delivery, answered(None), NOW, &rng);
            held.push(is_holding(&delivery));
        }
        assert_eq!(held, [true, true, true, false, false]);
    }

    #[test]
    fn the_log_keeps_the_newest_attempts() {
        let rng = SeededRng::new(3);
        let mut delivery = fresh();
        for number in 0..30 {
            delivery.attempts = 0;
            delivery = tried(delivery, answered(Some(500 + number)), NOW, &rng);
        }
        assert_eq!(delivery.log.len(), LOG);
        assert_eq!(delivery.log.last().and_then(|attempt| attempt.status_code), Some(529));
    }

    #[test]
    fn an_endpoint_is_given_up_after_five_days_without_any_success() {
        let day = 24 * 3_600_000;
        assert_eq!(health(None, &[false], NOW), (Some(NOW), false));
        assert_eq!(health(Some(NOW), &[false], NOW.plus_ms(4 * day)), (Some(NOW), false));
        assert_eq!(health(Some(NOW), &[false, false], NOW.plus_ms(5 * day)), (Some(NOW), true));
        assert_eq!(health(Some(NOW), &[false, true], NOW.plus_ms(5 * day)), (None, false));
        assert_eq!(health(Some(NOW), &[], NOW.plus_ms(9 * day)), (Some(NOW), false));
    }
}
