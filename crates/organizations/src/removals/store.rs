//! The SQL of what is left to delete.

use latchkey_base::kinds::{InstanceId, OrganizationId, UserId};
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, Row, Table, Tx};
use latchkey_kernel::background::WorkRows;
use latchkey_kernel::document;
use latchkey_people::users::model::User;
use serde::{Deserialize, Serialize};

use crate::domains::store as domains;
use crate::invitations::store as invitations;
use crate::orgs::model::Organization;
use crate::suggestions::store as suggestions;

static ORGANIZATION_REMOVALS: Table = Table::new("organization_removals", &["instance_id", "subject_id"])
    .saved(&["document", "due_at"])
    .due_by("due_at");

/// What is left to do, for the job that does it.
pub(super) const WORK: WorkRows = WorkRows::of(&ORGANIZATION_REMOVALS);

/// What was deleted, and whose memberships are left.
#[derive(Clone, Serialize, Deserialize)]
pub struct Removal {
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    pub subject: Subject,
    /// What its events say about pictures.
    pub api_url: String,
}

/// What was deleted, as it was; or a member who may not invite any more.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Organization(Box<Organization>),
    User(Box<User>),
    Sender(Sender),
}

/// A member whose pending invitations to an organization are revoked, unless they were sent later.
#[derive(Clone, Serialize, Deserialize)]
pub struct Sender {
    pub organization: OrganizationId,
    pub user: UserId,
    pub until: Time,
}

/// Returns the organization of a sender that a row is about, which is locked before the row.
pub fn organization_of_sender(subject: &str) -> Option<OrganizationId> {
    let (organization, _) = subject.split_once(SENDER)?;
    Id::parse(organization)
}

/// Separates the organization and the user in the key of a sender.
const SENDER: &str = " ";

impl Removal {
    fn id(&self) -> String {
        match &self.subject {
            Subject::Organization(organization) => organization.id.to_string(),
            Subject::User(user) => user.id.to_string(),
            Subject::Sender(Sender { organization, user, .. }) => format!("{organization}{SENDER}{user}"),
        }
    }
}

/// What is left of something, to go on with it, unless another node does.
pub async fn claim(tx: &mut Tx, instance: &InstanceId, subject: &str) -> Result<Option<Removal>> {
    ORGANIZATION_REMOVALS.claim(tx, &[instance.into(), subject.into()], read).await
}

/// Notes that something is left, which is to be done after what others have left.
pub async fn put(tx: &mut Tx, removal: &Removal, now: Time) -> Result<()> {
    let document = document::write(removal)?;
    let row = [(&removal.instance).into(), removal.id().into(), document.into(), now.into()];
    ORGANIZATION_REMOVALS.put(tx, &row).await
}

pub async fn delete(tx: &mut Tx, removal: &Removal) -> Result<bool> {
    ORGANIZATION_REMOVALS.delete(tx, &[(&removal.instance).into(), removal.id().into()]).await
}

/// Deletes up to `limit` rows of each kind that belong to what was deleted, besides memberships. Says how many of the
/// kind with most.
pub async fn delete_rest(tx: &mut Tx, removal: &Removal, limit: i64) -> Result<i64> {
    let (id, instance) = (&*removal.id(), &removal.instance);
    let most = match &removal.subject {
        Subject::Organization(_) => {
            let invited = invitations::delete_some(tx, instance, id, limit).await?;
            let domains = domains::delete_some(tx, instance, id, limit).await?;
            let suggested = suggestions::delete_some_of_organization(tx, instance, id, limit).await?;
            invited.max(domains).max(suggested)
        }
        Subject::User(_) => suggestions::delete_some_of_user(tx, instance, id, limit).await?,
        Subject::Sender(_) => 0,
    };
    Ok(i64::try_from(most).unwrap_or(limit))
}

fn read(row: &Row<'_>) -> Result<Removal, DbError> {
    let removal: Removal = document::read("removal", row.str(2)?)?;
    Ok(Removal { instance: row.id(0)?, ..removal })
}
