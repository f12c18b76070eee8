//! Proving anew who it is, in a session that is open: what sensitive changes ask for. The factors are those
//! of signing in, and so is what failures lead to.

pub mod frontend;
pub mod rules;
pub mod steps;
pub mod view;
