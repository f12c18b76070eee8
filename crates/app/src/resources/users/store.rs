//! The SQL of users and of the index of their identifiers.

use latchkey_base::kinds::{IdentificationId, InstanceId, UserId};
use latchkey_base::text::fold;
use latchkey_base::{Error, Id, Result, Time};
use latchkey_db::{DbError, Row, Statement, Tx, Value};

use super::model::{Claim, Kind, User};
use crate::resources::instances::store::{Holder, read_holder};

const SELECT: &str = "SELECT instance_id, document FROM users";

/// One user.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &UserId) -> Result<Option<User>> {
    Ok(tx
        .maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &[instance.into(), id.into()], read)
        .await?)
}

/// The instance a key digest belongs to, and a user of it: the most frequent request in one statement.
pub async fn find_by_key(tx: &mut Tx, digest: &[u8], id: &str) -> Result<Option<(Holder, Option<User>)>> {
    let sql = "SELECT i.id, i.environment, i.settings_revision, u.document \
               FROM instances i LEFT JOIN users u ON u.instance_id = i.id AND u.id = $2 \
               WHERE i.id = (SELECT instance_id FROM secret_keys WHERE digest = $1)";
    let read = |row: &Row<'_>| {
        let holder = read_holder(row)?;
        let user = row.maybe_str(3)?.map(|document| read_document(&holder.id, document)).transpose()?;
        Ok((holder, user))
    };
    Ok(tx.maybe(&[sql], &[digest.into(), id.into()], read).await?)
}

/// One user, to change them.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &UserId) -> Result<Option<User>> {
    Ok(tx.lock(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &[instance.into(), id.into()], read).await?)
}

const BY_IDENTIFICATION: &str = " WHERE instance_id = $1 AND id = (SELECT user_id FROM identifications WHERE instance_id = $1 AND id = $2 AND kind = $3)";

/// The user an identification belongs to.
pub async fn find_by_identification(
    tx: &mut Tx,
    instance: &InstanceId,
    kind: Kind,
    id: &IdentificationId,
) -> Result<Option<User>> {
    Ok(tx
        .maybe(&[SELECT, BY_IDENTIFICATION], &[instance.into(), id.into(), kind.name().into()], read)
        .await?)
}

/// The user an identification belongs to, to change them.
pub async fn lock_by_identification(
    tx: &mut Tx,
    instance: &InstanceId,
    kind: Kind,
    id: &IdentificationId,
) -> Result<Option<User>> {
    Ok(tx.lock(&[SELECT, BY_IDENTIFICATION], &[instance.into(), id.into(), kind.name().into()], read).await?)
}

const BY_IDENTIFICATION_VALUE: &str = " WHERE instance_id = $1 AND id = (SELECT user_id FROM identifications WHERE instance_id = $1 AND kind = $2 AND value_folded = $3 AND claim = '')";

/// The user who holds an identifier, verified or reserved, in whatever case it is written.
pub async fn find_by_identifier(
    tx: &mut Tx,
    instance: &InstanceId,
    kind: &str,
    value: &str,
) -> Result<Option<User>> {
    let params = [instance.into(), kind.into(), fold(value).into()];
    Ok(tx.maybe(&[SELECT, BY_IDENTIFICATION_VALUE], &params, read).await?)
}

/// The user who holds an identifier, to change them.
pub async fn lock_by_identifier(
    tx: &mut Tx,
    instance: &InstanceId,
    kind: &str,
    value: &str,
) -> Result<Option<User>> {
    let params = [instance.into(), kind.into(), fold(value).into()];
    Ok(tx.lock(&[SELECT, BY_IDENTIFICATION_VALUE], &params, read).await?)
}

/// When a user was created, for a cursor.
pub async fn created_at(tx: &mut Tx, instance: &InstanceId, id: &UserId) -> Result<Option<Time>> {
    let sql = "SELECT created_at FROM users WHERE instance_id = $1 AND id = $2";
    Ok(tx.maybe(&[sql], &[instance.into(), id.into()], |row| row.time(0)).await?)
}

/// The statements that add a user. They are sent together.
pub fn insert(user: &User) -> Result<Vec<Statement>> {
    let user_row = "INSERT INTO users (instance_id, id, document, created_at, updated_at, last_active_at, last_sign_in_at, banned, \
         external_id, first_name_folded, last_name_folded, primary_email_folded, primary_phone_folded, primary_wallet_folded, \
         username_folded, emails_folded, phones_folded, names_folded, search_folded) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";
    let mut statements = vec![(user_row, columns(user)?)];
    statements.extend(in_order(user.claims()).iter().map(|claim| insert_claim(user, claim)));
    Ok(statements)
}

/// Saves a changed user: the row, and of the index only what changed.
pub async fn save(tx: &mut Tx, before: &User, after: &User) -> Result<()> {
    let user_row = "UPDATE users SET document = $3, created_at = $4, updated_at = $5, last_active_at = $6, last_sign_in_at = $7, \
         banned = $8, external_id = $9, first_name_folded = $10, last_name_folded = $11, primary_email_folded = $12, \
         primary_phone_folded = $13, primary_wallet_folded = $14, username_folded = $15, emails_folded = $16, \
         phones_folded = $17, names_folded = $18, search_folded = $19 WHERE instance_id = $1 AND id = $2";
    let (old, new) = (before.claims(), in_order(after.claims()));
    let gone = old.iter().filter(|claim| !new.contains(claim)).map(|claim| {
        let sql = "DELETE FROM identifications WHERE instance_id = $1 AND id = $2";
        (sql, vec![(&after.instance).into(), (&claim.id).into()])
    });
    let fresh = new.iter().filter(|claim| !old.contains(claim)).map(|claim| insert_claim(after, claim));
    let statements = gone.chain(fresh).chain([(user_row, columns(after)?)]).collect();
    Ok(tx.run_many(statements).await?)
}

/// Deletes a user and, by the foreign keys, all that belongs to them.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &UserId) -> Result<()> {
    tx.run(&["DELETE FROM users WHERE instance_id = $1 AND id = $2"], &[instance.into(), id.into()]).await?;
    Ok(())
}

/// Deletes up to `limit` users of an instance with all that belongs to them. Says whether there were any.
pub async fn delete_some(tx: &mut Tx, instance: &InstanceId, limit: i64) -> Result<bool> {
    let sql = "DELETE FROM users WHERE instance_id = $1 AND id IN \
               (SELECT id FROM users WHERE instance_id = $1 ORDER BY created_at, id LIMIT $2)";
    Ok(tx.run(&[sql], &[instance.into(), limit.into()]).await? > 0)
}

/// Which of these identifiers somebody else holds, by kind.
pub async fn taken(tx: &mut Tx, user: &User) -> Result<Vec<String>> {
    let mut taken = Vec::new();
    for claim in user.claims().into_iter().filter(|claim| claim.exclusive) {
        if is_held_by_another(tx, user, &claim.kind, claim.value_folded).await? {
            taken.push(claim.kind);
        }
    }
    Ok(taken)
}

/// Whether somebody else holds this identifier, verified or reserved.
pub async fn is_taken(tx: &mut Tx, user: &User, kind: Kind, value: &str) -> Result<bool> {
    is_held_by_another(tx, user, kind.name(), fold(value)).await
}

/// Whether anybody holds this identifier, verified or reserved.
pub async fn is_held(tx: &mut Tx, instance: &InstanceId, kind: &str, value: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM identifications WHERE instance_id = $1 AND kind = $2 AND value_folded = $3 \
               AND claim = ''";
    let params = [instance.into(), kind.into(), fold(value).into()];
    Ok(tx.maybe(&[sql], &params, |_| Ok(())).await?.is_some())
}

/// Whether a user has this id of another system.
pub async fn is_external_id_taken(tx: &mut Tx, instance: &InstanceId, external_id: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM users WHERE instance_id = $1 AND external_id = $2";
    Ok(tx.maybe(&[sql], &[instance.into(), external_id.into()], |_| Ok(())).await?.is_some())
}

async fn is_held_by_another(tx: &mut Tx, user: &User, kind: &str, value_folded: String) -> Result<bool> {
    let sql = "SELECT 1 FROM identifications WHERE instance_id = $1 AND kind = $2 AND value_folded = $3 \
               AND claim = '' AND user_id <> $4";
    let params = [(&user.instance).into(), kind.into(), value_folded.into(), (&user.id).into()];
    Ok(tx.maybe(&[sql], &params, |_| Ok(())).await?.is_some())
}

/// The stored document.
pub fn document(user: &User) -> Result<String> {
    serde_json::to_string(user).map_err(Error::internal)
}

fn columns(user: &User) -> Result<Vec<Value>> {
    let joined = |kind: Kind| {
        let values: Vec<String> =
            user.contacts(kind).all.iter().map(|contact| fold(&contact.value)).collect();
        values.join("\n")
    };
    let primary = |kind: Kind| user.contacts(kind).primary().map(|contact| fold(&contact.value));
    let (first, last) = (user.first_name.as_deref().map(fold), user.last_name.as_deref().map(fold));
    let names: Vec<&str> = [&first, &last].into_iter().filter_map(|name| name.as_deref()).collect();
    let names = names.join(" ");
    let (emails, phones, wallets) = (joined(Kind::Email), joined(Kind::Phone), joined(Kind::Wallet));
    let username = user.username.as_ref().map(|username| fold(&username.value));
    let id = fold(user.id.as_str());
    let search =
        [&id, &emails, &phones, username.as_deref().unwrap_or_default(), &wallets, &names].join("\n");
    Ok(vec![
        (&user.instance).into(),
        (&user.id).into(),
        document(user)?.into(),
        user.created_at.into(),
        user.updated_at.into(),
        user.last_active_at.into(),
        user.last_sign_in_at.into(),
        user.banned.into(),
        user.external_id.as_deref().into(),
        first.into(),
        last.into(),
        primary(Kind::Email).into(),
        primary(Kind::Phone).into(),
        primary(Kind::Wallet).into(),
        username.into(),
        emails.into(),
        phones.into(),
        names.into(),
        search.into(),
    ])
}

/// Claims are written in one order by everybody, so that two who want the same ones never wait for each
/// other.
fn in_order(mut claims: Vec<Claim>) -> Vec<Claim> {
    claims.sort_by(|a, b| (&a.kind, &a.value_folded).cmp(&(&b.kind, &b.value_folded)));
    claims
}

fn insert_claim(user: &User, claim: &Claim) -> Statement {
    let sql = "INSERT INTO identifications (instance_id, id, user_id, kind, value_folded, claim) VALUES ($1, $2, $3, $4, $5, $6)";
    let free = if claim.exclusive { "" } else { claim.id.as_str() };
    let params = vec![
        (&user.instance).into(),
        (&claim.id).into(),
        (&user.id).into(),
        claim.kind.as_str().into(),
        claim.value_folded.as_str().into(),
        free.into(),
    ];
    (sql, params)
}

/// Reads a user from `instance_id, document`.
pub fn read(row: &Row<'_>) -> Result<User, DbError> {
    let instance = Id::parse(row.str(0)?).ok_or_else(|| DbError::Failed("a user without instance".into()))?;
    read_document(&instance, row.str(1)?)
}

/// Of a broken document only the place is told: the reason would repeat what stands there, in the log.
pub fn read_document(instance: &InstanceId, document: &str) -> Result<User, DbError> {
    let mut user: User = serde_json::from_str(document).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        DbError::Failed(format!("a user's document is broken at line {line}, column {column}").into())
    })?;
    user.instance = instance.clone();
    Ok(user)
}
