//! `latchkey keys`: the secret keys of an instance.

use std::net::TcpStream;
use std::path;
use std::sync::Arc;
use std::time::Duration;

use clap::ArgMatches;
use latchkey_base::kinds::SecretKeyId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::{Clock, SystemClock};
use latchkey_db::Tx;
use latchkey_jose::digest::sha256;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::instances::model::{Instance, SecretKeyState};
use latchkey_kernel::instances::store;
use latchkey_kernel::outbox::{ChangeOrigin, emit_change};
use serde_json::{Value, json};

use super::key_tickets::RevocationReport;
use super::serve::kept_key;
use super::{change_origin, instances};
use crate::config::{Config, nearest};
use crate::failure::Failure;
use crate::files;
use crate::keys::InstanceKeys;
use crate::provision::{self, Made, Storage};
use crate::show::{self, rfc3339};

/// For an answer from this machine, or one nearby.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether flags stand before the word that says what to do.
pub(crate) fn has_flags(line: &ArgMatches) -> bool {
    line.contains_id("instance") || line.get_flag("json")
}

/// What to write instead of a line without the word, where a key was made once, or with flags before the word.
pub(crate) fn misplaced(line: &ArgMatches) -> Failure {
    let instance = line.get_one::<String>("instance").map(|id| format!(" --instance {id}"));
    let json = line.get_flag("json").then(|| " --json".to_owned());
    let flags: String = instance.into_iter().chain(json).collect();
    match line.subcommand_name() {
        None => Failure::usage(
            "`latchkey keys` needs a word for what to do: list, create, revoke or tickets.",
            format!("To make a key, use `latchkey keys create{flags}`."),
        ),
        Some(word) => Failure::usage(
            format!("The flags of `latchkey keys` come after the word `{word}`."),
            format!("Use `latchkey keys {word}{flags}`."),
        ),
    }
}

/// Opens the database, or makes it where there is none yet. A new one is named: in a mistyped folder it is not that of the
/// server that runs.
pub(super) async fn open_anywhere(config: &Config) -> Result<Storage, Failure> {
    let missing = provision::missing_database(config)?;
    let storage = Storage::open(config).await?;
    if let Some(file) = missing {
        let full = path::absolute(file).unwrap_or_else(|_| file.to_owned());
        show::note(&format!("a new database was made at {}", full.display()));
    }
    Ok(storage)
}

/// Makes and prints a key. On a database without instances the first one is made.
pub(crate) async fn create(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let mut storage = Storage::existing(config).await?;
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
            show::note(match keep_if_first(config, &storage, instance, &made).await? {
                true => "a further secret key was made; every start of the server shows it",
                false => {
                    "a further secret key was made; keep it, it is not shown again. Earlier ones keep working"
                }
            });
            doubt_address(config);
            made
        }
    };
    InstanceKeys::new(config, &storage, &made).print(line.get_flag("json"));
    Ok(())
}

/// Lets later starts show the new key of the first development instance, if the one they showed was revoked. Says whether
/// they do.
async fn keep_if_first(
    config: &Config,
    storage: &Storage,
    instance: &Instance,
    made: &Made,
) -> Result<bool, Failure> {
    let is_first = storage.development().is_some_and(|first| first.id == instance.id);
    // A master key that does not fit is reported by the commands that cannot do without it.
    let Some(master) = storage.master_key(config).await.ok().filter(|_| is_first) else { return Ok(false) };
    let is_kept = kept_key(config, storage, &instance.id, &master).await?.is_none();
    if is_kept {
        provision::keep_key(config, made, &master);
    }
    Ok(is_kept)
}

/// Lists the keys of an instance.
pub(crate) async fn list(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::existing(config).await?;
    let instance = instances::select(&storage, line.get_one::<String>("instance").map(String::as_str))?;
    let keys = store::secret_keys(&mut storage.db.read().await?, &instance.id).await?;
    if line.get_flag("json") {
        show::json(&keys.iter().map(as_json).collect::<Vec<Value>>());
        return Ok(());
    }
    if keys.is_empty() {
        let id = &instance.id;
        show::note(&format!("{id} has no secret key; `latchkey keys create --instance {id}` makes one"));
        return Ok(());
    }
    let row = |key: &SecretKeyState| vec![key.id.to_string(), key.hint.clone(), rfc3339(key.created_at)];
    show::result(&show::table(&["ID", "KEY", "CREATED"], &keys.iter().map(row).collect::<Vec<_>>()));
    Ok(())
}

/// Revokes a key: nobody is let in with it from now on.
pub(crate) async fn revoke(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::existing(config).await?;
    let wanted = line.get_one::<String>("key").map(String::as_str).unwrap_or_default();
    let instance = match line.get_one::<String>("instance") {
        Some(id) => instances::select(&storage, Some(id))?,
        // A key is of one instance only, so it need not be named as well.
        None => holder(&storage, wanted).await?,
    };
    let keys = store::secret_keys(&mut storage.db.read().await?, &instance.id).await?;
    let key = find(&keys, wanted).ok_or_else(|| unknown(&keys, wanted, "The instance does not have"))?;
    let was_kept = is_kept(config, &storage, instance, key).await;
    let (origin, key_id) = (change_origin(&instance.id), key.id.clone());
    let keeps_tickets = line.get_flag("keep-tickets");
    let deleted = storage
        .db
        .write(move |tx| Box::pin(async move { revoke_in(tx, &origin, &key_id, keeps_tickets).await }));
    deleted.await?;
    if was_kept && let Err(error) = files::forget_development_key(&config.data_dir) {
        tracing::warn!("the file development.key with the revoked key cannot be removed: {error}");
    }
    // The events of what ends with the key contain nothing that is sealed, so no master key is needed, which may be lost.
    let master = Arc::new(MasterKey::from_bytes([0; 32]));
    let act = Act::of_command(&instance.id, SystemClock.now(), Arc::new(SystemRng), master);
    let act = Act { api_url: config.api_url(config.listen).into(), ..act };
    let report = RevocationReport::new(&storage.db, &act, key, keeps_tickets).await?;
    report.print(line.get_flag("json"));
    if keys.len() == 1 {
        show::note(&format!(
            "it was the last one: backends are refused until `latchkey keys create --instance {}` has made another",
            instance.id
        ));
    }
    Ok(())
}

/// Deletes a key. Its tickets and link tokens are good no longer, unless they are kept.
async fn revoke_in(
    tx: &mut Tx,
    origin: &ChangeOrigin,
    key: &SecretKeyId,
    keeps_tickets: bool,
) -> latchkey_base::Result<()> {
    store::delete_key(tx, &origin.instance, key).await?;
    if keeps_tickets {
        store::insert_replaced_key(tx, &origin.instance, key, origin.now).await?;
    }
    emit_change(tx, origin, Event::SecretKeyRevoked, key.as_str(), &[])
}

/// The instance that has a key.
async fn holder<'a>(storage: &'a Storage, wanted: &str) -> Result<&'a Instance, Failure> {
    let mut all = Vec::new();
    for instance in &storage.instances {
        let keys = store::secret_keys(&mut storage.db.read().await?, &instance.id).await?;
        if find(&keys, wanted).is_some() {
            return Ok(instance);
        }
        all.extend(keys);
    }
    Err(unknown(&all, wanted, "No instance has"))
}

/// By its id, or by the key itself, which may be all that is known of one that leaked.
fn find<'a>(keys: &'a [SecretKeyState], wanted: &str) -> Option<&'a SecretKeyState> {
    let digest = sha256(wanted.as_bytes());
    keys.iter().find(|key| key.id.as_str() == wanted || key.digest == digest)
}

fn unknown(keys: &[SecretKeyState], wanted: &str, who_has: &str) -> Failure {
    // A secret is not repeated in messages, which end up in logs.
    let named =
        if wanted.starts_with("sk_") { "this secret key".to_owned() } else { format!("a key {wanted:?}") };
    let hint = match nearest(wanted, keys.iter().map(|key| key.id.as_str())) {
        Some(id) => format!("Did you mean {id}?"),
        None => "`latchkey keys list` shows those of an instance, which --instance names.".to_owned(),
    };
    Failure::usage(format!("{who_has} {named}."), hint)
}

/// Whether a key is the one that every start shows.
async fn is_kept(config: &Config, storage: &Storage, instance: &Instance, key: &SecretKeyState) -> bool {
    let Ok(master) = storage.master_key(config).await else { return false };
    let kept = files::find_development_key(&config.data_dir, &instance.id, &master);
    kept.is_some_and(|kept| sha256(kept.expose().as_bytes()) == *key.digest)
}

fn as_json(key: &SecretKeyState) -> Value {
    json!({"id": key.id, "key": key.hint, "created_at": key.created_at})
}

/// Says so when the address this command knows is not that of the running server. Where every start takes
/// another port nobody can tell.
pub(super) fn doubt_address(config: &Config) {
    let address = config.listen;
    let is_known = config.is_direct() && address.port() != 0;
    if is_known && TcpStream::connect_timeout(&address, PATIENCE).is_err() {
        show::note(&format!(
            "no server answers at {} now. These addresses are defaults unless they were set: if the server runs \
             with other settings, give this command the same LATCHKEY_… variables, flags or latchkey.toml as the \
             server",
            config.api_url(address)
        ));
    }
}
