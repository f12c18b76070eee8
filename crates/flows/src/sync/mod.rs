//! Bringing a satellite domain together with the primary one. Cookies do not travel between domains, so a
//! browser does: the satellite sends it to the primary domain, which knows its client and vouches for it with
//! a token, by which the satellite knows it from then on.
//!
//! The token is good once, for a minute, at one satellite, and only for the browser that the satellite sent:
//! otherwise somebody could follow a link and be signed in as whoever made it.

pub mod frontend;
pub mod rules;
pub mod steps;
