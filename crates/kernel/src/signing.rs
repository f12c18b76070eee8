//! Signing for an instance, and telling whether it has signed.

use std::sync::Arc;

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use latchkey_jose::digest::sha256;
use latchkey_jose::jwt;

use crate::App;
use crate::instances::{rules, store};
use crate::keyring::{Signer, parsed};

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

    /// The key an instance signs with now, whose id the caller has read already, if it has. The key itself is read
    /// before its first use.
    pub async fn signer_named(&self, kid: Option<&str>, instance: &InstanceId, now: Time) -> Result<Signer> {
        match kid.and_then(|kid| self.keyring.get(kid)) {
            Some(signer) => Ok(signer),
            None => self.signer(&mut self.db.read().await?, instance, now).await,
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
