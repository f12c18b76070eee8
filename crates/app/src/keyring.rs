//! Signing keys, parsed once: opening and parsing one costs more than signing with it. And the tokens of clients
//! whose signature was found good: they come with every request of a browser.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use latchkey_jose::digest::sha256;
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
    parsed(&store::public_keys(tx, instance, now).await?)
}

fn parsed(keys: &[String]) -> Result<Vec<Jwk>> {
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
    fn get(&self, kid: &str) -> Option<Signer> {
        self.signers.read().unwrap_or_else(PoisonError::into_inner).get(kid).cloned()
    }

    fn keep(&self, kid: String, signer: Signer) {
        let mut signers = self.signers.write().unwrap_or_else(PoisonError::into_inner);
        if signers.len() >= KEPT {
            signers.clear();
        }
        signers.insert(kid, signer);
    }

    fn is_checked(&self, digest: &[u8; 32]) -> bool {
        self.checked.read().unwrap_or_else(PoisonError::into_inner).contains(digest)
    }

    fn note_checked(&self, digest: [u8; 32]) {
        let mut checked = self.checked.write().unwrap_or_else(PoisonError::into_inner);
        if checked.len() >= CHECKED {
            checked.clear();
        }
        checked.insert(digest);
    }
}

/// Where keys are read, if they have to be.
pub enum Reading<'a> {
    /// In a transaction that is open.
    In(&'a mut Tx),
    /// In one of its own.
    Alone,
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
        self.keyring.keep(kid, signer.clone());
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

    /// Whether the token of a client was signed by a key the instance has or had. What a client can do rests on
    /// the secret in its token, so people stay signed in when keys change; and nobody gets in with a token that
    /// was not made here.
    pub async fn is_signed(&self, reading: Reading<'_>, instance: &InstanceId, token: &str) -> Result<bool> {
        let digest = sha256(&[instance.as_str().as_bytes(), b" ", token.as_bytes()].concat());
        if self.keyring.is_checked(&digest) {
            return Ok(true);
        }
        let keys = match reading {
            Reading::In(tx) => store::past_public_keys(tx, instance).await?,
            Reading::Alone => store::past_public_keys(&mut self.db.read().await?, instance).await?,
        };
        let is_signed = jwt::verify(&parsed(&keys)?, token).is_ok_and(|it| it.header.get("cat").is_none());
        if is_signed {
            self.keyring.note_checked(digest);
        }
        Ok(is_signed)
    }
}
