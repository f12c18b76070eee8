//! When a message is tried again, and when it is given up.

use latchkey_base::Time;

use crate::messages::model::{MessageOutcome, Queued};
use crate::transports::SendOutcome;

/// The pause after the first attempt; it doubles with each.
const FIRST_PAUSE_MS: i64 = 5_000;
const LONGEST_PAUSE_MS: i64 = 3_600_000;
/// How long a message without an end of its own is worth sending.
const LIFE_MS: i64 = 24 * 3_600_000;
/// Longest reason kept.
const WHY_CHARS: usize = 500;

/// What matters about a message besides what it says.
pub(super) struct SendingState {
    /// Attempts, with this one.
    attempts: i64,
    end: Time,
}

impl SendingState {
    pub(super) fn of(queued: &Queued) -> SendingState {
        let end = queued.expire_at.unwrap_or(queued.created_at.plus_ms(LIFE_MS));
        SendingState { attempts: queued.attempts + 1, end }
    }

    pub(super) fn is_over(&self, now: Time) -> bool {
        now >= self.end
    }
}

/// What is done with a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Sent,
    Held,
    Again { at: Time, why: String },
    Failed { why: String },
}

impl Verdict {
    pub(super) fn outcome(&self) -> MessageOutcome<'_> {
        match self {
            Verdict::Sent => MessageOutcome { status: "sent", next_at: None, failure: None },
            Verdict::Held => MessageOutcome { status: "held", next_at: None, failure: None },
            Verdict::Again { at, why } => {
                MessageOutcome { status: "queued", next_at: Some(*at), failure: Some(why) }
            }
            Verdict::Failed { why } => MessageOutcome { status: "failed", next_at: None, failure: Some(why) },
        }
    }
}

/// Decides by what became of an attempt. A message that would come too late is given up at once.
pub(super) fn judge(outcome: SendOutcome, state: &SendingState, now: Time, random: u32) -> Verdict {
    match outcome {
        SendOutcome::Sent => Verdict::Sent,
        SendOutcome::Held => Verdict::Held,
        SendOutcome::Never(why) => Verdict::Failed { why: short(&why) },
        SendOutcome::Later(why) => {
            let (at, why) = (now.plus_ms(pause_ms(state.attempts, random)), short(&why));
            match state.is_over(at) {
                true => Verdict::Failed { why },
                false => Verdict::Again { at, why },
            }
        }
    }
}

/// The pause after this many attempts, give or take a fifth, so that what failed together does not come
/// back together.
fn pause_ms(attempts: i64, random: u32) -> i64 {
    let doubled = FIRST_PAUSE_MS << (attempts - 1).clamp(0, 20);
    let pause = doubled.min(LONGEST_PAUSE_MS);
    pause * 4 / 5 + (pause * 2 / 5) * i64::from(random) / i64::from(u32::MAX)
}

fn short(why: &str) -> String {
    why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WHY_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_767_225_600_000);

    #[test]
    fn pauses_grow_up_to_an_hour_and_differ() {
        assert_eq!((pause_ms(1, 0), pause_ms(1, u32::MAX)), (4_000, 6_000));
        assert_eq!((pause_ms(3, 0), pause_ms(3, u32::MAX)), (16_000, 24_000));
        assert_eq!((pause_ms(60, 0), pause_ms(60, u32::MAX)), (2_880_000, 4_320_000));
    }

    #[test]
    fn what_would_come_too_late_is_given_up() {
        let state = |attempts| SendingState { attempts, end: NOW.plus_ms(10_000) };
        let later = || SendOutcome::Later("busy\r\n".to_owned());
        let again = judge(later(), &state(1), NOW, 0);
        assert_eq!(again, Verdict::Again { at: NOW.plus_ms(4_000), why: "busy  ".to_owned() });
        assert_eq!(judge(later(), &state(3), NOW, 0), Verdict::Failed { why: "busy  ".to_owned() });
        assert_eq!(judge(SendOutcome::Sent, &state(9), NOW, 0), Verdict::Sent);
    }
}
