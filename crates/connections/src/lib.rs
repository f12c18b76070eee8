//! Ways to sign in that somebody or something else vouches for: accounts at other providers, passkeys, wallets.
//!
//! A group above `flows`: it plugs into the sign-in machine (`flows/strategies.rs`) and adds operations; nothing
//! below knows it.

pub mod passkeys;
pub mod social;
pub mod trusted_devices;
pub mod wallets;

use std::sync::Arc;

use latchkey_flows::strategies::{Registered, RegisteredSecondFactor, RegisteredWalletProof};
use latchkey_kernel::AppState;
use latchkey_kernel::group::Group;
use latchkey_kernel::registry::Registry;
use latchkey_web::api::Api;

use wallets::proof::SignatureProof;

/// What it adds to the server.
pub const GROUP: Group =
    Group { backend, frontend, register, pages: social::pages, ..Group::named("connections") };

fn backend(api: &mut Api<AppState>) {
    social::backend(api);
    passkeys::backend::routes(api);
}

fn frontend(api: &mut Api<AppState>) {
    social::frontend(api);
    passkeys::frontend::routes(api);
    passkeys::well_known::routes(api);
    trusted_devices::frontend::routes(api);
    wallets::frontend::routes(api);
}

fn register(registry: &mut Registry) {
    social::register(registry);
    registry.add(Registered(Arc::new(passkeys::factor::PasskeyFactor)));
    registry.add(RegisteredSecondFactor(Arc::new(passkeys::factor::PasskeyFactor)));
    registry.add(Registered(Arc::new(trusted_devices::factor::TrustedDeviceFactor)));
    registry.add(RegisteredWalletProof(Arc::new(SignatureProof)));
}
