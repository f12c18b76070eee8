//! The client against real servers that misbehave.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod names;
mod secure;
mod server;
