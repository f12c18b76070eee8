//! HTTP tests of the whole server, in the process, on the engine that `TEST_DATABASE_URL` chooses.
#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail the test")]

mod accounts;
mod actor_tokens;
mod architecture;
mod bad_inputs;
mod clients;
mod contract;
mod credentials;
mod email_addresses;
mod environment;
mod events;
mod factors;
mod frontend;
mod inbox;
mod interstitial;
mod invariants;
mod jobs;
mod jwt_templates;
mod lists;
mod me;
mod metadata;
mod paging;
mod phone_numbers;
mod pictures;
mod rate_limits;
mod requirements;
mod restrictions;
mod reverification;
mod scripts;
mod searches;
mod sessions;
mod sign_in_tokens;
mod sign_ins;
mod sign_ups;
mod table;
mod testing_tokens;
mod updates;
mod users;
mod verifications;
mod wire;
