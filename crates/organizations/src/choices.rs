//! Which organization the next session of a user begins with: the one they chose last, or joined since. One that
//! another member added them to is no choice of theirs.

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, OrganizationId, OrganizationMembershipId, UserId};
use latchkey_db::{DbError, Row, Table, Tx};
use latchkey_kernel::settings::OrganizationSettings;

use super::memberships::model::Membership;
use super::memberships::store as memberships;

/// An organization that somebody works for, and the membership with which they chose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenOrganization {
    pub id: OrganizationId,
    pub membership: OrganizationMembershipId,
}

impl ChosenOrganization {
    /// The organization of a membership.
    pub fn of(membership: &Membership) -> ChosenOrganization {
        ChosenOrganization { id: membership.organization.clone(), membership: membership.id.clone() }
    }
}

static ORGANIZATION_CHOICES: Table =
    Table::new("organization_choices", &["instance_id", "user_id"]).saved(&["organization_id"]);

const CHOSEN: &str = "SELECT m.organization_id, m.id FROM organization_choices c \
     JOIN organization_memberships m ON m.instance_id = c.instance_id AND m.organization_id = c.organization_id \
     AND m.user_id = c.user_id \
     JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
     WHERE c.instance_id = $1 AND c.user_id = $2 AND NOT m.is_unchosen";
const TWO_OF_THEIRS: &str = "SELECT m.organization_id, m.id FROM organization_memberships m \
     JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
     WHERE m.instance_id = $1 AND m.user_id = $2 AND NOT m.is_unchosen LIMIT 2";

/// Notes what a user chose, or which organization they joined. `None` is the choice to work for themselves. It is
/// written before sessions are locked.
pub async fn note(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    organization: Option<&OrganizationId>,
) -> Result<()> {
    let chosen = organization.map(|id| id.as_str());
    ORGANIZATION_CHOICES.put(tx, &[instance.into(), user.into(), chosen.into()]).await?;
    match organization {
        Some(id) => memberships::mark_chosen(tx, instance, id, user).await,
        None => Ok(()),
    }
}

/// Forgets what was chosen in the name of a user whose account somebody else has now: their next session begins with none of
/// the organizations they are in, as with those that others added them to. It is written before sessions are locked.
pub async fn forget(tx: &mut Tx, instance: &InstanceId, user: &UserId) -> Result<()> {
    ORGANIZATION_CHOICES.delete(tx, &[instance.into(), user.into()]).await?;
    memberships::mark_all_unchosen(tx, instance, user).await
}

/// The organization that a new session of a user begins with. One that they are no longer a member of does not count.
/// Where everybody works for an organization, those who have only one need not choose: those that others added them to and
/// that they never chose do not count, so whoever has no other is asked.
pub async fn next(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    settings: &OrganizationSettings,
) -> Result<Option<ChosenOrganization>> {
    if !settings.enabled {
        return Ok(None);
    }
    let params = [instance.into(), user.into()];
    let chosen = tx.maybe(&[CHOSEN], &params, read).await?;
    if chosen.is_some() || !settings.force_selection {
        return Ok(chosen);
    }
    let mut found = tx.all(&[TWO_OF_THEIRS], &params, read).await?;
    Ok(found.pop().filter(|_| found.is_empty()))
}

fn read(row: &Row<'_>) -> Result<ChosenOrganization, DbError> {
    Ok(ChosenOrganization { id: row.id(0)?, membership: row.id(1)? })
}
