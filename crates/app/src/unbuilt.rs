//! Published operations that Latchkey does not have yet. Whoever calls one is told so: "no such path" would make them
//! look for a mistake of their own.
//!
//! The lists are what the published descriptions have and the operation table has not. A test compares all three, so an
//! operation leaves its list when it is built; `make docs` writes the lists.

use axum::http::{Method, Uri};
use latchkey_base::{Code, Error};

/// Those of the Backend API: `# group`, then a line `METHOD path operation` for each.
pub const BACKEND: &str = include_str!("unbuilt/backend.txt");
/// Those of the Frontend API.
pub const FRONTEND: &str = include_str!("unbuilt/frontend.txt");

/// Operations of the Backend API that SDKs call without `/v1` too, by the beginning of their paths.
const CALLED_WITHOUT_VERSION: [&str; 3] =
    ["/v1/api_keys", "/v1/m2m_tokens", "/v1/oauth_applications/access_tokens"];

/// An operation that is not built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unbuilt {
    /// Group of the published description.
    pub group: &'static str,
    /// HTTP method.
    pub method: &'static str,
    /// Published path, with the prefix of the API.
    pub path: &'static str,
    /// Published operation id.
    pub id: &'static str,
}

impl Unbuilt {
    /// Returns whether a path is an example of the published path, or of the same path without `/v1` if SDKs call that.
    fn is_at(&self, path: &str) -> bool {
        let has_short_path = CALLED_WITHOUT_VERSION.iter().any(|beginning| self.path.starts_with(beginning));
        let short_path = self.path.strip_prefix("/v1").filter(|_| has_short_path);
        fits(self.path, path) || short_path.is_some_and(|published| fits(published, path))
    }
}

/// The entries of a list.
pub fn read(list: &'static str) -> Vec<Unbuilt> {
    let mut group = "";
    let mut entries = Vec::new();
    for line in list.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            group = name;
        } else if let [method, path, id] = *line.split(' ').collect::<Vec<_>>() {
            entries.push(Unbuilt { group, method, path, id });
        }
    }
    entries
}

/// The answer to a request that no operation takes: that it is not built, if it is published.
///
/// The status is 404 and not 501: the published clients for Python, Java and C# repeat every 5xx for up to an hour.
pub fn answer(list: &[Unbuilt], method: &Method, uri: &Uri) -> Option<Error> {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let fitting = list.iter().filter(|entry| entry.method == method && entry.is_at(uri.path()));
    // `/bulk` is rather itself than an id.
    let Unbuilt { id, path, .. } = fitting.min_by_key(|entry| entry.path.matches('{').count())?;
    Some(Error::new(Code::LatchkeyNotImplemented).saying(format!(
        "Latchkey does not have {id} ({method} {path}) yet. docs/OPERATIONS.md lists what it has; nothing was changed."
    )))
}

/// Whether a path is an example of a published one.
fn fits(published: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (published.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if part_fits(wanted, given) => {}
            _ => return false,
        }
    }
}

/// Whether a part of a path is the published one, or a value of its parameter: `{id}`, `{id}.xml`.
fn part_fits(wanted: &str, given: &str) -> bool {
    match wanted.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((_, end)) => given.strip_suffix(end).is_some_and(|value| !value.is_empty()),
        None => wanted == given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# A\nGET /v1/a/{id} GetA\nPOST /v1/a/{id} PostA\nPOST /v1/a/bulk Bulk\n# B\nGET /v1/b/{id}.xml GetB\n";

    fn answered(method: Method, path: &'static str) -> String {
        let error = answer(&read(LIST), &method, &Uri::from_static(path));
        error.and_then(|error| error.problems()[0].detail.clone()).unwrap_or_default()
    }

    #[test]
    fn a_list_is_read_with_its_groups() {
        let groups: Vec<_> = read(LIST).iter().map(|entry| (entry.group, entry.id)).collect();
        assert_eq!(groups, [("A", "GetA"), ("A", "PostA"), ("A", "Bulk"), ("B", "GetB")]);
    }

    #[test]
    fn the_operation_with_the_most_words_in_common_is_named() {
        assert!(answered(Method::POST, "/v1/a/bulk").contains("have Bulk "));
        assert!(answered(Method::POST, "/v1/a/other").contains("have PostA "));
        assert!(answered(Method::HEAD, "/v1/a/x?y=z").contains("have GetA "));
        assert!(answered(Method::GET, "/v1/b/c.xml").contains("have GetB "));
    }

    #[test]
    fn other_paths_and_methods_are_unknown() {
        for path in
            ["/v1/a", "/v1/a/", "/v1/a/x/", "/v1/a/x/y", "/a/x", "/v1/b/.xml", "/v1/b/c", "/", "//v1/a/x"]
        {
            assert_eq!(answered(Method::GET, path), "", "{path}");
        }
        assert_eq!(answered(Method::DELETE, "/v1/a/x"), "");
    }
}
