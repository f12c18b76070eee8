//! `latchkey migrate`: brings the schema up to date.

use latchkey_kernel::migrations;
use latchkey_people::users;

use crate::config::Config;
use crate::failure::Failure;
use crate::provision::{self, Storage};
use crate::show;

/// Applies what is missing and says what that was, and which users hold one mailbox under two spellings.
pub(crate) async fn run(config: &Config) -> Result<(), Failure> {
    let new = provision::missing_database(config)?;
    let storage = Storage::open(config).await?;
    match storage.applied.as_slice() {
        [] => show::result(&format!("The schema is up to date; it has {} steps.", migrations::ALL.len())),
        applied => applied.iter().for_each(|name| show::result(&format!("applied {name}"))),
    }
    if let Some(path) = new {
        show::result(&format!("There was no database at {}: a new one was made.", path.display()));
    }
    for collision in users::domains::collisions(&storage.db).await? {
        show::result(&format!("{}: {collision}", collision.address));
    }
    Ok(())
}
