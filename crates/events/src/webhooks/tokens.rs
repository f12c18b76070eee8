//! Links to the page where webhooks are managed.
//!
//! The token in a link is a link token. It names the moment the instance began to manage its webhooks, and the secret key
//! that made it. The link ends when either is deleted.

use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::{Id, Result, Time};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::limits::WEBHOOK_PORTAL_MS;
use latchkey_kernel::pass::Passes;

/// Tokens in links to the page.
pub const PASSES: Passes =
    Passes { prefix: "whp_", context: "webhook_portal", lifetime_ms: WEBHOOK_PORTAL_MS };

/// What a token says.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// Whose webhooks may be managed.
    pub instance: InstanceId,
    /// When that instance began to manage its webhooks.
    pub app_created_at: Time,
    /// The secret key that made the token.
    pub key: SecretKeyId,
}

/// Where somebody with a token manages the webhooks of an instance. Browsers keep what follows `#` to
/// themselves, so the token is in no log.
pub fn url(api_url: &str, token: &str) -> String {
    format!("{api_url}/webhooks/portal#{token}")
}

/// Makes a token.
pub fn issue(pass: &Pass, master: &MasterKey, now: Time) -> Result<String> {
    PASSES.issue(&format!("{} {} {}", pass.instance, pass.app_created_at.ms(), pass.key), master, now)
}

/// Reads a token that is genuine and still good.
pub fn read(token: &str, master: &MasterKey, now: Time) -> Option<Pass> {
    let said = PASSES.read(token, master, now)?;
    let mut words = said.split(' ');
    let (instance, app_created_at, key) = (words.next()?, words.next()?, words.next()?);
    let app_created_at = Time::from_ms(app_created_at.parse().ok()?);
    Some(Pass { instance: Id::parse(instance)?, app_created_at, key: Id::parse(key)? })
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    const NOW: Time = Time::from_ms(1_000_000);

    #[test]
    fn a_token_says_whose_webhooks_and_is_good_for_a_day() {
        let master = MasterKey::from_bytes([1; 32]);
        let rng = SeededRng::new(1);
        let (instance, key) = (InstanceId::new(NOW, &rng), SecretKeyId::new(NOW, &rng));
        let pass = Pass { instance, app_created_at: NOW, key };
        let token = issue(&pass, &master, NOW).unwrap();
        assert_eq!(read(&token, &master, NOW.plus_ms(WEBHOOK_PORTAL_MS - 1)), Some(pass));
        assert_eq!(read(&token, &master, NOW.plus_ms(WEBHOOK_PORTAL_MS)), None);
        // Tokens of earlier versions name no key, so they cannot end with one.
        let unnamed =
            PASSES.issue(&format!("{} 1000000", read(&token, &master, NOW).unwrap().instance), &master, NOW);
        assert_eq!(read(&unnamed.unwrap(), &master, NOW), None);
        assert!(url("http://a", &token).starts_with("http://a/webhooks/portal#whp_"));
    }
}
