//! Ways to sign in that somebody or something else vouches for: accounts at other providers, passkeys, wallets.
//!
//! A crate above `latchkey-app`: it plugs into the sign-in machine (`flows/strategies.rs`) and adds operations; nothing
//! below knows it.

pub mod social;

use latchkey_kernel::group::Group;

/// What it adds to the server.
pub const GROUP: Group = Group {
    backend: social::backend,
    frontend: social::frontend,
    register: social::register,
    pages: social::mock::pages::routes,
    ..Group::named("connections")
};
