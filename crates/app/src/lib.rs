//! The product: groups of resources in layers, and the router that serves them.
//!
//! Each group uses those listed before it, never those after it; `tests/it/layers.rs` keeps that.

pub mod door;
pub mod events;
pub mod flows;
pub mod jobs;
pub mod messaging;
mod no_page;
pub mod organizations;
pub mod people;
pub mod presence;
mod reference;
mod router;
pub mod unbuilt;

pub use router::{Routers, document, frontend_document, frontend_operations, operations, routers};
