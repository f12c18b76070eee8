//! Wallets with real keys, which sign as the programs that people have do.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k256::ecdsa::SigningKey;
use sha3::{Digest, Keccak256};

use crate::person::hex;

/// An account, and its key.
pub struct TestWallet {
    /// As wallets tell it, but in small letters where the case means nothing.
    pub address: String,
    key: WalletKey,
}

enum WalletKey {
    Ethereum(SigningKey),
    Solana(Ed25519KeyPair),
}

impl TestWallet {
    /// An account of Ethereum. `number` tells it from others.
    pub fn ethereum(number: u8) -> TestWallet {
        let key = SigningKey::from_slice(&[number; 32]).unwrap();
        let point = key.verifying_key().to_sec1_point(false);
        let digest = Keccak256::digest(&point.as_bytes()[1..]);
        TestWallet { address: format!("0x{}", hex(&digest[12..])), key: WalletKey::Ethereum(key) }
    }

    /// An account of Solana. `number` tells it from others.
    pub fn solana(number: u8) -> TestWallet {
        let key = Ed25519KeyPair::from_seed_unchecked(&[number; 32]).unwrap();
        let address = bs58::encode(key.public_key().as_ref()).into_string();
        TestWallet { address, key: WalletKey::Solana(key) }
    }

    /// The signature over a text, as it is sent.
    pub fn sign(&self, text: &str) -> String {
        match &self.key {
            WalletKey::Ethereum(key) => {
                let whole = format!("\x19Ethereum Signed Message:\n{}{text}", text.len());
                let (pair, recovery) = key.sign_prehash_recoverable(&Keccak256::digest(whole));
                format!("0x{}{:02x}", hex(&pair.to_bytes()), 27 + recovery.to_byte())
            }
            WalletKey::Solana(key) => STANDARD.encode(key.sign(text.as_bytes())),
        }
    }
}
