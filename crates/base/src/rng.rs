//! Randomness as an argument: the operating system's in production, a seeded stream in tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// A source of random bytes.
pub trait Rng: Send + Sync {
    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// `N` random bytes.
pub fn bytes<const N: usize>(rng: &dyn Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill(&mut bytes);
    bytes
}

/// The operating system's generator.
pub struct SystemRng;

impl Rng for SystemRng {
    #[expect(clippy::expect_used, reason = "without randomness no key or code is safe: stopping is right")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system gives random bytes");
    }
}

/// A repeatable stream (splitmix64), so that snapshots are exact. Never for production.
pub struct SeededRng(AtomicU64);

impl SeededRng {
    /// The stream that starts at `seed`.
    pub fn new(seed: u64) -> SeededRng {
        SeededRng(AtomicU64::new(seed))
    }
}

impl Rng for SeededRng {
    fn fill(&self, bytes: &mut [u8]) {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        for chunk in bytes.chunks_mut(8) {
            let mut z = self.0.fetch_add(STEP, Ordering::SeqCst).wrapping_add(STEP);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
            chunk.copy_from_slice(&z.to_le_bytes()[..chunk.len()]);
        }
    }
}
