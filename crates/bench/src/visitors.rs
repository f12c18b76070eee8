//! People with passwords and the browsers they signed in with, through the Frontend API itself; and what those
//! browsers ask for, as bytes.

use std::collections::HashSet;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::Result;
use crate::api::Api;
use crate::http::Connection;
use crate::load::Requests;

/// Each costs a password hash to make.
const PEOPLE: u64 = 32;
/// People who are made at the same time: the server lets few hashes of one tenant wait.
const AT_ONCE: usize = 4;
/// Browsers each of them signs in with; each costs another.
const BROWSERS: u64 = 2;
const PASSWORD: &str = "quarry-Lantern-81-meadow";

/// A browser with somebody signed in.
pub(crate) struct Browser {
    /// As the `Cookie` header has it.
    cookie: String,
    session: String,
    /// Who is signed in.
    pub(crate) user: String,
}

#[derive(Clone)]
pub(crate) struct Visitors {
    pub(crate) address: SocketAddr,
    domain: &'static str,
    browsers: Arc<Vec<Browser>>,
}

impl Visitors {
    /// Makes the people, with addresses of a domain of their own, and signs each of them in.
    pub(crate) async fn new(api: &Arc<Api>, address: SocketAddr, domain: &'static str) -> Result<Visitors> {
        let (mut tasks, mut browsers) = (JoinSet::new(), Vec::new());
        for number in 0..PEOPLE {
            if tasks.len() == AT_ONCE
                && let Some(some) = tasks.join_next().await
            {
                browsers.extend(some??);
            }
            tasks.spawn(person(api.clone(), address, domain, number));
        }
        while let Some(some) = tasks.join_next().await {
            browsers.extend(some??);
        }
        Ok(Visitors { address, domain, browsers: Arc::new(browsers) })
    }

    /// A token of each browser in turn.
    pub(crate) fn mints(&self) -> Requests {
        let (visitors, turn) = (self.clone(), AtomicU64::new(0));
        Arc::new(move |out| {
            let browser = visitors.next(&turn);
            let path = format!("/v1/client/sessions/{}/tokens", browser.session);
            post(out, visitors.address, &path, &browser.cookie, "organization_id=");
        })
    }

    /// Browsers of three people.
    pub(crate) fn three_people(&self) -> Result<[&Browser; 3]> {
        let mut users = HashSet::new();
        let different = self.browsers.iter().filter(|browser| users.insert(&browser.user));
        let three: Vec<&Browser> = different.take(3).collect();
        Ok(three.try_into().map_err(|_| "fewer than three people are signed in")?)
    }

    /// Lets a session work for an organization.
    pub(crate) async fn activate(&self, api: &Api, browser: &Browser, organization: &str) -> Result<()> {
        let mut request = Vec::new();
        let path = format!("/v1/client/sessions/{}/touch", browser.session);
        post(
            &mut request,
            self.address,
            &path,
            &browser.cookie,
            &format!("active_organization_id={organization}"),
        );
        api.once(&mut Connection::open(self.address).await?, &request).await?;
        Ok(())
    }

    /// Tokens of one browser.
    pub(crate) fn mints_of(&self, browser: &Browser) -> Requests {
        let address = self.address;
        let (path, cookie) =
            (format!("/v1/client/sessions/{}/tokens", browser.session), browser.cookie.clone());
        Arc::new(move |out| post(out, address, &path, &cookie, ""))
    }

    /// The client of one browser.
    pub(crate) fn clients_of(&self, browser: &Browser) -> Requests {
        let headers = headers(self.address, &browser.cookie);
        Arc::new(move |out| {
            let _ = write!(out, "GET /v1/client?{VERSION} HTTP/1.1\r\n{headers}\r\n");
        })
    }

    /// The client of each browser in turn.
    pub(crate) fn clients(&self) -> Requests {
        let (visitors, turn) = (self.clone(), AtomicU64::new(0));
        Arc::new(move |out| {
            let Browser { cookie, .. } = visitors.next(&turn);
            let headers = headers(visitors.address, cookie);
            // Writing to a vector cannot fail.
            let _ = write!(out, "GET /v1/client?{VERSION} HTTP/1.1\r\n{headers}\r\n");
        })
    }

    /// A password sign-in of each person in turn, each time from a browser that was never here before.
    pub(crate) fn sign_ins(&self) -> Requests {
        let (address, domain, turn) = (self.address, self.domain, AtomicU64::new(0));
        Arc::new(move |out| sign_in(out, address, domain, turn.fetch_add(1, Relaxed) % PEOPLE))
    }

    fn next(&self, turn: &AtomicU64) -> &Browser {
        let turn = turn.fetch_add(1, Relaxed) as usize;
        &self.browsers[turn % self.browsers.len()]
    }
}

pub(crate) const VERSION: &str = "__clerk_api_version=2026-05-12";

async fn person(api: Arc<Api>, address: SocketAddr, domain: &str, number: u64) -> Result<Vec<Browser>> {
    let (mut request, email) = (Vec::new(), email(domain, number));
    let body = format!(r#"{{"email_address":["{email}"],"password":"{PASSWORD}"}}"#);
    api.send(&mut request, "POST", "/users", &body);
    let mut backend = api.connect().await?;
    let made: Value = serde_json::from_slice(api.once(&mut backend, &request).await?.body)?;
    let user = made["id"].as_str().ok_or("a created user without id")?;
    let mut connection = Connection::open(address).await?;
    let mut browsers = Vec::new();
    for _ in 0..BROWSERS {
        request.clear();
        sign_in(&mut request, address, domain, number);
        let reply = api.once(&mut connection, &request).await?;
        let body: Value = serde_json::from_slice(reply.body)?;
        let session = body["response"]["created_session_id"].as_str();
        let session = session.ok_or_else(|| format!("a sign-in that needs more: {}", reply.describe()))?;
        let cookie = std::str::from_utf8(reply.cookie)?.split(';').next().unwrap_or_default();
        if !cookie.starts_with("__client=") {
            return Err("a sign-in without the client's cookie at the end".into());
        }
        let (cookie, session, user) = (cookie.to_owned(), session.to_owned(), user.to_owned());
        browsers.push(Browser { cookie, session, user });
    }
    Ok(browsers)
}

fn email(domain: &str, number: u64) -> String {
    format!("visitor{number}@{domain}")
}

fn sign_in(out: &mut Vec<u8>, address: SocketAddr, domain: &str, number: u64) {
    let identifier = email(domain, number).replace('@', "%40");
    let body = format!("strategy=password&identifier={identifier}&password={PASSWORD}");
    post(out, address, "/v1/client/sign_ins", "", &body);
}

/// A form, as the script in a page sends it.
pub(crate) fn post(out: &mut Vec<u8>, address: SocketAddr, path: &str, cookie: &str, body: &str) {
    let (headers, length) = (headers(address, cookie), body.len());
    let _ = write!(
        out,
        "POST {path}?{VERSION} HTTP/1.1\r\n{headers}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
    );
}

pub(crate) fn headers(address: SocketAddr, cookie: &str) -> String {
    let mut headers = format!(
        "Host: {address}\r\nOrigin: http://localhost:3000\r\nAccept: */*\r\nUser-Agent: latchkey-bench\r\n"
    );
    if !cookie.is_empty() {
        headers += &format!("Cookie: {cookie}\r\n");
    }
    headers
}
