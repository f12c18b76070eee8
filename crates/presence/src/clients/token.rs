//! What a client shows to prove itself: a signed token with its id and a secret that changes whenever
//! somebody signs in, so that a token planted before is worth nothing after.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::kinds::ClientId;
use latchkey_base::rng::{self, Rng};
use latchkey_base::secret::Secret;
use latchkey_base::{Id, Result};
use latchkey_jose::digest::sha256;
use latchkey_kernel::keyring::Signer;
use serde::{Deserialize, Serialize};

/// The claims of the token.
#[derive(Serialize, Deserialize)]
struct Claims {
    id: String,
    rotating_token: String,
}

/// What proves a client from now on.
pub struct ClientProof {
    /// The secret of the client.
    pub secret: Secret,
    /// The token of the developer's browser that uses the client, if it got a new one.
    pub dev_browser: Option<Secret>,
}

impl From<Secret> for ClientProof {
    fn from(secret: Secret) -> ClientProof {
        ClientProof { secret, dev_browser: None }
    }
}

/// A new secret for a client.
pub fn secret(rng: &dyn Rng) -> Secret {
    Secret::new(URL_SAFE_NO_PAD.encode(rng::bytes::<24>(rng)))
}

/// What is stored of a secret.
pub fn digest(secret: &Secret) -> [u8; 32] {
    sha256(secret.expose().as_bytes())
}

/// The token a client keeps.
pub fn write(signer: &Signer, client: &ClientId, secret: &Secret) -> Result<String> {
    signer.sign_plain(&Claims { id: client.as_str().to_owned(), rotating_token: secret.expose().to_owned() })
}

/// What a token claims. Nobody has checked yet whether the secret in it fits, and whether it was signed here.
pub fn read(token: &str) -> Option<(ClientId, Secret)> {
    let mut parts = token.split('.');
    let (_, claims, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
        return None;
    };
    let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    Some((Id::parse(&claims.id)?, Secret::new(claims.rotating_token)))
}
