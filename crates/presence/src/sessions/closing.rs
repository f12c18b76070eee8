//! The clients on which sessions end. Scripts and backends of apps compare the time a client changed, so it must
//! move whoever ends a session, and from wherever.

use std::collections::HashMap;

use latchkey_base::kinds::{ClientId, UserId};
use latchkey_base::{Result, Time};
use latchkey_db::{Statement, Tx};
use latchkey_kernel::cx::Act;

use super::model::Session;
use crate::clients::model::Client;
use crate::clients::store;

/// Clients that are locked, because sessions on them are about to end. Whoever ends sessions gets them first:
/// all lock clients before users and sessions.
///
/// A session that begins between the look for the clients and the lock of the user is on a client that is not here.
/// It ends all the same, and its client has changed in this very moment anyway.
#[derive(Default)]
pub struct Clients(HashMap<ClientId, TrackedClient>);

struct TrackedClient {
    client: Client,
    is_changed: bool,
}

impl Clients {
    /// Clients that are locked already.
    pub fn of(clients: Vec<Client>) -> Clients {
        let held = clients
            .into_iter()
            .map(|client| (client.id.clone(), TrackedClient { client, is_changed: false }));
        Clients(held.collect())
    }

    pub async fn lock(tx: &mut Tx, act: &Act, ids: &[&ClientId]) -> Result<Clients> {
        Ok(Clients::of(store::lock_some(tx, &act.instance, ids).await?))
    }

    /// Locks the clients on which users are signed in, and with them the one that asks, if it will be locked too.
    pub async fn lock_of_users(
        tx: &mut Tx,
        act: &Act,
        users: &[&UserId],
        asking: Option<&ClientId>,
    ) -> Result<Clients> {
        Ok(Clients::of(store::lock_of_users(tx, &act.instance, users, asking, act.now).await?))
    }

    /// One of them, as it is by now.
    pub fn take(&mut self, id: &ClientId) -> Option<Client> {
        self.0.remove(id).map(|held| held.client)
    }

    /// Notes that a session is about to end. One that is over already changes nothing.
    pub(super) fn note(&mut self, session: &Session, now: Time) {
        let found = if session.is_live(now) { self.0.remove(&session.client) } else { None };
        if let Some(TrackedClient { client, .. }) = found {
            let client = client.without(&session.id, now);
            self.0.insert(client.id.clone(), TrackedClient { client, is_changed: true });
        }
    }

    /// What saves those that have changed since they were last saved.
    pub(super) fn saving(&mut self, now: Time) -> Result<Vec<Statement>> {
        let changed = self.0.values_mut().filter(|held| held.is_changed);
        let saved = changed.map(|held| {
            held.is_changed = false;
            store::saving(&held.client, now)
        });
        saved.collect()
    }
}
