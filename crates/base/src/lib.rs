//! The vocabulary every other crate speaks: ids, times, errors, pages, patches, secrets.
//!
//! Pure values and pure functions. Nothing here knows HTTP beyond a status number, SQL, or async.

#![warn(missing_docs)]

pub mod countries;
pub mod error;
pub mod id;
pub mod kinds;
pub mod locale;
pub mod page;
pub mod patch;
pub mod rng;
pub mod secret;
pub mod text;
pub mod time;

pub use error::{Code, Error, Problem, Result};
pub use id::Id;
pub use time::Time;
