//! `latchkey keys`: a further secret key of an instance.

use std::net::TcpStream;
use std::time::Duration;

use clap::ArgMatches;

use super::instances;
use crate::config::Config;
use crate::failure::Failure;
use crate::provision::{self, Storage};
use crate::show::{self, Keys};

/// For an answer from this machine, or one nearby.
const PATIENCE: Duration = Duration::from_millis(500);

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
            doubt_address(config);
            made
        }
    };
    Keys::new(config, &made).print(line.get_flag("json"));
    Ok(())
}

/// Says so when the address this command knows is not that of the running server. Where every start takes
/// another port nobody can tell.
pub(super) fn doubt_address(config: &Config) {
    let address = config.listen;
    let is_known = config.is_direct() && address.port() != 0;
    if is_known && TcpStream::connect_timeout(&address, PATIENCE).is_err() {
        show::note(&format!(
            "no server answers at {} now; one that was started with other settings than this command told \
             its own api url at its start",
            config.api_url(address)
        ));
    }
}
