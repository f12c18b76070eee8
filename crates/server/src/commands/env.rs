//! `latchkey env`: the environment of an app, for its framework.

use clap::ArgMatches;
use serde_json::{Map, Value};

use super::instances;
use super::serve::kept_key;
use crate::config::Config;
use crate::failure::Failure;
use crate::frameworks::{self, FRAMEWORKS, Framework};
use crate::provision::{self, Storage};
use crate::reach::{Listener, Reach};
use crate::show;

/// Prints the block of a framework, or the list of them.
pub(crate) async fn run(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let Some(framework) = line.get_one::<String>("framework").and_then(|name| find(name)) else {
        show::result(&frameworks::list());
        show::note(
            "`latchkey env NAME` prints what goes into the environment of an app, such as `latchkey env next`",
        );
        return Ok(());
    };
    if line.get_flag("new-key") && framework.secret_key.is_none() {
        return Err(Failure::usage(
            format!("{} has everything in pages, where no secret key may be.", framework.title),
            "Leave out --new-key. `latchkey keys create` makes a key for a backend.",
        ));
    }
    let storage = Storage::existing(config).await?;
    let instance = instances::select(&storage, line.get_one::<String>("instance").map(String::as_str))?;
    if let Some(host) = storage.would_move(config, instance).await? {
        return Err(contradiction(&instance.frontend_api, &host));
    }
    let secret_key = match line.get_flag("new-key") {
        true => {
            let made = provision::add_key(&storage.db, instance).await?;
            show::note("a further secret key was made; earlier ones keep working");
            Some(made.key.expose().to_owned())
        }
        false => known_key(config, &storage, instance).await?,
    };
    let listener = Listener::configured(config);
    let reach = match line.get_flag("plain") {
        true => Reach::plain(&storage, instance, &listener),
        false => Reach::best(config, &storage, instance, &listener),
    };
    let target = reach.target(instance, &config.api_url(config.listen), secret_key);
    match line.get_flag("json") {
        true => {
            let pairs = framework.variables(&target).into_iter();
            let pairs =
                pairs.map(|(name, value)| (name.to_owned(), value.map_or(Value::Null, Value::String)));
            show::json(&Value::Object(pairs.collect::<Map<String, Value>>()));
        }
        false => show::result(&framework.block(&target)),
    }
    super::keys::doubt_address(config);
    Ok(())
}

/// The server was last started with other settings than this command has: a block would have the key of one address and
/// the URLs of another, with which no app works.
fn contradiction(present: &str, wanted: &str) -> Failure {
    Failure::new(
        format!(
            "The publishable key names {present}, but by the settings of this command the Frontend API is at {wanted}. A \
             block of both would not work, so there is none."
        ),
        "Give this command the addresses of the server: the same --listen and --frontend-listen, or the same \
         LATCHKEY_… variables; or run `latchkey env` beside the server's latchkey.toml, or with --config. If the server \
         is to be at the new address, start it there first.",
    )
}

/// The framework of that name.
fn find(name: &str) -> Option<&'static Framework> {
    FRAMEWORKS.iter().find(|one| one.name == name || one.aliases.contains(&name))
}

/// The first key of the development instance, which is kept. Without a master key it is not known, and nothing fails.
async fn known_key(
    config: &Config,
    storage: &Storage,
    instance: &latchkey_kernel::instances::model::Instance,
) -> Result<Option<String>, Failure> {
    match storage.master_key(config).await {
        Ok(master) => kept_key(config, storage, &instance.id, &master).await,
        Err(_) => Ok(None),
    }
}
