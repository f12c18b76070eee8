//! From a configuration to a database that can be used: opened, migrated, with the master key that fits
//! it, and with instances and their keys.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::rng::SystemRng;
use latchkey_base::secret::Secret;
use latchkey_base::time::{Clock, SystemClock};
use latchkey_base::{Error, Result, Time};
use latchkey_db::{Db, Location, Options, Tx};
use latchkey_jose::digest::sha256;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::cx::Act;
use latchkey_kernel::domains::store as domains;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::events::Event;
use latchkey_kernel::instances::model::{Instance, StoredKey};
use latchkey_kernel::instances::{change, keys, rules, store};
use latchkey_kernel::migrations;
use latchkey_kernel::outbox::{ChangeOrigin, emit_change};
use latchkey_kernel::settings::{SealedSetting, SettingsFault, edit};
use latchkey_organizations::access::described::{self, DescribedPermission, DescribedRole, DescriptionFault};
use latchkey_organizations::access::store as access;
use latchkey_people::users;
use serde_json::Value;

use crate::config::Config;
use crate::failure::Failure;
use crate::unusable::unusable;
use crate::{files, show};

/// An open database whose schema is up to date.
pub(crate) struct Storage {
    pub(crate) db: Db,
    /// All instances as they were found, oldest first.
    pub(crate) instances: Vec<Instance>,
    /// What the migration applied.
    pub(crate) applied: Vec<&'static str>,
}

/// An instance and a secret key that was just made for it.
pub(crate) struct Made {
    pub(crate) id: InstanceId,
    pub(crate) environment: Environment,
    pub(crate) frontend_api: String,
    pub(crate) key: Secret,
    /// By which it can be revoked.
    pub(crate) key_id: SecretKeyId,
}

impl Storage {
    /// Opens and migrates the database the configuration names.
    pub(crate) async fn open(config: &Config) -> Result<Storage, Failure> {
        files::make_data_dir(&config.data_dir)?;
        let options = Options {
            location: config.database.clone(),
            connections: config.database_connections,
            before_commit: migrations::BEFORE_COMMIT,
            numbering: latchkey_kernel::outbox::NUMBERING,
        };
        let db = Db::open(&options).map_err(|error| unusable(&config.database, &error))?;
        let unmigrated = |error: Error| match error.cause() {
            Some(cause) => unusable(&config.database, cause),
            None => unusable(&config.database, &error),
        };
        let mut applied = db.migrate(migrations::ALL).await.map_err(unmigrated)?;
        if let Some(collisions) = users::domains::normalise(&db).await.map_err(unmigrated)? {
            applied.push(users::domains::STEP);
            for collision in collisions {
                tracing::warn!("{collision}; `latchkey migrate` lists all of these");
            }
        }
        let instances = store::list(&mut db.read().await?).await?;
        Ok(Storage { db, instances, applied })
    }

    /// The same for commands that make no sense without a server that has run: a mistyped folder gets no
    /// empty database.
    pub(crate) async fn existing(config: &Config) -> Result<Storage, Failure> {
        match missing_database(config)? {
            Some(path) => Err(Failure::new(
                format!("There is no database at {}.", path.display()),
                "If a server runs from another folder, say where its data is: `--data-dir FOLDER/data`, or `--database`. \
                 If none has run yet, start it: `latchkey serve`.",
            )),
            None => Storage::open(config).await,
        }
    }

    /// The oldest development instance.
    pub(crate) fn development(&self) -> Option<&Instance> {
        self.instances.iter().find(|instance| instance.environment == Environment::Development)
    }

    /// The master key: the configured one, the one in the data directory, or a new one as long as
    /// nothing was sealed yet. Sealing with a second key would make data unreadable without anybody
    /// noticing, so it is tried on what the first instance has sealed.
    pub(crate) async fn master_key(&self, config: &Config) -> Result<MasterKey, Failure> {
        let known = match &config.master_key {
            Some(text) => {
                Some(MasterKey::from_base64(text.expose()).map_err(|error| wrong_key(&error.to_string()))?)
            }
            None => files::find_master_key(&config.data_dir)?,
        };
        match (known, self.instances.first()) {
            (Some(key), None) => Ok(key),
            (None, None) => files::make_master_key(&config.data_dir),
            (Some(key), Some(instance)) => match opens_signing_key(&self.db, &instance.id, &key).await? {
                true => Ok(key),
                false => Err(wrong_key("the given key does not open what is sealed in the database")),
            },
            (None, Some(_)) => Err(missing_key(config)),
        }
    }

    /// Makes a development instance when there is no instance at all. Of several servers that start
    /// together one makes it; the others get nothing and find it in the database.
    pub(crate) async fn make_first(&mut self, config: &Config) -> Result<Option<Made>, Failure> {
        if !self.instances.is_empty() {
            return Ok(None);
        }
        let master = self.master_key(config).await?;
        let host = Host::Given(config.frontend_api());
        let draft = Draft::new(Environment::Development, host, &master)?;
        let made = draft.made();
        let was_first =
            self.db.write(move |tx| Box::pin(async move { draft.insert_first(tx).await })).await?;
        self.reload().await?;
        if was_first {
            keep_key(config, &made, &master);
        }
        Ok(was_first.then_some(made))
    }

    /// Lets the development instances be reached where the configuration says now, and says so: a publishable
    /// key names the host, and one that leads to the old host is of no use.
    pub(crate) async fn follow_listener(&mut self, config: &Config) -> Result<(), Failure> {
        for instance in &self.instances {
            if let Some(host) = self.wanted_host(config, instance) {
                self.move_instance(&instance.id, &instance.frontend_api, host).await?;
            }
        }
        self.reload().await
    }

    /// Where a development instance is to be reached as the configuration says, if that is not where it is.
    fn wanted_host(&self, config: &Config, instance: &Instance) -> Option<String> {
        let Instance { id, frontend_api, .. } = instance;
        let is_first = self.development().is_some_and(|first| first.id == *id);
        match instance.is_development() {
            true if is_first => config.moved_frontend_api(frontend_api),
            true => moved_local_host(id, frontend_api, config.frontend_port()),
            false => None,
        }
    }

    /// Where a start with this configuration would move an instance.
    pub(crate) async fn would_move(
        &self,
        config: &Config,
        instance: &Instance,
    ) -> Result<Option<String>, Failure> {
        let Some(host) = self.wanted_host(config, instance) else { return Ok(None) };
        let holder = domains::holder(&mut self.db.read().await?, &instance.id, &host).await?;
        Ok(holder.is_none().then_some(host))
    }

    /// Reads the instances anew.
    pub(crate) async fn reload(&mut self) -> Result<(), Failure> {
        self.instances = store::list(&mut self.db.read().await?).await?;
        Ok(())
    }

    async fn move_instance(&self, id: &InstanceId, before: &str, host: String) -> Result<(), Failure> {
        let (key, wanted) = (id.clone(), host.clone());
        let moved = self.db.write(move |tx| Box::pin(async move { move_in(tx, &key, &wanted).await }));
        match moved.await? {
            None => show::note(&format!(
                "the Frontend API of {id} has moved from {before} to {host}, so its publishable key has \
                 changed: put the new one into your app (`latchkey instances list` shows it; to choose the host \
                 of the first instance yourself, set LATCHKEY_FRONTEND_API)"
            )),
            Some(other) => show::note(&format!(
                "the Frontend API of {id} is configured to be at {host}, but {other} is there; it stays at \
                 {before} (`latchkey instances list` shows them; choose another with LATCHKEY_FRONTEND_API)"
            )),
        }
        Ok(())
    }
}

/// The file of a SQLite database that is not there yet.
pub(crate) fn missing_database(config: &Config) -> Result<Option<&Path>, Failure> {
    files::check_data_dir(&config.data_dir)?;
    match &config.database {
        Location::Sqlite(path) if !files::is_there(path)? => Ok(Some(path)),
        _ => Ok(None),
    }
}

/// Moves an instance to a host, unless requests to it are for another one, which is returned.
async fn move_in(tx: &mut Tx, id: &InstanceId, host: &str) -> Result<Option<InstanceId>> {
    // In this order, as changes of settings lock them.
    store::lock(tx, id).await?;
    domains::lock_hosts(tx).await?;
    let holder = domains::holder(tx, id, host).await?;
    if holder.is_none() {
        store::save_frontend_api(tx, id, host).await?;
    }
    Ok(holder)
}

/// Where an instance is to be reached whose host was made up for another port than the present one.
fn moved_local_host(id: &InstanceId, present: &str, port: Option<u16>) -> Option<String> {
    let name = present.split(':').next().unwrap_or_default();
    let is_made_up = name == rules::local_host(id, None);
    let wanted = rules::local_host(id, Some(port?));
    (is_made_up && wanted != present).then_some(wanted)
}

/// Where a new instance has its Frontend API.
pub(crate) enum Host {
    /// At this host.
    Given(String),
    /// On this machine, at a name of its own and this port.
    Local(Option<u16>),
}

/// Creates an instance with its signing key and a first secret key.
pub(crate) async fn create(
    db: &Db,
    environment: Environment,
    host: Host,
    master: &MasterKey,
) -> Result<Made, Failure> {
    let draft = Draft::new(environment, host, master)?;
    let made = draft.made();
    let holder = db.write(move |tx| Box::pin(async move { draft.insert_at_free_host(tx).await }));
    match holder.await? {
        None => Ok(made),
        Some(holder) => Err(Failure::usage(
            format!("Requests to {} are for the instance {holder}.", made.frontend_api),
            "Choose another host with --frontend-api: it tells browsers' requests for one instance from \
             those for another.",
        )),
    }
}

/// An instance that is to be created, with what it is to be.
pub(crate) struct InstancePlan {
    pub(crate) environment: Environment,
    pub(crate) host: Host,
    /// Changes of the settings it begins with. Their secrets are not sealed yet.
    pub(crate) settings: Vec<(String, Value)>,
    pub(crate) permissions: Vec<DescribedPermission>,
    pub(crate) roles: Vec<DescribedRole>,
}

/// What is wrong with one of several instances that were to be created.
#[derive(Clone, Debug)]
pub(crate) struct PlanFault {
    /// The index of the instance.
    pub(crate) at: usize,
    pub(crate) fault: SettingsFault,
}

/// Why no instance was created, as it leaves the transaction.
#[derive(Debug)]
struct RejectedPlans(Vec<PlanFault>);

impl fmt::Display for RejectedPlans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the instances cannot be created")
    }
}

impl StdError for RejectedPlans {}

/// Creates several instances in one transaction: all, or none if anything is wrong with one of them.
pub(crate) async fn create_all(
    db: &Db,
    wanted: Vec<InstancePlan>,
    master: &Arc<MasterKey>,
) -> Result<Result<Vec<Made>, Vec<PlanFault>>, Failure> {
    let mut drafts = Vec::with_capacity(wanted.len());
    let mut faults = Vec::new();
    for (at, InstancePlan { environment, host, settings, permissions, roles }) in
        wanted.into_iter().enumerate()
    {
        let weak = edit::weak_secrets(&settings);
        faults.extend(weak.into_iter().map(|fault| PlanFault { at, fault: below_settings(fault) }));
        let draft = Draft::new(environment, host, master)?;
        let id = &draft.instance.id;
        let settings = edit::sealed(&settings, |path, plain| SealedSetting::seal(master, id, path, plain))?;
        drafts.push(DescribedDraft { draft, settings, permissions, roles });
    }
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    let made = drafts.iter().map(|described| described.draft.made()).collect();
    let (drafts, master) = (Arc::new(drafts), master.clone());
    let inserted = db.write(move |tx| {
        let (drafts, master) = (drafts.clone(), master.clone());
        Box::pin(async move { insert_all(tx, &drafts, &master).await })
    });
    match inserted.await {
        Ok(()) => Ok(Ok(made)),
        Err(error) => match error.cause().and_then(|cause| cause.downcast_ref::<RejectedPlans>()) {
            Some(RejectedPlans(faults)) => Ok(Err(faults.clone())),
            None => Err(error.into()),
        },
    }
}

/// A draft with what it is to be.
struct DescribedDraft {
    draft: Draft,
    settings: Vec<(String, Value)>,
    permissions: Vec<DescribedPermission>,
    roles: Vec<DescribedRole>,
}

async fn insert_all(tx: &mut Tx, drafts: &[DescribedDraft], master: &Arc<MasterKey>) -> Result<()> {
    let mut faults = Vec::new();
    for (at, described) in drafts.iter().enumerate() {
        let found = described.insert(tx, master).await?;
        faults.extend(found.into_iter().map(|fault| PlanFault { at, fault }));
    }
    if faults.is_empty() {
        return Ok(());
    }
    // An error rolls the transaction back.
    Err(Error::internal(RejectedPlans(faults)))
}

impl DescribedDraft {
    /// Inserts the instance and returns what is wrong with it.
    async fn insert(&self, tx: &mut Tx, master: &Arc<MasterKey>) -> Result<Vec<SettingsFault>> {
        let Instance { id, frontend_api, .. } = &self.draft.instance;
        let fault = |path: &str, text: String| SettingsFault { path: path.to_owned(), text };
        if let Some(holder) = self.draft.insert_at_free_host(tx).await? {
            let text = format!("Requests to {frontend_api} are for the instance {holder}.");
            return Ok(vec![fault("host", text)]);
        }
        let now = self.draft.instance.created_at;
        let origin = ChangeOrigin::command_line(id, now, Arc::new(SystemRng));
        let found = change::settings(tx, &origin, &self.settings).await?.err().unwrap_or_default();
        let mut faults: Vec<SettingsFault> = found.into_iter().map(below_settings).collect();
        if self.permissions.is_empty() && self.roles.is_empty() {
            return Ok(faults);
        }
        let act = Act::of_command(id, now, Arc::new(SystemRng), master.clone());
        let access = access::lock(tx, id, now).await?;
        match described::apply(access, &self.permissions, &self.roles, &act) {
            Ok(access) => access::save(tx, &access, now).await?,
            Err(DescriptionFault { key, text }) => faults.push(fault(&key, text)),
        }
        Ok(faults)
    }
}

/// The fault with its path in a description of instances.
fn below_settings(fault: SettingsFault) -> SettingsFault {
    SettingsFault { path: format!("settings.{}", fault.path), ..fault }
}

/// Keeps a development key for later starts. Failing to is no reason to fail: it was shown once.
pub(crate) fn keep_key(config: &Config, made: &Made, master: &MasterKey) {
    if let Err(error) = files::keep_development_key(&config.data_dir, &made.id, &made.key, master) {
        let dir = config.data_dir.display();
        tracing::warn!(
            "the development key cannot be kept in {dir}, so later starts will not show it: {error}"
        );
    }
}

/// Makes a further secret key.
pub(crate) async fn add_key(db: &Db, instance: &Instance) -> Result<Made, Failure> {
    let key = keys::secret_key(instance.environment, &SystemRng);
    let (copy, id, now) = (key.clone(), instance.id.clone(), SystemClock.now());
    let key_id = SecretKeyId::new(now, &SystemRng);
    let own = key_id.clone();
    let origin = ChangeOrigin::command_line(&id, now, Arc::new(SystemRng));
    db.write(move |tx| Box::pin(async move { add_key_in(tx, &origin, &own, &copy).await })).await?;
    Ok(Made {
        id: instance.id.clone(),
        environment: instance.environment,
        frontend_api: instance.frontend_api.clone(),
        key,
        key_id,
    })
}

async fn add_key_in(tx: &mut Tx, origin: &ChangeOrigin, id: &SecretKeyId, key: &Secret) -> Result<()> {
    insert_key(tx, &origin.instance, (id, key), origin.now).await?;
    emit_change(tx, origin, Event::SecretKeyCreated, id.as_str(), &[])
}

/// Whether a secret key is one of the instance's.
pub(crate) async fn has_key(db: &Db, id: &InstanceId, key: &Secret) -> Result<bool, Failure> {
    let holder = store::find_by_key(&mut db.read().await?, &sha256(key.expose().as_bytes())).await?;
    Ok(holder.is_some_and(|holder| holder.id == *id))
}

/// An instance that is not in the database yet. Its signing key takes long to make, so it is made
/// before the transaction.
struct Draft {
    instance: Instance,
    signing_key: StoredKey,
    secret_key: Secret,
    secret_key_id: SecretKeyId,
}

impl Draft {
    fn new(environment: Environment, host: Host, master: &MasterKey) -> Result<Draft, Failure> {
        let mut instance = rules::create(environment, String::new(), SystemClock.now(), &SystemRng);
        instance.frontend_api = match host {
            Host::Given(host) => host,
            Host::Local(port) => rules::local_host(&instance.id, port),
        };
        let signing_key = rules::signing_key(&instance.id, master)?;
        let secret_key_id = SecretKeyId::new(instance.created_at, &SystemRng);
        let secret_key = keys::secret_key(environment, &SystemRng);
        Ok(Draft { instance, signing_key, secret_key, secret_key_id })
    }

    fn made(&self) -> Made {
        Made {
            id: self.instance.id.clone(),
            environment: self.instance.environment,
            frontend_api: self.instance.frontend_api.clone(),
            key: self.secret_key.clone(),
            key_id: self.secret_key_id.clone(),
        }
    }

    /// Inserts it if there is no instance at all, and says whether it did.
    async fn insert_first(&self, tx: &mut Tx) -> Result<bool> {
        // There is no instance to lock yet; the first step of the schema is always there.
        let step = "SELECT name FROM schema_migrations WHERE name = $1";
        tx.lock(&[step], &[migrations::ALL[0].name.into()], |row| row.text(0)).await?;
        match store::list(tx).await?.is_empty() {
            true => self.insert(tx).await.map(|()| true),
            false => Ok(false),
        }
    }

    /// Inserts it, unless requests to its host are for another instance, which is returned.
    async fn insert_at_free_host(&self, tx: &mut Tx) -> Result<Option<InstanceId>> {
        domains::lock_hosts(tx).await?;
        let holder = domains::holder(tx, &self.instance.id, &self.instance.frontend_api).await?;
        if holder.is_none() {
            self.insert(tx).await?;
        }
        Ok(holder)
    }

    async fn insert(&self, tx: &mut Tx) -> Result<()> {
        store::insert(tx, &self.instance, &self.signing_key).await?;
        let key = (&self.secret_key_id, &self.secret_key);
        insert_key(tx, &self.instance.id, key, self.instance.created_at).await
    }
}

async fn insert_key(
    tx: &mut Tx,
    instance: &InstanceId,
    (id, key): (&SecretKeyId, &Secret),
    now: Time,
) -> Result<()> {
    let digest = sha256(key.expose().as_bytes());
    store::insert_key(tx, instance, id, &digest, &keys::hint(key), now).await
}

async fn opens_signing_key(db: &Db, instance: &InstanceId, master: &MasterKey) -> Result<bool, Failure> {
    let key = store::signing_key(&mut db.read().await?, instance, SystemClock.now()).await?;
    Ok(key.is_none_or(|(kid, sealed)| rules::opens(master, &kid, &sealed)))
}

/// Tables that may hold very many rows of an instance, with the columns that tell these apart. What belongs to a row goes
/// with it.
const LARGE: [(&str, &str); 14] = [
    ("clients", "id"),
    ("dev_browsers", "token_digest"),
    ("users", "id"),
    ("organization_memberships", "organization_id, user_id"),
    ("organization_invitations", "id"),
    ("organization_suggestions", "id"),
    ("organization_domains", "id"),
    ("organizations", "id"),
    ("invitations", "id"),
    ("listed_identifiers", "id"),
    ("waitlist_entries", "id"),
    ("messages", "id"),
    ("webhook_deliveries", "endpoint_id, seq"),
    ("events", "seq"),
];

/// Deletes an instance with everything in it: first its keys, so that nobody adds to it, then the rest
/// in steps, so that a running server can write in between.
pub(crate) async fn delete(db: &Db, id: &InstanceId) -> Result<(), Failure> {
    const STEP: i64 = 500;
    let closed = id.clone();
    db.write(move |tx| Box::pin(async move { store::delete_keys(tx, &closed).await })).await?;
    for (table, columns) in LARGE {
        let mut has_more = true;
        while has_more {
            let id = id.clone();
            let step = db.write(move |tx| {
                Box::pin(async move { store::delete_some(tx, &id, table, columns, STEP).await })
            });
            has_more = step.await?;
        }
    }
    let id = id.clone();
    Ok(db.write(move |tx| Box::pin(async move { store::delete(tx, &id).await })).await?)
}

fn missing_key(config: &Config) -> Failure {
    Failure::new(
        format!(
            "The database holds sealed secrets, and its master key is missing: {} has no master.key.",
            config.data_dir.display()
        ),
        "Put the master.key of the server there, or its content into LATCHKEY_MASTER_KEY. If the data is elsewhere, name \
         its directory with --data-dir.",
    )
}

fn wrong_key(reason: &str) -> Failure {
    Failure::new(
        format!("The database holds secrets sealed with another master key: {reason}."),
        "Put the first server's master.key into the data directory, or its content into LATCHKEY_MASTER_KEY.",
    )
}
