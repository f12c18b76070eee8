//! What a satellite and the primary domain tell each other.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_jose::digest::sha256;

/// Tells apps that they are brought together with the primary domain.
pub const SYNCED: &str = "__clerk_synced";
/// Its value.
pub const DONE: &str = "true";
/// What carries the digest of the state to the primary domain.
pub const STATE: &str = "link_state";

/// Characters of a state: 24 bytes.
const STATE_CHARS: usize = 32;

/// The state of a browser that has been here a moment ago, if it can be used again. Two pages that are opened
/// at once share it.
pub fn usable(state: Option<&str>) -> Option<String> {
    let is_plain = |state: &&str| {
        state.len() == STATE_CHARS
            && state.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    state.filter(is_plain).map(str::to_owned)
}

/// What the primary domain learns of a state: its digest, from which the state cannot be made.
pub fn shown_state(state: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha256(state.as_bytes()))
}

/// The digest in a shown state.
pub fn digest(shown: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(shown).ok().filter(|digest| digest.len() == 32)
}

/// Whether a satellite asks the primary domain before it answers a handshake: when the app wants to know, or
/// nobody is signed in as far as the satellite knows; and never twice in a row.
pub fn asks_primary(reason: Option<&str>, is_synced: bool, is_signed_in: bool) -> bool {
    !is_synced && (reason == Some("satellite-needs-syncing") || !is_signed_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_states_of_our_own_making_are_used_again() {
        let state = "A".repeat(32);
        assert_eq!(usable(Some(&state)), Some(state.clone()));
        for bad in ["", "short", &"A".repeat(33), &"<".repeat(32)] {
            assert_eq!(usable(Some(bad)), None, "{bad}");
        }
        assert_eq!(digest(&shown_state(&state)).unwrap(), sha256(state.as_bytes()));
        assert_eq!((digest("AAAA"), digest("not base64!")), (None, None));
    }

    #[test]
    fn the_primary_domain_is_asked_once() {
        assert!(asks_primary(Some("satellite-needs-syncing"), false, true));
        assert!(asks_primary(Some("session-token-expired"), false, false));
        assert!(!asks_primary(Some("session-token-expired"), false, true));
        assert!(!asks_primary(Some("satellite-needs-syncing"), true, false));
    }
}
