//! Our server as a child process: started on a loopback port of its own with a clean environment, watched until
//! it is ready, stopped by its process id, and killed when the bench lets go of it.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::Result;
use crate::http::Connection;

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// Where a server keeps what it keeps; the same settings start it again on the same data.
pub(crate) struct Settings {
    pub(crate) binary: PathBuf,
    pub(crate) dir: PathBuf,
    /// As `LATCHKEY_DATABASE` has it.
    pub(crate) database: String,
}

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Where browsers reach it.
    pub(crate) frontend: SocketAddr,
    /// From just before exec to the first 200 of `/readyz`.
    pub(crate) ready_after: Duration,
}

impl Settings {
    pub(crate) async fn start(&self) -> Result<Server> {
        fs::create_dir_all(&self.dir)?;
        let (address, frontend) = (free_address()?, free_address()?);
        let log = File::options().create(true).append(true).open(self.log())?;
        let began = Instant::now();
        let child = self
            .command("serve", address, frontend)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.binary.display()))?;
        let mut server = Server { child, address, frontend, ready_after: Duration::ZERO };
        server.wait_ready(began).await.map_err(|error| format!("{error}; see {}", self.log().display()))?;
        Ok(server)
    }

    /// The secret key of the first instance. `latchkey keys create` works beside a running server.
    pub(crate) fn secret_key(&self, server: &Server) -> Result<String> {
        let mut command = self.command("keys", server.address, server.frontend);
        let output = command.args(["create", "--json"]).output()?;
        if !output.status.success() {
            return Err(format!("latchkey keys create: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let keys: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let key = keys["secret_key"].as_str().ok_or("latchkey keys create --json has no secret_key")?;
        Ok(key.to_owned())
    }

    /// Changes a setting of the first instance. `latchkey settings` works beside a running server.
    pub(crate) fn set(&self, server: &Server, change: &str) -> Result<()> {
        let mut command = self.command("settings", server.address, server.frontend);
        let output = command.args(["set", change]).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("latchkey settings: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    }

    fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    fn command(&self, subcommand: &str, address: SocketAddr, frontend: SocketAddr) -> Command {
        let mut command = Command::new(&self.binary);
        // A LATCHKEY_ variable of the caller's shell would change what is measured.
        command
            .arg(subcommand)
            .env_clear()
            .env("LATCHKEY_LISTEN", address.to_string())
            .env("LATCHKEY_FRONTEND_LISTEN", frontend.to_string())
            .env("LATCHKEY_DATA_DIR", self.dir.join("data"))
            .env("LATCHKEY_DATABASE", &self.database)
            .env("LATCHKEY_HASH_THREADS", hash_threads().to_string())
            .env("LATCHKEY_RATE_LIMITS", "off");
        command
    }
}

impl Server {
    /// Resident memory in bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        self.memory("VmRSS:")
    }

    /// Memory of its own in bytes: without pages of files it has mapped, which are the system's cache.
    pub(crate) fn own_memory(&self) -> Result<u64> {
        self.memory("RssAnon:")
    }

    fn memory(&self, which: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(which)).ok_or("no such line")?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kib * 1024)
    }

    /// Asks the server to finish and waits for it.
    pub(crate) async fn stop(mut self) -> Result<()> {
        // The standard library sends no SIGTERM, and a shell's own `kill` is there wherever a shell is.
        Command::new("sh").args(["-c", &format!("kill -TERM {}", self.child.id())]).status()?;
        let asked = Instant::now();
        while asked.elapsed() < STOP_LIMIT {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            sleep(Duration::from_millis(10)).await;
        }
        Err(format!("the server did not stop within {} s of SIGTERM", STOP_LIMIT.as_secs()).into())
    }

    async fn wait_ready(&mut self, began: Instant) -> Result<()> {
        let mut last = String::from("it does not listen");
        while began.elapsed() < START_LIMIT {
            match ready(self.address).await {
                Ok(None) => {
                    self.ready_after = began.elapsed();
                    return Ok(());
                }
                Ok(Some(answer)) => last = answer,
                Err(_) => {}
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("the server ended at start: {status}").into());
            }
            sleep(Duration::from_millis(1)).await;
        }
        Err(format!("the server was not ready within {} s: {last}", START_LIMIT.as_secs()).into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the server itself would choose; said here, because the raw hashing it is compared with needs it too.
pub(crate) fn hash_threads() -> usize {
    available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1))
}

/// A loopback address that was free a moment ago.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

pub(crate) async fn wait_for_port(address: SocketAddr) -> Result<()> {
    for _ in 0..2_000 {
        if Connection::open(address).await.is_ok() {
            return Ok(());
        }
        sleep(Duration::from_millis(1)).await;
    }
    Err(format!("nothing listens on {address}").into())
}

/// `None` when ready, otherwise what `/readyz` said.
async fn ready(address: SocketAddr) -> Result<Option<String>> {
    let mut connection = Connection::open(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let reply = connection.exchange(request.as_bytes()).await?;
    Ok(if reply.ok() { None } else { Some(reply.describe()) })
}
