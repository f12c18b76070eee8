//! What the operations on one's own wallets take.

use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `postWeb3Wallets`.
#[derive(Deserialize, JsonSchema)]
pub struct CreateWallet {
    /// The address of an account of Ethereum or Solana.
    pub web3_wallet: String,
}

/// Body of `prepareWeb3WalletVerification`.
#[derive(Deserialize, JsonSchema)]
pub struct PrepareWallet {
    /// How to prove it: by one of the signatures of wallets.
    pub strategy: String,
}

/// Body of `attemptWeb3WalletVerification`.
#[derive(Deserialize, JsonSchema)]
pub struct AttemptWallet {
    /// What the wallet made of the text it was given to sign.
    pub signature: String,
}
