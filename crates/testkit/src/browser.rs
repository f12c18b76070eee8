//! A browser without a screen: it keeps cookies, sends forms, and remembers the token of a developer's
//! browser if it has one.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use http_body_util::BodyExt;
use latchkey_kernel::cx::Encrypted;
use serde_json::Value;
use tower::ServiceExt;

use crate::server::{Answer, Tenant, TestServer, frontend_checker};

/// A browser that visits a server under test.
pub struct Browser<'a> {
    server: &'a TestServer,
    host: String,
    /// Where the page it shows came from; none for navigation.
    pub origin: Option<String>,
    /// The cookies of the Frontend API's host.
    pub cookies: BTreeMap<String, String>,
    /// The token of a developer's browser, shown with every request.
    pub dev_browser: Option<String>,
    /// The address it comes from.
    pub address: SocketAddr,
    /// The proxy of the application it asks through: its URL, and the secret key it shows.
    pub proxy: Option<(String, String)>,
    /// The API version that its requests ask for.
    pub version: &'static str,
    /// Further headers of its requests.
    pub headers: Vec<(&'static str, &'static str)>,
    is_encrypted: bool,
}

impl TestServer {
    /// A fresh browser on a page of an app of the development instance.
    pub fn browser(&self) -> Browser<'_> {
        self.browser_at(&self.tenant)
    }

    /// A fresh browser on a page of an app of that tenant.
    pub fn browser_at(&self, tenant: &Tenant) -> Browser<'_> {
        self.browser_at_host(&tenant.frontend_api)
    }

    /// A fresh browser on a page of an app whose Frontend API has this host.
    pub fn browser_at_host(&self, host: &str) -> Browser<'_> {
        Browser {
            server: self,
            host: host.to_owned(),
            origin: Some("http://localhost:3000".to_owned()),
            cookies: BTreeMap::new(),
            dev_browser: None,
            address: SocketAddr::from(([127, 0, 0, 1], 40_000)),
            proxy: None,
            version: "2026-05-12",
            headers: Vec::new(),
            is_encrypted: false,
        }
    }

    /// The same over TLS.
    pub fn browser_over_tls(&self, host: &str) -> Browser<'_> {
        Browser { is_encrypted: true, ..self.browser_at_host(host) }
    }
}

impl Browser<'_> {
    /// `GET`.
    pub async fn get(&mut self, path: &str) -> Answer {
        self.request("GET", path, None).await
    }

    /// `POST` of a form. Objects and lists in it are written as scripts write them.
    pub async fn post(&mut self, path: &str, fields: Value) -> Answer {
        self.request("POST", path, Some(fields)).await
    }

    /// `PATCH`, sent as `POST` with the method in the query.
    pub async fn patch(&mut self, path: &str, fields: Value) -> Answer {
        self.request("PATCH", path, Some(fields)).await
    }

    /// `DELETE`, sent as `POST` with the method in the query.
    pub async fn delete(&mut self, path: &str) -> Answer {
        self.request("DELETE", path, Some(Value::Null)).await
    }

    /// Follows a link: no origin.
    pub async fn open(&mut self, path: &str) -> Answer {
        let origin = self.origin.take();
        let answer = self.request("GET", path, None).await;
        self.origin = origin;
        answer
    }

    async fn request(&mut self, method: &str, path: &str, fields: Option<Value>) -> Answer {
        let mut uri = path.to_owned();
        let mut add = |pair: String| {
            uri.push(if uri.contains('?') { '&' } else { '?' });
            uri.push_str(&pair);
        };
        if !path.contains("__clerk_api_version") {
            add(format!("__clerk_api_version={}", self.version));
        }
        if let Some(token) = &self.dev_browser {
            add(format!("__clerk_db_jwt={token}"));
        }
        let sent = if method == "GET" { "GET" } else { "POST" };
        if sent == "POST" && method != "POST" {
            add(format!("_method={method}"));
        }
        let mut request = Request::builder().method(sent).uri(&uri).header("host", &self.host);
        if let Some(origin) = &self.origin {
            request = request.header("origin", origin);
        }
        if let Some((url, key)) = &self.proxy {
            request = request.header("clerk-proxy-url", url).header("clerk-secret-key", key);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, *value);
        }
        if !self.cookies.is_empty() {
            let pairs: Vec<String> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header("cookie", pairs.join("; "));
        }
        if fields.is_some() {
            request = request.header("content-type", "application/x-www-form-urlencoded");
        }
        let body = fields.as_ref().map(form).map_or_else(Body::empty, Body::from);
        let mut request = request.body(body).unwrap();
        request.extensions_mut().insert(ConnectInfo(self.address));
        if self.is_encrypted {
            request.extensions_mut().insert(Encrypted);
        }
        self.send(method, &uri, request).await
    }

    /// Sends a request as it is, from the address of this browser unless it has one, and keeps the cookies of the response.
    pub async fn send(&mut self, method: &str, uri: &str, mut request: Request<Body>) -> Answer {
        request.extensions_mut().get_or_insert(ConnectInfo(self.address));
        let response = self.server.frontend.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes().to_vec();
        for line in parts.headers.get_all("set-cookie") {
            let (pair, _) = line.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match value {
                "" => _ = self.cookies.remove(name),
                value => _ = self.cookies.insert(name.to_owned(), value.to_owned()),
            }
        }
        // As scripts in pages do, if they have a token at all.
        if let (Some(token), Some(new)) = (&mut self.dev_browser, parts.headers.get("clerk-db-jwt")) {
            *token = new.to_str().unwrap().to_owned();
        }
        let json = serde_json::from_slice(&bytes).unwrap_or_default();
        let answer = Answer { status: parts.status.as_u16(), headers: parts.headers, json, bytes };
        // Whoever asks for a page may get one, of which the contract says nothing.
        let is_page =
            self.headers.iter().any(|(name, value)| *name == "accept" && value.contains("text/html"));
        if self.server.is_checked && !is_page {
            frontend_checker().check(method, uri, answer.status, &answer.bytes);
        }
        answer
    }
}

/// A form as scripts in pages write it.
fn form(fields: &Value) -> String {
    let mut pairs = Vec::new();
    for (name, value) in fields.as_object().into_iter().flatten() {
        let values: Vec<String> = match value {
            Value::Array(items) => items.iter().map(text).collect(),
            value => vec![text(value)],
        };
        pairs.extend(values.iter().map(|value| format!("{}={}", escape(name), escape(value))));
    }
    pairs.join("&")
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// Escapes a text for a URL or a form.
pub fn escape(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
