//! Everybody signed in on a client, as `store.rs` reads it together with the instance of the request: what
//! browsers ask for most then takes one statement.

use super::model::Session;
use crate::frontend::site::Site;
use crate::resources::clients::model::Client;
use crate::resources::clients::token;
use crate::resources::instances::store::Place;
use crate::resources::users::model::User;

/// A client nobody has proven to be yet, and who is signed in on it.
#[derive(Clone)]
pub struct Present {
    /// The client.
    pub(super) client: Client,
    /// What its secret must fit.
    pub(super) token_digest: Vec<u8>,
    /// Its sessions that still count, oldest first.
    pub(super) live: Vec<(Session, User)>,
}

impl Present {
    /// The client and its sessions, for whoever shows its token at that place. Who signed that is not looked at.
    pub fn proven(self, site: &Site, token: &str) -> Option<(Client, Vec<(Session, User)>)> {
        let (id, secret) = token::read(token)?;
        let is_proven = self.client.id == id && site.is_proof(&id, &self.token_digest, &secret);
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
