//! A receiver of webhooks: an HTTP server on this machine that notes what arrives and behaves as it is told.
//!
//! It speaks HTTP by hand, because most of what it is for is what no library wants to do: answer too late,
//! never end, break off.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};

/// What a receiver does with a request.
#[derive(Clone, Debug)]
pub enum Reaction {
    /// Answers with this status and body.
    Answer(u16, Vec<u8>),
    /// Answers with this status, but only after so long.
    Late(Duration, u16),
    /// Answers with the status 200 and this body, but only after so long.
    Slow(Duration, Vec<u8>),
    /// Sends the request elsewhere, with this status.
    Redirect(u16, String),
    /// Never answers.
    Hang,
    /// Closes the connection without an answer.
    Close,
    /// Promises a body with the status 200, and closes the connection in the middle of it.
    BreakOff,
    /// Answers with this status and a body that never ends.
    Endless(u16),
    /// Answers with the status 200 and one byte of the body now and then.
    Drip(Duration),
    /// Answers with something that is no HTTP.
    Nonsense,
}

impl Reaction {
    /// Answers with a status and nothing else.
    pub fn status(status: u16) -> Reaction {
        Reaction::Answer(status, Vec::new())
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Such as `POST`.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// The headers, with names in small letters.
    pub headers: HashMap<String, String>,
    /// The body, byte by byte.
    pub body: Vec<u8>,
    /// When it was complete.
    pub at: Instant,
}

impl Arrival {
    /// The header with the id of the event.
    pub fn id(&self) -> &str {
        self.header("svix-id")
    }

    /// A header, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

type Manner = Box<dyn Fn(&Arrival) -> Reaction + Send>;

/// A receiver. It takes everything unless told otherwise, and is gone when it is dropped.
pub struct Receiver {
    /// Its port on 127.0.0.1.
    pub port: u16,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    arrivals: Mutex<Vec<Arrival>>,
    next: Mutex<VecDeque<Reaction>>,
    manner: Mutex<Manner>,
    reactions: AtomicUsize,
}

impl Receiver {
    pub async fn start() -> Receiver {
        Receiver::start_on(0).await
    }

    /// Starts one on a port that another one had.
    pub async fn start_on(port: u16) -> Receiver {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            arrivals: Mutex::default(),
            next: Mutex::default(),
            manner: Mutex::new(Box::new(|_| Reaction::status(204))),
            reactions: AtomicUsize::default(),
        });
        let own = state.clone();
        let task = tokio::spawn(async move {
            // Connections end with the receiver.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                // Or the sender waits for what follows an answer in two parts.
                let _ = stream.set_nodelay(true);
                let own = own.clone();
                connections.spawn(async move { own.serve(stream).await });
                while connections.try_join_next().is_some() {}
            }
        });
        Receiver { port, state, task }
    }

    /// Where it receives.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// From now on it reacts so.
    pub fn react(&self, reaction: Reaction) {
        self.react_by(move |_| reaction.clone());
    }

    /// From now on it reacts as this says.
    pub fn react_by(&self, manner: impl Fn(&Arrival) -> Reaction + Send + 'static) {
        *self.state.manner.lock().unwrap() = Box::new(manner);
    }

    /// It reacts so to the next requests, one after the other, before it goes on as it did.
    pub fn react_next(&self, reactions: impl IntoIterator<Item = Reaction>) {
        self.state.next.lock().unwrap().extend(reactions);
    }

    /// To how many requests it has done all it was told to do.
    pub fn reactions(&self) -> usize {
        self.state.reactions.load(SeqCst)
    }

    /// What arrived so far, in the order of arrival.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.state.arrivals.lock().unwrap().clone()
    }

    /// The ids of what arrived so far.
    pub fn ids(&self) -> Vec<String> {
        self.arrivals().iter().map(|arrival| arrival.id().to_owned()).collect()
    }

    /// What arrived since the last call.
    pub fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut self.state.arrivals.lock().unwrap())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    /// One request after the other on a connection, until somebody has enough.
    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some(arrival) = read(&mut stream).await? {
            let next = self.next.lock().unwrap().pop_front();
            let reaction = next.unwrap_or_else(|| (self.manner.lock().unwrap())(&arrival));
            self.arrivals.lock().unwrap().push(arrival);
            let reacted = react(stream.get_mut(), reaction).await;
            self.reactions.fetch_add(1, SeqCst);
            reacted?;
        }
        Ok(())
    }
}

/// The next request on a connection, or nothing at its end.
async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Arrival>> {
    let mut first = String::new();
    if stream.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some(Arrival { method, path, headers, body, at: Instant::now() }))
}

async fn react(stream: &mut TcpStream, reaction: Reaction) -> io::Result<()> {
    let closed = || io::Error::from(io::ErrorKind::ConnectionAborted);
    match reaction {
        Reaction::Answer(status, body) => answer(stream, status, "", &body).await,
        Reaction::Late(pause, status) => {
            sleep(pause).await;
            answer(stream, status, "", b"at last").await
        }
        Reaction::Slow(pause, body) => {
            sleep(pause).await;
            answer(stream, 200, "", &body).await
        }
        Reaction::Redirect(status, to) => answer(stream, status, &format!("location: {to}\r\n"), b"").await,
        Reaction::Hang => std::future::pending().await,
        Reaction::Close => Err(closed()),
        Reaction::BreakOff => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await?;
            Err(closed())
        }
        Reaction::Endless(status) => {
            let head = format!("HTTP/1.1 {status} Told\r\ntransfer-encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            let chunk = format!("10000\r\n{}\r\n", "e".repeat(0x10000));
            loop {
                stream.write_all(chunk.as_bytes()).await?;
            }
        }
        Reaction::Drip(pause) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").await?;
            for _ in 0..1000 {
                stream.write_all(b".").await?;
                sleep(pause).await;
            }
            Ok(())
        }
        Reaction::Nonsense => {
            stream.write_all(b"What do you want?\r\n\r\n").await?;
            Err(closed())
        }
    }
}

async fn answer(stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]) -> io::Result<()> {
    let length = match status {
        204 | 304 => String::new(),
        _ => format!("content-length: {}\r\n", body.len()),
    };
    let head = format!("HTTP/1.1 {status} Told\r\n{headers}{length}\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await
}
