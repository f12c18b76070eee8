//! Everybody signed in on a client, read together with the instance of the request: what browsers ask for most
//! then takes one statement.

use latchkey_base::kinds::{ClientId, InstanceId};
use latchkey_base::secret::Secret;
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Tx};

use super::model::Session;
use super::store::read_document as read_session;
use crate::frontend::site::Site;
use crate::resources::clients::model::Client;
use crate::resources::clients::store as clients;
use crate::resources::instances::store::{By, Place, SIGNING_PLACE, read_signing_place};
use crate::resources::users::model::User;
use crate::resources::users::store::read_document as read_user;

/// A client nobody has proven to be yet, and who is signed in on it.
#[derive(Clone)]
pub struct Present {
    client: Client,
    token_digest: Vec<u8>,
    live: Vec<(Session, User)>,
}

impl Present {
    /// The client and its sessions, for whoever shows its id and its secret at that place.
    pub fn proven(
        self,
        site: &Site,
        id: &ClientId,
        secret: &Secret,
    ) -> Option<(Client, Vec<(Session, User)>)> {
        let is_proven = self.client.id == *id && site.is_proof(id, &self.token_digest, secret);
        is_proven.then_some((self.client, self.live))
    }
}

/// An instance, the id of the key it signs with, and the client.
pub struct Found {
    /// The instance.
    pub place: Place,
    /// The id of the key.
    pub signing_key: Option<String>,
    /// The client, if the instance has it.
    pub present: Option<Present>,
}

const FROM: &str = ", c.document, c.token_digest, s.document, u.document FROM instances i \
     LEFT JOIN clients c ON c.instance_id = i.id AND c.id = $3 \
     LEFT JOIN sessions s ON s.instance_id = i.id AND s.client_id = c.id AND s.status IN ('active', 'pending') \
     AND s.expire_at > $2 AND s.abandon_at > $2 \
     LEFT JOIN users u ON u.instance_id = i.id AND u.id = s.user_id";
const ORDER: &str = " ORDER BY s.created_at NULLS LAST, s.id NULLS LAST";

/// The instance of a request, one of its clients, and the sessions of that which still count, oldest first.
pub async fn find(tx: &mut Tx, by: &By<'_>, client: &ClientId, now: Time) -> Result<Option<Found>> {
    let (condition, value) = by.condition();
    let parts = [SIGNING_PLACE, FROM, condition, ORDER];
    let mut rows = tx.all(&parts, &[value, now.into(), client.into()], read).await?.into_iter();
    let Some((mut found, first)) = rows.next() else { return Ok(None) };
    if let Some(present) = &mut found.present {
        let others = rows.filter_map(|(_, session)| session);
        present.live = first.into_iter().chain(others).collect();
    }
    Ok(Some(found))
}

fn read(row: &Row<'_>) -> Result<(Found, Option<(Session, User)>), DbError> {
    let (place, signing_key) = read_signing_place(row)?;
    let instance = &place.holder.id;
    let present = row.maybe_str(5)?.map(|document| read_client(row, instance, document)).transpose()?;
    let session = match (row.maybe_str(7)?, row.maybe_str(8)?) {
        (Some(session), Some(user)) => Some((read_session(instance, session)?, read_user(instance, user)?)),
        _ => None,
    };
    Ok((Found { place, signing_key, present }, session))
}

fn read_client(row: &Row<'_>, instance: &InstanceId, document: &str) -> Result<Present, DbError> {
    let client = clients::read_document(instance, document)?;
    Ok(Present { client, token_digest: row.bytes(6)?, live: Vec::new() })
}
