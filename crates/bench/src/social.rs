//! Signing in by an account at another provider: the whole way of a browser, which is three requests and two redirects. The
//! provider is the one of development instances, so that nobody else's time is in it; beside it stand as many exchanges with a
//! bare handler, and what it is ahead by is our own: the attempt, the redirects, the token, the profile, the session.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use serde_json::Value;
use tokio::task::JoinSet;

use crate::Result;
use crate::bare::Bare;
use crate::http::{Connection, Reply};
use crate::load::{Clock, Outcome};
use crate::report::{Load, number};
use crate::scenarios::Subject;
use crate::server::{Server, Settings};
use crate::visitors::{VERSION, headers, post};

/// Who signs in, in turn: one person alone would wait for themselves.
const PEOPLE: u64 = 256;
/// Where the application is.
const DONE: &str = "http://localhost:3000/done";
/// What the way of a browser takes.
const REQUESTS: usize = 3;

/// The rate of whole sign-ins.
pub(crate) async fn measure(subject: &Subject<'_>, settings: &Settings, server: &Server) -> Result<Load> {
    settings.set(server, "social.mock.enabled=true")?;
    make_people(subject).await?;
    let (connections, window) = (subject.options.connections, subject.options.window());
    let mut first = Connection::open(server.frontend).await?;
    sign_in(&mut first, server.frontend, 0).await?;
    let mut request = Vec::new();
    begin(&mut request, server.frontend);
    let bare = Bare::start(&subject.body_file, &first.exchange(&request).await?).await?;
    let (mut ours, mut base) = (Outcome::new(), Outcome::new());
    for _ in 0..subject.options.rounds {
        base.then(run(bare.address, connections, Clock::start(window), Way::Bare).await?);
        ours.then(run(server.frontend, connections, Clock::start(window), Way::Ours).await?);
        let (ours, base) = (number(ours.rate()), number(base.rate()));
        subject.say(&format!("sign-ins by a provider: {ours}/s, three bare exchanges {base}/s"));
    }
    Ok(Load {
        scenario: "sign-in by a provider, whole".to_owned(),
        engine: subject.engine,
        connections,
        against: format!("{REQUESTS} bare exchanges {}/s", number(base.rate())),
        ratio: Some(ours.rate() / base.rate()),
        goal: None,
        outcome: ours,
    })
}

/// Users whose accounts at the provider have their addresses.
async fn make_people(subject: &Subject<'_>) -> Result<()> {
    let mut connection = subject.api.connect().await?;
    for number in 0..PEOPLE {
        let body = format!(r#"{{"email_address":["{}"],"skip_password_requirement":true}}"#, email(number));
        let mut request = Vec::new();
        subject.api.send(&mut request, "POST", "/users", &body);
        subject.api.once(&mut connection, &request).await?;
    }
    Ok(())
}

fn email(number: u64) -> String {
    format!("social{number}@provider.example.com")
}

/// Whose way it is.
#[derive(Clone, Copy)]
enum Way {
    Ours,
    Bare,
}

/// Loads an address with whole ways, one after the other on each connection.
async fn run(address: SocketAddr, connections: usize, clock: Clock, way: Way) -> Result<Outcome> {
    let (mut tasks, turn) = (JoinSet::new(), Arc::new(AtomicU64::new(0)));
    for _ in 0..connections {
        let (connection, turn) = (Connection::open(address).await?, turn.clone());
        tasks.spawn(drive(connection, address, clock, way, turn));
    }
    let mut all = Outcome::new();
    while let Some(one) = tasks.join_next().await {
        all.beside(one?);
    }
    Ok(all)
}

async fn drive(
    mut connection: Connection,
    address: SocketAddr,
    clock: Clock,
    way: Way,
    turn: Arc<AtomicU64>,
) -> Outcome {
    let mut outcome = Outcome::new();
    loop {
        let began = Instant::now();
        let done = match way {
            Way::Ours => sign_in(&mut connection, address, turn.fetch_add(1, Relaxed) % PEOPLE).await,
            Way::Bare => exchange_all(&mut connection, address).await,
        };
        if let Err(error) = done {
            outcome.fail(error.to_string());
            return outcome;
        }
        if !clock.count(began, &mut outcome) {
            return outcome;
        }
    }
}

/// The same requests, without what the replies say.
async fn exchange_all(connection: &mut Connection, address: SocketAddr) -> Result<()> {
    for _ in 0..REQUESTS {
        let mut request = Vec::new();
        begin(&mut request, address);
        connection.exchange(&request).await?;
    }
    Ok(())
}

fn begin(out: &mut Vec<u8>, address: SocketAddr) {
    let back = "http%3A%2F%2Flocalhost%3A3000%2Fback";
    let done = DONE.replace(':', "%3A").replace('/', "%2F");
    let body = format!("strategy=oauth_mock&redirect_url={back}&action_complete_redirect_url={done}");
    post(out, address, "/v1/client/sign_ins", "", &body);
}

/// Leads a new browser to the provider, where it is this person, and back to the application.
async fn sign_in(connection: &mut Connection, address: SocketAddr, number: u64) -> Result<()> {
    let mut request = Vec::new();
    begin(&mut request, address);
    let reply = connection.exchange(&request).await?;
    let cookie = std::str::from_utf8(reply.cookie)?.split(';').next().unwrap_or_default().to_owned();
    let begun: Value = serde_json::from_slice(reply.body)?;
    let proof = &begun["response"]["first_factor_verification"];
    let page = proof["external_verification_redirect_url"].as_str().ok_or_else(|| reply.describe())?;
    let person = format!("{}&email_address={}", path(page)?, email(number).replace('@', "%40"));
    let callback = open(connection, address, &person, &cookie).await?;
    let end = open(connection, address, path(&callback)?, &cookie).await?;
    match end.starts_with(DONE) {
        true => Ok(()),
        false => Err(format!("a sign-in by a provider ended at {end}").into()),
    }
}

/// Opens a page that leads elsewhere. Returns where.
async fn open(connection: &mut Connection, address: SocketAddr, path: &str, cookie: &str) -> Result<String> {
    let (mut request, sign) = (Vec::new(), if path.contains('?') { '&' } else { '?' });
    let headers = headers(address, cookie);
    // Writing to a vector cannot fail.
    let _ = write!(request, "GET {path}{sign}{VERSION} HTTP/1.1\r\n{headers}\r\n");
    let reply: Reply<'_> = connection.exchange(&request).await?;
    match reply.location {
        b"" => Err(reply.describe().into()),
        location => Ok(std::str::from_utf8(location)?.to_owned()),
    }
}

/// What a URL of the server is without its origin.
fn path(url: &str) -> Result<&str> {
    let start = url.find("://").and_then(|at| Some(at + 3 + url[at + 3..].find('/')?));
    Ok(&url[start.ok_or_else(|| format!("{url} is no URL"))?..])
}
