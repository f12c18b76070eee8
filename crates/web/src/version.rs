//! API versions: which one a caller asks for, and how newer answers are turned into older ones.
//!
//! Business code only knows the newest version. A [`Change`] is a named, dated, pure step that makes
//! one kind of object look as it did before that date; steps apply newest first, to every nested
//! object of that kind.

use axum::http::HeaderMap;
use latchkey_base::{Code, Error, Result, Time};
use serde_json::{Map, Value};

use crate::query::pairs;

const HEADER: &str = "clerk-api-version";
const PARAMETER: &str = "__clerk_api_version";

/// A published version, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 2021-02-05, also what a caller gets who asks for none.
    V2021_02_05,
    /// 2024-10-01
    V2024_10_01,
    /// 2025-04-10
    V2025_04_10,
    /// 2025-11-10
    V2025_11_10,
    /// 2026-05-12
    V2026_05_12,
    /// 2026-08-20, the newest. It changes the Frontend API only.
    V2026_08_20,
}

impl Version {
    /// Every version with its date, oldest first.
    pub const ALL: [(Version, &str); 6] = [
        (Version::V2021_02_05, "2021-02-05"),
        (Version::V2024_10_01, "2024-10-01"),
        (Version::V2025_04_10, "2025-04-10"),
        (Version::V2025_11_10, "2025-11-10"),
        (Version::V2026_05_12, "2026-05-12"),
        (Version::V2026_08_20, "2026-08-20"),
    ];
    /// The newest version.
    pub const NEWEST: Version = Version::V2026_08_20;

    /// Returns the date of the version, as requests write it.
    pub fn date(self) -> &'static str {
        Version::ALL.iter().find(|(version, _)| *version == self).map_or("", |(_, date)| date)
    }

    /// The version a request asks for, by header or by query, but not by both and not twice. Scripts in pages come in their
    /// newest release, whenever this server was made: at the time `for_scripts`, a version that was published since is
    /// answered with the newest one known here.
    pub fn select(headers: &HeaderMap, query: &str, for_scripts: Option<Time>) -> Result<Version> {
        let mut by_header = headers.get_all(HEADER).iter();
        let header = by_header.next();
        let asked_by_query = query.contains(PARAMETER).then(|| pairs(query)).transpose()?.unwrap_or_default();
        let mut by_query =
            asked_by_query.into_iter().filter(|(key, _)| key == PARAMETER).map(|(_, value)| value);
        let parameter = by_query.next();
        if by_header.next().is_some()
            || by_query.next().is_some()
            || (header.is_some() && parameter.is_some())
        {
            return Err(Error::new(Code::ApiVersionInvalid)
                .saying("Give the API version once: either in the header or in the query."));
        }
        let asked = match (header, parameter) {
            (Some(value), _) => value.to_str().unwrap_or_default().to_owned(),
            (None, Some(value)) => value,
            (None, None) => return Ok(Version::V2021_02_05),
        };
        let found = Version::ALL.iter().find(|(_, date)| *date == asked).map(|(version, _)| *version);
        let is_newer = for_scripts.is_some_and(|now| is_published_since(&asked, now));
        found.or(is_newer.then_some(Version::NEWEST)).ok_or_else(|| {
            let known = Version::ALL.map(|(_, date)| date).join(", ");
            Error::new(Code::ApiVersionInvalid).saying(format!("Use one of these API versions: {known}."))
        })
    }
}

/// Whether a text is a date after that of the newest version, and not one in the future.
fn is_published_since(text: &str, now: Time) -> bool {
    let is_date = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let newest = Version::ALL.map(|(_, date)| date).into_iter().max().unwrap_or_default();
    is_date && text > newest && text <= &now.rfc3339()[..10]
}

/// One incompatible change of a kind of object.
#[derive(Clone, Copy)]
pub struct Change {
    /// The first version that has it.
    pub since: Version,
    /// The `object` it is about.
    pub object: &'static str,
    /// What changed, for the reader.
    pub title: &'static str,
    /// Makes a new object look old.
    pub down: fn(&mut Map<String, Value>),
}

/// What applications keep in objects of ours; nothing in there is an object of ours.
pub(crate) const OPAQUE: [&str; 5] =
    ["public_metadata", "private_metadata", "unsafe_metadata", "actor", "claims"];

/// What happened is told in the newest form in every version: receivers are sent it so, and whoever reads it
/// afterwards reads the same.
const TOLD: &str = "event";

/// Whether an answer, as it is written, has an object that differs in `version`.
pub fn concerns(changes: &[Change], version: Version, answer: &str) -> bool {
    let due = changes.iter().filter(|change| change.since > version);
    due.into_iter().any(|change| answer.contains(&format!("\"object\":\"{}\"", change.object)))
}

/// Turns an answer of the newest version into one of `version`. `changes` are ordered newest first.
pub fn downgrade(changes: &[Change], version: Version, answer: &mut Value) {
    for change in changes.iter().filter(|change| change.since > version) {
        apply(change, answer);
    }
}

fn apply(change: &Change, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| apply(change, item)),
        Value::Object(fields) if is_a(fields, TOLD) => (),
        Value::Object(fields) => {
            let ours = fields.iter_mut().filter(|(name, _)| !OPAQUE.contains(&name.as_str()));
            ours.for_each(|(_, field)| apply(change, field));
            if is_a(fields, change.object) {
                (change.down)(fields);
            }
        }
        _ => (),
    }
}

fn is_a(fields: &Map<String, Value>, object: &str) -> bool {
    fields.get("object").and_then(Value::as_str) == Some(object)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use serde_json::json;

    use super::*;

    fn select(header: Option<&'static str>, query: &str) -> Result<Version, Code> {
        let mut headers = HeaderMap::new();
        if let Some(value) = header {
            headers.insert(HEADER, HeaderValue::from_static(value));
        }
        Version::select(&headers, query, None).map_err(|error| error.code())
    }

    #[test]
    fn scripts_may_be_newer_than_the_server_but_not_of_tomorrow() {
        let now = Time::parse_rfc3339("2026-11-17T12:00:00Z");
        let asked = |text: &str| {
            let query = format!("__clerk_api_version={text}");
            Version::select(&HeaderMap::new(), &query, now).map_err(|error| error.code())
        };
        for newer in ["2026-08-20", "2026-08-21", "2026-11-17"] {
            assert_eq!(asked(newer), Ok(Version::NEWEST), "{newer}");
        }
        for bad in [
            "2026-05-13",
            "2026-11-18",
            "2099-01-01",
            "2026-5-13",
            "2026-08-2x",
            "2020-01-01",
            "2026-03-01",
            "",
        ] {
            assert_eq!(asked(bad), Err(Code::ApiVersionInvalid), "{bad}");
        }
        assert_eq!(select(None, "__clerk_api_version=2026-08-21"), Err(Code::ApiVersionInvalid));
    }

    #[test]
    fn version_is_chosen_by_header_or_query() {
        assert_eq!(select(None, "a=b"), Ok(Version::V2021_02_05));
        assert_eq!(select(Some("2025-11-10"), ""), Ok(Version::V2025_11_10));
        assert_eq!(select(None, "__clerk_api_version=2026-05-12&x=1"), Ok(Version::V2026_05_12));
    }

    #[test]
    fn unknown_or_doubled_versions_are_refused() {
        let refused = Err(Code::ApiVersionInvalid);
        assert_eq!(select(Some("2025-03-12"), ""), refused);
        assert_eq!(select(Some("latest"), ""), refused);
        assert_eq!(select(Some(""), ""), refused);
        assert_eq!(select(Some("2026-05-12"), "__clerk_api_version=2026-05-12"), refused);
        assert_eq!(select(None, "__clerk_api_version=2026-05-12&__clerk_api_version=2026-05-12"), refused);
    }

    #[test]
    fn changes_reach_nested_objects_of_their_kind_only_in_older_versions() {
        let changes = [Change {
            since: Version::V2025_11_10,
            object: "thing",
            title: "`size` became `length`",
            down: |thing| {
                let length = thing.remove("length").unwrap_or_default();
                thing.insert("size".into(), length);
            },
        }];
        let theirs = json!({"object": "thing", "length": 2});
        let newest = json!({
            "object": "box", "length": 9, "things": [{"object": "thing", "length": 1}], "public_metadata": theirs,
        });
        assert!(concerns(&changes, Version::V2025_04_10, &newest.to_string()));
        assert!(!concerns(&changes, Version::V2025_11_10, &newest.to_string()));
        assert!(!concerns(&changes, Version::V2025_04_10, r#"{"object":"box"}"#));
        let mut same = newest.clone();
        downgrade(&changes, Version::V2025_11_10, &mut same);
        assert_eq!(same, newest);
        let mut older = newest;
        downgrade(&changes, Version::V2025_04_10, &mut older);
        let expected = json!({
            "object": "box", "length": 9, "things": [{"object": "thing", "size": 1}], "public_metadata": theirs,
        });
        assert_eq!(older, expected);
    }
}
