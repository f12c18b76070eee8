//! Pictures: uploaded ones, kept in the database, and drawn ones for everybody else. Public, because
//! browsers show them without credentials; the ids cannot be guessed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::kinds::{ImageId, InstanceId, UserId};
use latchkey_base::{Result, Time};
use latchkey_db::{Row, Table, Tx};
use latchkey_images::Image;

static IMAGES: Table = Table::new("images", &["instance_id", "id"])
    .fixed(&["user_id", "content_type", "bytes", "created_at"])
    .read(&["content_type", "bytes"]);

/// A stored picture.
pub struct StoredImage {
    pub content_type: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// The URL of the picture that is drawn for whoever has none. Components know such a picture by the word in its path, and
/// offer to remove every other one.
pub fn drawn_url(api_url: &str, owner: &str, initials: Option<String>) -> String {
    let url = format!("{api_url}/images/avatar_placeholder/{owner}");
    match initials {
        Some(initials) => format!("{url}?initials={}", URL_SAFE_NO_PAD.encode(initials)),
        None => url,
    }
}

/// One picture.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &ImageId) -> Result<Option<StoredImage>> {
    let read = |row: &Row<'_>| Ok(StoredImage { content_type: row.text(0)?, bytes: row.bytes(1)? });
    IMAGES.find(tx, &[instance.into(), id.into()], read).await
}

/// Whether a picture is one of a user's.
pub async fn is_of(tx: &mut Tx, instance: &InstanceId, user: &UserId, id: &ImageId) -> Result<bool> {
    let sql = "SELECT 1 FROM images WHERE instance_id = $1 AND user_id = $2 AND id = $3";
    Ok(tx.exists(&[sql], &[instance.into(), user.into(), id.into()]).await?)
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
    let row = [
        instance.into(),
        id.into(),
        user.into(),
        image.content_type.into(),
        image.bytes.as_slice().into(),
        now.into(),
    ];
    IMAGES.insert(tx, &row).await
}

/// Deletes all pictures of a user.
pub async fn delete_all(tx: &mut Tx, instance: &InstanceId, user: &UserId) -> Result<()> {
    let sql = "DELETE FROM images WHERE instance_id = $1 AND user_id = $2";
    tx.run(&[sql], &[instance.into(), user.into()]).await?;
    Ok(())
}
