//! Where a list starts and how long it may be.

use schemars::JsonSchema;
use serde::Deserialize;

/// Default page length when the caller names none.
pub const DEFAULT_LIMIT: i64 = 10;

/// [`DEFAULT_LIMIT`], for inputs that leave it out.
pub fn default_limit() -> i64 {
    DEFAULT_LIMIT
}

/// The order of most lists, for inputs that leave it out.
pub fn newest_first() -> String {
    "-created_at".to_owned()
}

/// The longest page the published description allows.
pub const MAX_LIMIT: i64 = 500;

/// A page request, as it stands in the query of every list.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct Paging {
    /// At most so many.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: i64,
    /// Skip so many.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub offset: i64,
}

impl Default for Paging {
    fn default() -> Paging {
        Paging { limit: DEFAULT_LIMIT, offset: 0 }
    }
}
