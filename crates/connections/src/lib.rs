//! Ways to sign in that somebody or something else vouches for: accounts at other providers, passkeys, wallets.
//!
//! A crate above `latchkey-app`: it plugs into the sign-in machine (`flows/strategies.rs`) and adds operations; nothing
//! below knows it.

use std::sync::Arc;

use latchkey_app::flows::strategies::Registered;
use latchkey_kernel::group::Group;

pub mod passkeys;
pub mod trusted_devices;

/// What it adds to the server.
pub const GROUP: Group = Group {
    backend: |api| passkeys::backend::routes(api),
    frontend: |api| {
        passkeys::frontend::routes(api);
        passkeys::well_known::routes(api);
        trusted_devices::frontend::routes(api);
    },
    register: |registry| {
        registry.add(Registered(Arc::new(passkeys::factor::PasskeyFactor)));
        registry.add(Registered(Arc::new(trusted_devices::factor::TrustedDeviceFactor)));
    },
    ..Group::named("connections")
};
