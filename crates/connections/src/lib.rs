//! Ways to sign in that somebody or something else vouches for: accounts at other providers, passkeys, wallets.
//!
//! A crate above `latchkey-app`: it plugs into the sign-in machine (`flows/strategies.rs`) and adds operations; nothing
//! below knows it.

pub mod wallets;

use std::sync::Arc;

use latchkey_app::flows::strategies::RegisteredWalletProof;
use latchkey_kernel::group::Group;

use wallets::proof::SignatureProof;

/// What it adds to the server.
pub const GROUP: Group = Group {
    frontend: wallets::frontend::routes,
    register: |registry| registry.add(RegisteredWalletProof(Arc::new(SignatureProof))),
    ..Group::named("connections")
};
