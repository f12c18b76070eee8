//! The bare loop that delivery is compared with: the client of the server itself, as many requests at once, the
//! same body again and again, and nothing noted of what came of it. A process of its own (`latchkey-bench
//! post`), as the server is.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use latchkey_outbound::client::{Client, Options, Request};
use latchkey_outbound::reach::Reach;
use tokio::task::JoinSet;

use crate::Result;
use crate::labour::Labour;
use crate::load::{Clock, Outcome, Window};

/// What the server has on its way to one endpoint.
pub(crate) const AT_ONCE: usize = 16;
const TIMEOUT: Duration = Duration::from_secs(15);
/// Of the answer's body.
const KEEP: usize = 1_024;

/// Posts in another process for one window.
pub(crate) async fn run(to: SocketAddr, body_file: &Path, window: Window) -> Result<Labour> {
    let millis = |duration: Duration| duration.as_millis().to_string();
    let file = body_file.to_str().ok_or("the path of the body is not UTF-8")?.to_owned();
    let args = vec!["post".to_owned(), to.to_string(), file, millis(window.warm_up), millis(window.measured)];
    Labour::ask(args).await
}

/// The process itself: posts for one window and prints how often and for how many seconds.
pub(crate) async fn work(to: SocketAddr, body_file: &Path, window: Window) -> Result<()> {
    let (client, url) = (Client::new(Options::default())?, format!("http://{to}/bare"));
    let body = Bytes::from(std::fs::read(body_file)?);
    let clock = Clock::start(window);
    let mut tasks = JoinSet::new();
    for _ in 0..AT_ONCE {
        tasks.spawn(repeat(client.clone(), url.clone(), body.clone(), clock));
    }
    let mut all = Outcome::new();
    while let Some(one) = tasks.join_next().await {
        all.beside(one?);
    }
    match all.first_failure {
        None => println!("{} {}", all.completed, all.window.as_secs_f64()),
        Some(failure) => return Err(failure.into()),
    }
    Ok(())
}

async fn repeat(client: Client, url: String, body: Bytes, clock: Clock) -> Outcome {
    let mut outcome = Outcome::new();
    loop {
        let began = Instant::now();
        match client.post(request(&url, body.clone())).await {
            Ok(answer) if answer.status == 200 => {}
            Ok(answer) => outcome.fail(format!("status {}", answer.status)),
            Err(failure) => outcome.fail(failure.to_string()),
        }
        if !clock.count(began, &mut outcome) {
            return outcome;
        }
    }
}

/// With headers of the number and size that events have.
fn request(url: &str, body: Bytes) -> Request<'_> {
    let headers = [
        ("content-type", "application/json"),
        ("user-agent", "latchkey-bench"),
        ("svix-id", "evt_2q9XkT4mVn7RzB1cYd8WsE5uGhJ"),
        ("svix-timestamp", "1760000000"),
        ("svix-signature", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
    ];
    Request {
        url,
        headers: headers.map(|(name, value)| (name, value.to_owned())).to_vec(),
        body,
        reach: Reach::Any,
        timeout: TIMEOUT,
        keep: KEEP,
    }
}
