//! Requests to addresses other people chose: webhooks, providers of text messages.
//!
//! Whoever chooses an address must not be able to reach what only this machine can reach, hold a request
//! for ever, or fill the memory. So names are resolved here, the addresses are checked, and the connection
//! goes to exactly the address that was checked; one deadline covers everything; answers are read up to a
//! bound; redirects are answers like any other. Proxies of the environment are not used.
//!
//! What is sent, and whether to try again, is the caller's business.

#![warn(missing_docs)]

pub mod client;
mod connect;
pub mod dns;
pub mod failure;
pub mod reach;
pub mod resolve;
mod target;
mod tls;
