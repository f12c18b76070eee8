//! `oauth_mock`: a provider of development instances that asks people who they want to be.
//!
//! It is part of the server: the page below `/oauth-mock` makes a code that is the profile itself, sealed for the state
//! of one sign-in and good for five minutes. The state is used up with the sign-in, and the code with it.

mod codes;
pub mod pages;
pub mod rules;
pub mod view;

pub use codes::{CALLBACK, PATH};
pub(super) use codes::{granted, url};

use codes::code;
