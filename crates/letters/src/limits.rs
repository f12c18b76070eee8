//! How large a template and what is made of it may get, with the reason for each number.

/// Largest body of a template: mail programs show the first 102 KB of an e-mail and hide the rest.
pub const TEMPLATE_BODY_BYTES: usize = 100 * 1024;
/// Longest text message: ten parts, which is where providers stop.
pub const SMS_CHARS: usize = 1530;
/// Variables and conditions of a template. Dozens are many; each takes time whenever a message is written.
pub const TEMPLATE_TAGS: usize = 2000;
/// What a message may grow to once it is filled in, and what may be read of values for it; names and metadata come on top of
/// the body.
pub const TEMPLATE_OUTPUT_BYTES: usize = 2 * TEMPLATE_BODY_BYTES;
/// Steps a template may take. There are no loops, so only the largest bodies come near.
pub const TEMPLATE_FUEL: u64 = 30_000;
