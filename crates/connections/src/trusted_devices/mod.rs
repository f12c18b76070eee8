//! Trusted devices: native apps keep a private key behind a fingerprint or a face, and people sign in by a signature of
//! it. People enroll the device they are signed in on; a device signs exactly the text that the server made.
//!
//! What is shown of a device, and whether it was revoked, stands in the document of its user (`people/users`), its public
//! key in a table of its own. Backends list and revoke devices there.

pub mod factor;
pub mod frontend;
pub mod input;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;
