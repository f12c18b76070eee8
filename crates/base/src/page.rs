//! Where a list starts and how long it may be.

/// Default page length when the caller names none.
pub const DEFAULT_LIMIT: i64 = 10;

/// [`DEFAULT_LIMIT`], for inputs that leave it out.
pub fn default_limit() -> i64 {
    DEFAULT_LIMIT
}
/// The longest page the published description allows.
pub const MAX_LIMIT: i64 = 500;

/// A checked page request.
#[derive(Clone, Copy, Debug)]
pub struct Paging {
    /// At most so many rows.
    pub limit: i64,
    /// After skipping so many.
    pub offset: i64,
}
