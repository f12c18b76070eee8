//! Names, and what they stand for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use latchkey_outbound::client::{Client, Options};
use latchkey_outbound::failure::Failure;
use latchkey_outbound::reach::Reach;
use latchkey_outbound::resolve::{Addresses, Resolve};

use crate::server::{Say, Server, client, post};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// Answers each lookup with the next list of addresses; the last one again and again.
struct Script {
    answers: Vec<Vec<&'static str>>,
    asked: AtomicUsize,
}

impl Script {
    fn new(answers: &[&[&'static str]]) -> Arc<Script> {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        Arc::new(Script { answers, asked: AtomicUsize::new(0) })
    }
}

impl Resolve for Script {
    fn resolve(&self, _: String, port: u16) -> Addresses {
        let turn = self.asked.fetch_add(1, SeqCst).min(self.answers.len() - 1);
        let addresses = self.answers[turn].iter();
        let found = addresses.map(|address| SocketAddr::new(address.parse().unwrap(), port)).collect();
        Box::pin(async move { Ok(found) })
    }
}

fn with(resolver: Arc<Script>) -> Client {
    Client::new(Options { resolver: Some(resolver), ..Options::default() }).unwrap()
}

#[tokio::test]
async fn literal_addresses_of_this_machine_are_refused_in_every_notation() {
    let server = Server::start(Say::This(OK)).await;
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0177.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ] {
        let url = format!("https://{host}:{}/", server.port);
        let failure = post(&client(), &url, Reach::Public).await.unwrap_err();
        assert!(matches!(failure, Failure::AddressNotAllowed(_)), "{host}: {failure}");
    }
    assert_eq!(server.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn a_name_that_means_this_machine_is_refused() {
    let server = Server::start(Say::This(OK)).await;
    let url = |scheme: &str| format!("{scheme}://localhost:{}/", server.port);
    let failure = post(&client(), &url("https"), Reach::Public).await.unwrap_err();
    assert_eq!(failure, Failure::AddressNotAllowed("localhost".to_owned()));
    assert_eq!(post(&client(), &url("http"), Reach::Any).await.unwrap().status, 200);
}

#[tokio::test]
async fn rebinding_does_not_help() {
    let server = Server::start(Say::This(OK)).await;
    let url = format!("https://rebind.example:{}/", server.port);
    // A public address at first, of a range nobody has; this machine from then on.
    let resolver = Script::new(&[&["2d00::1"], &["127.0.0.1"], &["127.0.0.1", "::1", "::ffff:127.0.0.1"]]);
    let client = with(resolver.clone());
    assert!(post(&client, &url, Reach::Public).await.is_err());
    for _ in 0..3 {
        let failure = post(&client, &url, Reach::Public).await.unwrap_err();
        assert_eq!(failure, Failure::AddressNotAllowed("rebind.example".to_owned()));
    }
    assert_eq!(resolver.asked.load(SeqCst), 4, "one lookup for one connection, and no other");
    assert_eq!(server.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn a_connection_with_the_wider_reach_does_not_serve_the_narrower() {
    let server = Server::start(Say::This(OK)).await;
    let url = |scheme: &str| format!("{scheme}://mine.example:{}/", server.port);
    let client = with(Script::new(&[&["127.0.0.1"]]));
    assert_eq!(post(&client, &url("http"), Reach::Any).await.unwrap().status, 200);
    let failure = post(&client, &url("https"), Reach::Public).await.unwrap_err();
    assert_eq!(failure, Failure::AddressNotAllowed("mine.example".to_owned()));
    assert_eq!(post(&client, &url("http"), Reach::Public).await.unwrap_err(), Failure::NotSecure);
}

#[tokio::test]
async fn addresses_that_are_not_allowed_are_left_out() {
    let server = Server::start(Say::This(OK)).await;
    let url = format!("http://mixed.example:{}/", server.port);
    let client = with(Script::new(&[&["169.254.169.254", "127.0.0.1"]]));
    assert_eq!(post(&client, &url, Reach::Any).await.unwrap().status, 200);
}

#[tokio::test]
async fn an_unknown_name_is_named() {
    let failure = post(&with(Script::new(&[&[]])), "https://gone.example/", Reach::Public).await.unwrap_err();
    assert_eq!(failure.to_string(), "The host gone.example was not found.");
}
