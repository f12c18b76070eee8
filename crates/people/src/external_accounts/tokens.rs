//! The tokens that a provider gave for an account. They are sealed for that account alone: moved to another one they are
//! worth nothing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::{Error, Result, Time};
use latchkey_jose::seal::MasterKey;
use serde::{Deserialize, Serialize};

use crate::challenges::account::ProvenAccount;

/// Tokens of a provider, for asking it on somebody's behalf.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderTokens {
    pub access_token: Option<String>,
    pub refresh_token: Option<String>,
    pub expires_at: Option<Time>,
    pub id_token: Option<String>,
}

impl ProviderTokens {
    /// These in the place of older ones. What renews them is often given once, when somebody agrees, and is good for longer
    /// than what it renews: it stays until there is another.
    pub fn instead_of(self, older: ProviderTokens) -> ProviderTokens {
        ProviderTokens {
            refresh_token: self.refresh_token.or(older.refresh_token),
            id_token: self.id_token.or(older.id_token),
            ..self
        }
    }
}

impl std::fmt::Debug for ProviderTokens {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ProviderTokens").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// What tokens are sealed for: one account at one provider.
fn sealed_for(account: &ProvenAccount) -> String {
    format!("provider_tokens:{}:{}", account.provider, account.provider_user_id)
}

/// Tokens as they lie in the database.
pub fn seal(master: &MasterKey, account: &ProvenAccount, tokens: &ProviderTokens) -> Result<String> {
    let plain = serde_json::to_vec(tokens).map_err(Error::internal)?;
    let sealed = master.seal(&sealed_for(account), &plain).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// Tokens that lay in the database.
pub fn open(master: &MasterKey, account: &ProvenAccount, sealed: &str) -> Result<ProviderTokens> {
    let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(Error::internal)?;
    let plain = master.open(&sealed_for(account), &sealed).map_err(Error::internal)?;
    serde_json::from_slice(&plain).map_err(Error::internal)
}

/// New tokens in the place of those that lie there, all of them sealed.
pub(super) fn replaced(
    master: &MasterKey,
    account: &ProvenAccount,
    before: &str,
    sealed: &str,
) -> Result<String> {
    // What was sealed with another master key is lost; nobody is kept from signing in by that.
    let Ok(older) = open(master, account, before) else { return Ok(sealed.to_owned()) };
    let tokens = open(master, account, sealed)?.instead_of(older);
    seal(master, account, &tokens)
}
