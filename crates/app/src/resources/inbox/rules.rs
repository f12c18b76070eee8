//! Passes to the inbox: what the link the server prints carries instead of a secret key. A pass reads the
//! inbox of one instance and can do nothing else, so it may stand in the history of a browser.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Id, Result, Time};
use latchkey_jose::seal::MasterKey;

use crate::limits::INBOX_PASS_MS;

/// How every pass begins.
pub const PREFIX: &str = "inbox_";
const CONTEXT: &str = "inbox_pass";

/// A pass to the inbox of an instance, good for some time from `now` on.
pub fn pass(master: &MasterKey, instance: &InstanceId, now: Time) -> Result<String> {
    let plain = format!("{instance} {}", now.plus_ms(INBOX_PASS_MS).ms());
    let sealed = master.seal(CONTEXT, plain.as_bytes()).map_err(Error::internal)?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(sealed)))
}

/// The instance a pass is for, if it is one of ours and its time is not over.
pub fn read_pass(master: &MasterKey, text: &str, now: Time) -> Option<InstanceId> {
    let sealed = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
    let plain = String::from_utf8(master.open(CONTEXT, &sealed).ok()?).ok()?;
    let (instance, end) = plain.split_once(' ')?;
    let end = Time::from_ms(end.parse().ok()?);
    (now < end).then(|| Id::parse(instance)).flatten()
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    #[test]
    fn a_pass_is_good_for_its_instance_and_its_time() {
        let master = MasterKey::from_bytes([5; 32]);
        let now = Time::from_ms(1_767_225_600_000);
        let instance = InstanceId::new(now, &SeededRng::new(1));
        let made = pass(&master, &instance, now).unwrap();
        assert_eq!(read_pass(&master, &made, now), Some(instance.clone()));
        assert_eq!(read_pass(&master, &made, now.plus_ms(INBOX_PASS_MS - 1)), Some(instance));
        assert_eq!(read_pass(&master, &made, now.plus_ms(INBOX_PASS_MS)), None);
        assert_eq!(read_pass(&MasterKey::from_bytes([6; 32]), &made, now), None);
        for wrong in ["", "inbox_", "inbox_AAAA", &made[1..], &format!("{made}A")] {
            assert_eq!(read_pass(&master, wrong, now), None, "{wrong}");
        }
    }
}
