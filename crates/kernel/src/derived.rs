//! Ids that follow from an instance and a text: the same whenever they are asked for, without being stored.

use latchkey_base::id::{Id, Kind};
use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::Rng;
use latchkey_jose::digest::sha256;

/// An id that follows from an instance and a key.
pub fn derived<K: Kind>(instance: &InstanceId, key: &str) -> Id<K> {
    Id::new(instance.made_at(), &Digest(sha256(format!("{instance}/{key}").as_bytes())))
}

/// The bytes of a digest, in place of random ones.
struct Digest([u8; 32]);

impl Rng for Digest {
    fn fill(&self, bytes: &mut [u8]) {
        for (byte, digit) in bytes.iter_mut().zip(self.0.iter().cycle()) {
            *byte = *digit;
        }
    }
}
