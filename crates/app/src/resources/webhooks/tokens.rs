//! Links to the page where webhooks are managed.
//!
//! The token in a link is sealed with the master key and says everything itself: no table knows it. It
//! names the moment the instance began to manage its webhooks; when that is deleted, so is the link.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Id, Result, Time};
use latchkey_jose::seal::MasterKey;

use crate::limits::WEBHOOK_PORTAL_MS;

/// How every token begins.
pub const PREFIX: &str = "whp_";
const CONTEXT: &str = "webhook_portal";
/// Far longer than any token.
const LONGEST: usize = 512;

/// What a token says.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// Whose webhooks may be managed.
    pub instance: InstanceId,
    /// When that instance began to manage its webhooks.
    pub app_created_at: Time,
}

/// Where somebody with a token manages the webhooks of an instance. Browsers keep what follows `#` to
/// themselves, so the token is in no log.
pub fn url(api_url: &str, token: &str) -> String {
    format!("{api_url}/webhooks/portal#{token}")
}

/// Makes a token.
pub fn issue(pass: &Pass, master: &MasterKey, now: Time) -> Result<String> {
    let expire_at = now.plus_ms(WEBHOOK_PORTAL_MS);
    let text = format!("{} {} {}", pass.instance, pass.app_created_at.ms(), expire_at.ms());
    let sealed = master.seal(CONTEXT, text.as_bytes()).map_err(Error::internal)?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(sealed)))
}

/// Reads a token that is genuine and still good.
pub fn read(token: &str, master: &MasterKey, now: Time) -> Option<Pass> {
    let sealed = URL_SAFE_NO_PAD.decode(token.strip_prefix(PREFIX).filter(|it| it.len() <= LONGEST)?).ok()?;
    let text = String::from_utf8(master.open(CONTEXT, &sealed).ok()?).ok()?;
    let mut parts = text.split(' ');
    let instance = Id::parse(parts.next()?)?;
    let app_created_at = Time::from_ms(parts.next()?.parse().ok()?);
    let expire_at = Time::from_ms(parts.next()?.parse().ok()?);
    (expire_at > now).then_some(Pass { instance, app_created_at })
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    const NOW: Time = Time::from_ms(1_000_000);

    #[test]
    fn a_token_is_good_for_a_day_and_for_one_master_key() {
        let master = MasterKey::from_bytes([1; 32]);
        let pass = Pass { instance: InstanceId::new(NOW, &SeededRng::new(1)), app_created_at: NOW };
        let token = issue(&pass, &master, NOW).unwrap();
        assert_eq!(read(&token, &master, NOW.plus_ms(WEBHOOK_PORTAL_MS - 1)), Some(pass));
        assert_eq!(read(&token, &master, NOW.plus_ms(WEBHOOK_PORTAL_MS)), None);
        assert_eq!(read(&token, &MasterKey::from_bytes([2; 32]), NOW), None);
        assert!(url("http://a", &token).starts_with("http://a/webhooks/portal#whp_"));
        for bad in ["", "whp_", "whp_AAAA", &token[4..], &token[..token.len() - 1], &format!("{token}A")] {
            assert_eq!(read(bad, &master, NOW), None, "{bad}");
        }
    }

    #[test]
    fn what_was_sealed_for_something_else_is_no_token() {
        let master = MasterKey::from_bytes([1; 32]);
        let instance = InstanceId::new(NOW, &SeededRng::new(1));
        let sealed = master.seal("message", format!("{instance} 0 {}", i64::MAX).as_bytes()).unwrap();
        assert_eq!(read(&format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(sealed)), &master, NOW), None);
    }
}
