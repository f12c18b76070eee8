//! Logos of organizations, kept in the database.

use latchkey_base::kinds::{ImageId, InstanceId, OrganizationId};
use latchkey_base::{Result, Time};
use latchkey_db::{Row, Table, Tx};
use latchkey_images::Image;
use latchkey_people::images::StoredImage;

static ORGANIZATION_LOGOS: Table = Table::new("organization_logos", &["instance_id", "id"])
    .fixed(&["organization_id", "content_type", "bytes", "created_at"])
    .read(&["content_type", "bytes"]);

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &ImageId) -> Result<Option<StoredImage>> {
    let read = |row: &Row<'_>| Ok(StoredImage { content_type: row.text(0)?, bytes: row.bytes(1)? });
    ORGANIZATION_LOGOS.find(tx, &[instance.into(), id.into()], read).await
}

pub async fn insert(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    id: &ImageId,
    image: &Image,
    now: Time,
) -> Result<()> {
    let row = [
        instance.into(),
        id.into(),
        organization.into(),
        image.content_type.into(),
        image.bytes.as_slice().into(),
        now.into(),
    ];
    ORGANIZATION_LOGOS.insert(tx, &row).await
}

/// Deletes all logos of an organization.
pub async fn delete_all(tx: &mut Tx, instance: &InstanceId, organization: &OrganizationId) -> Result<()> {
    let sql = "DELETE FROM organization_logos WHERE instance_id = $1 AND organization_id = $2";
    tx.run(&[sql], &[instance.into(), organization.into()]).await?;
    Ok(())
}
