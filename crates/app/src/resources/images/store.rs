//! The SQL of pictures.

use latchkey_base::kinds::{ImageId, InstanceId, UserId};
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

/// Whether a picture is one of a user's.
pub async fn is_of(tx: &mut Tx, instance: &InstanceId, user: &UserId, id: &ImageId) -> Result<bool> {
    let sql = "SELECT 1 FROM images WHERE instance_id = $1 AND user_id = $2 AND id = $3";
    Ok(tx.maybe(&[sql], &[instance.into(), user.into(), id.into()], |_| Ok(())).await?.is_some())
}

/// Adds a picture of a user.
pub async fn insert(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    id: &ImageId,
    image: &Image,
    now: Time,
) -> Result<()> {
    tx.run(
        &["INSERT INTO images (instance_id, user_id, id, content_type, bytes, created_at) \
           VALUES ($1, $2, $3, $4, $5, $6)"],
        &[
            instance.into(),
            user.into(),
            id.into(),
            image.content_type.into(),
            image.bytes.as_slice().into(),
            now.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Deletes all pictures of a user.
pub async fn delete_all(tx: &mut Tx, instance: &InstanceId, user: &UserId) -> Result<()> {
    let sql = "DELETE FROM images WHERE instance_id = $1 AND user_id = $2";
    tx.run(&[sql], &[instance.into(), user.into()]).await?;
    Ok(())
}
