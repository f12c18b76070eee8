//! Proving factors: what somebody shows is examined before the transaction, because that may be slow, and
//! counts inside it, where the user is locked. Signing in and verifying again share all of it.
//!
//! Every failure counts for the user, whatever the factor, the attempt and the client: otherwise a lock
//! could be got round by changing one of them.

pub mod evidence;
pub mod proof;
pub mod rules;
pub mod sending;
