//! The other host of the first development instance, below `.localhost`, and requests that came over TLS: an app whose
//! publishable key names that host finds its tokens and cookies named after it.

use latchkey_kernel::cx::Encrypted;
use latchkey_testkit::{Browser, LOCAL_HOST, TestServer, escape};

use super::{claims, sign_in, user};

const DISCOVERY: &str = "/.well-known/openid-configuration";

/// The name of the suffixed cookie that a handshake leaves for the app.
async fn session_cookie(browser: &mut Browser<'_>) -> String {
    let page = escape("http://localhost:3000/");
    let path = format!("/v1/client/handshake?redirect_url={page}&suffixed_cookies=true");
    let answer = browser.open(&path).await;
    let token = answer.header("location").split_once("__clerk_handshake=").unwrap().1;
    let told = claims(token);
    let lines = told["handshake"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    let names = lines.map(|line| line.split_once('=').unwrap().0);
    names.into_iter().find(|name| name.starts_with("__session_")).unwrap().to_owned()
}

#[tokio::test]
async fn each_host_of_an_instance_answers_for_the_key_that_names_it() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut suffixes = Vec::new();
    let hosts = [(LOCAL_HOST.to_owned(), "http"), (t.tenant.frontend_api.clone(), "https")];
    for (host, scheme) in hosts {
        let mut browser = t.browser_at_host(&host);
        let session = sign_in(&mut browser, "ann@example.com").await;
        let path = format!("/v1/client/sessions/{session}/tokens");
        let token = browser.post(&path, serde_json::json!({})).await.ok();
        let token = claims(token["jwt"].as_str().unwrap());
        assert_eq!(token["iss"], format!("{scheme}://{host}"), "SDKs compare it with the host in their key");
        suffixes.push(session_cookie(&mut browser).await);
    }
    assert_ne!(suffixes[0], suffixes[1], "cookies are named after the key");
}

#[tokio::test]
async fn over_tls_an_instance_is_where_it_was_asked() {
    let t = TestServer::start().await;
    for (host, is_encrypted, issuer) in [
        (LOCAL_HOST, false, format!("http://{LOCAL_HOST}")),
        (LOCAL_HOST, true, format!("https://{LOCAL_HOST}")),
        // Another name of this machine is not one that a key names.
        ("localhost:3401", true, format!("https://{}", t.tenant.frontend_api)),
    ] {
        let mut browser = t.browser_at_host(host);
        let request = axum::http::Request::get(DISCOVERY).header("host", host);
        let mut request = request.body(axum::body::Body::empty()).unwrap();
        if is_encrypted {
            request.extensions_mut().insert(Encrypted);
        }
        let answer = browser.send("GET", DISCOVERY, request).await.ok();
        assert_eq!(answer["issuer"], issuer, "{host} {is_encrypted}");
    }
}
