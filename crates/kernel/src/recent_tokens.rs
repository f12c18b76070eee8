//! Tokens signed a moment ago. A page asks for its client several times while it loads, and signing costs more than
//! all the rest of the answer; a token that would say the same is handed out again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use latchkey_base::{Result, Time};

/// How old a token may be when it is handed out once more.
pub const FRESH_MS: i64 = 10_000;
const SHARDS: usize = 16;
/// Tokens kept in each shard: 16,384 in all, some 16 MB when every one is in use.
const KEPT: usize = 1024;
/// Least time between two searches for tokens that are no longer fresh.
const SWEEP_MS: i64 = 1000;
/// Longest token that is kept. Most have fewer than a thousand bytes.
const LONGEST: usize = 2048;

/// What a token says apart from its own times and id, as a digest: whoever it is for must be part of it.
pub type TokenStatement = [u8; 32];

/// Tokens by what they say.
#[derive(Default)]
pub struct RecentTokens {
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    tokens: HashMap<TokenStatement, RecentToken>,
    /// When a full shard was last searched for tokens that are no longer fresh.
    swept_at: Option<Time>,
}

/// A token, and when it was signed.
#[derive(Clone)]
pub struct RecentToken {
    pub token: Arc<str>,
    pub signed_at: Time,
}

impl RecentToken {
    /// Whether it was signed in the last seconds. One from the future is left by a clock that was set back.
    fn is_fresh(&self, now: Time) -> bool {
        self.signed_at <= now && now.ms_since(self.signed_at) < FRESH_MS
    }
}

impl Shard {
    /// Where all are fresh, the next one is merely signed again.
    fn has_room(&mut self, now: Time) -> bool {
        let is_due = self.swept_at.is_none_or(|swept_at| (now.ms_since(swept_at)).abs() >= SWEEP_MS);
        if self.tokens.len() >= KEPT && is_due {
            self.tokens.retain(|_, recent| recent.is_fresh(now));
            self.swept_at = Some(now);
        }
        self.tokens.len() < KEPT
    }
}

impl RecentTokens {
    /// The token that says this, or the one that `sign` makes.
    pub fn get_or_sign(
        &self,
        statement: TokenStatement,
        now: Time,
        sign: impl FnOnce() -> Result<String>,
    ) -> Result<RecentToken> {
        let shard = &self.shards[usize::from(statement[0]) % SHARDS];
        let kept = || shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recent) = kept().tokens.get(&statement).filter(|recent| recent.is_fresh(now)) {
            return Ok(recent.clone());
        }
        let recent = RecentToken { token: sign()?.into(), signed_at: now };
        let mut kept = kept();
        if recent.token.len() <= LONGEST && kept.has_room(now) {
            kept.tokens.insert(statement, recent.clone());
        }
        Ok(recent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(tokens: &RecentTokens, statement: TokenStatement, at: i64) -> String {
        let sign = || Ok(format!("signed at {at}"));
        tokens.get_or_sign(statement, Time::from_ms(at), sign).unwrap().token.to_string()
    }

    #[test]
    fn a_token_is_handed_out_again_for_ten_seconds() {
        let tokens = RecentTokens::default();
        assert_eq!(signed(&tokens, [1; 32], 50_000), "signed at 50000");
        assert_eq!(signed(&tokens, [1; 32], 59_999), "signed at 50000");
        assert_eq!(signed(&tokens, [2; 32], 59_999), "signed at 59999");
        assert_eq!(signed(&tokens, [1; 32], 60_000), "signed at 60000");
        // The clock was set back.
        assert_eq!(signed(&tokens, [1; 32], 40_000), "signed at 40000");
    }

    #[test]
    fn a_flood_of_tokens_does_not_grow_without_bound() {
        let tokens = RecentTokens::default();
        let held = || tokens.shards.iter().map(|shard| shard.lock().unwrap().tokens.len()).sum::<usize>();
        for number in 0_u32..40_000 {
            let mut statement = [0; 32];
            statement[0] = number as u8;
            statement[1..5].copy_from_slice(&number.to_be_bytes());
            signed(&tokens, statement, 0);
        }
        assert_eq!(held(), SHARDS * KEPT);
        // Those that are no longer fresh give way.
        assert_eq!(signed(&tokens, [7; 32], 20_000), "signed at 20000");
        assert_eq!(signed(&tokens, [7; 32], 20_001), "signed at 20000");
        assert!(held() < SHARDS * KEPT);
    }

    #[test]
    fn long_tokens_are_not_kept() {
        let tokens = RecentTokens::default();
        let long = |letter: &str| {
            let sign = || Ok(letter.repeat(LONGEST + 1));
            tokens.get_or_sign([9; 32], Time::from_ms(0), sign).unwrap().token
        };
        assert_ne!(long("a"), long("b"));
    }
}
