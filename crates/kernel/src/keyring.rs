//! Signing keys, parsed once: opening and parsing one costs more than signing with it. And the tokens of clients
//! whose signature was found good: they come with every request of a browser.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Result, Time};
use latchkey_db::Tx;
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
