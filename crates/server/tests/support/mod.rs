//! Starts the program on a directory of its own, talks to it and stops it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

mod database;

use database::Database;

/// Far longer than anything here takes; only a hanging server reaches it.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at what cannot be waited for otherwise.
const PAUSE: Duration = Duration::from_millis(50);

/// A directory for one server: its working directory, with its data in `data`; and a database of its own
/// where the tests run on PostgreSQL.
pub(crate) struct Home {
    dir: TempDir,
    database: Option<Database>,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home { dir: tempfile::tempdir().unwrap(), database: Database::make() }
    }

    /// Whether the data is in a file here, and not in PostgreSQL.
    pub(crate) fn has_file(&self) -> bool {
        self.database.is_none()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program with nothing of the caller's environment but what is set here.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latchkey"));
        command
            .args(arguments)
            .env_clear()
            .env("LATCHKEY_LISTEN", "127.0.0.1:0")
            .env("LATCHKEY_FRONTEND_LISTEN", "127.0.0.1:0")
            .current_dir(self.dir.path());
        if let Some(database) = &self.database {
            command.env("LATCHKEY_DATABASE", &database.url).env("LATCHKEY_DATABASE_CONNECTIONS", "4");
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The JSON a command prints, and what it remarks.
    pub(crate) fn json(&self, arguments: &[&str]) -> (Value, String) {
        let output = self.run(arguments);
        let remarks = text(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {remarks}");
        (serde_json::from_slice(&output.stdout).unwrap(), remarks)
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// A server with these flags.
    pub(crate) fn serve_with(&self, flags: &[&str]) -> Server {
        self.started(self.command(&[&["serve"], flags].concat()))
    }

    /// A server that a shell starts after these commands, which set limits and signals for it.
    pub(crate) fn serve_after(&self, commands: &str) -> Server {
        let program = self.command(&["serve"]);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{commands}; exec \"$0\" serve")]).arg(program.get_program());
        command.env_clear().current_dir(self.dir.path());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.started(command)
    }

    fn started(&self, mut command: Command) -> Server {
        let log = self.path("server.log");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let rows = announcement(&mut out, &log);
        let place = |label: &str| rows[label].split_once("://").unwrap().1.to_owned();
        let address = place("api url").parse().unwrap();
        // Production instances have hosts of their own, and no port.
        let port = place("frontend url").rsplit_once(':').map_or(0, |(_, port)| port.parse().unwrap());
        let frontend = SocketAddr::from(([127, 0, 0, 1], port));
        Server { child, rows, address, frontend, log, _out: out }
    }
}

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Child,
    rows: HashMap<String, String>,
    pub(crate) address: SocketAddr,
    pub(crate) frontend: SocketAddr,
    log: PathBuf,
    /// Held, because the server may not lose the reader of its output.
    _out: BufReader<std::process::ChildStdout>,
}

impl Server {
    /// What was announced under a label.
    pub(crate) fn announced(&self, label: &str) -> &str {
        self.rows.get(label).map_or("", String::as_str)
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// The status of a GET with this key.
    pub(crate) fn status(&self, path: &str, key: &str) -> u16 {
        status(&self.get(path, key))
    }

    /// The answer to a GET with this key.
    pub(crate) fn get(&self, path: &str, key: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n");
        ask(self.address, &head)
    }

    /// The answer to a POST of JSON with this key.
    pub(crate) fn post(&self, path: &str, key: &str, body: &Value) -> String {
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Content-Length: {}",
            body.len()
        );
        let mut stream = connect(self.address);
        stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n{body}").as_bytes()).unwrap();
        rest(&mut stream)
    }

    /// The answer of the Frontend API to a GET.
    pub(crate) fn get_frontend(&self, path: &str, host: &str) -> String {
        ask(self.frontend, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n"))
    }

    /// Asks the server to end.
    pub(crate) fn terminate(&self) {
        // The standard library sends no SIGTERM.
        let sent = Command::new("sh").args(["-c", &format!("kill -TERM {}", self.child.id())]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub(crate) fn stop(self) {
        self.terminate();
        assert_eq!(self.wait().code(), Some(0));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn ask(address: SocketAddr, head: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).unwrap();
    rest(&mut stream)
}

/// The rest of what comes over a connection.
pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    text(&bytes)
}

/// The status of an answer.
pub(crate) fn status(answer: &str) -> u16 {
    answer
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3))
        .and_then(|code| code.parse().ok())
        .unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until something is so.
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if is_so() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("it did not become so");
}

/// The permissions of a file or directory.
pub(crate) fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Reads the block that `serve` prints: a title, and indented lines of label and value.
fn announcement(out: &mut impl BufRead, log: &Path) -> HashMap<String, String> {
    let mut rows = HashMap::new();
    let mut line = String::new();
    while out.read_line(&mut line).unwrap() > 0 {
        match line.trim_end().strip_prefix("  ").and_then(|row| row.split_once("  ")) {
            Some((label, value)) => {
                rows.insert(label.to_owned(), value.trim().to_owned());
            }
            None if !rows.is_empty() => return rows,
            None => {}
        }
        line.clear();
    }
    panic!(
        "the server ended before it announced itself: {}",
        std::fs::read_to_string(log).unwrap_or_default()
    );
}
