//! The domains of an application as its backends see and change them: the primary one, which the host of the Frontend API
//! names, and the satellites. Both are another door to what the command line changes: the host is the instance's own, the
//! rest are settings. `proxy.rs` tries proxies.

pub mod backend;
pub mod input;
pub mod proxy;
pub mod rules;
pub mod view;
