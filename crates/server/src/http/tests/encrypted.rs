//! Both versions of HTTP inside TLS, over real connections.

use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::tls::testing::{Issued, acceptor, client, issue};

/// A server with these certificates, and where it listens.
async fn listen(limits: Limits, issued: &[&Issued]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let side = side(limits, Some(acceptor(issued)));
    tokio::spawn(async move {
        let (stops, slots) = (Stops::default(), Arc::new(Slots::new(100, &[])));
        loop {
            let (stream, peer) = listener.accept().await.unwrap();
            let held = slots.take(peer.ip()).unwrap();
            tokio::spawn(connection::serve(side.clone(), stream, peer, held, stops.watch()));
        }
    });
    address
}

async fn shake(
    address: SocketAddr,
    config: Arc<ClientConfig>,
    name: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(config).connect(name, stream).await
}

fn shown(stream: &TlsStream<TcpStream>) -> CertificateDer<'static> {
    stream.get_ref().1.peer_certificates().unwrap()[0].clone()
}

/// The status and the version of an answer to `GET /`.
async fn get(stream: TlsStream<TcpStream>) -> (u16, hyper::Version) {
    let request = Request::get("https://a.example/").header("host", "a.example");
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(stream);
    let response = match is_http2 {
        true => {
            let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
            let (mut sender, connection) = handshake.await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        }
        false => {
            let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        }
    };
    let (status, version) = (response.status().as_u16(), response.version());
    assert!(response.into_body().collect().await.unwrap().to_bytes().starts_with(b"127.0.0.1:"));
    (status, version)
}

#[tokio::test]
async fn both_versions_of_tls_carry_both_versions_of_http() {
    let issued = issue(&["a.example"], 2090);
    let address = listen(LIMITS, &[&issued]).await;
    for version in [&TLS12, &TLS13] {
        for (protocols, expected) in [
            (&[&b"h2"[..], b"http/1.1"][..], hyper::Version::HTTP_2),
            (&[b"http/1.1"], hyper::Version::HTTP_11),
            (&[], hyper::Version::HTTP_11),
        ] {
            let stream =
                shake(address, client(&[&issued], &[version], protocols), "a.example").await.unwrap();
            assert_eq!(stream.get_ref().1.protocol_version(), Some(version.version));
            assert_eq!(get(stream).await, (200, expected));
        }
    }
    assert!(shake(address, client(&[&issued], &[&TLS13], &[b"h3"]), "a.example").await.is_err());
}

#[tokio::test]
async fn the_name_asked_for_chooses_the_certificate() {
    let first = issue(&["a.example", "localhost"], 2090);
    let second = issue(&["*.b.example", "b.example"], 2090);
    let address = listen(LIMITS, &[&first, &second]).await;
    let config = client(&[&first, &second], &[&TLS13], &[]);
    for (name, expected) in [
        ("a.example", &first),
        ("b.example", &second),
        ("clerk.b.example", &second),
        ("CLERK.B.example", &second),
    ] {
        let stream = shake(address, config.clone(), name).await.unwrap();
        assert_eq!(shown(&stream), expected.certificate, "{name}");
    }
    for name in ["c.example", "x.clerk.b.example", "127.0.0.1"] {
        let refused = shake(address, config.clone(), name).await.unwrap_err().to_string();
        assert!(refused.contains("a.example"), "the first one is shown for {name}: {refused}");
    }
}

#[tokio::test]
async fn clients_that_return_skip_most_of_the_handshake() {
    let issued = issue(&["a.example"], 2090);
    let address = listen(LIMITS, &[&issued]).await;
    for version in [&TLS12, &TLS13] {
        let config = client(&[&issued], &[version], &[]);
        for expected in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut stream = shake(address, config.clone(), "a.example").await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
            stream.read_to_end(&mut Vec::new()).await.unwrap();
            assert_eq!(stream.get_ref().1.handshake_kind(), Some(expected));
        }
    }
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_cut_off_and_keeps_nobody_out() {
    let issued = issue(&["a.example"], 2090);
    // Long enough for a good client on a busy machine.
    let address = listen(Limits { handshake: SHORT * 20, ..SLOW }, &[&issued]).await;
    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(&[22, 3, 1, 2, 0, 1]).await.unwrap();
    let stream = shake(address, client(&[&issued], &[&TLS13], &[]), "a.example").await.unwrap();
    assert_eq!(get(stream).await.0, 200);
    for stream in [&mut silent, &mut slow] {
        let end = timeout(LONG / 2, stream.read_to_end(&mut Vec::new())).await;
        assert!(end.is_ok(), "it is closed");
    }
}

#[tokio::test]
async fn plain_http_at_a_port_for_tls_is_told_so() {
    let address = listen(LIMITS, &[&issue(&["a.example"], 2090)]).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("https://"), "{answer}");
}

#[tokio::test]
async fn limits_of_http1_hold_inside_tls() {
    let issued = issue(&["a.example"], 2090);
    let address = listen(Limits { head: SHORT, stall: SHORT, ..SLOW }, &[&issued]).await;
    let config = client(&[&issued], &[&TLS13], &[]);
    let mut slow = shake(address, config.clone(), "a.example").await.unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").await.unwrap();
    assert!(timeout(LONG / 2, slow.read_u8()).await.unwrap().is_err(), "the head took too long");
    let mut deaf = shake(address, config, "a.example").await.unwrap();
    deaf.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    // Nothing is read until the server has given up, which writing notices.
    let cut_off = async {
        while deaf.write_all(b" ").await.is_ok() {
            sleep(SHORT / 10).await;
        }
    };
    timeout(LONG / 2, cut_off).await.expect("the answer is given up");
}

#[tokio::test]
async fn handshakes_that_never_end_do_not_keep_others_out() {
    let issued = issue(&["a.example"], 2090);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = Some(acceptor(&[&issued]));
    let side = Side { name: "test", listener, router: router(), tls, is_tls_optional: false, few: None };
    let door = Door::open(side, 8, &[]);
    tokio::spawn(async move { door.serve(&Stops::default()).await });
    let mut held = Vec::new();
    for number in 0..40 {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 2 + number % 10], 0).into()).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        // The beginning of a handshake.
        let _ = stream.write_all(&[22, 3, 1]).await;
        held.push(stream);
    }
    let stream = shake(address, client(&[&issued], &[&TLS13], &[]), "a.example").await.unwrap();
    assert_eq!(get(stream).await.0, 200);
}
