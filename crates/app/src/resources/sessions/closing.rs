//! The clients on which sessions end. Scripts and backends of apps compare the time a client changed, so it must
//! move whoever ends a session, and from wherever.

use std::collections::HashMap;

use latchkey_base::kinds::{ClientId, UserId};
use latchkey_base::{Result, Time};
use latchkey_db::{Statement, Tx};

use super::model::Session;
use crate::cx::Act;
use crate::resources::clients::model::Client;
use crate::resources::clients::store;

/// Clients that are locked, because sessions on them are about to end. Whoever ends sessions gets them first:
/// all lock clients before users and sessions.
///
/// A session that begins between the look for the clients and the lock of the user is on a client that is not here.
/// It ends all the same, and its client has changed in this very moment anyway.
#[derive(Default)]
pub struct Clients(HashMap<ClientId, Held>);

struct Held {
    client: Client,
    is_changed: bool,
}

impl Clients {
    /// Clients that are locked already.
    pub fn of(clients: Vec<Client>) -> Clients {
        let held = clients.into_iter().map(|client| (client.id.clone(), Held { client, is_changed: false }));
        Clients(held.collect())
    }

    /// Locks clients by their ids.
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
        if let Some(Held { client, .. }) = found {
            let client = client.without(&session.id, now);
            self.0.insert(client.id.clone(), Held { client, is_changed: true });
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
