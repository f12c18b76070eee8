//! Ways to sign in that somebody or something else vouches for: accounts at other providers, passkeys, wallets.
//!
//! A crate above `latchkey-app`: it plugs into the sign-in machine (`flows/strategies.rs`) and adds operations; nothing
//! below knows it.

pub mod social;
pub mod wallets;

use std::sync::Arc;

use latchkey_app::flows::strategies::RegisteredWalletProof;
use latchkey_kernel::AppState;
use latchkey_kernel::group::Group;
use latchkey_kernel::registry::Registry;
use latchkey_web::api::Api;

use wallets::proof::SignatureProof;

/// What it adds to the server.
pub const GROUP: Group = Group {
    backend: social::backend,
    frontend,
    register,
    pages: social::mock::pages::routes,
    ..Group::named("connections")
};

fn frontend(api: &mut Api<AppState>) {
    social::frontend(api);
    wallets::frontend::routes(api);
}

fn register(registry: &mut Registry) {
    social::register(registry);
    registry.add(RegisteredWalletProof(Arc::new(SignatureProof)));
}
