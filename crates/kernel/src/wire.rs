//! Shapes that many answers and queries share: pages, lists, and what is left of something deleted.

use latchkey_base::page::Paging;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A list with its total.
#[derive(Serialize, JsonSchema)]
pub struct ListView<T> {
    pub data: Vec<T>,
    pub total_count: i64,
}

/// A list, bare or with its total, as the caller asked.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MaybePaginated<T> {
    Bare(Vec<T>),
    Paginated(ListView<T>),
}

/// What is left of something deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DeletedObject")]
pub struct DeletedView {
    pub object: &'static str,
    pub id: String,
    pub deleted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub external_id: Option<String>,
}

pub fn deleted(object: &'static str, id: &dyn std::fmt::Display) -> DeletedView {
    DeletedView { object, id: id.to_string(), deleted: true, external_id: None }
}

/// Query of the lists that take nothing but a page.
#[derive(Deserialize, JsonSchema)]
pub struct PageQuery {
    /// Answer `{data, total_count}` rather than a bare list.
    #[serde(default)]
    pub paginated: bool,
    /// Which page.
    #[serde(flatten)]
    pub paging: Paging,
}
