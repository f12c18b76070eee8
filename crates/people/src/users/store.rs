//! The SQL of users and of the index of their identifiers.

use latchkey_base::kinds::{IdentificationId, InstanceId, UserId};
use latchkey_base::text::{email, fold, readable_email};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Statement, Table, Tx, Value};
use latchkey_kernel::document;
use latchkey_kernel::instances::store::{Holder, read_key_holder};

use super::model::{ContactKind, IdentifierClaim, User};

static USERS: Table = Table::new("users", &["instance_id", "id"])
    .saved(&[
        "document",
        "created_at",
        "updated_at",
        "last_active_at",
        "last_sign_in_at",
        "banned",
        "external_id",
        "first_name_folded",
        "last_name_folded",
        "primary_email_folded",
        "primary_phone_folded",
        "primary_wallet_folded",
        "username_folded",
        "emails_folded",
        "phones_folded",
        "names_folded",
        "search_folded",
    ])
    .read(&["instance_id", "document"]);
static IDENTIFICATIONS: Table = Table::new("identifications", &["instance_id", "id"]).fixed(&[
    "user_id",
    "kind",
    "value_folded",
    "claim",
]);

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &UserId) -> Result<Option<User>> {
    USERS.find(tx, &[instance.into(), id.into()], read).await
}

/// The instance a key digest belongs to, and a user of it: the most frequent request in one statement.
pub async fn find_by_key(tx: &mut Tx, digest: &[u8], id: &str) -> Result<Option<(Holder, Option<User>)>> {
    let sql = "SELECT i.id, i.environment, i.settings_revision, k.id, u.document \
               FROM secret_keys k JOIN instances i ON i.id = k.instance_id \
               LEFT JOIN users u ON u.instance_id = i.id AND u.id = $2 WHERE k.digest = $1";
    let read = |row: &Row<'_>| {
        let holder = read_key_holder(row)?;
        let user = row.maybe_str(4)?.map(|document| read_document(&holder.id, document)).transpose()?;
        Ok((holder, user))
    };
    Ok(tx.maybe(&[sql], &[digest.into(), id.into()], read).await?)
}

/// One user, to change them.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &UserId) -> Result<Option<User>> {
    USERS.lock(tx, &[instance.into(), id.into()], read).await
}

const BY_IDENTIFICATION: &str =
    " AND id = (SELECT user_id FROM identifications WHERE instance_id = $1 AND id = $2 AND kind = $3)";

/// The user an identification belongs to.
pub async fn find_by_identification(
    tx: &mut Tx,
    instance: &InstanceId,
    kind: ContactKind,
    id: &IdentificationId,
) -> Result<Option<User>> {
    let params = [instance.into(), id.into(), kind.name().into()];
    Ok(tx.maybe(&[USERS.of_instance(), BY_IDENTIFICATION], &params, read).await?)
}

/// The user an identification belongs to, to change them.
pub async fn lock_by_identification(
    tx: &mut Tx,
    instance: &InstanceId,
    kind: ContactKind,
    id: &IdentificationId,
) -> Result<Option<User>> {
    let params = [instance.into(), id.into(), kind.name().into()];
    Ok(tx.lock(&[USERS.of_instance(), BY_IDENTIFICATION], &params, read).await?)
}

/// A user who must stay as they are until we commit, unless somebody else is changing them: that one is not waited for.
pub async fn claim(tx: &mut Tx, instance: &InstanceId, id: &UserId) -> Result<Option<User>> {
    let found = tx.claim(&[USERS.of_instance(), " AND id = $2"], &[instance.into(), id.into()], read).await?;
    Ok(found.into_iter().next())
}

/// An identifier in the form in which the index has it.
pub fn comparable(kind: &str, value: &str) -> String {
    let address = (kind == ContactKind::Email.name()).then(|| email(value)).flatten();
    match kind.starts_with("oauth_") {
        // What a provider calls somebody is not a word of ours: case counts.
        true => value.to_owned(),
        false => fold(address.as_deref().unwrap_or(value)),
    }
}

const BY_IDENTIFICATION_VALUE: &str = " AND id = (SELECT user_id FROM identifications WHERE instance_id = $1 AND kind = $2 AND value_folded = $3 AND claim = '')";

/// The user who holds an identifier, verified or reserved, in whatever case it is written.
pub async fn find_by_identifier(
    tx: &mut Tx,
    instance: &InstanceId,
    kind: &str,
    value: &str,
) -> Result<Option<User>> {
    let params = [instance.into(), kind.into(), comparable(kind, value).into()];
    Ok(tx.maybe(&[USERS.of_instance(), BY_IDENTIFICATION_VALUE], &params, read).await?)
}

/// The user who holds an identifier, to change them.
pub async fn lock_by_identifier(
    tx: &mut Tx,
    instance: &InstanceId,
    kind: &str,
    value: &str,
) -> Result<Option<User>> {
    let params = [instance.into(), kind.into(), comparable(kind, value).into()];
    Ok(tx.lock(&[USERS.of_instance(), BY_IDENTIFICATION_VALUE], &params, read).await?)
}

/// Users of all instances with an address that is not ASCII or has an A-label, oldest first.
pub async fn international(tx: &mut Tx) -> Result<Vec<(InstanceId, UserId)>> {
    let sql = "SELECT instance_id, id FROM users WHERE octet_length(emails_folded) <> length(emails_folded) \
               OR emails_folded LIKE '%xn--%' ORDER BY created_at, id";
    Ok(tx.all(&[sql], &[], |row| Ok((row.id(0)?, row.id(1)?))).await?)
}

/// The e-mail addresses that users hold, proven or reserved, in the form of the index: up to `limit` behind one of them,
/// in order.
pub async fn addresses_after(
    tx: &mut Tx,
    instance: &InstanceId,
    after: &str,
    limit: i64,
) -> Result<Vec<(String, UserId)>> {
    let sql = "SELECT value_folded, user_id FROM identifications WHERE instance_id = $1 AND kind = $2 AND claim = '' \
               AND value_folded > $3 ORDER BY value_folded LIMIT $4";
    let params = [instance.into(), ContactKind::Email.name().into(), after.into(), limit.into()];
    Ok(tx.all(&[sql], &params, |row| Ok((row.text(0)?, row.id(1)?))).await?)
}

/// When a user was created, for a cursor.
pub async fn created_at(tx: &mut Tx, instance: &InstanceId, id: &UserId) -> Result<Option<Time>> {
    let sql = "SELECT created_at FROM users WHERE instance_id = $1 AND id = $2";
    Ok(tx.maybe(&[sql], &[instance.into(), id.into()], |row| row.time(0)).await?)
}

/// The statements that add a user. They are sent together.
pub fn insert(user: &User) -> Result<Vec<Statement>> {
    let mut statements = vec![USERS.inserting(row(user)?)];
    statements.extend(in_order(user.claims()).iter().map(|claim| insert_claim(user, claim)));
    Ok(statements)
}

/// Saves a changed user: the row, and of the index only what changed.
pub async fn save(tx: &mut Tx, before: &User, after: &User) -> Result<()> {
    let (old, new) = (before.claims(), in_order(after.claims()));
    let gone = old.iter().filter(|claim| !new.contains(claim));
    let gone = gone.map(|claim| IDENTIFICATIONS.deleting(vec![(&after.instance).into(), (&claim.id).into()]));
    let fresh = new.iter().filter(|claim| !old.contains(claim)).map(|claim| insert_claim(after, claim));
    let statements = gone.chain(fresh).chain([USERS.saving(row(after)?)]).collect();
    Ok(tx.run_many(statements).await?)
}

/// Deletes a user and, by the foreign keys, all that belongs to them.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &UserId) -> Result<()> {
    USERS.delete(tx, &[instance.into(), id.into()]).await?;
    Ok(())
}

/// Which of these identifiers somebody else holds, by kind.
pub async fn taken(tx: &mut Tx, user: &User) -> Result<Vec<String>> {
    let exclusive = user.claims().into_iter().filter(|claim| claim.exclusive);
    let wanted = exclusive.map(|claim| (claim.kind, claim.value_folded)).collect();
    held_among(tx, &user.instance, user.id.as_str(), wanted).await
}

/// Which of these identifiers anybody holds, by kind.
pub async fn held(
    tx: &mut Tx,
    instance: &InstanceId,
    wanted: Vec<(&'static str, String)>,
) -> Result<Vec<&'static str>> {
    let folded = wanted.into_iter().map(|(kind, value)| (kind, comparable(kind, &value)));
    held_among(tx, instance, "", folded.collect()).await
}

/// Which of these anybody but one user holds.
async fn held_among<K: AsRef<str>>(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &str,
    wanted: Vec<(K, String)>,
) -> Result<Vec<K>> {
    let mut is_found = false;
    for (kind, value) in &wanted {
        is_found |= is_held_by_another(tx, instance, user, kind.as_ref(), value.clone()).await?;
    }
    let mut held = Vec::new();
    if is_found {
        // Whoever was written between two of these questions may hold what was asked for before.
        for (kind, value) in wanted {
            if is_held_by_another(tx, instance, user, kind.as_ref(), value).await? {
                held.push(kind);
            }
        }
    }
    Ok(held)
}

/// Whether somebody else holds this identifier, verified or reserved.
pub async fn is_taken(tx: &mut Tx, user: &User, kind: ContactKind, value: &str) -> Result<bool> {
    let value = comparable(kind.name(), value);
    is_held_by_another(tx, &user.instance, user.id.as_str(), kind.name(), value).await
}

/// Whether anybody holds this identifier, verified or reserved.
pub async fn is_held(tx: &mut Tx, instance: &InstanceId, kind: &str, value: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM identifications WHERE instance_id = $1 AND kind = $2 AND value_folded = $3 \
               AND claim = ''";
    Ok(tx.exists(&[sql], &[instance.into(), kind.into(), comparable(kind, value).into()]).await?)
}

/// Whether a user has this id of another system.
pub async fn is_external_id_taken(tx: &mut Tx, instance: &InstanceId, external_id: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM users WHERE instance_id = $1 AND external_id = $2";
    Ok(tx.exists(&[sql], &[instance.into(), external_id.into()]).await?)
}

async fn is_held_by_another(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &str,
    kind: &str,
    value_folded: String,
) -> Result<bool> {
    let sql = "SELECT 1 FROM identifications WHERE instance_id = $1 AND kind = $2 AND value_folded = $3 \
               AND claim = '' AND user_id <> $4";
    Ok(tx.exists(&[sql], &[instance.into(), kind.into(), value_folded.into(), user.into()]).await?)
}

fn row(user: &User) -> Result<Vec<Value>> {
    let joined = |kind: ContactKind| {
        // People look for a domain as they read it, and for what they were shown.
        let values = user.contacts(kind).all.iter().flat_map(|contact| {
            let readable = (kind == ContactKind::Email).then(|| readable_email(&contact.value)).flatten();
            [Some(fold(&contact.value)), readable.as_deref().map(fold)]
        });
        values.flatten().collect::<Vec<_>>().join("\n")
    };
    let primary = |kind: ContactKind| user.contacts(kind).primary().map(|contact| fold(&contact.value));
    let (first, last) = (user.first_name.as_deref().map(fold), user.last_name.as_deref().map(fold));
    let names: Vec<&str> = [&first, &last].into_iter().filter_map(|name| name.as_deref()).collect();
    let names = names.join(" ");
    let (emails, phones, wallets) =
        (joined(ContactKind::Email), joined(ContactKind::Phone), joined(ContactKind::Wallet));
    let username = user.username.as_ref().map(|username| fold(&username.value));
    let id = fold(user.id.as_str());
    let search =
        [&id, &emails, &phones, username.as_deref().unwrap_or_default(), &wallets, &names].join("\n");
    Ok(vec![
        (&user.instance).into(),
        (&user.id).into(),
        document::write(user)?.into(),
        user.created_at.into(),
        user.updated_at.into(),
        user.last_active_at.into(),
        user.last_sign_in_at.into(),
        user.banned.into(),
        user.external_id.as_deref().into(),
        first.into(),
        last.into(),
        primary(ContactKind::Email).into(),
        primary(ContactKind::Phone).into(),
        primary(ContactKind::Wallet).into(),
        username.into(),
        emails.into(),
        phones.into(),
        names.into(),
        search.into(),
    ])
}

/// Claims are written in one order by everybody, so that two who want the same ones never wait for each
/// other.
fn in_order(mut claims: Vec<IdentifierClaim>) -> Vec<IdentifierClaim> {
    claims.sort_by(|a, b| (&a.kind, &a.value_folded).cmp(&(&b.kind, &b.value_folded)));
    claims
}

fn insert_claim(user: &User, claim: &IdentifierClaim) -> Statement {
    let free = if claim.exclusive { "" } else { claim.id.as_str() };
    IDENTIFICATIONS.inserting(vec![
        (&user.instance).into(),
        (&claim.id).into(),
        (&user.id).into(),
        claim.kind.as_str().into(),
        claim.value_folded.as_str().into(),
        free.into(),
    ])
}

/// Reads a user from `instance_id, document`.
pub fn read(row: &Row<'_>) -> Result<User, DbError> {
    read_document(&row.id(0)?, row.str(1)?)
}

/// Reads a user from their document, for stores that join.
pub fn read_document(instance: &InstanceId, document: &str) -> Result<User, DbError> {
    let user: User = document::read("user", document)?;
    Ok(User { instance: instance.clone(), ..user })
}
