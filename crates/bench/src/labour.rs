//! Raw work: how often per second the libraries under the server sign and check passwords when nothing else is
//! asked of them. It runs as a process of its own (`latchkey-bench labour`), as the server does, on all the
//! threads given; while it runs nothing loads the server, so the processors are its own.

use std::hint::black_box;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use latchkey_jose::rsa::SigningKey;
use latchkey_passwords::{Digest, Hasher, hash};

use crate::Result;
use crate::load::{Clock, Outcome, Window};

/// About as long as what is signed of a session token.
const MESSAGE_BYTES: usize = 600;
const PASSWORD: &str = "as good as any other";

#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// RSA-2048 signatures.
    Sign,
    /// Checks of a password against its argon2id digest.
    Verify,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::Sign => "sign",
            Work::Verify => "verify",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Work> {
        [Work::Sign, Work::Verify].into_iter().find(|work| work.name() == name)
    }
}

/// What one or several windows of work came to.
#[derive(Default)]
pub(crate) struct Labour {
    done: u64,
    elapsed: Duration,
}

impl Labour {
    /// Works in another process for one window.
    pub(crate) async fn run(work: Work, threads: usize, window: Window) -> Result<Labour> {
        let millis = |duration: Duration| duration.as_millis().to_string();
        let args = vec![
            "labour".to_owned(),
            work.name().to_owned(),
            threads.to_string(),
            millis(window.warm_up),
            millis(window.measured),
        ];
        Labour::ask(args).await
    }

    /// Starts this program again with other arguments, and reads what it prints: how often and in how many
    /// seconds.
    pub(crate) async fn ask(args: Vec<String>) -> Result<Labour> {
        let program = std::env::current_exe()?;
        let run = move || Command::new(program).args(args).output();
        let output = tokio::task::spawn_blocking(run).await??;
        let said = String::from_utf8_lossy(&output.stdout);
        let numbers = said.trim().split_once(' ').filter(|_| output.status.success());
        let (done, seconds) =
            numbers.ok_or_else(|| format!("raw work: {}", String::from_utf8_lossy(&output.stderr)))?;
        Ok(Labour { done: done.parse()?, elapsed: Duration::from_secs_f64(seconds.parse()?) })
    }

    /// Adds a later window.
    pub(crate) fn then(&mut self, other: Labour) {
        self.done += other.done;
        self.elapsed += other.elapsed;
    }

    pub(crate) fn rate(&self) -> f64 {
        self.done as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// The process itself: works for one window and prints how often and for how many seconds.
pub(crate) fn work(work: Work, threads: usize, window: Window) -> Result<()> {
    let key = SigningKey::generate()?;
    let digest = Digest::parse(Hasher::Argon2id, &hash(PASSWORD, [7; 16]))?;
    let message = [b'x'; MESSAGE_BYTES];
    let once = || match work {
        Work::Sign => key.sign_rs256(black_box(&message)).is_ok(),
        Work::Verify => digest.verify(black_box(PASSWORD)),
    };
    let clock = Clock::start(window);
    let all = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(|| repeat(clock, once))).collect();
        running.into_iter().try_fold(Outcome::new(), |mut all, one| {
            all.beside(one.join().map_err(|_| "a thread panicked")?);
            Result::Ok(all)
        })
    })?;
    match all.failures {
        0 => println!("{} {}", all.completed, all.window.as_secs_f64()),
        _ => return Err("the work failed".into()),
    }
    Ok(())
}

fn repeat(clock: Clock, once: impl Fn() -> bool) -> Outcome {
    let mut outcome = Outcome::new();
    loop {
        let began = Instant::now();
        if !once() {
            outcome.fail("it does not work".to_owned());
        }
        if !clock.count(began, &mut outcome) {
            return outcome;
        }
    }
}
