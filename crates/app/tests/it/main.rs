//! HTTP tests of the whole server, in the process, on the engine that `TEST_DATABASE_URL` chooses.

mod contract;
mod table;
mod users;
