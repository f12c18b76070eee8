//! Where groups above leave what members of an organization may use. Their tokens show it from the next one on.

use latchkey_base::Result;
use latchkey_base::kinds::OrganizationId;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;

use super::change::locked;
use super::model::Organization;
use super::store;
use crate::people::users::model::Entitlements;

/// Replaces what an organization may use. No event tells of it: whoever sells it has events of their own.
pub async fn write(tx: &mut Tx, act: &Act, id: &OrganizationId, entitlements: Entitlements) -> Result<()> {
    let organization = locked(tx, &act.instance, id).await?;
    store::save(tx, &Organization { entitlements, ..organization }).await
}
