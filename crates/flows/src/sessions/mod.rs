//! The sessions of a client, as its browser sees and changes them.

pub mod frontend;
