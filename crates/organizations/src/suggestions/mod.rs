//! Organizations that somebody may ask to join, because they have an address of the organization's domain. One whom a
//! suggestion is made accepts it by asking; the organization sees that as a request, and accepts or rejects it.

pub mod model;
pub mod rules;
pub mod store;
pub mod view;
