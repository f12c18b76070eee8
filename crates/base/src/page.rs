//! Where a list starts and how long it may be.

/// Default page length when the caller names none.
pub const DEFAULT_LIMIT: i64 = 10;
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
