//! What befalls a whole account: changes that end sessions, bans, deletion. It spans people and their presence.

pub mod backend;
pub mod deletion;
pub mod sessions;
pub mod unproven;
pub mod update;
