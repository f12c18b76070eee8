//! Webhooks: the endpoints of an application that events are sent to.
//!
//! An endpoint chooses the kinds of events it wants and has secrets of its own, with which each event is
//! signed. It reads the events of the instance in their order and remembers how far it got
//! (`cursor_seq`); what became of each event there are its `deliveries`.
//! Endpoints are managed with a secret key, or on a page of ours by whoever got a link to it.

pub mod backend;
pub mod deliveries;
pub mod endpoints;
pub mod input;
pub mod manager;
pub mod model;
pub mod page;
pub mod rules;
pub mod samples;
pub mod secrets;
pub mod sending;
pub mod store;
pub mod tokens;
pub mod view;

pub use rules::not_found;
