//! Ending the sessions of a domain that was left, step by step.

use std::sync::Arc;

use latchkey_base::Result;
use latchkey_base::kinds::{ClientId, InstanceId, SessionId};
use latchkey_db::Tx;
use latchkey_kernel::background::{Background, WorkRows};
use latchkey_kernel::cx::Act;
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::jobs::JobParts;

use super::store::{self, DomainChange};
use crate::sessions::closing::Clients;
use crate::sessions::model::Session;
use crate::sessions::{ending, store as sessions};

/// Sessions that are looked at in one transaction, most of which may be over, and that end in it; on SQLite others wait
/// for it.
const SESSIONS_READ: i64 = 2_000;
const SESSIONS_AT_ONCE: usize = 200;

/// Notes that an instance has left a host, and that its sessions of now are to end.
pub async fn begin(tx: &mut Tx, act: &Act, left: &str) -> Result<()> {
    let change = DomainChange {
        instance: act.instance.clone(),
        frontend_api: left.to_owned(),
        until: act.now,
        after: None,
        api_url: act.api_url.to_string(),
    };
    store::put(tx, &change, act.now).await
}

/// Ends the next sessions, if some are left. It is a transaction of its own: clients are locked before everything else.
pub async fn go_on(tx: &mut Tx, act: Act, left: &str) -> Result<()> {
    let Some(change) = store::lock(tx, &act.instance, left).await? else { return Ok(()) };
    let Some(instance) = instances::find(tx, &act.instance).await? else { return Ok(()) };
    let act = Act { settings: Arc::new(instance.settings), api_url: change.api_url.as_str().into(), ..act };
    match end_some(tx, &act, &change).await? {
        Some(last) => store::put(tx, &DomainChange { after: Some(last), ..change }, act.now).await,
        None => store::delete(tx, &change).await,
    }
}

/// Ends up to a batch of sessions. Returns where it stopped, if there may be more.
async fn end_some(tx: &mut Tx, act: &Act, change: &DomainChange) -> Result<Option<store::SessionPosition>> {
    let found = sessions::begun_until(tx, change, act.now, SESSIONS_READ).await?;
    let live = found.iter().filter_map(|(place, client)| Some((place, client.as_ref()?)));
    let live: Vec<(&store::SessionPosition, &ClientId)> = live.take(SESSIONS_AT_ONCE).collect();
    let stopped = match live.len() == SESSIONS_AT_ONCE {
        true => live.last().map(|(place, _)| *place),
        false => found.last().map(|(place, _)| place).filter(|_| found.len() as i64 == SESSIONS_READ),
    };
    let ids: Vec<&SessionId> = live.iter().map(|((_, id), _)| id).collect();
    let clients: Vec<&ClientId> = live.iter().map(|(_, client)| *client).collect();
    let mut clients = Clients::lock(tx, act, &clients).await?;
    let mut locked = sessions::lock_some(tx, &act.instance, &ids, &act.settings).await?;
    locked.retain(|session: &Session| session.is_live(act.now));
    ending::revoke_all(tx, act, &mut clients, locked).await?;
    Ok(stopped.cloned())
}

/// Ending the sessions of instances that have left a domain.
pub struct DomainChanges;

impl Background for DomainChanges {
    const WORK: WorkRows = store::WORK;
    const FAILURE: &'static str = "sessions of a domain that was left could not be ended";

    async fn step(parts: &JobParts, instance: &InstanceId, subject: &str) -> Result<()> {
        let (act, left) = (Act::of_server(parts, instance), subject.to_owned());
        parts.db.write(move |tx| Box::pin(async move { go_on(tx, act, &left).await })).await
    }
}
