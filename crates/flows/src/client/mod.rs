//! Stories of a client as a whole: it is made, shown, signed out on.

pub mod frontend;
