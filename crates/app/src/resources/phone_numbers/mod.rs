//! Phone numbers of users. What they do lies in `identifications`.

pub mod backend;
