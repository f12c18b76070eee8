//! Removes what a test process leaves behind when it ends, however it ends. Tests share databases, and nothing of ours
//! runs after the last of them, nor when the process is killed; so a shell waits until our end of a pipe is closed.

use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Mutex;

/// Removes a folder with all that is in it.
pub(crate) fn remove_folder_at_the_end(folder: &Path) {
    at_the_end(r#"rm -rf "$1""#, &[folder.to_str().unwrap()], &[]);
}

/// Drops the databases whose names begin so. Debian keeps `psql` of the server's packages out of the path; where there
/// is none, the databases stay.
pub(crate) fn drop_databases_at_the_end(cluster: &str, prefix: &str) {
    let sql = format!(
        "SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database WHERE starts_with(datname, '{prefix}') \\gexec"
    );
    let script = r#"for bin in /usr/lib/postgresql/*/bin; do PATH=$PATH:$bin; done
        printf '%s\n' "$1" | psql --no-psqlrc --quiet "$CLUSTER""#;
    at_the_end(script, &[&sql], &[("CLUSTER", cluster)]);
}

/// Runs a script of the shell when this process is gone. What is secret travels in variables: everybody on the machine
/// sees arguments.
fn at_the_end(script: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    static OPEN: Mutex<Vec<ChildStdin>> = Mutex::new(Vec::new());
    let shell = Command::new("sh")
        // What ends all processes of a session must not end this one.
        .args(["-c", &format!("trap '' HUP INT TERM\ncat\n{script}"), "sh"])
        .args(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        // Whoever reads our output would wait for it.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    OPEN.lock().unwrap().extend(shell.ok().and_then(|mut shell| shell.stdin.take()));
}
