//! What the server writes into browsers' cookie jars, compared with the table in `docs/COOKIES.md`.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_door::cookies::suffix;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::instances::keys::publishable_key;
use latchkey_kernel::instances::store::{save_frontend_api, save_settings};
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{Satellite, Settings};
use latchkey_testkit::{Answer, Browser, LOCAL_HOST, Tenant, TestServer, escape};
use serde_json::{Value, json};

use super::{PASSWORD, sign_in, user};

const TABLE: &str = include_str!("../../../../../docs/COOKIES.md");
const HOST: &str = "clerk.shop.co.uk";
const NONCE: &str = "__clerk_handshake_nonce";
const APP: &str = "https://www.shop.co.uk:8443/basket?a=1";

/// A row of the table.
#[derive(Debug)]
struct Row<'a> {
    names: Vec<&'a str>,
    instances: Vec<&'a str>,
    set_by: &'a str,
    domain: &'a str,
    path: &'a str,
    seconds: Option<i64>,
    secure: &'a str,
    same_site: &'a str,
    is_http_only: bool,
    ended_by: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let lines = TABLE.lines().filter(|line| line.starts_with("| `"));
    let rows: Vec<Row<'_>> = lines.map(row).collect();
    assert!(rows.len() >= 15, "the table is not found");
    rows
}

fn row(line: &str) -> Row<'_> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [names, instances, set_by, domain, path, lifetime, secure, same_site, http_only, ended_by] =
        cells[..]
    else {
        panic!("not ten cells: {line}");
    };
    assert!(
        ["on https", "if trusted", "no"].contains(&secure) && ["Lax", "None", "Strict"].contains(&same_site),
        "{line}"
    );
    let instances = match instances {
        "all" => vec!["development", "local", "production", "proxied", "satellite"],
        some => some.split(", ").collect(),
    };
    Row {
        names: names.split(", ").map(|name| name.trim_matches('`')).collect(),
        instances,
        set_by,
        domain,
        path: path.trim_matches('`'),
        seconds: seconds(lifetime),
        secure,
        same_site,
        is_http_only: http_only == "yes",
        ended_by,
    }
}

fn seconds(lifetime: &str) -> Option<i64> {
    let (number, unit) = lifetime.split_once(' ')?;
    let unit = match unit.trim_end_matches('s') {
        "second" => 1,
        "minute" => 60,
        "day" => 24 * 3600,
        "year" => 365 * 24 * 3600,
        unit => panic!("{unit} is no unit of time"),
    };
    Some(number.parse::<i64>().unwrap() * unit)
}

/// A browser at one kind of instance, and what was seen there.
struct Place<'a> {
    kind: &'static str,
    /// The host that answers, as browsers see it.
    host: &'a str,
    /// Its registrable domain.
    registrable: Option<&'static str>,
    suffix: String,
    seen: BTreeSet<(String, &'static str)>,
}

impl Place<'_> {
    /// Compares the lines of a setter with the table.
    fn check<'l>(&mut self, set_by: &'static str, lines: impl IntoIterator<Item = &'l str>, is_https: bool) {
        for line in lines {
            self.check_line(set_by, line, is_https);
        }
    }

    fn check_answer(&mut self, answer: &Answer) {
        let lines: Vec<&str> = set_cookies(answer);
        self.check("Frontend API", lines, self.kind != "development");
    }

    fn check_line(&mut self, set_by: &'static str, line: &str, is_https: bool) {
        let mut parts = line.split("; ");
        let (name, value) = parts.next().unwrap().split_once('=').unwrap();
        let attributes: Vec<&str> = parts.collect();
        let generic = name.replace(&self.suffix, "<suffix>");
        // What ends a cookie may come from somebody else, but must fit how it was set.
        let is_by = |row: &Row<'_>| match value {
            "" => row.ended_by.split([',', ' ']).next() == set_by.split(' ').next(),
            _ => row.set_by == set_by,
        };
        let found = rows()
            .into_iter()
            .find(|row| row.names.contains(&&*generic) && row.instances.contains(&self.kind) && is_by(row));
        let row = found.unwrap_or_else(|| panic!("{} {set_by}: the table does not have {line}", self.kind));
        let domain = match row.domain {
            "registrable" => self.registrable,
            "Frontend API" => Some(self.host),
            "host only" => None,
            other => panic!("{other} is no domain"),
        };
        let age = if value.is_empty() { 0 } else { row.seconds.unwrap() };
        let mut expected = vec![format!("Path={}", row.path)];
        expected.extend(domain.map(|domain| format!("Domain={domain}")));
        expected.extend([format!("Max-Age={age}"), format!("SameSite={}", row.same_site)]);
        expected.extend((is_https && row.secure == "on https").then(|| "Secure".to_owned()));
        expected.extend(row.is_http_only.then(|| "HttpOnly".to_owned()));
        assert_eq!(attributes, expected, "{} {set_by}: {line}", self.kind);
        self.seen.insert((generic, set_by));
    }

    /// Everything the table promises from the server was seen.
    fn finish(&self) {
        for row in rows().iter().filter(|row| row.instances.contains(&self.kind)) {
            if let Some(set_by) =
                ["Frontend API", "handshake", "refresh"].into_iter().find(|by| *by == row.set_by)
            {
                for name in &row.names {
                    let key = ((*name).to_owned(), set_by);
                    assert!(self.seen.contains(&key), "{}: {key:?} was never set", self.kind);
                }
            }
        }
    }
}

fn set_cookies(answer: &Answer) -> Vec<&str> {
    answer.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap()).collect()
}

fn texts(lines: &Value) -> Vec<&str> {
    lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect()
}

fn suffix_of(environment: Environment, tenant: &Tenant) -> String {
    let host = if environment == Environment::Production { HOST } else { &tenant.frontend_api };
    suffix(&publishable_key(environment, host))
}

fn handshake(app: &str, format: &str) -> String {
    format!("/v1/client/handshake?redirect_url={}&suffixed_cookies=true&format={format}", escape(app))
}

/// What the backend of an app fetches after a handshake by nonce, and the way the nonce came.
async fn fetched(t: &TestServer, tenant: &Tenant, browser: &mut Browser<'_>, app: &str) -> (Answer, Value) {
    let answer = browser.open(&handshake(app, "nonce")).await;
    assert_eq!(answer.status, 307, "{:#}", answer.json);
    let in_url =
        answer.header("location").split_once("__clerk_handshake_nonce=").map(|(_, nonce)| nonce.to_owned());
    let nonce = in_url.or(browser.cookies.remove(NONCE)).unwrap();
    let payload = t.call(Some(tenant), "GET", &payload(&nonce), None).await.ok();
    (answer, payload["directives"].clone())
}

fn payload(nonce: &str) -> String {
    format!("/v1/clients/handshake_payload?nonce={nonce}")
}

/// The value a cookie has after these lines.
fn value<'a>(lines: &[&'a str], name: &str) -> &'a str {
    let start = format!("{name}=");
    let line = lines.iter().rev().find(|line| line.starts_with(&start)).unwrap();
    line[start.len()..].split(';').next().unwrap()
}

impl Place<'_> {
    /// Everything that happens to a browser in which Ann is signed in, compared with the table.
    async fn walk(&mut self, t: &TestServer, tenant: &Tenant, browser: &mut Browser<'_>, app: &str) {
        let is_https = app.starts_with("https://");
        self.check_answer(&browser.get("/v1/client").await);
        self.check_answer(&browser.open(&handshake(app, "token")).await);
        let (sent_back, directives) = fetched(t, tenant, browser, app).await;
        self.check_answer(&sent_back);
        let lines = texts(&directives);
        self.check("handshake", lines.clone(), is_https);
        let (token, refresh) =
            (value(&lines, "__session"), value(&lines, &format!("__refresh_{}", self.suffix)));
        t.clock.advance_ms(61_000);
        let body = json!({
            "expired_token": token, "refresh_token": refresh, "format": "cookie",
            "request_origin": app.split_inclusive('/').take(3).collect::<String>().trim_end_matches('/'),
        });
        let session = super::claims(token)["sid"].as_str().unwrap().to_owned();
        let path = format!("/v1/sessions/{session}/refresh?suffixed_cookies=true");
        let renewed = t.call(Some(tenant), "POST", &path, Some(body)).await.ok();
        self.check("refresh", texts(&renewed["cookies"]), is_https);
    }

    /// Everybody signs out, and the client is forgotten.
    async fn end(&mut self, t: &TestServer, tenant: &Tenant, browser: &mut Browser<'_>, app: &str) {
        self.check_answer(&browser.delete("/v1/client/sessions").await);
        let (_, directives) = fetched(t, tenant, browser, app).await;
        let lines = texts(&directives);
        self.check("handshake", lines.clone(), app.starts_with("https://"));
        let ended = ["__session", &format!("__refresh_{}", self.suffix)].map(|name| value(&lines, name));
        assert_eq!((ended, value(&lines, "__client_uat")), (["", ""], "0"));
        let gone = browser.delete("/v1/client").await;
        self.check_answer(&gone);
        assert!(set_cookies(&gone).last().unwrap().starts_with("__client=;"));
    }
}

#[tokio::test]
async fn cookies_of_development_instances_are_those_of_the_table() {
    let settings = Settings {
        allowed_origins: vec!["https://app.example.co.uk:3000".to_owned()],
        ..Settings::default()
    };
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    user(&t, "ann@example.com").await;
    let apps =
        [("http://localhost:3000/", None), ("https://app.example.co.uk:3000/x", Some("example.co.uk"))];
    for (app, registrable) in apps {
        let mut browser = t.browser();
        let suffix = suffix_of(Environment::Development, &t.tenant);
        let host = t.tenant.frontend_api.as_str();
        let mut place = Place { kind: "development", host, registrable, suffix, seen: BTreeSet::new() };
        place.check_answer(&browser.patch("/v1/environment", Value::Null).await);
        let answer = browser
            .post("/v1/client/sign_ins", json!({ "identifier": "ann@example.com", "password": PASSWORD }))
            .await;
        place.check_answer(&answer);
        place.walk(&t, &t.tenant, &mut browser, app).await;
        place.end(&t, &t.tenant, &mut browser, app).await;
        place.finish();
    }
}

#[tokio::test]
async fn cookies_of_development_instances_over_https_on_this_machine_are_those_of_the_table() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let app = "http://localhost:3000/";
    let suffix = suffix(&publishable_key(Environment::Development, LOCAL_HOST));
    let mut place =
        Place { kind: "local", host: LOCAL_HOST, registrable: None, suffix, seen: BTreeSet::new() };
    // No browser would keep the Lax cookie of a developer's browser for the page of an app, so none is made.
    let mut app_page = t.browser_over_tls(LOCAL_HOST);
    assert!(set_cookies(&app_page.patch("/v1/environment", Value::Null).await).is_empty());
    let mut browser = t.browser_over_tls(LOCAL_HOST);
    browser.origin = Some(format!("https://{LOCAL_HOST}"));
    place.check_answer(&browser.patch("/v1/environment", Value::Null).await);
    let answer = browser
        .post("/v1/client/sign_ins", json!({ "identifier": "ann@example.com", "password": PASSWORD }))
        .await;
    place.check_answer(&answer);
    place.walk(&t, &t.tenant, &mut browser, app).await;
    place.end(&t, &t.tenant, &mut browser, app).await;
    place.finish();
}

#[tokio::test]
async fn cookies_for_every_site_are_not_for_pages_of_strangers() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser_over_tls(LOCAL_HOST);
    sign_in(&mut browser, "ann@example.com").await;
    let own = format!("https://{LOCAL_HOST}");
    for origin in
        ["http://localhost:5173", "https://app.localhost", "http://127.0.0.1:3000", "http://[::1]", &own]
    {
        browser.origin = Some(origin.to_owned());
        let answer = browser.get("/v1/client").await;
        assert_eq!(answer.status, 200, "{origin}: {:#}", answer.json);
    }
    for origin in
        ["https://evil.example", "http://localhost.evil.example", "http://93.184.216.34", "null", ""]
    {
        browser.origin = Some(origin.to_owned());
        for answer in [browser.get("/v1/client").await, browser.delete("/v1/client/sessions").await] {
            assert_eq!(answer.status, 400, "{origin}: {:#}", answer.json);
            assert_eq!(answer.json["errors"][0]["code"], "origin_invalid");
        }
    }
}

#[tokio::test]
async fn settings_open_cookies_for_every_site_to_further_origins() {
    let origin = Some("https://tunnel.example".to_owned());
    let mut any = Settings::default();
    any.development.any_origin = true;
    let named = Settings { allowed_origins: origin.iter().cloned().collect(), ..Settings::default() };
    for settings in [any, named] {
        let t = TestServer::start_with(RateLimits::Off, settings).await;
        let mut browser = t.browser_over_tls(LOCAL_HOST);
        browser.origin = origin.clone();
        assert_eq!(browser.get("/v1/client").await.status, 200);
    }
}

#[tokio::test]
async fn cookies_of_production_instances_are_those_of_the_table() {
    let t = production().await;
    for kind in ["production", "proxied"] {
        let mut browser = t.browser_at_host(HOST);
        browser.origin = Some("https://www.shop.co.uk:8443".to_owned());
        if kind == "proxied" {
            browser.proxy = Some(("https://www.shop.co.uk:8443/__clerk".to_owned(), t.other.key.clone()));
        }
        let suffix = suffix_of(Environment::Production, &t.other);
        let mut place =
            Place { kind, host: HOST, registrable: Some("shop.co.uk"), suffix, seen: BTreeSet::new() };
        let answer = browser
            .post("/v1/client/sign_ins", json!({ "identifier": "ann@example.com", "password": PASSWORD }))
            .await;
        assert_eq!(answer.json["response"]["status"], "complete", "{:#}", answer.json);
        place.check_answer(&answer);
        place.walk(&t, &t.other, &mut browser, APP).await;
        place.end(&t, &t.other, &mut browser, APP).await;
        place.finish();
    }
}

#[tokio::test]
async fn cookies_of_satellites_are_those_of_the_table() {
    let t = production().await;
    let mut primary = t.browser_at_host(HOST);
    primary.origin = Some("https://www.shop.co.uk".to_owned());
    sign_in(&mut primary, "ann@example.com").await;
    let mut browser = t.browser_at_host("clerk.blog.example.net");
    browser.origin = Some("https://blog.example.net".to_owned());
    let app = "https://blog.example.net:8443/post";
    let mut place = Place {
        kind: "satellite",
        host: "clerk.blog.example.net",
        registrable: Some("example.net"),
        suffix: suffix_of(Environment::Production, &t.other),
        seen: BTreeSet::new(),
    };
    let begun = browser.open(&format!("/v1/client/sync?redirect_url={}", escape(app))).await;
    place.check_answer(&begun);
    let path = |answer: &Answer| {
        let url = answer.header("location").strip_prefix("https://").unwrap();
        url[url.find('/').unwrap()..].to_owned()
    };
    let vouched = primary.open(&path(&begun)).await;
    let linked = browser.open(&path(&vouched)).await;
    assert_eq!(linked.header("location"), "https://blog.example.net:8443/post?__clerk_synced=true");
    place.check_answer(&linked);
    place.walk(&t, &t.other, &mut browser, app).await;
    place.finish();
}

/// A jar as a browser keeps it: what a backend hands on replaces or ends what is there.
fn apply(jar: &mut BTreeMap<String, String>, lines: &[&str]) {
    for line in lines {
        let (name, rest) = line.split_once('=').unwrap();
        match rest.contains("Max-Age=0") {
            true => _ = jar.remove(name),
            false => _ = jar.insert(name.to_owned(), rest.split(';').next().unwrap().to_owned()),
        }
    }
}

#[tokio::test]
async fn each_app_of_a_session_renews_its_tokens_whatever_others_do() {
    let t = production().await;
    let mut browser = t.browser_at_host(HOST);
    browser.origin = Some("https://www.shop.co.uk".to_owned());
    let session = sign_in(&mut browser, "ann@example.com").await;
    let refresh_name = format!("__refresh_{}", suffix_of(Environment::Production, &t.other));
    let mut given = Vec::new();
    for origin in ["https://www.shop.co.uk", "https://admin.shop.co.uk", "https://www.shop.co.uk"] {
        let (_, directives) = fetched(&t, &t.other, &mut browser, &format!("{origin}/x")).await;
        let lines = texts(&directives);
        let [token, secret] = [value(&lines, "__session"), value(&lines, &refresh_name)].map(str::to_owned);
        given.push((origin, token, secret));
    }
    assert_ne!(given[0].2, given[1].2);
    t.clock.advance_ms(61_000);
    let path = format!("/v1/sessions/{session}/refresh");
    let refresh = async |origin: &str, token: &str, secret: &str| {
        let body = json!({ "expired_token": token, "refresh_token": secret, "request_origin": origin });
        t.call(Some(&t.other), "POST", &path, Some(body)).await
    };
    let stolen = refresh(given[0].0, &given[0].1, &given[1].2).await;
    stolen.is_error(401, "refresh_token_not_found");
    for (origin, token, secret) in &given {
        let renewed = refresh(origin, token, secret).await.ok();
        assert_eq!(super::claims(renewed["jwt"].as_str().unwrap())["azp"], json!(origin));
    }
}

#[tokio::test]
async fn nothing_of_a_handshake_is_left_in_production() {
    let t = production().await;
    let mut browser = t.browser_at_host(HOST);
    browser.origin = Some("https://www.shop.co.uk".to_owned());
    sign_in(&mut browser, "ann@example.com").await;
    for format in ["nonce", "token"] {
        let answer = browser.open(&handshake(APP, format)).await;
        assert_eq!((answer.status, answer.header("location")), (307, APP));
        let name = if format == "nonce" { NONCE } else { "__clerk_handshake" };
        let carried = browser.cookies.get(name).unwrap().clone();
        let directives = match format {
            "nonce" => {
                let path = payload(&carried);
                let fetch = || t.call(Some(&t.other), "GET", &path, None);
                let first = fetch().await.ok()["directives"].clone();
                // Another tab, a picture of the page, the same page again because its answer was lost.
                assert_eq!(fetch().await.ok()["directives"], first);
                t.call(Some(&t.tenant), "GET", &path, None).await.is_error(404, "resource_not_found");
                t.clock.advance_ms(60_000);
                assert_eq!(fetch().await.status, 404);
                first
            }
            _ => super::claims(&carried)["handshake"].clone(),
        };
        let mut jar = browser.cookies.clone();
        apply(&mut jar, &texts(&directives));
        assert!(jar.keys().all(|name| !name.contains("handshake")), "{jar:?}");
        assert!(jar["__session"].starts_with("ey") && jar["__client_uat"] != "0");
    }
}

#[tokio::test]
async fn satellites_with_a_registrable_domain_in_common_keep_to_their_part_of_it() {
    let t = production().await;
    let satellite =
        |name: &str| Satellite { id: None, name: name.to_owned(), frontend_api: None, proxy_url: None };
    let satellites =
        ["one.example.org", "two.example.org", "help.shop.co.uk", "alone.example.net"].map(satellite);
    save(&t, &Settings { satellites: satellites.into(), ..Settings::default() }).await;
    for (host, domain) in [
        ("clerk.one.example.org", "one.example.org"),
        ("clerk.two.example.org", "two.example.org"),
        ("clerk.help.shop.co.uk", "help.shop.co.uk"),
        ("clerk.alone.example.net", "example.net"),
        (HOST, "shop.co.uk"),
    ] {
        let mut browser = t.browser_at_host(host);
        browser.origin = None;
        let answer = browser.get("/v1/client").await;
        let expected = format!("__client_uat=0; Path=/; Domain={domain};");
        assert!(set_cookies(&answer)[0].starts_with(&expected), "{host}: {:?}", set_cookies(&answer));
    }
}

#[tokio::test]
async fn an_app_at_the_host_of_the_frontend_api_gets_its_cookies_without_a_domain() {
    let t = production().await;
    let mut browser = t.browser_at_host(HOST);
    browser.proxy = Some(("http://localhost:3000/__clerk".to_owned(), t.other.key.clone()));
    let answer = browser.open(&handshake("http://localhost:3000/x", "nonce")).await;
    assert_eq!((answer.status, answer.header("location")), (307, "http://localhost:3000/x"));
    assert!(set_cookies(&answer).last().unwrap().starts_with("__clerk_handshake_nonce="));
    assert!(set_cookies(&answer).iter().all(|line| !line.contains("Domain") && !line.contains("Secure")));
}

#[tokio::test]
async fn what_no_cookie_of_ours_reaches_travels_in_the_url() {
    let t = production().await;
    let allowed_origins = vec!["https://app.elsewhere.com".to_owned(), "http://old.shop.co.uk".to_owned()];
    save(&t, &Settings { allowed_origins, ..Settings::default() }).await;
    let mut browser = t.browser_at_host(HOST);
    let answer = browser.open(&handshake("https://app.elsewhere.com/x", "nonce")).await;
    let location = answer.header("location");
    let nonce = location.strip_prefix("https://app.elsewhere.com/x?__clerk_handshake_nonce=").unwrap();
    let path = payload(nonce);
    let fetch = || t.call(Some(&t.other), "GET", &path, None);
    let directives = fetch().await.ok()["directives"].clone();
    assert!(
        texts(&directives)
            .iter()
            .any(|line| line.starts_with("__client_uat=0; Path=/; Domain=elsewhere.com;"))
    );
    fetch().await.is_error(404, "resource_not_found");
    // A page without TLS does not get what is set for TLS alone.
    let answer = browser.open(&handshake("http://old.shop.co.uk/x", "nonce")).await;
    assert!(answer.header("location").starts_with("http://old.shop.co.uk/x?__clerk_handshake_nonce="));
}

#[tokio::test]
async fn a_token_too_long_for_a_cookie_travels_in_the_url() {
    let t = production().await;
    let mut settings = Settings::default();
    settings.session.token_claims.insert("long".to_owned(), json!("x".repeat(700)));
    save(&t, &settings).await;
    let mut browser = t.browser_at_host(HOST);
    browser.origin = Some("https://www.shop.co.uk".to_owned());
    sign_in(&mut browser, "ann@example.com").await;
    let answer = browser.open(&handshake(APP, "token")).await;
    assert!(answer.header("location").starts_with(&format!("{APP}&__clerk_handshake=ey")));
    assert!(set_cookies(&answer).iter().all(|line| line.len() <= 4096 && !line.contains("handshake")));
}

#[tokio::test]
async fn of_several_cookies_the_one_that_proves_a_client_counts() {
    let t = production().await;
    let mut browser = t.browser_at_host(HOST);
    browser.origin = Some("https://www.shop.co.uk".to_owned());
    sign_in(&mut browser, "ann@example.com").await;
    let stale = browser.cookies["__client"].clone();
    browser.delete("/v1/client/sessions").await.ok();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let fresh = browser.cookies["__client"].clone();
    assert_ne!(stale, fresh);
    // A browser shows the older one first.
    browser.cookies.insert("__client".to_owned(), format!("{stale}; __client={fresh}"));
    let told = browser.get("/v1/client").await.ok();
    assert_eq!(told["response"]["sessions"][0]["id"], json!(session));
    browser.post(&format!("/v1/client/sessions/{session}/tokens"), Value::Null).await.ok();
    let touched = browser.open(&format!("/v1/client/touch?redirect_url={}", escape(APP))).await;
    let renewed = *set_cookies(&touched).last().unwrap();
    let kept = renewed.strip_prefix("__client=").unwrap().split(';').next().unwrap();
    browser.cookies.insert("__client".to_owned(), kept.to_owned());
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"][0]["id"], json!(session));
}

/// A server whose production instance has a host as real ones have, a satellite and a user.
async fn production() -> TestServer {
    let t = TestServer::start().await;
    let id = t.other.id.clone();
    let moved = t.db().write(move |tx| Box::pin(async move { save_frontend_api(tx, &id, HOST).await }));
    moved.await.unwrap();
    let satellite =
        Satellite { id: None, name: "blog.example.net".to_owned(), frontend_api: None, proxy_url: None };
    save(&t, &Settings { satellites: vec![satellite], ..Settings::default() }).await;
    let body = json!({ "email_address": ["ann@example.com"], "password": PASSWORD });
    t.call(Some(&t.other), "POST", "/v1/users", Some(body)).await.ok();
    t
}

async fn save(t: &TestServer, settings: &Settings) {
    let (id, settings) = (t.other.id.clone(), settings.clone());
    let saved = t.db().write(move |tx| Box::pin(async move { save_settings(tx, &id, &settings).await }));
    saved.await.unwrap();
}
