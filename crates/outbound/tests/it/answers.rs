//! Answers good and bad.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use bytes::Bytes;
use latchkey_outbound::client::Request;
use latchkey_outbound::failure::Failure;
use latchkey_outbound::reach::Reach;

use crate::server::{Say, Server, client, post};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

async fn said(say: Say) -> Result<latchkey_outbound::client::Answer, Failure> {
    let server = Server::start(say).await;
    post(&client(), &server.url(), Reach::Any).await
}

#[tokio::test]
async fn an_answer_is_read_and_the_connection_used_again() {
    let server = Server::start(Say::This(OK)).await;
    let client = client();
    for _ in 0..50 {
        let answer = post(&client, &server.url(), Reach::Any).await.unwrap();
        assert_eq!((answer.status, answer.body.as_slice(), answer.is_truncated), (200, &b"ok"[..], false));
    }
    assert_eq!(server.connections.load(SeqCst), 1);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let answer = said(Say::This(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    ));
    assert_eq!(answer.await.unwrap().status, 307);
}

#[tokio::test]
async fn silence_ends_at_the_deadline_wherever_it_begins() {
    for text in ["", "HTTP/1.1 200 OK\r\n"] {
        assert_eq!(said(Say::ThenHang(text)).await, Err(Failure::Timeout), "{text:?}");
    }
}

#[tokio::test]
async fn a_status_counts_though_its_body_is_not_complete() {
    let half = "HTTP/1.1 202 Fine\r\ncontent-length: 9\r\n\r\nhalf";
    for say in [Say::ThenHang(half), Say::ThenClose(half)] {
        let answer = said(say).await.unwrap();
        assert_eq!((answer.status, answer.body.as_slice(), answer.is_truncated), (202, &b"half"[..], true));
    }
    let broken = "HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\nZ\r\n";
    let answer = said(Say::ThenClose(broken)).await.unwrap();
    assert_eq!((answer.status, answer.body.len(), answer.is_truncated), (500, 0, true));
}

#[tokio::test]
async fn endless_bodies_are_cut_off() {
    let chunk = "400\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    let head = "HTTP/1.1 200 OK\r\n\r\n";
    let answer = said(Say::ThenEndless(head, chunk)).await.unwrap();
    assert_eq!((answer.status, answer.body.len(), answer.is_truncated), (200, 1024, true));
    let chunked = "HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n";
    let answer = said(Say::ThenEndless(chunked, "5\r\nhello\r\n")).await.unwrap();
    assert_eq!((answer.status, answer.body.len(), answer.is_truncated), (500, 1024, true));
}

#[tokio::test]
async fn endless_heads_and_endless_interim_answers_are_ended() {
    let header = "x-long: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n";
    assert_eq!(said(Say::ThenEndless("HTTP/1.1 200 OK\r\n", header)).await, Err(Failure::Protocol));
    for interim in ["HTTP/1.1 102 Processing\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n"] {
        // At once, and not when the time is over.
        assert_eq!(said(Say::ThenEndless("", interim)).await, Err(Failure::Protocol));
        assert_eq!(
            said(Say::ThenHang(Box::leak(interim.repeat(17).into_boxed_str()))).await,
            Err(Failure::Protocol)
        );
        let some = interim.repeat(16) + OK;
        assert_eq!(said(Say::This(Box::leak(some.into_boxed_str()))).await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn what_is_broken_off_or_no_http_is_no_answer() {
    for text in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n",
    ] {
        assert_eq!(said(Say::ThenClose(text)).await, Err(Failure::Protocol), "{text:?}");
    }
}

#[tokio::test]
async fn more_than_the_promised_length_is_not_taken_for_the_next_answer() {
    let long = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n";
    let server = Server::start(Say::This(long)).await;
    let client = client();
    for _ in 0..3 {
        let answer = post(&client, &server.url(), Reach::Any).await;
        assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status == 200));
    }
}

#[tokio::test]
async fn a_closed_port_is_named() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let failure = post(&client(), &url, Reach::Any).await.unwrap_err();
    assert_eq!(failure.to_string(), "No connection to 127.0.0.1: refused.");
}

#[tokio::test]
async fn headers_cannot_carry_lines() {
    let headers = vec![("x-note", "a\r\nx-other: b".to_owned())];
    let (reach, timeout) = (Reach::Any, Duration::from_secs(1));
    let request =
        Request { url: "http://127.0.0.1:1/", headers, body: Bytes::new(), reach, timeout, keep: 0 };
    assert_eq!(client().post(request).await, Err(Failure::Header("x-note".to_owned())));
}
