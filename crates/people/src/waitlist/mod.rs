//! The waitlist: addresses whose owners asked to be let in, and what became of them. Whoever is invited from here gets an
//! invitation to the application like any other.

pub mod backend;
pub mod change;
pub mod completion;
pub mod input;
pub mod invite;
pub mod list;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;
