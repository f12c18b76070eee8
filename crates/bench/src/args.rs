//! The command line of the bench. Few enough options that reading them by hand is shorter than a dependency.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::Result;
use crate::labour::Work;
use crate::load::Window;

pub(crate) const HELP: &str = "\
latchkey-bench: loads a Latchkey server and its baselines alike and prints what they did.

Usage: latchkey-bench --server PATH [options]

  --server PATH        the latchkey program to measure (required)
  --postgres URL       also measure on PostgreSQL; databases are made and dropped there
  --users N            users seeded before measuring (1000000)
  --connections N      connections of the load (64)
  --seconds N          measured seconds per scenario and side, over all rounds (5)
  --rounds N           turns that subject and baseline take in a scenario (2)
  --seed-limit N       seconds after which seeding stops where it is (1200)
  --only sqlite|postgres
                       measure one engine
  --creates            measure creates only
  --searches           measure searches only, as all do: among 10000, 100000 and all users
  --sessions           measure clients, tokens and sign-ins only
  --events             measure the delivery of events and what they add to a write only
  --organizations      measure organizations only: members, lists and tokens as they grow
  --quick              20000 users and 2 seconds; a look, not a result
  --dir PATH           where servers keep their data; a real disk, not tmpfs (.test/bench)
";

pub(crate) enum Command {
    Help,
    /// Hidden: the bare handler as a process of its own.
    Bare {
        listen: SocketAddr,
        body_file: PathBuf,
        signs: bool,
    },
    /// Hidden: raw work as a process of its own.
    Labour {
        work: Work,
        threads: usize,
        window: Window,
    },
    /// Hidden: the receiver of events as a process of its own.
    Receive {
        listen: SocketAddr,
    },
    /// Hidden: the bare loop that posts as a process of its own.
    Post {
        to: SocketAddr,
        body_file: PathBuf,
        window: Window,
    },
    Run(Options),
}

/// Which scenarios are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    All,
    Creates,
    Searches,
    Sessions,
    Events,
    Organizations,
}

/// Sizes at which searches are measured on the way to all users: what is slow in a small table may hide in a
/// large one.
const SIZES: [u64; 2] = [10_000, 100_000];

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) server: PathBuf,
    pub(crate) postgres: Option<String>,
    pub(crate) sqlite: bool,
    pub(crate) part: Part,
    pub(crate) users: u64,
    pub(crate) connections: usize,
    pub(crate) seconds: f64,
    pub(crate) rounds: u32,
    pub(crate) seed_limit: Duration,
    pub(crate) dir: PathBuf,
}

impl Options {
    /// Whether the scenarios of `part` are wanted.
    pub(crate) fn measures(&self, part: Part) -> bool {
        self.part == Part::All || self.part == part
    }

    /// How many users there are each time searches are measured. Only sizes well below all of them tell anything.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        let smaller =
            SIZES.into_iter().filter(|size| self.measures(Part::Searches) && size * 3 <= self.users);
        smaller.chain([self.users]).collect()
    }

    /// One round's window.
    pub(crate) fn window(&self) -> Window {
        Window {
            warm_up: Duration::from_secs_f64((self.seconds / 5.0).min(1.0)),
            measured: Duration::from_secs_f64(self.seconds / f64::from(self.rounds)),
        }
    }
}

/// Reads the arguments after the program's name.
pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command> {
    let mut args = args.peekable();
    if args.next_if_eq("bare").is_some() {
        return parse_bare(args);
    }
    if args.next_if_eq("labour").is_some() {
        return parse_labour(args);
    }
    if args.next_if_eq("receive").is_some() {
        return parse_receive(args);
    }
    if args.next_if_eq("post").is_some() {
        return parse_post(args);
    }
    let mut options = Options {
        server: PathBuf::new(),
        postgres: None,
        sqlite: true,
        part: Part::All,
        users: 1_000_000,
        connections: 64,
        seconds: 5.0,
        rounds: 2,
        seed_limit: Duration::from_secs(1_200),
        dir: PathBuf::from(".test/bench"),
    };
    let mut only = None;
    while let Some(name) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--server" => options.server = value()?.into(),
            "--postgres" => options.postgres = Some(value()?),
            "--users" => options.users = value()?.parse()?,
            "--connections" => options.connections = value()?.parse()?,
            "--seconds" => options.seconds = value()?.parse()?,
            "--rounds" => options.rounds = value()?.parse()?,
            "--seed-limit" => options.seed_limit = Duration::from_secs(value()?.parse()?),
            "--only" => only = Some(value()?),
            "--dir" => options.dir = value()?.into(),
            "--creates" => options.part = Part::Creates,
            "--searches" => options.part = Part::Searches,
            "--sessions" => options.part = Part::Sessions,
            "--events" => options.part = Part::Events,
            "--organizations" => options.part = Part::Organizations,
            "--quick" => (options.users, options.seconds) = (20_000, 2.0),
            _ => return Err(format!("unknown option {name}; see --help").into()),
        }
    }
    match only.as_deref() {
        None => {}
        Some("sqlite") => options.postgres = None,
        Some("postgres") if options.postgres.is_some() => options.sqlite = false,
        Some("postgres") => return Err("--only postgres needs --postgres URL".into()),
        Some(other) => return Err(format!("--only {other}: sqlite or postgres").into()),
    }
    check(options)
}

fn check(options: Options) -> Result<Command> {
    if options.server.as_os_str().is_empty() {
        return Err("--server PATH is required; see --help".into());
    }
    // Numbers above seven digits would make user numbers of different widths; see `people`.
    if !(100..=5_000_000).contains(&options.users) {
        return Err("--users: 100 to 5000000".into());
    }
    if !(1..=1_024).contains(&options.connections) || !(1..=20).contains(&options.rounds) {
        return Err("--connections: 1 to 1024; --rounds: 1 to 20".into());
    }
    if !(0.1..=120.0).contains(&options.seconds) {
        return Err("--seconds: 0.1 to 120".into());
    }
    Ok(Command::Run(options))
}

fn parse_bare(mut args: impl Iterator<Item = String>) -> Result<Command> {
    let (mut listen, mut body_file, mut signs) = (None, None, false);
    while let Some(name) = args.next() {
        if name == "--signs" {
            signs = true;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--listen" => listen = Some(value.parse()?),
            "--body-file" => body_file = Some(value.into()),
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    let (listen, body_file) = listen.zip(body_file).ok_or("bare needs --listen and --body-file")?;
    Ok(Command::Bare { listen, body_file, signs })
}

/// As `labour` itself starts it: what, on how many threads, warm-up and window in milliseconds.
fn parse_labour(mut args: impl Iterator<Item = String>) -> Result<Command> {
    let mut value = || args.next().ok_or("labour needs WORK THREADS WARM_UP_MS MEASURED_MS");
    let work = Work::parse(&value()?).ok_or("no such work")?;
    let threads = value()?.parse()?;
    let warm_up = Duration::from_millis(value()?.parse()?);
    let measured = Duration::from_millis(value()?.parse()?);
    Ok(Command::Labour { work, threads, window: Window { warm_up, measured } })
}

fn parse_receive(mut args: impl Iterator<Item = String>) -> Result<Command> {
    match (args.next().as_deref(), args.next()) {
        (Some("--listen"), Some(address)) => Ok(Command::Receive { listen: address.parse()? }),
        _ => Err("receive needs --listen".into()),
    }
}

/// As `poster` itself starts it.
fn parse_post(mut args: impl Iterator<Item = String>) -> Result<Command> {
    let mut value = || args.next().ok_or("post needs ADDRESS BODY_FILE WARM_UP_MS MEASURED_MS");
    let (to, body_file) = (value()?.parse()?, value()?.into());
    let warm_up = Duration::from_millis(value()?.parse()?);
    let measured = Duration::from_millis(value()?.parse()?);
    Ok(Command::Post { to, body_file, window: Window { warm_up, measured } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Options> {
        match parse(line.split_whitespace().map(str::to_owned))? {
            Command::Run(options) => Ok(options),
            _ => Err("not a run".into()),
        }
    }

    #[test]
    fn later_options_win_and_quick_is_small() {
        let options = run("--server x --quick --users 500").unwrap();
        assert_eq!((options.users, options.seconds), (500, 2.0));
        assert_eq!(options.window().measured, Duration::from_secs(1));
    }

    #[test]
    fn a_part_leaves_out_the_others() {
        let options = run("--server x --sessions").unwrap();
        assert!(options.measures(Part::Sessions) && !options.measures(Part::Creates));
        let all = run("--server x").unwrap();
        assert!(all.measures(Part::Sessions) && all.measures(Part::Creates));
    }

    #[test]
    fn searches_are_measured_at_every_size_on_the_way() {
        let sizes = |line| run(line).unwrap().sizes();
        assert_eq!(sizes("--server x"), [10_000, 100_000, 1_000_000]);
        assert_eq!(sizes("--server x --searches --users 100000"), [10_000, 100_000]);
        assert_eq!(sizes("--server x --quick"), [20_000]);
        assert_eq!(sizes("--server x --creates"), [1_000_000]);
    }

    #[test]
    fn mistakes_are_said() {
        for line in [
            "",
            "--server",
            "--server x --nope",
            "--server x --users 1",
            "--server x --only postgres",
            "labour sign",
        ] {
            assert!(run(line).is_err(), "{line:?}");
        }
    }
}
