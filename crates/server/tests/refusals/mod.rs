//! What the program refuses, and what it says to do then.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::free_port;
use crate::support::{Home, text};

/// Somebody who owns nothing.
const NOBODY: u32 = 65534;

#[test]
fn commands_make_no_database_where_there_is_none() {
    let home = Home::new();
    let elsewhere = format!("sqlite:{}", home.path("elsewhere/latchkey.db").display());
    for command in [
        &["settings", "get"][..],
        &["signing-keys", "list"],
        &["webhooks", "list"],
        &["instances", "list"],
        &["keys", "list"],
        &["keys", "create"],
    ] {
        let refused = home.run(&[command, &["--database", &elsewhere]].concat());
        assert_eq!(refused.status.code(), Some(1), "{command:?}");
        assert!(text(&refused.stderr).contains("There is no database at"), "{}", text(&refused.stderr));
    }
    assert!(!home.path("elsewhere").exists());
}

#[test]
fn a_data_directory_of_another_user_is_not_taken_for_a_missing_one() {
    let home = Home::new();
    if !home.has_file() {
        return;
    }
    assert!(home.run(&["instances", "create", "--environment", "development"]).status.success());
    let open = |name: &str, mode: u32| {
        std::fs::set_permissions(home.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    open(".", 0o755);
    open("data", 0);
    for line in [&["keys", "list"][..], &["env", "next"], &["migrate"], &["settings", "get"]] {
        let mut command = home.command(line);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line:?}: {said}");
        let why = "The database ./data/latchkey.db cannot be read: Permission denied";
        assert!(said.contains(why) && said.contains("sudo -u latchkey latchkey "), "{said}");
    }
    std::fs::write(home.path("latchkey.toml"), "").unwrap();
    open("latchkey.toml", 0);
    let mut command = home.command(&["keys", "list"]);
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let said = text(&command.output().unwrap().stderr);
    assert!(said.contains("the file ./latchkey.toml") && said.contains("sudo -u latchkey"), "{said}");
    open("data", 0o700);
}

#[test]
fn a_file_in_the_place_of_the_data_directory_is_named() {
    let home = Home::new();
    std::fs::write(home.path("file"), "").unwrap();
    for line in [&["serve"][..], &["keys", "list"], &["instances", "list"], &["migrate"]] {
        let output = home.run(&[line, &["--data-dir", "file"]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("The data directory file is a file, not a directory."), "{line:?}: {said}");
    }
}

#[test]
fn all_problems_of_the_configuration_are_reported_at_once() {
    let home = Home::new();
    std::fs::write(home.path("latchkey.toml"), "lisen = '127.0.0.1:1'\n").unwrap();
    let output = home
        .command(&["serve", "--log-level", "loud"])
        .env("LATCHKEY_MASTER_KEY", "hunter2")
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for expected in [
        "There are 3 problems",
        "Did you mean `listen`?",
        "log_level, from the flag --log-level",
        "master_key, from the environment variable LATCHKEY_MASTER_KEY",
    ] {
        assert!(said.contains(expected), "{expected} is missing in\n{said}");
    }
    assert!(!said.contains("hunter2") && !home.path("data").exists());
    let missing = home.run(&["serve", "--config", "none.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("none.toml"));
}

#[test]
fn a_database_that_cannot_be_reached_is_told_once_and_with_what_to_do() {
    let home = Home::new();
    for command in [&["serve"][..], &["keys", "list"]] {
        let url = format!("postgres://me:hunter2@127.0.0.1:{}/db?connect_timeout=5", free_port());
        let output = home.command(command).env("LATCHKEY_DATABASE", &url).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let place = url.replace(":hunter2", "");
        let place = place.split('?').next().unwrap();
        let expected = format!(
            "latchkey: PostgreSQL cannot be reached at {place}: Connection refused (os error 111).\n\
             Start it, or correct host and port in LATCHKEY_DATABASE, or in `database` of latchkey.toml.\n"
        );
        assert_eq!(said, expected);
    }
}

/// A PostgreSQL server that refuses everybody with this code and these words; its address.
fn refusing(code: &str, words: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let fields = format!("SFATAL\0VFATAL\0C{code}\0M{words}\0\0");
    let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
    let answer = [&b"E"[..], &length, fields.as_bytes()].concat();
    // It ends with the test.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(&answer);
        }
    });
    address
}

#[test]
fn a_postgresql_server_that_refuses_is_not_called_out_of_reach() {
    let home = Home::new();
    let said = |url: &str| {
        let output = home.command(&["serve"]).env("LATCHKEY_DATABASE", url).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    let words = "password authentication failed for user \"lk\"";
    let place = refusing("28P01", words);
    assert_eq!(
        said(&format!("postgres://lk:hunter2@{place}/lk")),
        format!(
            "latchkey: PostgreSQL cannot be used at postgres://lk@{place}/lk: FATAL: {words}.\nIt was reached, and \
             refuses. Check the user with its password and rights, the name of the database, and how they are written in \
             LATCHKEY_DATABASE, or in `database` of latchkey.toml.\n"
        )
    );
    let special = said(&format!("postgres://lk:hunt/er#2@{place}/lk"));
    assert!(special.contains("write @ / # : ? as %40 %2F %23 %3A %3F"), "{special}");
    assert!(!special.contains("hunt") && !special.contains("er#2"), "{special}");
    let starting = refusing("57P03", "the database system is starting up");
    let starting = said(&format!("postgres://lk:hunter2@{starting}/lk"));
    assert!(
        starting.contains("starting up.\nTry again in a moment.") && !starting.contains("password"),
        "{starting}"
    );
}

#[test]
fn a_password_with_an_at_sign_is_never_shown_in_part() {
    let home = Home::new();
    let url = format!("postgres://lk:p@127.0.0.1:{}/w#rd@host/lk", free_port());
    let output = home.command(&["keys", "list"]).env("LATCHKEY_DATABASE", &url).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("postgres://lk@host/lk: Connection refused"), "{said}");
    assert!(said.contains("%40 %2F %23 %3A %3F") && !said.contains("w#rd"), "{said}");
}

#[test]
fn a_missing_database_or_role_is_told_as_postgresql_says_it() {
    let home = Home::new();
    let own = home.command(&[]);
    let variable = own.get_envs().find(|(name, _)| *name == "LATCHKEY_DATABASE");
    let Some(url) = variable.and_then(|(_, url)| url?.to_str()) else { return };
    let (base, _) = url.rsplit_once('/').unwrap();
    let url = format!("{base}/nothing_here");
    let output = home.command(&["keys", "list"]).env("LATCHKEY_DATABASE", url).output().unwrap();
    let said = text(&output.stderr);
    assert!(
        said.contains("database \"nothing_here\" does not exist.\nIt was reached, and refuses."),
        "{said}"
    );
}

#[test]
fn a_taken_address_is_named_and_leaves_no_trace() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--frontend-listen"] {
        let output = home.run(&["serve", flag, &address]);
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.contains(&address) && said.contains(&format!("{flag} ")), "{said}");
        assert!(!home.path("data").exists());
    }
}

#[test]
fn all_taken_addresses_are_told_at_once_with_lines_that_work() {
    let home = Home::new();
    let taken = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let [first, second] = taken.each_ref().map(|listener| listener.local_addr().unwrap().to_string());
    let output = home.run(&["serve", "--listen", &first, "--frontend-listen", &second]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for address in [&first, &second] {
        assert!(said.contains(&format!("Nothing can listen on {address}: ")), "{said}");
    }
    let line = said.lines().find(|line| line.ends_with(" make run")).unwrap();
    let settings: Vec<(&str, &str)> =
        line.split_whitespace().filter_map(|word| word.split_once('=')).collect();
    assert_eq!(
        settings.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["LATCHKEY_LISTEN", "LATCHKEY_FRONTEND_LISTEN"]
    );
    assert!(settings.iter().all(|(_, address)| TcpListener::bind(address).is_ok()), "{said}");
    let flags = format!("  latchkey serve --listen {} --frontend-listen {}\n", settings[0].1, settings[1].1);
    assert!(said.contains(&flags), "{said}");
}

#[test]
fn an_address_of_another_machine_is_no_reason_to_stop_what_listens_there() {
    let home = Home::new();
    // An address for documentation: nobody has it.
    let output = home.run(&["serve", "--listen", "203.0.113.7:3400"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("This machine does not have the address 203.0.113.7."), "{said}");
    assert!(!said.contains("Stop what listens") && !Path::new(&home.path("data")).exists(), "{said}");
}

#[test]
fn another_master_key_is_refused_and_a_lost_one_is_not_replaced() {
    let home = Home::new();
    home.serve().stop();
    let other = format!("{}=", "A".repeat(43));
    let output = home.command(&["serve"]).env("LATCHKEY_MASTER_KEY", &other).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("another master key") && !text(&output.stderr).contains("AAAA"));
    std::fs::remove_file(home.path("data/master.key")).unwrap();
    let output = home.run(&["serve"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("its master key is missing") && said.contains("./data has no master.key"),
        "{said}"
    );
    assert!(!said.contains("another master key"), "{said}");
    assert!(!home.path("data/master.key").exists());
}
