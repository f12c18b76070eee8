//! A server with certificates: what it says at the start, whom it answers, and how it takes new ones.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Home, Server, rest, text};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(100);
const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// Makes a certificate for these names until the end of a year, and writes it with its key.
fn issue(home: &Home, file: &str, names: &[&str], year: i32) -> CertificateDer<'static> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 12, 31);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    // Renewed files appear whole: written beside, then renamed.
    let put = |name: String, text: String| {
        std::fs::write(home.path("new"), text).unwrap();
        std::fs::rename(home.path("new"), home.path(&name)).unwrap();
    };
    put(format!("{file}.pem"), certificate.pem());
    put(format!("{file}.key"), key.serialize_pem());
    certificate.into()
}

/// A server whose two sides have the same certificate.
fn serve(home: &Home, file: &str) -> Server {
    let (certificate, key) = (format!("{file}.pem"), format!("{file}.key"));
    home.serve_with(&[
        "--tls-certificate",
        &certificate,
        "--tls-key",
        &key,
        "--frontend-tls-certificate",
        &certificate,
        "--frontend-tls-key",
        &key,
    ])
}

async fn shake(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
    protocol: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await
}

async fn connect(address: SocketAddr, trusted: &CertificateDer<'static>) -> http1::SendRequest<Empty<Bytes>> {
    let stream = TokioIo::new(shake(address, trusted, HTTP1).await.unwrap());
    let (sender, connection) = http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn connect2(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
) -> http2::SendRequest<Empty<Bytes>> {
    let stream = TokioIo::new(shake(address, trusted, HTTP2).await.unwrap());
    let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// The status and the body of an answer over HTTP/2.
async fn get2(sender: &mut http2::SendRequest<Empty<Bytes>>, uri: &str) -> (u16, String) {
    let request = Request::get(uri).body(Empty::new()).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(answer.version(), Version::HTTP_2);
    let status = answer.status().as_u16();
    (status, text(&answer.into_body().collect().await.unwrap().to_bytes()))
}

/// The status of `GET /healthz`.
async fn health(sender: &mut http1::SendRequest<Empty<Bytes>>) -> u16 {
    let request = Request::get("/healthz").header("host", "localhost").body(Empty::new()).unwrap();
    sender.send_request(request).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn both_listeners_speak_tls_and_say_so() {
    let home = Home::new();
    let certificate = issue(&home, "a", &["localhost"], 2090);
    let server = serve(&home, "a");
    assert_eq!(server.announced("api url"), format!("https://{}", server.address));
    let frontend = format!("https://localhost:{}", server.frontend.port());
    assert_eq!(server.announced("frontend url"), frontend);
    assert_eq!(server.announced("sign-in page"), format!("{frontend}/sign-in"));
    for address in [server.address, server.frontend] {
        assert_eq!(health(&mut connect(address, &certificate).await).await, 200);
        let mut sender = connect2(address, &certificate).await;
        assert_eq!(get2(&mut sender, "https://localhost/healthz").await.0, 200);
    }
    assert!(server.log().contains("certificate for localhost, valid until 2090-12-31"), "{}", server.log());
    let mut plain = server.connect();
    std::io::Write::write_all(&mut plain, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let told = rest(&mut plain);
    assert!(told.starts_with("HTTP/1.1 400") && told.contains("https://"), "{told}");
    server.stop();
}

#[tokio::test]
async fn renewed_files_are_used_and_open_connections_stay() {
    let home = Home::new();
    let first = issue(&home, "a", &["localhost"], 2090);
    let server = serve(&home, "a");
    let mut open = connect(server.frontend, &first).await;
    let mut open2 = connect2(server.frontend, &first).await;
    assert_eq!(health(&mut open).await, 200);
    let second = issue(&home, "a", &["localhost"], 2091);
    let renewed = async {
        while shake(server.frontend, &second, HTTP1).await.is_err() {
            sleep(LOOK).await;
        }
    };
    timeout(PATIENCE, renewed).await.expect("the new certificate is shown");
    assert!(server.log().contains("has a new certificate for localhost, valid until 2091-12-31"));
    assert_eq!(health(&mut open).await, 200);
    assert_eq!(get2(&mut open2, "https://localhost/healthz").await.0, 200);
    std::fs::write(home.path("a.pem"), "half of a certi").unwrap();
    let complained = async {
        while !server.log().contains("keeps its present certificate") {
            sleep(LOOK).await;
        }
    };
    timeout(PATIENCE, complained).await.expect("the log says that the file is broken");
    assert!(shake(server.frontend, &second, HTTP1).await.is_ok());
}

#[tokio::test]
async fn the_instance_of_a_request_over_http2_is_that_of_its_authority() {
    let home = Home::new();
    let certificate = issue(&home, "a", &["localhost"], 2090);
    let server = serve(&home, "a");
    home.json(&crate::PRODUCTION);
    let mut sender = connect2(server.frontend, &certificate).await;
    let own = format!("localhost:{}", server.frontend.port());
    for (host, kind) in [("clerk.example.com", "production"), (own.as_str(), "development")] {
        let (status, body) = get2(&mut sender, &format!("https://{host}/v1/environment")).await;
        assert!(status == 200 && body.contains(kind), "{host}: {body}");
    }
}

#[tokio::test]
async fn a_stop_says_goodbye_to_connections_of_http2() {
    let home = Home::new();
    let certificate = issue(&home, "a", &["localhost"], 2090);
    let server = serve(&home, "a");
    let mut open = connect2(server.address, &certificate).await;
    assert_eq!(get2(&mut open, "https://localhost/healthz").await.0, 200);
    server.terminate();
    let status = tokio::task::spawn_blocking(|| server.wait()).await.unwrap();
    assert_eq!(status.code(), Some(0));
    let log = std::fs::read_to_string(home.path("server.log")).unwrap();
    assert!(log.contains("all requests are finished"), "{log}");
}

#[test]
fn files_that_cannot_be_used_are_refused_together_before_anything_is_made() {
    let home = Home::new();
    issue(&home, "a", &["localhost"], 2090);
    issue(&home, "b", &["localhost"], 2090);
    let flags = ["--tls-certificate", "a.pem", "--tls-key", "b.key"];
    let frontend = ["--frontend-tls-certificate", "none.pem", "--frontend-tls-key", "a.key"];
    let output = home.run(&[&["serve"][..], &flags, &frontend].concat());
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    for expected in [
        "There are 2 problems",
        "tls_key, from the flag --tls-key\n    The key in b.key does not belong to the first certificate in a.pem.",
        "frontend_tls_certificate, from the flag --frontend-tls-certificate\n    none.pem cannot be read",
    ] {
        assert!(message.contains(expected), "{expected}\nis missing in\n{message}");
    }
    assert!(!home.path("data").exists(), "nothing was made");
    // Other commands have no use for the files.
    let create = ["instances", "create", "--environment", "development"];
    assert!(home.run(&[&create[..], &frontend].concat()).status.success());
}

#[tokio::test]
async fn an_expired_certificate_is_shown_with_a_warning() {
    let home = Home::new();
    let certificate = issue(&home, "a", &["localhost"], 2020);
    let server = serve(&home, "a");
    assert!(server.log().contains("has expired at 2020-12-31T00:00:00Z"), "{}", server.log());
    let refused = shake(server.frontend, &certificate, HTTP1).await.unwrap_err().to_string();
    assert!(refused.contains("xpired"), "{refused}");
    server.stop();
}
