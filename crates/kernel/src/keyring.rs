//! Signing keys, parsed once: opening and parsing one costs more than signing with it. And the tokens of clients
//! whose signature was found good: they come with every request of a browser. And the keys that applications brought
//! for their JWT templates.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Result, Time};
use latchkey_db::Tx;
use latchkey_jose::custom::CustomKey;
use latchkey_jose::jwk::Jwk;
use latchkey_jose::jwt;
use latchkey_jose::rsa::SigningKey;
use serde::Serialize;
use serde_json::{Value, json};

use crate::instances::store;

/// Keys kept parsed; each takes some kilobytes.
const KEPT: usize = 1000;
/// Tokens remembered as checked, by their digests.
const CHECKED: usize = 50_000;

/// What a token is for, so that one kind is never taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// A session, or what a handshake hands over.
    Session,
    /// A token made from a template.
    Template,
}

impl Category {
    fn name(self) -> &'static str {
        match self {
            Category::Session => "cl_B7d4PD111AAA",
            Category::Template => "cl_B7d4PD222AAA",
        }
    }

    /// Whether the header of a token names this category.
    pub fn is_of(self, header: &Value) -> bool {
        header["cat"] == self.name()
    }
}

/// The key an instance signs with at the moment.
#[derive(Clone)]
pub struct Signer {
    /// Its id, which tokens name.
    pub kid: Arc<str>,
    pub key: Arc<SigningKey>,
}

impl Signer {
    /// Signs a token of a category.
    pub fn sign(&self, category: Category, claims: &impl Serialize) -> Result<String> {
        let header = json!({ "alg": "RS256", "cat": category.name(), "kid": &*self.kid, "typ": "JWT" });
        jwt::sign(&self.key, &header, claims).map_err(Error::internal)
    }

    /// Signs a token of no category, which no SDK takes for a session.
    pub fn sign_plain(&self, claims: &impl Serialize) -> Result<String> {
        let header = json!({ "alg": "RS256", "kid": &*self.kid, "typ": "JWT" });
        jwt::sign(&self.key, &header, claims).map_err(Error::internal)
    }
}

/// The keys whose signatures count for an instance.
pub async fn public_keys(tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<Vec<Jwk>> {
    parsed(&store::public_keys(tx, instance, now).await?)
}

pub(crate) fn parsed(keys: &[String]) -> Result<Vec<Jwk>> {
    keys.iter().map(|jwk| serde_json::from_str(jwk).map_err(Error::internal)).collect()
}

/// What was parsed and checked.
#[derive(Default)]
pub struct Keyring {
    /// Keys by their id.
    signers: RwLock<HashMap<String, Signer>>,
    /// Digests of tokens, each with its instance.
    checked: RwLock<HashSet<[u8; 32]>>,
}

impl Keyring {
    pub(crate) fn get(&self, kid: &str) -> Option<Signer> {
        self.signers.read().unwrap_or_else(PoisonError::into_inner).get(kid).cloned()
    }

    pub(crate) fn keep(&self, kid: String, signer: Signer) {
        let mut signers = self.signers.write().unwrap_or_else(PoisonError::into_inner);
        if signers.len() >= KEPT {
            signers.clear();
        }
        signers.insert(kid, signer);
    }

    pub(crate) fn is_checked(&self, digest: &[u8; 32]) -> bool {
        self.checked.read().unwrap_or_else(PoisonError::into_inner).contains(digest)
    }

    pub(crate) fn note_checked(&self, digest: [u8; 32]) {
        let mut checked = self.checked.write().unwrap_or_else(PoisonError::into_inner);
        if checked.len() >= CHECKED {
            checked.clear();
        }
        checked.insert(digest);
    }
}

/// What a key that an application brought is known by: a digest of the sealed text and of what it was sealed for.
pub type CustomKeyDigest = [u8; 32];

/// Keys that applications brought, opened. A key that is changed or moved has another sealed text, and with it another
/// digest, so nothing is ever taken out but to make room.
#[derive(Default)]
pub struct CustomKeys(RwLock<KeptCustomKeys>);

#[derive(Default)]
struct KeptCustomKeys {
    tenants: HashMap<InstanceId, HashMap<CustomKeyDigest, KeptCustomKey>>,
    /// How many there are.
    count: usize,
    /// How many there ever were.
    numbered: u64,
}

struct KeptCustomKey {
    key: Arc<CustomKey>,
    /// The lower, the older.
    number: u64,
}

impl CustomKeys {
    /// The key of this digest, if it is open.
    pub fn get(&self, instance: &InstanceId, digest: &CustomKeyDigest) -> Option<Arc<CustomKey>> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Some(kept.tenants.get(instance)?.get(digest)?.key.clone())
    }

    /// The key of this digest, which is opened unless it is open already.
    pub fn get_or_open(
        &self,
        instance: &InstanceId,
        digest: CustomKeyDigest,
        open: impl FnOnce() -> Result<CustomKey>,
    ) -> Result<Arc<CustomKey>> {
        if let Some(key) = self.get(instance, &digest) {
            return Ok(key);
        }
        let key = Arc::new(open()?);
        self.0.write().unwrap_or_else(PoisonError::into_inner).keep(instance, digest, key.clone());
        Ok(key)
    }
}

impl KeptCustomKeys {
    fn keep(&mut self, instance: &InstanceId, digest: CustomKeyDigest, key: Arc<CustomKey>) {
        if self.count >= KEPT {
            self.make_room();
        }
        self.numbered += 1;
        let kept = KeptCustomKey { key, number: self.numbered };
        let replaced = self.tenants.entry(instance.clone()).or_default().insert(digest, kept);
        self.count += usize::from(replaced.is_none());
    }

    /// Takes the oldest key away from the tenant with most: nobody loses theirs to one that has more.
    fn make_room(&mut self) {
        let most = self.tenants.values_mut().max_by_key(|keys| keys.len());
        let Some(keys) = most else { return };
        let oldest = keys.iter().min_by_key(|(_, kept)| kept.number).map(|(digest, _)| *digest);
        let removed = oldest.and_then(|digest| keys.remove(&digest));
        self.count -= usize::from(removed.is_some());
        self.tenants.retain(|_, keys| !keys.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;
    use latchkey_jose::custom::Algorithm;

    use super::*;

    fn tenant(number: u64) -> InstanceId {
        InstanceId::new(Time::from_ms(0), &SeededRng::new(number))
    }

    fn digest(number: usize) -> CustomKeyDigest {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        digest
    }

    fn secret() -> Result<CustomKey> {
        CustomKey::parse(Algorithm::Hs256, &"s".repeat(32)).map_err(Error::internal)
    }

    fn open(keys: &CustomKeys, tenant: &InstanceId, number: usize) {
        keys.get_or_open(tenant, digest(number), secret).unwrap();
    }

    #[test]
    fn the_same_key_is_opened_once_and_a_failure_is_not_kept() {
        let (keys, a) = (CustomKeys::default(), tenant(1));
        assert!(keys.get_or_open(&a, digest(1), || Err(Error::internal("unreadable"))).is_err());
        assert!(keys.get(&a, &digest(1)).is_none());
        let first = keys.get_or_open(&a, digest(1), secret).unwrap();
        let again = keys.get_or_open(&a, digest(1), || panic!("opened twice")).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert!(keys.get(&a, &digest(2)).is_none());
        assert!(keys.get(&tenant(2), &digest(1)).is_none(), "a key of another tenant");
    }

    #[test]
    fn a_tenant_with_thousands_of_keys_takes_none_from_others() {
        let (keys, crowd, other) = (CustomKeys::default(), tenant(1), tenant(2));
        for number in 0..10 {
            open(&keys, &other, number);
        }
        for number in 0..3 * KEPT {
            open(&keys, &crowd, number);
        }
        let kept = |tenant: &InstanceId| -> Vec<usize> {
            (0..3 * KEPT).filter(|number| keys.get(tenant, &digest(*number)).is_some()).collect()
        };
        assert_eq!(kept(&other), (0..10).collect::<Vec<_>>());
        assert_eq!(kept(&crowd), (2 * KEPT + 10..3 * KEPT).collect::<Vec<_>>());
        // Whoever has fewer takes from who has most.
        open(&keys, &tenant(3), 0);
        assert_eq!((kept(&crowd).len(), kept(&other).len()), (KEPT - 11, 10));
        let held = keys.0.read().unwrap();
        assert_eq!(held.count, held.tenants.values().map(HashMap::len).sum::<usize>());
    }

    #[test]
    fn many_tenants_with_a_key_each_do_not_grow_without_bound() {
        let keys = CustomKeys::default();
        for number in 0..2 * KEPT {
            open(&keys, &tenant(number as u64), 0);
        }
        let held = keys.0.read().unwrap();
        assert_eq!((held.count, held.tenants.len()), (KEPT, KEPT));
    }
}
