//! Ids: a prefix that says what the thing is, an underscore, and a KSUID.
//!
//! A KSUID is 20 bytes (seconds since 2014-05-13T16:53:20Z, then 16 random bytes) written as 27
//! base-62 digits, so ids of different seconds sort by age. Within a second they do not: lists order
//! by `created_at, id`, never by `id` alone.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::rng::Rng;
use crate::time::Time;

const EPOCH_SECONDS: i64 = 1_400_000_000;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KSUID_LENGTH: usize = 27;

/// What an id identifies. The kinds are listed in [`crate::kinds`].
pub trait Kind {
    /// The text before the underscore.
    const PREFIX: &'static str;
}

/// The id of one thing of kind `K`, such as `user_2x4…`.
pub struct Id<K>(String, PhantomData<fn() -> K>);

impl<K: Kind> Id<K> {
    /// A fresh id, made now.
    pub fn new(now: Time, rng: &dyn Rng) -> Self {
        let mut payload = [0; 16];
        rng.fill(&mut payload);
        Id(format!("{}_{}", K::PREFIX, ksuid(now, payload)), PhantomData)
    }

    /// Reads an id, or nothing when prefix or shape do not fit: such an id can belong to nobody.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(K::PREFIX)?.strip_prefix('_')?;
        let fits = digits.len() == KSUID_LENGTH && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        fits.then(|| Id(text.to_owned(), PhantomData))
    }
}

impl<K> Id<K> {
    /// An id that names nothing, for a field that is filled in later.
    pub const fn unset() -> Self {
        Id(String::new(), PhantomData)
    }

    /// When it was made, to the second.
    pub fn made_at(&self) -> Time {
        let digits = self.0.rsplit('_').next().unwrap_or_default();
        // 160 bits as five words, as in `ksuid`; the seconds are the first of them.
        let mut words = [0u32; 5];
        for digit in digits.bytes() {
            let mut carry = DIGITS.iter().position(|&known| known == digit).unwrap_or_default() as u64;
            for word in words.iter_mut().rev() {
                let value = u64::from(*word) * 62 + carry;
                *word = value as u32;
                carry = value >> 32;
            }
        }
        Time::from_ms((i64::from(words[0]) + EPOCH_SECONDS) * 1000)
    }

    /// The id as it travels on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The 27 digits for a moment and 16 random bytes.
fn ksuid(now: Time, payload: [u8; 16]) -> String {
    let seconds = u32::try_from((now.seconds() - EPOCH_SECONDS).max(0)).unwrap_or(u32::MAX);
    // 160 bits as five 32-bit words, most significant first; repeated division by 62 yields the digits.
    let mut words = [seconds, 0, 0, 0, 0];
    for (word, bytes) in words[1..].iter_mut().zip(payload.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    let mut digits = [b'0'; KSUID_LENGTH];
    for digit in digits.iter_mut().rev() {
        let mut remainder = 0u64;
        for word in &mut words {
            let value = (remainder << 32) | u64::from(*word);
            *word = (value / 62) as u32;
            remainder = value % 62;
        }
        *digit = DIGITS[remainder as usize];
    }
    digits.iter().map(|&digit| char::from(digit)).collect()
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        Id(self.0.clone(), PhantomData)
    }
}

impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K> Eq for Id<K> {}

impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<K> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Reading from our own storage: the shape was checked when the id was made.
impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Id(text, PhantomData))
    }
}

impl<K: Kind> JsonSchema for Id<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        K::PREFIX.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kinds::UserKind;
    use crate::rng::SeededRng;

    #[test]
    fn ksuid_matches_the_published_vector() {
        let payload = 0xB5A1_CD34_B5F9_9D11_54FB_6853_345C_9735_u128.to_be_bytes();
        let at = Time::from_ms((EPOCH_SECONDS + 107_608_047) * 1000);
        assert_eq!(ksuid(at, payload), "0ujtsYcgvSTl8PAuAdqWYSMnLOv");
    }

    #[test]
    fn ids_refuse_other_kinds_and_shapes() {
        let id = Id::<UserKind>::new(Time::from_ms(1_700_000_000_000), &SeededRng::new(1));
        assert_eq!(Id::<UserKind>::parse(id.as_str()), Some(id.clone()));
        let digits = &id.as_str()["user_".len()..];
        for bad in
            ["", "user_", "user_short", &format!("sess_{digits}"), &format!("user_{digits}0"), "user_%"]
        {
            assert_eq!(Id::<UserKind>::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn ids_of_later_seconds_sort_later(a in 0i64..4_000_000_000, gap in 1i64..100_000, seed: u64) {
            let rng = SeededRng::new(seed);
            let at = |seconds: i64| Id::<UserKind>::new(Time::from_ms((EPOCH_SECONDS + seconds) * 1000), &rng);
            let (early, late) = (at(a), at(a + gap));
            prop_assert!(early.as_str() < late.as_str());
            prop_assert_eq!(Id::<UserKind>::parse(early.as_str()), Some(early));
        }
    }
}
