//! Wallets: accounts of Ethereum and Solana, whose holders prove them by signing a text with the account's key.
//!
//! A wallet is an identification of a user, like an e-mail address. Signing in and up with one is what the machines of
//! `latchkey-flows` do with a code that was sent; they find the proof by its socket (`flows/strategies.rs`). Here are the
//! proof itself, and the operations of people on their own wallets.
//!
//! Signatures are checked offline: an account that is a smart contract signs by what its contract says, which only a node
//! of its chain could tell. Such signatures are refused like wrong ones.

pub mod frontend;
pub mod input;
pub mod message;
pub mod proof;
pub mod signatures;
pub mod steps;
