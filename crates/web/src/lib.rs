//! What every endpoint needs and no resource owns: the operation table, input, replies, versions,
//! the edge that wraps each request, metrics, and the OpenAPI document made from all of it.
//!
//! Knows HTTP, JSON and `base`. Knows no database and no resource.

pub mod api;
pub mod edge;
pub mod form;
pub mod input;
pub mod metrics;
pub mod openapi;
pub mod query;
pub mod reply;
pub mod shape;
pub mod throttle;
mod unread;
pub mod version;
