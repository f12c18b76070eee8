//! The SQL of the memberships that are shown with users.

use latchkey_base::kinds::{InstanceId, OrganizationId, UserId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Tx};
use latchkey_kernel::limits::{INVITATIONS_COUNTED, MEMBERSHIPS_SHOWN};
use latchkey_organizations::memberships::store as memberships;
use latchkey_organizations::orgs::store as organizations;

use super::OwnMembership;

/// Those joined last, in the order of an index, so that somebody in a thousand organizations costs no more than somebody
/// in a hundred. Invitations that wait for an answer are counted in an index, up to a limit.
const NEWEST: &str = "SELECT m.instance_id, m.organization_id, m.user_id, m.role_id, m.document, m.updated_at, m.id, \
     m.created_at, o.document, o.members_count, (SELECT count(*) FROM (SELECT 1 FROM organization_invitations i \
     WHERE i.instance_id = m.instance_id AND i.organization_id = m.organization_id AND i.status = 'pending' \
     AND i.expire_at > $3 AND i.domain_id IS NULL LIMIT $5) waiting) \
     FROM organization_memberships m \
     JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
     WHERE m.instance_id = $1 AND m.user_id = $2 ORDER BY m.created_at DESC, m.organization_id DESC LIMIT $4";
const WAITING: &str = "SELECT count(*) FROM (SELECT 1 FROM organization_invitations WHERE instance_id = $1 \
     AND organization_id = $2 AND status = 'pending' AND expire_at > $3 AND domain_id IS NULL LIMIT $4) waiting";

/// The newest memberships of a user: those that are shown, and one more.
pub async fn newest_of_user(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    now: Time,
) -> Result<Vec<OwnMembership>> {
    let (limit, counted) = (MEMBERSHIPS_SHOWN + 1, INVITATIONS_COUNTED);
    let params = [instance.into(), user.into(), now.into(), limit.into(), counted.into()];
    let mut newest = tx.all(&[NEWEST], &params, read).await?;
    for own in newest.iter_mut().skip(MEMBERSHIPS_SHOWN as usize) {
        own.is_shown = false;
    }
    Ok(newest)
}

/// How many invitations to an organization wait for an answer, as far as they are counted.
pub async fn count_invitations(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    now: Time,
) -> Result<i64> {
    let params = [instance.into(), organization.into(), now.into(), INVITATIONS_COUNTED.into()];
    Ok(tx.maybe(&[WAITING], &params, |row| row.int(0)).await?.unwrap_or_default())
}

fn read(row: &Row<'_>) -> Result<OwnMembership, DbError> {
    let membership = memberships::read(row)?;
    let organization = organizations::read_document(&membership.instance, row.str(8)?, row.int(9)?)?;
    Ok(OwnMembership { membership, organization, pending_invitations: row.int(10)?, is_shown: true })
}
