//! Signing keys, parsed once: opening and parsing one costs more than signing with it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use latchkey_jose::jwk::Jwk;
use latchkey_jose::jwt;
use latchkey_jose::rsa::SigningKey;
use serde::Serialize;
use serde_json::{Value, json};

use crate::App;
use crate::frontend::site::Site;
use crate::resources::instances::{rules, store};

/// Keys kept parsed; each takes some kilobytes.
const KEPT: usize = 1000;

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
    /// The key.
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
    let stored = store::public_keys(tx, instance, now).await?;
    stored.iter().map(|jwk| serde_json::from_str(jwk).map_err(Error::internal)).collect()
}

/// Parsed keys by their id.
#[derive(Default)]
pub struct Keyring(RwLock<HashMap<String, Signer>>);

impl Keyring {
    fn get(&self, kid: &str) -> Option<Signer> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(kid).cloned()
    }
}

impl App {
    /// The key an instance signs with now. Which one that is is read every time: another node may have
    /// changed it.
    pub async fn signer(&self, tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<Signer> {
        let found = store::signing_key(tx, instance, now).await?;
        let (kid, sealed) = found.ok_or_else(|| Error::new(Code::InstanceKeyRequired))?;
        if let Some(signer) = self.keyring.get(&kid) {
            return Ok(signer);
        }
        let key = Arc::new(rules::open_key(&self.master, &kid, &sealed)?);
        let signer = Signer { kid: kid.as_str().into(), key };
        let mut keys = self.keyring.0.write().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= KEPT {
            keys.clear();
        }
        keys.insert(kid, signer.clone());
        Ok(signer)
    }

    /// The key of the instance a request is for. Its id was read when the request came in; the key itself is
    /// read before its first use.
    pub async fn signer_at(&self, site: &Site, now: Time) -> Result<Signer> {
        match site.signing_key.as_deref().and_then(|kid| self.keyring.get(kid)) {
            Some(signer) => Ok(signer),
            None => self.signer(&mut self.db.read().await?, &site.instance, now).await,
        }
    }
}
