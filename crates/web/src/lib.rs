//! What every endpoint needs and no resource owns: the operation table, input, replies, versions,
//! the edge that wraps each request, metrics, and the OpenAPI document made from all of it.
//!
//! Knows HTTP, JSON and `base`. Knows no database and no resource.

#![warn(missing_docs)]

mod answer;
pub mod api;
pub mod bodies;
pub mod depth;
pub mod edge;
pub mod form;
pub mod input;
pub mod metrics;
pub mod network;
pub mod openapi;
mod pool;
pub mod query;
pub mod reply;
pub mod shape;
pub mod signature;
pub mod throttle;
pub mod unread;
pub mod unsent;
pub mod version;
