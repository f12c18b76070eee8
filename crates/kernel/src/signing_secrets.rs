//! Secrets that requests to other people's servers are signed with, in the form of Standard Webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::rng::{self, Rng};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Problem, Result};

const PREFIX: &str = "whsec_";
const MADE_BYTES: usize = 24;
const MIN_BYTES: usize = 24;
const MAX_BYTES: usize = 64;

/// A fresh secret.
pub fn generate(rng: &dyn Rng) -> Secret {
    Secret::new(format!("{PREFIX}{}", STANDARD.encode(rng::bytes::<MADE_BYTES>(rng))))
}

/// Refuses a text that receivers could not read, or that is easy to guess.
pub fn check(secret: &Secret) -> Result<(), Problem> {
    match key(secret).is_some_and(|key| (MIN_BYTES..=MAX_BYTES).contains(&key.len())) {
        true => Ok(()),
        false => Err(Problem::of(Code::FormParamFormatInvalid, "secret").saying(format!(
            "A secret is `{PREFIX}` and the base64 of {MIN_BYTES} to {MAX_BYTES} random bytes."
        ))),
    }
}

/// The bytes a secret stands for.
pub fn key(secret: &Secret) -> Option<Vec<u8>> {
    STANDARD.decode(secret.expose().strip_prefix(PREFIX)?).ok()
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    #[test]
    fn a_made_secret_is_a_good_one_and_odd_ones_are_refused() {
        assert!(check(&generate(&SeededRng::new(1))).is_ok());
        let of = |bytes: usize| secret(&format!("whsec_{}", STANDARD.encode(vec![7; bytes])));
        assert!(check(&of(24)).is_ok() && check(&of(64)).is_ok());
        for bad in [
            of(23),
            of(65),
            secret(""),
            secret("whsec_"),
            secret("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
            secret("whsec_????"),
        ] {
            assert!(check(&bad).is_err(), "{}", bad.expose());
        }
    }
}
