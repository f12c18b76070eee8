//! The SQL of redirect URLs.

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, RedirectUrlId};
use latchkey_base::page::Paging;
use latchkey_db::{DbError, List, Row, Table, Tx};

use super::model::RedirectUrl;

static REDIRECT_URLS: Table =
    Table::new("redirect_urls", &["instance_id", "id"]).fixed(&["url", "created_at"]);

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &RedirectUrlId) -> Result<Option<RedirectUrl>> {
    REDIRECT_URLS.find(tx, &[instance.into(), id.into()], read).await
}

/// Whether the instance lists exactly this URL.
pub async fn is_listed(tx: &mut Tx, instance: &InstanceId, url: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM redirect_urls WHERE instance_id = $1 AND url = $2";
    Ok(tx.exists(&[sql], &[instance.into(), url.into()]).await?)
}

/// One page of the list, newest first.
pub async fn list(tx: &mut Tx, instance: &InstanceId, page: Paging) -> Result<Vec<RedirectUrl>> {
    let list = List::new(REDIRECT_URLS.select()).filter("instance_id = ?", vec![instance.into()]);
    Ok(list.order("created_at DESC, id DESC").page(page).fetch(tx, read).await?)
}

pub async fn count(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let list = List::new("SELECT count(*) FROM redirect_urls");
    Ok(list.filter("instance_id = ?", vec![instance.into()]).count(tx).await?)
}

pub async fn insert(tx: &mut Tx, redirect_url: &RedirectUrl) -> Result<()> {
    let row = [
        (&redirect_url.instance).into(),
        (&redirect_url.id).into(),
        redirect_url.url.as_str().into(),
        redirect_url.created_at.into(),
    ];
    REDIRECT_URLS.insert(tx, &row).await
}

/// Deletes an entry. Says whether there was one.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &RedirectUrlId) -> Result<bool> {
    REDIRECT_URLS.delete(tx, &[instance.into(), id.into()]).await
}

fn read(row: &Row<'_>) -> Result<RedirectUrl, DbError> {
    Ok(RedirectUrl { instance: row.id(0)?, id: row.id(1)?, url: row.text(2)?, created_at: row.time(3)? })
}
