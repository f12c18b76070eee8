//! The digest formats, one file per family of algorithms.
//!
//! Each type reads its text in constructors named after the hashers and offers `verify(&self, password: &[u8])`. The
//! constructors enforce the cost bounds, so `verify` has no error to report. Passwords reaching `verify` have at most
//! [`MAX_BYTES`](crate::MAX_BYTES) bytes.

pub(crate) mod argon2;
pub(crate) mod bcrypt;
pub(crate) mod pbkdf2;
pub(crate) mod phpass;
pub(crate) mod plain;
pub(crate) mod scrypt;
pub(crate) mod symfony;
