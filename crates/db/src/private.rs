//! Files that only their owner may read: whoever can read a database reads everything in it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What SQLite keeps beside a database, by the ends of the names. It makes them with the mode of the database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// What everybody but the owner may do with a file.
const OTHERS: u32 = 0o077;

/// Makes an empty file for a new database, in a folder for its owner only where that is missing too; takes the files
/// of an existing one away from others.
pub(crate) fn prepare_database(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // An existing file is not opened: closing it again would end the locks that this process has on it.
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => keep_private(path),
    }
    BESIDE.iter().for_each(|end| keep_private(&with_end(path, end)));
    Ok(())
}

/// Which file of the machine this is, whatever its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// Which file has this name now.
pub(crate) fn identity(path: &Path) -> io::Result<FileIdentity> {
    let metadata = fs::metadata(path)?;
    Ok(FileIdentity { device: metadata.dev(), inode: metadata.ino() })
}

/// Takes a file away from everybody but its owner. Where that is not allowed, the log says so.
pub fn keep_private(path: &Path) {
    let Ok(metadata) = fs::metadata(path) else { return };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS == 0 {
        return;
    }
    let shown = path.display();
    match fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS)) {
        Ok(()) => tracing::info!("{shown} was open to other users (mode {mode:o}) and is not any more"),
        Err(error) => tracing::warn!(%error, "{shown} is open to other users; run: chmod go= {shown}"),
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}
