//! The keys of an instance: secret keys for backends, publishable keys for browsers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::rng::{self, Rng};
use latchkey_base::secret::Secret;

use crate::environment::Environment;

/// Characters of the random part; 48 of 62 make 285 bits.
const SECRET_LENGTH: usize = 48;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new secret key such as `sk_test_…`.
pub fn secret_key(environment: Environment, rng: &dyn Rng) -> Secret {
    let mut text = format!("sk_{}_", environment.key_part());
    let length = text.len() + SECRET_LENGTH;
    while text.len() < length {
        // Bytes past the last whole multiple of 62 would favour some characters.
        let [byte] = rng::bytes::<1>(rng);
        if byte < 248 {
            text.push(char::from(ALPHABET[usize::from(byte % 62)]));
        }
    }
    Secret::new(text)
}

/// What may be shown of a secret key, to tell it from others.
pub fn hint(key: &Secret) -> String {
    let text = key.expose();
    format!("{}…{}", &text[..8], &text[text.len() - 4..])
}

/// The publishable key: it tells a browser where the Frontend API is.
pub fn publishable_key(environment: Environment, frontend_api: &str) -> String {
    let host = STANDARD.encode(format!("{frontend_api}$"));
    format!("pk_{}_{}", environment.key_part(), host.trim_end_matches('='))
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    #[test]
    fn keys_tell_their_environment_and_nothing_else() {
        let rng = SeededRng::new(7);
        let key = secret_key(Environment::Production, &rng);
        assert!(key.expose().starts_with("sk_live_") && key.expose().len() == 56);
        assert_ne!(key.expose(), secret_key(Environment::Production, &rng).expose());
        assert_eq!(hint(&key).chars().count(), 13);
        assert_eq!(
            publishable_key(Environment::Development, "127.0.0.1:3401"),
            "pk_test_MTI3LjAuMC4xOjM0MDEk"
        );
    }
}
