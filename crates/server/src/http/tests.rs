//! That slow clients are cut off and patient ones are not, over real connections and with short limits.

mod encrypted;
mod flood;
mod http2;
mod raw;
mod room;

use axum::extract::ConnectInfo;
use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connection::{Ended, Peer};
use super::http1::HEAD_BYTES;
use super::stall::Unstalled;
use super::*;

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(20);
const SLOW: Limits = Limits { handshake: LONG, head: LONG, stall: LONG, idle: LONG, farewell: LONG };
/// Requests of HTTP/2 at once.
const REQUESTS: usize = 300;
/// More than the buffers of both ends of a connection take.
const LARGE: usize = 32 * 1024 * 1024;

/// What answers in these tests.
fn router() -> Router {
    let address = |ConnectInfo(address): ConnectInfo<SocketAddr>| async move { address.to_string() };
    let host = |request: axum::extract::Request| async move {
        let cookies = request.headers().get_all("cookie").iter().count();
        let host = request.headers()["host"].to_str().unwrap_or_default().to_owned();
        format!("{host} {} {cookies}", request.uri())
    };
    Router::new()
        .route("/", get(address))
        .route("/large", get(|| async { "x".repeat(LARGE) }))
        .route("/host", get(host))
        .route("/never", get(std::future::pending::<String>))
        .route("/length", post(|body: String| async move { body.len().to_string() }))
}

fn side(limits: Limits, tls: Option<TlsAcceptor>) -> Arc<SideService> {
    Arc::new(SideService {
        router: router(),
        tls,
        plain: None,
        request_slots: Arc::new(RequestSlots::new(REQUESTS)),
        limits,
    })
}

/// Somebody who has all the room there is.
fn peer(address: SocketAddr) -> Peer {
    let held = Arc::new(Slots::new(1, &[])).take(address.ip()).unwrap();
    Peer { address, slot: held.slot().clone() }
}

/// A connection to a server with these limits, and how the server's side of it ends.
async fn connect(limits: Limits) -> (TcpStream, impl Future<Output = Ended>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, address) = listener.accept().await.unwrap();
    let stops = Stops::default();
    let served = async move {
        let stop = stops.watch();
        http1::serve(&side(limits, None), Unstalled::new(stream, limits.stall), peer(address), stop).await
    };
    (client, served)
}

async fn ask(client: &mut TcpStream) -> String {
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = [0; 1024];
    let length = client.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let (mut client, server) = connect(Limits { head: SHORT, stall: LONG, ..SLOW }).await;
    client.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").await.unwrap();
    let ended = timeout(LONG / 2, server).await.expect("the limit of the head holds, not the one of idling");
    assert!(ended.is_err());
}

#[tokio::test]
async fn an_idle_connection_outlives_the_limit_of_a_head() {
    let (mut client, server) = connect(Limits { head: SHORT, stall: LONG, ..SLOW }).await;
    let server = tokio::spawn(server);
    for _ in 0..2 {
        assert!(ask(&mut client).await.starts_with("HTTP/1.1 200"));
        assert!(timeout(SHORT * 3, client.read_u8()).await.is_err(), "nothing happens while it is idle");
    }
    drop(client);
    assert!(server.await.unwrap().is_ok());
}

#[tokio::test]
async fn an_idle_connection_is_closed_in_the_end() {
    let (mut client, server) = connect(Limits { idle: SHORT, ..SLOW }).await;
    let server = tokio::spawn(server);
    ask(&mut client).await;
    assert_eq!(client.read(&mut [0; 16]).await.unwrap(), 0);
    let _ = server.await;
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let (mut client, server) = connect(Limits { head: LONG, stall: SHORT, ..SLOW }).await;
    client.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let ended = timeout(LONG / 2, server).await.expect("the answer is given up");
    assert!(ended.is_err());
}

#[tokio::test]
async fn a_client_that_reads_slowly_gets_its_whole_answer() {
    let (mut client, server) = connect(Limits { head: LONG, stall: SHORT * 3, ..SLOW }).await;
    let server = tokio::spawn(server);
    client.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut total = 0;
    let mut piece = vec![0; LARGE / 8];
    loop {
        sleep(SHORT / 10).await;
        match client.read(&mut piece).await.unwrap() {
            0 => break,
            length => total += length,
        }
    }
    assert!(total > LARGE);
    assert!(server.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let (mut client, server) = connect(LIMITS).await;
    let server = tokio::spawn(server);
    client
        .write_all(format!("GET / HTTP/1.1\r\nX-Large: {}", "x".repeat(HEAD_BYTES)).as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    let _ = client.read_to_string(&mut answer).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let _ = server.await;
}

#[tokio::test]
async fn requests_carry_the_address_of_their_client() {
    let (mut client, server) = connect(LIMITS).await;
    tokio::spawn(server);
    let own = client.local_addr().unwrap().to_string();
    assert!(ask(&mut client).await.ends_with(&own));
}
