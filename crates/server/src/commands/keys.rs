//! `latchkey keys`: a further secret key of an instance.

use clap::ArgMatches;
use latchkey_app::resources::instances::model::Instance;

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
            let instance = select(&storage, wanted)?;
            let made = provision::add_key(&storage.db, &instance.id, instance.environment).await?;
            show::note("a further secret key was made; earlier ones keep working");
            made
        }
    };
    Keys::new(config, &made.id, made.environment, &made.key).print(line.get_flag("json"));
    Ok(())
}

fn select<'a>(storage: &'a Storage, wanted: Option<&str>) -> Result<&'a Instance, Failure> {
    match wanted {
        None => storage.development().ok_or_else(|| {
            Failure::usage(
                "There is no development instance.",
                "Name an instance with --instance (`latchkey instances list` shows them), or create one: \
                 latchkey instances create --environment development",
            )
        }),
        Some(id) => super::instances::find(storage, id),
    }
}
