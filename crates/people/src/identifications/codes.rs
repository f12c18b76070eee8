//! One-time codes: made, sent, tried a few times, good for some minutes.

use latchkey_base::kinds::{IdentificationId, UserId, VerificationId};
use latchkey_base::rng::{self, Rng};
use latchkey_base::secret::Secret;
use latchkey_base::text::{is_test_email, is_test_phone};
use latchkey_base::{Error, Result, Time};
use latchkey_jose::digest::constant_time_eq;
use latchkey_kernel::limits::{VERIFICATION_ATTEMPTS, VERIFICATION_MS};
use latchkey_kernel::strategy::Strategy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::users::model::ContactKind;

/// The code of test addresses and numbers, which receive nothing.
const TEST_CODE: &str = "424242";

/// A code that was sent to an address or number.
pub struct Code {
    pub id: VerificationId,
    /// What it proves.
    pub identification: IdentificationId,
    pub user: UserId,
    /// How it was sent.
    pub strategy: Strategy,
    /// The six digits.
    pub digits: Secret,
    pub attempts: i64,
    /// When the right code was given.
    pub verified_at: Option<Time>,
    /// When it was sent.
    pub created_at: Time,
    pub expire_at: Time,
}

/// Where a verification stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CodeStatus {
    /// Waiting for the right code.
    Unverified,
    /// The right code was given.
    Verified,
    /// Too late.
    Expired,
    /// Tried too often.
    Failed,
}

impl Code {
    /// Where it stands now.
    pub fn status(&self, now: Time) -> CodeStatus {
        match self {
            Code { verified_at: Some(_), .. } => CodeStatus::Verified,
            // Late tries count too, so the count says nothing about a code that has expired.
            Code { expire_at, .. } if *expire_at <= now => CodeStatus::Expired,
            Code { attempts, .. } if *attempts >= VERIFICATION_ATTEMPTS => CodeStatus::Failed,
            _ => CodeStatus::Unverified,
        }
    }
}

/// Whether this address or number is one for tests, which never receives anything.
pub fn is_for_tests(kind: ContactKind, value: &str) -> bool {
    match kind {
        ContactKind::Email => is_test_email(value),
        ContactKind::Phone => is_test_phone(value),
        ContactKind::Wallet => false,
    }
}

/// A new code for an address or number.
pub fn create(
    user: &UserId,
    identification: &IdentificationId,
    kind: ContactKind,
    is_test: bool,
    now: Time,
    rng: &dyn Rng,
) -> Code {
    let strategy = match kind {
        ContactKind::Phone => Strategy::PhoneCode,
        ContactKind::Email | ContactKind::Wallet => Strategy::EmailCode,
    };
    Code {
        id: VerificationId::new(now, rng),
        identification: identification.clone(),
        user: user.clone(),
        strategy,
        digits: digits(is_test, rng),
        attempts: 0,
        verified_at: None,
        created_at: now,
        expire_at: now.plus_ms(VERIFICATION_MS),
    }
}

/// Tries a code, and counts every try, as the contract says. A wrong or late code is not an error: the status tells. A
/// code that was already accepted is an error.
pub fn attempt(mut code: Code, digits: &Secret, now: Time) -> Result<Code> {
    if code.verified_at.is_some() {
        return Err(Error::new(latchkey_base::Code::VerificationAlreadyVerified));
    }
    let open = code.status(now) == CodeStatus::Unverified;
    let right = constant_time_eq(code.digits.expose().as_bytes(), digits.expose().as_bytes());
    code.attempts = code.attempts.saturating_add(1);
    // After the last allowed try, or too late, the right code verifies nothing.
    if open && right {
        code.verified_at = Some(now);
    }
    Ok(code)
}

/// Six digits; those known to everybody for targets that are for tests.
pub fn digits(is_test: bool, rng: &dyn Rng) -> Secret {
    if is_test {
        return Secret::new(TEST_CODE.to_owned());
    }
    // 2^64 is so much larger than a million that the remainder favours no code noticeably.
    let number = u64::from_le_bytes(rng::bytes(rng)) % 1_000_000;
    Secret::new(format!("{number:06}"))
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn sent() -> Code {
        let rng = SeededRng::new(3);
        create(
            &UserId::new(NOW, &rng),
            &IdentificationId::new(NOW, &rng),
            ContactKind::Email,
            false,
            NOW,
            &rng,
        )
    }

    fn wrong(code: &Code) -> Secret {
        Secret::new(if code.digits.expose() == "000000" { "000001".into() } else { "000000".into() })
    }

    #[test]
    fn right_code_verifies_and_cannot_be_used_again() {
        let code = sent();
        let digits = code.digits.clone();
        let code = attempt(code, &digits, NOW).unwrap();
        assert_eq!((code.status(NOW), code.attempts), (CodeStatus::Verified, 1));
        let again = attempt(code, &digits, NOW).err().map(|error| error.code());
        assert_eq!(again, Some(latchkey_base::Code::VerificationAlreadyVerified));
    }

    #[test]
    fn three_wrong_codes_fail_it_even_for_the_right_one() {
        let mut code = sent();
        let (right, wrong) = (code.digits.clone(), wrong(&code));
        for count in 1..=3 {
            code = attempt(code, &wrong, NOW).unwrap();
            assert_eq!(code.attempts, count);
        }
        assert_eq!(code.status(NOW), CodeStatus::Failed);
        let code = attempt(code, &right, NOW).unwrap();
        assert_eq!((code.status(NOW), code.attempts), (CodeStatus::Failed, 4));
    }

    #[test]
    fn late_code_is_expired() {
        let code = sent();
        let (right, late) = (code.digits.clone(), NOW.plus_ms(VERIFICATION_MS));
        let code = attempt(code, &right, late).unwrap();
        assert_eq!((code.status(late), code.attempts), (CodeStatus::Expired, 1));
    }
}
