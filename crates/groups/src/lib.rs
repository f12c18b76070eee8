//! The groups that lie in crates above `latchkey-app`, for whoever puts the server together: the binary and the tests.
//! Whoever adds such a crate adds its `GROUP` here.

use latchkey_kernel::group::Group;

/// All of them, lowest first.
pub const UPPER: &[Group] = &[latchkey_connections::GROUP];
