//! Documents: things that are read and written whole, as JSON in one column.

use latchkey_base::{Error, Result};
use latchkey_db::DbError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// The text of a document.
pub fn write(document: &impl Serialize) -> Result<String> {
    serde_json::to_string(document).map_err(Error::internal)
}

/// Reads a document. Of a broken one only the place is told: the reason would repeat what stands there,
/// in the log.
pub fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, DbError> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        DbError::Failed(format!("the document of a {what} is broken at line {line}, column {column}").into())
    })
}

/// JSON that is kept as text, to look into it.
pub fn value(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap_or_default()
}
