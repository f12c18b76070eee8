//! Everybody signed in on a client, as `store.rs` reads it together with the instance of the request: what
//! browsers ask for most then takes one statement.

use latchkey_db::CopiedRow;
use latchkey_kernel::instances::store::FoundInstance;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::memberships::model::ActiveMembership;
use latchkey_people::users::model::User;

use super::model::Session;
use crate::clients::model::Client;

/// A session with its user, and their membership in the organization they work for, if they work for one.
#[derive(Clone)]
pub struct PresentSession {
    pub session: Session,
    pub user: User,
    pub active: Option<ActiveMembership>,
}

impl PresentSession {
    /// Whether the user works for the organization with this id or slug.
    pub fn is_for(&self, organization: &str) -> bool {
        let active = self.active.as_ref().map(|active| &active.organization);
        active.is_some_and(|it| it.id.as_str() == organization || it.slug.as_deref() == Some(organization))
    }

    /// As it counts by the settings of the instance.
    pub fn seen(self, settings: &Settings) -> PresentSession {
        let PresentSession { session, user, active } = self;
        let session = session.seen(&settings.organizations);
        let active = active.filter(|_| session.active_organization.is_some());
        PresentSession { session, user, active }
    }
}

/// A client by the id in a cookie, and who is signed in on it. Whether the cookie is valid was not checked yet.
#[derive(Clone)]
pub struct ClientWithSessions {
    pub(super) client: Client,
    /// The digest of its secret.
    pub(super) token_digest: Vec<u8>,
    /// Its sessions that still count, oldest first.
    pub(super) live: Vec<PresentSession>,
}

impl ClientWithSessions {
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The digest of its secret.
    pub fn token_digest(&self) -> &[u8] {
        &self.token_digest
    }

    /// The client and its sessions, as they count by the settings of the instance.
    pub fn into_parts(self, settings: &Settings) -> (Client, Vec<PresentSession>) {
        (self.client, self.live.into_iter().map(|present| present.seen(settings)).collect())
    }
}

/// An instance, the id of the key it signs with, and the client.
pub struct InstanceWithClient {
    /// The instance.
    pub found: FoundInstance,
    /// The id of the key.
    pub signing_key: Option<String>,
    /// What was read of the client, if one was asked for.
    pub present: Option<PresentRows>,
}

/// What was read of an instance, one of its clients and who is signed in on it, as it came; `store::read_present` takes it apart.
pub struct PresentRows(pub(super) Vec<CopiedRow>);

impl PresentRows {
    /// The rows, for those who keep what they made of them.
    pub fn into_rows(self) -> Vec<CopiedRow> {
        self.0
    }

    /// Whether they can be compared with others.
    pub fn are_comparable(&self) -> bool {
        self.0.iter().all(CopiedRow::is_comparable)
    }

    /// The rows, to be compared.
    pub fn rows(&self) -> &[CopiedRow] {
        &self.0
    }
}
