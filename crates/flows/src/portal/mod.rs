//! The hosted pages (account portal): sign-in, sign-up, the profile, organizations and a few messages, so that a
//! person can sign in with nothing but the server running.
//!
//! One static page, filled in with an instance's public facts. It loads the SDK's own components from
//! `scripts` and mounts the matching one; it has no logic of signing in, and it never redirects by
//! itself: where a person goes afterwards is decided by clerk-js and its list of allowed origins.

pub mod frontend;
pub mod model;
pub mod pages;
pub mod rules;
pub mod view;
