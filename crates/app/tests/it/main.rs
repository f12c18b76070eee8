//! HTTP tests of the whole server, in the process, on the engine that `TEST_DATABASE_URL` chooses.
#![recursion_limit = "256"]

mod contract;
mod rate_limits;
mod table;
mod users;
mod wire;
