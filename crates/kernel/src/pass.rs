//! Passes: what a link carries instead of a secret key. A pass is sealed with the master key and says
//! everything itself, so no table knows it; it opens one thing for some time.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::{Error, Result, Time};
use latchkey_jose::seal::MasterKey;

/// Far longer than any pass.
const LONGEST: usize = 512;

/// A kind of passes. One of another kind is none.
pub struct Passes {
    /// How every pass begins.
    pub prefix: &'static str,
    /// What it is sealed for.
    pub context: &'static str,
    pub lifetime_ms: i64,
}

impl Passes {
    /// Makes a pass that says something.
    pub fn issue(&self, said: &str, master: &MasterKey, now: Time) -> Result<String> {
        let plain = format!("{} {said}", now.plus_ms(self.lifetime_ms).ms());
        let sealed = master.seal(self.context, plain.as_bytes()).map_err(Error::internal)?;
        Ok(format!("{}{}", self.prefix, URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// What a pass says, if it is genuine and still good.
    pub fn read(&self, pass: &str, master: &MasterKey, now: Time) -> Option<String> {
        let text = pass.strip_prefix(self.prefix).filter(|text| text.len() <= LONGEST)?;
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let plain = String::from_utf8(master.open(self.context, &sealed).ok()?).ok()?;
        let (end, said) = plain.split_once(' ')?;
        (now < Time::from_ms(end.parse().ok()?)).then(|| said.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_767_225_600_000);
    const PASSES: Passes = Passes { prefix: "door_", context: "a door", lifetime_ms: 1000 };

    #[test]
    fn a_pass_is_good_for_its_time_and_for_one_master_key() {
        let master = MasterKey::from_bytes([1; 32]);
        let pass = PASSES.issue("whose and what", &master, NOW).unwrap();
        assert_eq!(PASSES.read(&pass, &master, NOW.plus_ms(999)).as_deref(), Some("whose and what"));
        assert_eq!(PASSES.read(&pass, &master, NOW.plus_ms(1000)), None);
        assert_eq!(PASSES.read(&pass, &MasterKey::from_bytes([2; 32]), NOW), None);
        let long = format!("door_{}", "A".repeat(LONGEST + 1));
        for bad in ["", "door_", "door_AAAA", &pass[1..], &pass[..pass.len() - 1], &format!("{pass}A"), &long]
        {
            assert_eq!(PASSES.read(bad, &master, NOW), None, "{bad}");
        }
    }

    #[test]
    fn what_was_sealed_for_something_else_is_no_pass() {
        let master = MasterKey::from_bytes([1; 32]);
        let other = Passes { context: "a window", ..PASSES };
        assert_eq!(PASSES.read(&other.issue("whose", &master, NOW).unwrap(), &master, NOW), None);
    }
}
