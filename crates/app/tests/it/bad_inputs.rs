//! Attacks that broke other identity products, tried on this one. Each test is named after what it
//! protects; whatever is refused changes nothing.

mod both_engines {
    mod races;
    mod tenancy;
}
mod credentials;
mod fields;
mod headers;
pub(crate) mod logs;
mod me;
pub(crate) mod pictures;
mod sign_ins;
mod sign_ups;
