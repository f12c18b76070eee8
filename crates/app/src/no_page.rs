//! What somebody with a browser is shown where there is no page: where they are, and where to go. Programs get an error
//! in JSON there.

use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::page::{is_wanted, notice};

/// What a listener is for, and the pages it has.
#[derive(Clone, Copy)]
pub(crate) struct ListenerPages {
    about: &'static str,
    /// What programs are told that ask for an unknown path.
    no_path: &'static str,
    pages: &'static [(&'static str, &'static str)],
}

pub(crate) const BACKEND: ListenerPages = ListenerPages {
    about: "This is the Backend API. Backends call it with a secret key.",
    no_path: "The Backend API has no such path; /reference lists those it has. Sign-in pages and what SDKs call from \
              browsers are at the Frontend API.",
    pages: &[("/reference", "API reference"), ("/dev/inbox", "Inbox: the messages of development instances")],
};

pub(crate) const FRONTEND: ListenerPages = ListenerPages {
    about: "This is the Frontend API. The SDK in the pages of an application calls it.",
    no_path: "The Frontend API has no such path. Requests with a secret key go to the Backend API, at its own address.",
    pages: &[("/sign-in", "Sign in"), ("/sign-up", "Sign up")],
};

impl ListenerPages {
    /// The answer at an unknown address: a page, for a browser that goes to one outside of the API, or else an error.
    pub(crate) fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Response> {
        let is_visit = (method == Method::GET || method == Method::HEAD) && is_wanted(headers);
        if !is_visit || uri.path().starts_with("/v1/") {
            let hint = if uri.path().starts_with("/v1/") { "" } else { " Nearly all paths begin with /v1." };
            return Err(Error::new(Code::RouteNotFound).saying([self.no_path, hint].concat()));
        }
        let (status, title) = match uri.path() {
            "/" => (StatusCode::OK, "Latchkey is running"),
            _ => (StatusCode::NOT_FOUND, "There is no page at this address"),
        };
        notice(status, title, &self.content())
    }

    fn content(&self) -> String {
        let link = |(path, name)| format!("<li><a href=\"{path}\">{name}</a></li>\n");
        let links: String = self.pages.iter().copied().map(link).collect();
        format!("<p>{}</p>\n<ul>\n{links}</ul>", self.about)
    }
}
