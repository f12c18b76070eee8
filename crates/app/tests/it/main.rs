//! HTTP tests of the whole server, in the process, on the engine that `TEST_DATABASE_URL` chooses.
#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail the test")]

mod accounts;
mod architecture;
mod bad_inputs;
mod contract;
mod credentials;
mod email_addresses;
mod events;
mod factors;
mod inbox;
mod invariants;
mod lists;
mod metadata;
mod paging;
mod phone_numbers;
mod pictures;
mod rate_limits;
mod requirements;
mod restrictions;
mod searches;
mod table;
mod updates;
mod users;
mod verifications;
mod wire;
