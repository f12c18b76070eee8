//! What every request of a browser or device passes: the door of the Frontend API. A listener of its own; it shares paths
//! with the Backend API and must never be taken for it, so its operations are a table of their own.
//!
//! A request goes through `gate` (which instance, which origin, how often), then names its client
//! (`visitor`), and is answered in an envelope with the whole state of the client (`reply`).

pub mod client;
pub mod client_handle;
pub mod cookies;
pub mod counting;
pub mod gate;
pub mod person;
pub mod redirects;
pub mod refusals;
pub mod relying_party;
pub mod reply;
pub mod site;
pub mod visitor;
