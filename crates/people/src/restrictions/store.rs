//! The SQL of the allow-list and the block-list.

use latchkey_base::kinds::InstanceId;
use latchkey_base::page::Paging;
use latchkey_base::text::{fold, mailbox};
use latchkey_base::{Id, Result};
use latchkey_db::{DbError, List, Row, Table, Tx, Value};
use latchkey_kernel::document;

use super::model::{EntryList, ListedIdentifier, ListedKind};

static LISTED_IDENTIFIERS: Table = Table::new("listed_identifiers", &["instance_id", "id"])
    .saved(&["document"])
    .fixed(&["list", "identifier_folded", "created_at", "mailbox"]);

/// One page of a list, newest first.
pub async fn list<K: ListedKind>(
    tx: &mut Tx,
    instance: &InstanceId,
    page: Paging,
) -> Result<Vec<ListedIdentifier<K>>> {
    let all = List::new(LISTED_IDENTIFIERS.select())
        .filter("instance_id = ?", vec![instance.into()])
        .filter("list = ?", vec![K::LIST.name().into()])
        .order("created_at DESC, id DESC");
    Ok(all.page(page).fetch(tx, read::<K>).await?)
}

/// How many stand on a list.
pub async fn count<K: ListedKind>(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let all = List::new("SELECT count(*) FROM listed_identifiers")
        .filter("instance_id = ?", vec![instance.into()])
        .filter("list = ?", vec![K::LIST.name().into()]);
    Ok(all.count(tx).await?)
}

/// Whether an identifier stands on a list, exactly as it is given.
pub async fn is_listed(
    tx: &mut Tx,
    instance: &InstanceId,
    list: EntryList,
    identifier: &str,
) -> Result<bool> {
    let sql =
        "SELECT 1 FROM listed_identifiers WHERE instance_id = $1 AND identifier_folded = $2 AND list = $3";
    Ok(tx.exists(&[sql], &[instance.into(), fold(identifier).into(), list.name().into()]).await?)
}

/// Which of these keys stand on which list. Keys are found one by one in the index, however long the lists are.
pub async fn found(tx: &mut Tx, instance: &InstanceId, keys: &[String]) -> Result<Vec<(EntryList, String)>> {
    let keys: Vec<Value> = keys.iter().map(|key| fold(key).into()).collect();
    let found = List::new("SELECT list, identifier_folded FROM listed_identifiers")
        .filter("instance_id = ?", vec![instance.into()])
        .any_of("identifier_folded IN", vec![], keys, "");
    Ok(found.fetch(tx, read_key).await?)
}

/// Returns the lists that contain an address of this mailbox.
pub async fn find_by_mailbox(tx: &mut Tx, instance: &InstanceId, mailbox: &str) -> Result<Vec<EntryList>> {
    let sql = "SELECT DISTINCT list FROM listed_identifiers WHERE instance_id = $1 AND mailbox = $2";
    Ok(tx.all(&[sql], &[instance.into(), mailbox.into()], |row| read_list(row.str(0)?)).await?)
}

fn read_key(row: &Row<'_>) -> Result<(EntryList, String), DbError> {
    Ok((read_list(row.str(0)?)?, row.text(1)?))
}

fn read_list(name: &str) -> Result<EntryList, DbError> {
    EntryList::parse(name).ok_or_else(|| DbError::Failed("an identifier is on an unknown list".into()))
}

pub async fn insert<K: ListedKind>(tx: &mut Tx, listed: &ListedIdentifier<K>) -> Result<()> {
    let identifier = &listed.details.identifier;
    let is_address = identifier.contains('@') && !identifier.starts_with('*');
    let row = [
        (&listed.instance).into(),
        (&listed.id).into(),
        document::write(&listed.details)?.into(),
        K::LIST.name().into(),
        fold(identifier).into(),
        listed.created_at.into(),
        is_address.then(|| mailbox(identifier)).into(),
    ];
    LISTED_IDENTIFIERS.insert(tx, &row).await
}

/// What stands on a list, to take it off.
pub async fn lock<K: ListedKind>(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &Id<K>,
) -> Result<Option<ListedIdentifier<K>>> {
    LISTED_IDENTIFIERS.lock(tx, &[instance.into(), id.into()], read).await
}

/// Takes something off a list. Says whether it was there.
pub async fn delete<K: ListedKind>(tx: &mut Tx, instance: &InstanceId, id: &Id<K>) -> Result<bool> {
    LISTED_IDENTIFIERS.delete(tx, &[instance.into(), id.into()]).await
}

fn read<K: ListedKind>(row: &Row<'_>) -> Result<ListedIdentifier<K>, DbError> {
    Ok(ListedIdentifier {
        instance: row.id(0)?,
        id: row.id(1)?,
        details: document::read("listed identifier", row.str(2)?)?,
        created_at: row.time(5)?,
    })
}
