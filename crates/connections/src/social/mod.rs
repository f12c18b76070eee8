//! Accounts at other providers: which providers there are, how they are spoken to, and what they say about people.

pub mod id_tokens;
pub mod mock;
pub mod protocol;
pub mod providers;
