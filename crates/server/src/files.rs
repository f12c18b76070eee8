//! The files in the data directory that are ours: the master key and the development key, and what says that a
//! server uses a database.
//!
//! The keys are readable by their owner only, and appear under their names complete or not at all: a
//! master key that was half written, or replaced by a second process, would make data unreadable.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use latchkey_base::kinds::InstanceId;
use latchkey_base::secret::Secret;
use latchkey_db::keep_private;
use latchkey_jose::seal::MasterKey;

use crate::failure::Failure;

const MASTER_KEY: &str = "master.key";
const DEVELOPMENT_KEY: &str = "development.key";

/// Makes the data directory when it is missing.
pub(crate) fn make_data_dir(dir: &Path) -> Result<(), Failure> {
    check_data_dir(dir)?;
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| {
        Failure::new(
            format!("The data directory {} cannot be made: {error}.", dir.display()),
            "Make it, owned by the user that runs latchkey, or set LATCHKEY_DATA_DIR to another place.",
        )
    })
}

/// Refuses a file in the place of the data directory.
pub(crate) fn check_data_dir(dir: &Path) -> Result<(), Failure> {
    match dir.is_file() {
        false => Ok(()),
        true => Err(Failure::new(
            format!("The data directory {} is a file, not a directory.", dir.display()),
            "Name the directory that the files of the server are in, with --data-dir or LATCHKEY_DATA_DIR.",
        )),
    }
}

/// Whether a database is there. One that this user may not read is not a missing one.
pub(crate) fn is_there(database: &Path) -> Result<bool, Failure> {
    match File::open(database) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Failure::new(
            format!("The database {} cannot be read: {error}.", database.display()),
            "Run this as the user of the server, such as `sudo -u latchkey latchkey …`; with the Debian package: \
             `sudo -u latchkey latchkey --config /etc/latchkey/latchkey.toml …`.",
        )),
        _ => Ok(database.exists()),
    }
}

/// The master key in the data directory, if there is one.
pub(crate) fn find_master_key(dir: &Path) -> Result<Option<MasterKey>, Failure> {
    let path = dir.join(MASTER_KEY);
    keep_private(&path);
    let text = match fs::read_to_string(&path) {
        Ok(text) => Secret::new(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Failure::new(
                format!("The master key {} cannot be read: {error}.", path.display()),
                "Make it readable for the user that runs latchkey, and for nobody else.",
            ));
        }
    };
    MasterKey::from_base64(text.expose()).map(Some).map_err(|_| {
        Failure::new(
            format!("The master key {} is not 32 bytes in base64.", path.display()),
            "Restore it from a backup: without it the secrets in the database cannot be read.",
        )
    })
}

/// Makes a master key in the data directory, unless somebody else was faster; then theirs counts.
pub(crate) fn make_master_key(dir: &Path) -> Result<MasterKey, Failure> {
    let path = dir.join(MASTER_KEY);
    let text = MasterKey::generate().to_base64();
    let made = write_beside(&path, format!("{}\n", *text).as_bytes()).and_then(|temporary| {
        // A link, unlike a rename, fails when the name is taken.
        let linked = fs::hard_link(&temporary, &path);
        fs::remove_file(&temporary)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => File::open(dir)?.sync_all(),
        }
    });
    let failed = |error: io::Error| {
        Failure::new(
            format!("The master key {} cannot be written: {error}.", path.display()),
            "Make the directory writable, or set LATCHKEY_MASTER_KEY (openssl rand -base64 32 makes one).",
        )
    };
    made.map_err(failed)?;
    find_master_key(dir)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
}

/// Keeps a development instance's first secret key, sealed, so that every start can show it.
pub(crate) fn keep_development_key(
    dir: &Path,
    instance: &InstanceId,
    key: &Secret,
    master: &MasterKey,
) -> io::Result<()> {
    let sealed = master.seal(&context(instance), key.expose().as_bytes()).map_err(io::Error::other)?;
    let path = dir.join(DEVELOPMENT_KEY);
    fs::rename(write_beside(&path, &sealed)?, &path)
}

/// The kept key of a development instance; nothing when it is another's or cannot be opened.
pub(crate) fn find_development_key(dir: &Path, instance: &InstanceId, master: &MasterKey) -> Option<Secret> {
    let path = dir.join(DEVELOPMENT_KEY);
    keep_private(&path);
    let sealed = fs::read(path).ok()?;
    let plain = master.open(&context(instance), &sealed).ok()?;
    String::from_utf8(plain).ok().map(Secret::new)
}

/// Forgets the kept key.
pub(crate) fn forget_development_key(dir: &Path) -> io::Result<()> {
    fs::remove_file(dir.join(DEVELOPMENT_KEY))
}

/// Claims a SQLite database for this server, as long as the file that is returned stays open. Two servers on one
/// would not know of each other's events, limits and addresses.
pub(crate) fn claim(database: &Path) -> Result<File, Failure> {
    let mut name = OsString::from(database);
    name.push(".lock");
    let path = PathBuf::from(name);
    let failed = |error: io::Error| {
        Failure::new(
            format!("The file {} cannot be written: {error}.", path.display()),
            "Make its directory writable for the user that runs latchkey.",
        )
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_data_dir(folder)?;
    }
    let mut options = OpenOptions::new();
    let mut file =
        options.create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => (),
        Err(TryLockError::WouldBlock) => return Err(taken(database, &path)),
        // Some file systems know no locks; there the operator has to take care.
        Err(TryLockError::Error(error)) => {
            tracing::warn!("{} cannot be locked: {error}; see that no other server uses it", path.display());
        }
    }
    file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
    Ok(file)
}

fn taken(database: &Path, lock: &Path) -> Failure {
    let holder = fs::read_to_string(lock).unwrap_or_default();
    let process = match holder.trim() {
        "" => String::new(),
        id => format!(" (process {id})"),
    };
    Failure::new(
        format!("Another server{process} uses {}.", database.display()),
        "Stop it, or give this one data of its own with --data-dir or LATCHKEY_DATA_DIR. Several servers can share \
         a PostgreSQL database.",
    )
}

fn context(instance: &InstanceId) -> String {
    format!("dev_key:{instance}")
}

/// Writes a new file next to `path`, readable by its owner only and safely on disk.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let unique = u64::from_ne_bytes(latchkey_jose::digest::random());
    let temporary = path.with_extension(format!("{unique:016x}.tmp"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(temporary)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;

    use super::*;

    #[test]
    fn a_master_key_is_made_once_and_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        assert!(find_master_key(dir.path()).unwrap().is_none());
        let first = make_master_key(dir.path()).unwrap().to_base64();
        let second = make_master_key(dir.path()).unwrap().to_base64();
        assert_eq!(first, second);
        let mode = fs::metadata(dir.path().join(MASTER_KEY)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_damaged_master_key_is_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(MASTER_KEY), "half").unwrap();
        assert!(find_master_key(dir.path()).is_err());
        assert!(make_master_key(dir.path()).is_err());
        assert_eq!(fs::read_to_string(dir.path().join(MASTER_KEY)).unwrap(), "half");
    }

    #[test]
    fn a_database_is_used_by_one_server_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/latchkey.db");
        let claimed = claim(&path).unwrap();
        let refusal = claim(&path).unwrap_err().message;
        assert!(refusal.contains(&format!("(process {})", std::process::id())), "{refusal}");
        assert!(claim(&dir.path().join("other.db")).is_ok());
        drop(claimed);
        assert!(claim(&path).is_ok());
    }

    #[test]
    fn the_development_key_opens_for_its_instance_and_master_key_only() {
        let dir = tempfile::tempdir().unwrap();
        let rng = SeededRng::new(1);
        let [own, other] = [0, 1].map(|_| InstanceId::new(Time::from_ms(0), &rng));
        let master = MasterKey::generate();
        keep_development_key(dir.path(), &own, &Secret::new("sk_test_1".to_owned()), &master).unwrap();
        let found = |instance: &InstanceId, master: &MasterKey| {
            find_development_key(dir.path(), instance, master).map(|key| key.expose().to_owned())
        };
        assert_eq!(found(&own, &master).as_deref(), Some("sk_test_1"));
        assert_eq!(found(&other, &master), None);
        assert_eq!(found(&own, &MasterKey::generate()), None);
        let file = fs::read(dir.path().join(DEVELOPMENT_KEY)).unwrap();
        assert!(!String::from_utf8_lossy(&file).contains("sk_test"));
        forget_development_key(dir.path()).unwrap();
        assert_eq!(found(&own, &master), None);
    }
}
