//! The proof of a wallet: a text is kept with the attempt, and a signature must fit this very text.

use latchkey_base::{Result, rng};
use latchkey_flows::sign_in::rules::wrong_signature;
use latchkey_flows::strategies::{WalletProof, WalletRequest};
use latchkey_kernel::cx::Act;
use latchkey_kernel::limits::VERIFICATION_MS;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use serde_json::{Map, Value};

use super::message::{WalletText, text};
use super::signatures::{hex_digits, proves};

/// Proves wallets by signatures.
pub struct SignatureProof;

impl WalletProof for SignatureProof {
    fn answers_to(&self, strategy: Strategy) -> bool {
        strategy.is_wallet()
    }

    fn prepare(&self, act: &Act, asked: WalletRequest<'_>) -> Result<Challenge> {
        let WalletRequest { strategy, address, identification, page } = asked;
        let nonce = hex_digits(&rng::bytes::<20>(&*act.rng));
        let expire_at = act.now.plus_ms(VERIFICATION_MS);
        let parts = WalletText { strategy, address, page, nonce: &nonce, issued_at: act.now, expire_at };
        let message = text(&parts);
        let shown = [("nonce", nonce), ("message", message)];
        let details = shown.map(|(name, value)| (name.to_owned(), Value::String(value)));
        Ok(Challenge {
            identification: identification.cloned(),
            target: Some(address.to_owned()),
            expire_at: Some(expire_at),
            details: Map::from_iter(details),
            ..Challenge::failed(strategy, 0, act.now)
        })
    }

    fn examine(&self, challenge: &Challenge, signature: &str) -> Result<()> {
        let address = challenge.target.as_deref().unwrap_or_default();
        let message = challenge.details.get("message").and_then(Value::as_str).unwrap_or_default();
        match proves(challenge.strategy, address, message, signature) {
            true => Ok(()),
            false => Err(wrong_signature()),
        }
    }
}
