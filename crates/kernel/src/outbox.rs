//! Writes events into the transaction that causes them. Nothing is sent here: workers take rows from the
//! table after the commit.

use std::sync::Arc;

use latchkey_base::kinds::{EventId, InstanceId, SecretKeyId};
use latchkey_base::rng::Rng;
use latchkey_base::{Error, Result, Time};
use latchkey_db::{Numbered, Table, Tx, Value};
use serde::Serialize;

use crate::aging::InstanceHistory;
use crate::cx::Act;
use crate::events::Event;

/// Events. The number is no part of the key here, because whatever gives it writes it behind the other columns.
pub static EVENTS: Table = Table::new("events", &["instance_id"]).fixed(&[
    "id",
    "kind",
    "subject_id",
    "data",
    "data_sealed",
    "client_ip",
    "user_agent",
    "created_at",
    "key_id",
    "seq",
]);

/// Takes the next numbers of an instance's events.
pub const NUMBERING: &str = "INSERT INTO event_heads (instance_id, last_seq) VALUES ($1, $2) \
     ON CONFLICT (instance_id) DO UPDATE SET last_seq = event_heads.last_seq + excluded.last_seq RETURNING last_seq";

/// Where an event comes from.
#[derive(Clone, Copy)]
pub struct Origin<'a> {
    instance: &'a InstanceId,
    now: Time,
    rng: &'a dyn Rng,
    key: Option<&'a SecretKeyId>,
    client_ip: &'a str,
    user_agent: &'a str,
}

impl<'a> Origin<'a> {
    /// From the server itself, without a request.
    pub fn server(instance: &'a InstanceId, now: Time, rng: &'a dyn Rng) -> Origin<'a> {
        Origin { instance, now, rng, key: None, client_ip: "", user_agent: "" }
    }

    /// When it happens.
    pub fn now(&self) -> Time {
        self.now
    }
}

impl<'a> From<&'a Act> for Origin<'a> {
    fn from(act: &'a Act) -> Origin<'a> {
        let Act { instance, now, rng, key, client_ip, user_agent, .. } = act;
        Origin { instance, now: *now, rng: &**rng, key: key.as_ref(), client_ip, user_agent }
    }
}

/// Who changes the configuration of an instance, when, and from where. It owns its parts, so that it can move into
/// transactions.
#[derive(Clone)]
pub struct ChangeOrigin {
    pub instance: InstanceId,
    pub now: Time,
    /// Makes new ids and secrets.
    pub rng: Arc<dyn Rng>,
    actor: Actor,
    key: Option<SecretKeyId>,
    client_ip: String,
    user_agent: String,
}

/// The kind of party that changes the configuration.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Actor {
    SecretKey,
    CommandLine,
    Browser,
}

impl ChangeOrigin {
    /// A command of the operator.
    pub fn command_line(instance: &InstanceId, now: Time, rng: Arc<dyn Rng>) -> ChangeOrigin {
        ChangeOrigin {
            instance: instance.clone(),
            now,
            rng,
            actor: Actor::CommandLine,
            key: None,
            client_ip: String::new(),
            user_agent: String::new(),
        }
    }
}

impl From<&Act> for ChangeOrigin {
    fn from(act: &Act) -> ChangeOrigin {
        ChangeOrigin {
            instance: act.instance.clone(),
            now: act.now,
            rng: act.rng.clone(),
            actor: if act.key.is_some() { Actor::SecretKey } else { Actor::Browser },
            key: act.key.clone(),
            client_ip: act.client_ip.clone(),
            user_agent: act.user_agent.clone(),
        }
    }
}

impl<'a> From<&'a ChangeOrigin> for Origin<'a> {
    fn from(origin: &'a ChangeOrigin) -> Origin<'a> {
        let ChangeOrigin { instance, now, rng, key, client_ip, user_agent, .. } = origin;
        Origin { instance, now: *now, rng: &**rng, key: key.as_ref(), client_ip, user_agent }
    }
}

/// What an event says about a change of the configuration. It names what changed and contains no values, because these
/// may be secrets.
#[derive(Serialize)]
struct ConfigurationChange<'a> {
    object: String,
    id: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    changed: &'a [String],
    actor: Actor,
}

/// An event, for callers that send several statements at once. `data` is the newest view. `subject` is what
/// receivers see in order: the user, for everything that belongs to one.
pub fn event<'a>(
    origin: impl Into<Origin<'a>>,
    kind: Event,
    subject: &str,
    data: &impl Serialize,
) -> Result<Numbered> {
    let origin = origin.into();
    let data = serde_json::to_string(data).map_err(Error::internal)?;
    let id = EventId::new(origin.now, origin.rng);
    Ok(numbered(&origin, &id, kind, subject, data.into(), Value::Bytes(None)))
}

/// Records an event when the transaction is committed.
pub fn emit(tx: &mut Tx, act: &Act, kind: Event, subject: &str, data: &impl Serialize) -> Result<()> {
    tx.append(event(act, kind, subject, data)?);
    Ok(())
}

/// Records a change of the configuration: of the object with this id, and of the named parts of it.
pub fn emit_change(
    tx: &mut Tx,
    origin: &ChangeOrigin,
    kind: Event,
    id: &str,
    changed: &[String],
) -> Result<()> {
    let change = ConfigurationChange { object: object(kind), id, changed, actor: origin.actor };
    tx.append(event(origin, kind, id, &change)?);
    Ok(())
}

/// The name of the object that a kind of event is about, such as `redirect_url`.
fn object(kind: Event) -> String {
    let noun = kind.name().split('.').next().unwrap_or_default();
    let mut name = String::new();
    for letter in noun.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Records an event that tells a one-time code, which is sealed at rest.
pub fn emit_sealed(tx: &mut Tx, act: &Act, kind: Event, subject: &str, data: &impl Serialize) -> Result<()> {
    let id = EventId::new(act.now, &*act.rng);
    let plain = serde_json::to_vec(data).map_err(Error::internal)?;
    let sealed = act.master.seal(id.as_str(), &plain).map_err(Error::internal)?;
    tx.append(numbered(&act.into(), &id, kind, subject, "".into(), sealed.into()));
    Ok(())
}

fn numbered(
    origin: &Origin<'_>,
    id: &EventId,
    kind: Event,
    subject: &str,
    data: Value,
    sealed: Value,
) -> Numbered {
    let row = vec![
        origin.instance.into(),
        id.into(),
        kind.name().into(),
        subject.into(),
        data,
        sealed,
        origin.client_ip.into(),
        origin.user_agent.into(),
        origin.now.into(),
        origin.key.into(),
    ];
    Numbered { series: origin.instance.as_str().to_owned(), statement: EVENTS.inserting(row) }
}

/// Events, for as long as the instance wants to keep them.
pub const HISTORY: InstanceHistory = InstanceHistory {
    name: "events",
    days: |settings| settings.retention_days,
    delete: |tx, instance, before, limit| Box::pin(delete_old(tx, instance, before, limit)),
};

/// Deletes up to `limit` events of an instance that happened before a time, oldest first. Says how many.
async fn delete_old(tx: &mut Tx, instance: InstanceId, before: Time, limit: i64) -> Result<u64> {
    let sql = "SELECT seq, created_at FROM events WHERE instance_id = $1 ORDER BY seq LIMIT $2";
    let oldest =
        tx.all(&[sql], &[(&instance).into(), limit.into()], |row| Ok((row.int(0)?, row.time(1)?))).await?;
    // Only from the front: a hole would look like a part that never was.
    let Some((last, _)) = oldest.into_iter().take_while(|(_, at)| *at < before).last() else { return Ok(0) };
    let sql = "DELETE FROM events WHERE instance_id = $1 AND seq <= $2";
    Ok(tx.run(&[sql], &[(&instance).into(), last.into()]).await?)
}
