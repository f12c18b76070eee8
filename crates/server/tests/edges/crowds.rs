//! Those who hold many connections or uploads open, from many addresses of this machine, and others who want in.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::support::{Home, Server};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks whether something has become so.
const LOOK: Duration = Duration::from_millis(50);
/// Files the server may have open, and what follows for the connections of a listener.
const FILES: usize = 800;
const CONNECTIONS: usize = FILES / 4 * 3 / 2;
const MB: usize = 1024 * 1024;

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}

async fn dial(from: Ipv4Addr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    socket.connect(to).await
}

/// Connections from these addresses. Every second one has begun with a request, and does not go on.
async fn crowd(from: impl Iterator<Item = Ipv4Addr>, to: SocketAddr) -> Vec<TcpStream> {
    let mut crowd = Vec::new();
    for (number, address) in from.enumerate() {
        let mut stream = dial(address, to).await.unwrap();
        if number % 2 == 0 {
            let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHo").await;
        }
        crowd.push(stream);
    }
    crowd
}

/// How many of them the server has not closed.
fn open(crowd: &[TcpStream]) -> usize {
    let is_open = |stream: &&TcpStream| {
        stream.try_read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    crowd.iter().filter(is_open).count()
}

async fn ask(from: Ipv4Addr, to: SocketAddr, request: &[u8]) -> std::io::Result<String> {
    let answered = async {
        let mut stream = dial(from, to).await?;
        stream.write_all(request).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(String::from_utf8(answer).unwrap())
    };
    timeout(PATIENCE, answered).await.unwrap()
}

/// Asserts that somebody new is answered; the server's log says why if not.
async fn gets_in(server: &Server, from: Ipv4Addr, to: SocketAddr) {
    let answer = ask(from, to, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    let is_answered = answer.as_ref().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"));
    assert!(is_answered, "{from} at {to}: {answer:?}\n{}", server.log());
}

/// A server with few files, which logs why a connection ended.
fn serve_few(home: &Home) -> Server {
    home.serve_after(&format!("ulimit -n {FILES}; export LATCHKEY_LOG_LEVEL=debug"))
}

#[test]
fn connections_of_one_address_do_not_keep_others_out() {
    let home = Home::new();
    let server = serve_few(&home);
    run(async {
        for listener in [server.address, server.frontend] {
            let greedy = Ipv4Addr::new(127, 0, 0, 2);
            let held = crowd((0..2 * CONNECTIONS).map(|_| greedy), listener).await;
            for _ in 0..20 {
                gets_in(&server, Ipv4Addr::LOCALHOST, listener).await;
                gets_in(&server, greedy, listener).await;
            }
            let open = open(&held);
            assert!(open <= CONNECTIONS / 4, "{open} of {CONNECTIONS}");
        }
    });
}

#[test]
fn connections_of_hundreds_of_addresses_do_not_keep_others_out() {
    let home = Home::new();
    let server = serve_few(&home);
    run(async {
        for listener in [server.address, server.frontend] {
            let addresses = (0..2 * CONNECTIONS)
                .map(|number| Ipv4Addr::new(127, 0, 1, u8::try_from(1 + number % 200).unwrap()));
            let held = crowd(addresses, listener).await;
            // Each is somebody new: on a busy machine the connections of one address that have ended count for a moment longer,
            // and whoever has as many as everybody else is refused.
            for number in 1..=20 {
                gets_in(&server, Ipv4Addr::new(127, 0, 2, number), listener).await;
            }
            let open = open(&held);
            assert!(open <= CONNECTIONS, "{open} of {CONNECTIONS}");
        }
    });
}

/// An upload of 10 MB of which 8 arrive. Its status, or nothing while the server waits for the rest.
async fn unfinished(server: SocketAddr, head: String, is_chunked: bool) -> (TcpStream, Option<String>) {
    let mut stream = dial(Ipv4Addr::new(127, 0, 0, 2), server).await.unwrap();
    let length = match is_chunked {
        true => "Transfer-Encoding: chunked".to_owned(),
        false => format!("Content-Length: {}", 10 * MB),
    };
    let form = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";
    let piece = match is_chunked {
        true => [format!("{MB:x}\r\n").as_bytes(), &vec![b'x'; MB], b"\r\n"].concat(),
        false => vec![b'x'; MB],
    };
    let begin = match is_chunked {
        true => format!("{:x}\r\n{form}\r\n", form.len()),
        false => form.to_owned(),
    };
    let (mut reader, mut writer) = stream.split();
    let sent = async {
        writer.write_all(format!("{head}{length}\r\n\r\n{begin}").as_bytes()).await?;
        for _ in 0..8 {
            writer.write_all(&piece).await?;
        }
        std::io::Result::Ok(())
    };
    // Whatever comes back before all is sent is a refusal.
    let mut answer = [0; 12];
    let refused = tokio::select! {
        read = reader.read(&mut answer) => Some(String::from_utf8_lossy(&answer[..read.unwrap_or(0)]).into_owned()),
        sent = sent => match sent {
            Ok(()) => None,
            Err(_) => Some(String::new()),
        },
    };
    (stream, refused)
}

fn resident_bytes(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() * 1024
}

#[test]
fn unfinished_uploads_take_a_bounded_part_of_the_memory() {
    let home = Home::new();
    let server = home.serve_with(&["--rate-limits", "off"]);
    let key = server.announced("secret key").to_owned();
    let post = |path: &str, from: Ipv4Addr, body: String| {
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n");
        let rest = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        let request = format!("{head}{rest}Connection: close\r\n\r\n{body}");
        let address = server.address;
        async move { ask(from, address, request.as_bytes()).await.unwrap() }
    };
    run(async {
        let made =
            post("/v1/users", Ipv4Addr::LOCALHOST, json!({"email_address": ["ann@example.com"]}).to_string())
                .await;
        let start = made.find("user_").unwrap_or_else(|| panic!("{made}"));
        let path = format!("/v1/users/{}/profile_image", &made[start..start + 32]);
        let before = resident_bytes(&server);
        let mut uploads = JoinSet::new();
        for number in 0..40 {
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
                 Content-Type: multipart/form-data; boundary=b\r\n"
            );
            uploads.spawn(unfinished(server.address, head, number % 2 == 0));
        }
        let mut held = Vec::new();
        let mut answers = Vec::new();
        while let Some(upload) = timeout(PATIENCE, uploads.join_next()).await.expect("all end") {
            let (stream, refused) = upload.unwrap();
            match refused {
                Some(answer) => answers.push(answer),
                None => held.push(stream),
            }
        }
        // The network takes in some of what the server does not read, so a refusal may come after all was sent.
        let refused = async {
            while held.len() > 8 || !answers.iter().any(|answer| answer == "HTTP/1.1 503") {
                sleep(LOOK).await;
                held.retain(|stream| {
                    let mut answer = [0; 12];
                    match stream.try_read(&mut answer) {
                        Ok(read) => answers.push(String::from_utf8_lossy(&answer[..read]).into_owned()),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                        Err(_) => answers.push(String::new()),
                    }
                    false
                });
            }
        };
        let is_enough = timeout(PATIENCE, refused).await.is_ok();
        assert!(is_enough, "{} uploads have room, and others are told {answers:?}", held.len());
        let grown = resident_bytes(&server).saturating_sub(before);
        // What there is for the bodies of all requests together.
        assert!(grown < 160 * MB, "{grown} bytes for {} uploads", held.len());
        for (number, from) in [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)].into_iter().enumerate() {
            let body = json!({"email_address": [format!("bob{number}@example.com")]}).to_string();
            let made = post("/v1/users", from, body).await;
            assert!(made.starts_with("HTTP/1.1 200"), "{made}");
        }
        assert!(open(&held) > 0, "no upload has room");
    });
}
