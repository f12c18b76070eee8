//! Where groups above leave what members of an organization may use. Their tokens show it from the next one on.

use latchkey_base::Result;
use latchkey_base::kinds::OrganizationId;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_people::users::model::Entitlements;

use super::change::locked;
use super::model::Organization;
use super::store;

/// Replaces what an organization may use. No event tells of it: whoever sells it has events of their own.
pub async fn write(tx: &mut Tx, act: &Act, id: &OrganizationId, entitlements: Entitlements) -> Result<()> {
    let organization = locked(tx, &act.instance, id).await?;
    store::save(tx, &Organization { entitlements, ..organization }).await
}
