//! Lets a request of HTTP/2 look as if it had come over HTTP/1.1, which is what the application knows.

use hyper::header::{COOKIE, HOST, HeaderValue};
use hyper::{HeaderMap, Method, Request, Uri};

/// A request that says in two ways whom it is for, or in none.
#[derive(Debug, PartialEq)]
pub(super) struct Malformed;

/// Moves the authority to `Host` and joins the cookies, which clients send in pieces to compress them better
/// (RFC 9113, 8.2.3).
pub(super) fn translate<B>(request: &mut Request<B>) -> Result<(), Malformed> {
    let host = host(request.uri(), request.headers())?;
    request.headers_mut().insert(HOST, host);
    join_cookies(request.headers_mut());
    if request.method() != Method::CONNECT {
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
    }
    Ok(())
}

/// Which instance a request is for depends on it, so there may be one answer only (RFC 9113, 8.3.1). A request
/// that was HTTP/1.1 before it met a proxy may have a `Host` alone.
fn host(uri: &Uri, headers: &HeaderMap) -> Result<HeaderValue, Malformed> {
    let mut given = headers.get_all(HOST).iter();
    let (host, further) = (given.next(), given.next());
    if further.is_some() {
        return Err(Malformed);
    }
    match (uri.authority(), host) {
        (None, None) => Err(Malformed),
        (None, Some(host)) => Ok(host.clone()),
        // Whatever stands before an @ is for nobody here (RFC 9110, 4.2.4).
        (Some(authority), _) if authority.as_str().contains('@') => Err(Malformed),
        (Some(authority), Some(host))
            if !host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes()) =>
        {
            Err(Malformed)
        }
        (Some(authority), _) => HeaderValue::from_str(authority.as_str()).map_err(|_| Malformed),
    }
}

fn join_cookies(headers: &mut HeaderMap) {
    let pieces: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if pieces.len() < 2 {
        return;
    }
    // Values of headers stay values when they are joined.
    if let Ok(mut joined) = HeaderValue::from_bytes(&pieces.join(&b"; "[..])) {
        joined.set_sensitive(true);
        headers.insert(COOKIE, joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(uri: &str, headers: &[(&str, &str)]) -> Result<Request<()>, Malformed> {
        let mut builder = Request::builder().uri(uri);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let mut request = builder.body(()).unwrap();
        translate(&mut request).map(|()| request)
    }

    #[test]
    fn the_authority_becomes_the_host_and_leaves_the_uri() {
        let request = translated("https://clerk.example.com:8443/v1/client?a=b", &[]).unwrap();
        assert_eq!(request.headers()[HOST], "clerk.example.com:8443");
        assert_eq!(request.uri().to_string(), "/v1/client?a=b");
        let request = translated("https://a.example/", &[("host", "A.example")]).unwrap();
        assert_eq!(request.headers().get_all(HOST).iter().collect::<Vec<_>>(), ["a.example"]);
        let request = translated("/", &[("host", "a.example")]).unwrap();
        assert_eq!(request.headers()[HOST], "a.example");
    }

    #[test]
    fn a_second_host_or_none_is_refused() {
        let own = "https://a.example/";
        assert_eq!(translated(own, &[("host", "b.example")]).err(), Some(Malformed));
        assert_eq!(translated(own, &[("host", "a.example:443")]).err(), Some(Malformed));
        assert_eq!(translated(own, &[("host", "a.example"), ("host", "a.example")]).err(), Some(Malformed));
        assert_eq!(translated("https://b.example@a.example/", &[]).err(), Some(Malformed));
        assert_eq!(translated("/", &[]).err(), Some(Malformed));
    }

    #[test]
    fn pieces_of_a_cookie_header_are_joined() {
        let request = translated("https://a.example/", &[("cookie", "a=1"), ("cookie", "b=2; c=3")]).unwrap();
        assert_eq!(request.headers().get_all(COOKIE).iter().collect::<Vec<_>>(), ["a=1; b=2; c=3"]);
    }
}
