//! The browser scripts of the SDKs, `@clerk/clerk-js` and `@clerk/ui`, under the addresses where the
//! SDKs look for them on the Frontend API. They are not ours and not part of the server: they come
//! from a directory of unpacked packages, or from a public CDN by redirect when there is none. The Debian package brings
//! such a directory.
//!
//! Public, and the same for every instance: nothing here knows the database or a tenant.

pub mod files;
pub mod frontend;
pub mod pinned;
pub mod rules;
