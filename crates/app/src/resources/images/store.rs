//! The SQL of pictures.

use latchkey_base::kinds::{ImageId, InstanceId};
use latchkey_base::{Result, Time};
use latchkey_db::Tx;
use latchkey_images::Image;

/// A stored picture.
pub struct Stored {
    /// Its MIME type.
    pub content_type: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// One picture.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &ImageId) -> Result<Option<Stored>> {
    let sql = "SELECT content_type, bytes FROM images WHERE instance_id = $1 AND id = $2";
    let read = |row: &latchkey_db::Row<'_>| Ok(Stored { content_type: row.text(0)?, bytes: row.bytes(1)? });
    Ok(tx.maybe(&[sql], &[instance.into(), id.into()], read).await?)
}

/// Adds a picture.
pub async fn insert(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &ImageId,
    image: &Image,
    now: Time,
) -> Result<()> {
    tx.run(
        &["INSERT INTO images (instance_id, id, content_type, bytes, created_at) VALUES ($1, $2, $3, $4, $5)"],
        &[instance.into(), id.into(), image.content_type.into(), image.bytes.as_slice().into(), now.into()],
    )
    .await?;
    Ok(())
}

/// Deletes a picture.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &ImageId) -> Result<()> {
    tx.run(&["DELETE FROM images WHERE instance_id = $1 AND id = $2"], &[instance.into(), id.into()]).await?;
    Ok(())
}
