//! Passes to the inbox: what the link the server prints carries instead of a secret key. A pass reads the
//! inbox of one instance and can do nothing else, so it may stand in the history of a browser.

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Id, Result, Time};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::limits::INBOX_PASS_MS;
use latchkey_kernel::pass::Passes;

/// Passes to inboxes.
pub const PASSES: Passes = Passes { prefix: "inbox_", context: "inbox_pass", lifetime_ms: INBOX_PASS_MS };

/// A pass to the inbox of an instance.
pub fn pass(master: &MasterKey, instance: &InstanceId, now: Time) -> Result<String> {
    PASSES.issue(instance.as_str(), master, now)
}

/// The instance a pass is for, if it is one of ours and its time is not over.
pub fn read_pass(master: &MasterKey, text: &str, now: Time) -> Option<InstanceId> {
    Id::parse(&PASSES.read(text, master, now)?)
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
    }
}
