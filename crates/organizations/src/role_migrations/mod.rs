//! Giving members other roles, because a role set or a role in one was replaced. They may be a hundred thousand, so it
//! is done in transactions of a hundred, each member with their event: what fits into one is done at once, the rest by a
//! job. Meanwhile the role set shows how far it is, and changes of it are refused.

pub mod model;
pub mod run;
pub mod store;
