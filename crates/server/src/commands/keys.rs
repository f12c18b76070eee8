//! `latchkey keys`: a further secret key of an instance.

use clap::ArgMatches;

use super::instances;
use crate::config::Config;
use crate::failure::Failure;
use crate::provision::{self, Storage};
use crate::show::{self, Keys};

/// Makes and prints a key. On a database without instances it makes the first one, so that keys can be
/// had before the server's first start.
pub(crate) async fn run(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let mut storage = Storage::open(config).await?;
    let wanted = line.get_one::<String>("instance").map(String::as_str);
    let first = match wanted {
        None => storage.make_first(config).await?,
        Some(_) => None,
    };
    let made = match first {
        Some(made) => {
            show::note("a development instance and its first secret key were made");
            made
        }
        None => {
            let instance = instances::select(&storage, wanted)?;
            let made = provision::add_key(&storage.db, instance).await?;
            show::note("a further secret key was made; earlier ones keep working");
            made
        }
    };
    Keys::new(config, &made).print(line.get_flag("json"));
    Ok(())
}
