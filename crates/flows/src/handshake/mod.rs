//! The handshake: an app's backend that cannot tell from its cookies who is signed in sends the browser
//! here; it comes back with cookies for the app's own host.

pub mod frontend;
pub mod rules;
pub mod satellites;
