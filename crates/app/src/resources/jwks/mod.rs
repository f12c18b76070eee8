//! The public keys with which tokens of an instance are verified.

pub mod backend;
