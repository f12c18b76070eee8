//! The interstitial: a page that old SDKs serve in place of an app's when they cannot tell whether somebody
//! is signed in. It loads the script, which finds out, and then asks for the app's page again.

pub mod backend;
pub mod rules;
pub mod view;
