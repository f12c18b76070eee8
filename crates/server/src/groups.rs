//! The groups that lie in crates above `latchkey-app`. Whoever adds such a crate adds its `GROUP` here.

use latchkey_kernel::group::Group;

/// All of them, lowest first.
pub(crate) const UPPER: &[Group] = &[];
