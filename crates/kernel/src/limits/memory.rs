//! Memory that requests and answers of a listener share.

/// Memory for the first 32 KB of request bodies, except for their first 4 KB, of all requests at a listener together: a
/// thousand forms at once that are as large. Half of it is for networks that have one such body.
pub const SMALL_BODIES_BYTES: usize = 32 * 1024 * 1024;
/// Memory for the rest of larger bodies, of all requests at a listener together: a dozen of the largest pictures. One
/// address gets a third of it (four pictures), one tenant half, and each the less the more there are.
pub const LARGE_BODIES_BYTES: usize = 128 * 1024 * 1024;
/// Memory for answers of more than 16 KB until they are sent, of all requests to the Backend API together. One address
/// gets a quarter of it; another quarter is for those that have 5 MB at most.
pub const BACKEND_ANSWERS_BYTES: usize = 512 * 1024 * 1024;
/// The same for the Frontend API: some sixty of the largest pictures.
pub const FRONTEND_ANSWERS_BYTES: usize = 256 * 1024 * 1024;
