//! The environment: what browsers must know of an instance before anybody has signed in, derived from
//! its settings. All of it is public.

pub mod frontend;
pub mod view;
