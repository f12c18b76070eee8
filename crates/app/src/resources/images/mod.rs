//! Pictures: uploaded ones, kept in the database, and drawn ones for everybody else. Public, because
//! browsers show them without credentials; the ids cannot be guessed.

pub mod public;
pub mod store;
