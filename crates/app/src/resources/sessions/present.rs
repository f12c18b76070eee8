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
    /// Whether a token is the client's at that place. Who signed it is not looked at.
    pub fn is_proven(&self, site: &Site, token: &str) -> bool {
        token::read(token).is_some_and(|(id, secret)| {
            self.client.id == id && site.is_proof(&id, &self.token_digest, &secret)
        })
    }

    /// The client and its sessions.
    pub fn into_parts(self) -> (Client, Vec<(Session, User)>) {
        (self.client, self.live)
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
