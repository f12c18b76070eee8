//! TLS.

use std::sync::Arc;

use latchkey_outbound::client::{Client, Options};
use latchkey_outbound::failure::Failure;
use latchkey_outbound::reach::Reach;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::server::{Say, Server, client, post, serve};

/// A server with a certificate for `localhost` nobody signed; answers its port and certificate.
async fn start() -> (u16, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    serve(stream, Say::This("HTTP/1.1 204 Fine\r\n\r\n")).await;
                }
            });
        }
    });
    (port, made.cert.pem())
}

#[tokio::test]
async fn only_trusted_certificates_for_the_right_name_are_accepted() {
    let (port, certificate) = start().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), certificate).unwrap();
    let trusting =
        Client::new(Options { extra_roots: Some(file.path().to_owned()), ..Options::default() }).unwrap();
    let url = format!("https://localhost:{port}/");
    assert_eq!(post(&trusting, &url, Reach::Any).await.unwrap().status, 204);
    assert!(matches!(post(&client(), &url, Reach::Any).await, Err(Failure::Tls(_))));
    let other = format!("https://127.0.0.1:{port}/");
    assert!(matches!(post(&trusting, &other, Reach::Any).await, Err(Failure::Tls(_))));
}

#[tokio::test]
async fn plain_http_behind_https_is_a_failure_of_tls() {
    let server = Server::start(Say::ThenClose("HTTP/1.1 200 OK\r\n\r\n")).await;
    let url = format!("https://127.0.0.1:{}/", server.port);
    let failure = post(&client(), &url, Reach::Any).await.unwrap_err();
    assert!(matches!(failure, Failure::Tls(_) | Failure::Protocol | Failure::Timeout), "{failure:?}");
}

#[tokio::test]
async fn a_file_without_certificates_is_reported() {
    let options = Options { extra_roots: Some("/nowhere.pem".into()), ..Options::default() };
    assert!(matches!(Client::new(options), Err(Failure::Tls(_))));
}
