//! Values that go into statements. A null keeps its type, because PostgreSQL insists on it.

use latchkey_base::{Id, Time};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A statement parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `TEXT`
    Text(Option<String>),
    /// `BIGINT`
    Int(Option<i64>),
    /// `BOOLEAN`
    Bool(Option<bool>),
    /// `BYTEA`
    Bytes(Option<Vec<u8>>),
}

impl Value {
    /// PostgreSQL's type.
    pub(crate) fn kind(&self) -> Type {
        match self {
            Value::Text(_) => Type::TEXT,
            Value::Int(_) => Type::INT8,
            Value::Bool(_) => Type::BOOL,
            Value::Bytes(_) => Type::BYTEA,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(Some(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(Some(text))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Value {
        Value::Text(text)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Value {
        Value::Text(text.map(str::to_owned))
    }
}

impl<K> From<&Id<K>> for Value {
    fn from(id: &Id<K>) -> Value {
        id.as_str().into()
    }
}

impl<K> From<Option<&Id<K>>> for Value {
    fn from(id: Option<&Id<K>>) -> Value {
        Value::Text(id.map(|id| id.as_str().to_owned()))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Value {
        Value::Int(number)
    }
}

impl From<Time> for Value {
    fn from(time: Time) -> Value {
        time.ms().into()
    }
}

impl From<Option<Time>> for Value {
    fn from(time: Option<Time>) -> Value {
        Value::Int(time.map(Time::ms))
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Bool(Some(flag))
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::Bytes(Some(bytes.to_owned()))
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Bytes(Some(bytes))
    }
}

impl From<Option<Vec<u8>>> for Value {
    fn from(bytes: Option<Vec<u8>>) -> Value {
        Value::Bytes(bytes)
    }
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        match self {
            Value::Text(text) => rusqlite::ToSql::to_sql(text),
            Value::Int(number) => rusqlite::ToSql::to_sql(number),
            Value::Bool(flag) => rusqlite::ToSql::to_sql(flag),
            Value::Bytes(bytes) => rusqlite::ToSql::to_sql(bytes),
        }
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        // The server takes the bytes as they come: a text of eight bytes would become a number.
        let own = match self {
            Value::Text(Some(_)) => &Type::TEXT,
            Value::Int(Some(_)) => &Type::INT8,
            Value::Bool(Some(_)) => &Type::BOOL,
            Value::Bytes(Some(_)) => &Type::BYTEA,
            _ => kind,
        };
        if own != kind {
            return Err(format!("a {own} was given where a {kind} is wanted").into());
        }
        match self {
            Value::Text(text) => ToSql::to_sql(text, kind, out),
            Value::Int(number) => ToSql::to_sql(number, kind, out),
            Value::Bool(flag) => ToSql::to_sql(flag, kind, out),
            Value::Bytes(bytes) => ToSql::to_sql(bytes, kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::TEXT, Type::INT8, Type::BOOL, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}
