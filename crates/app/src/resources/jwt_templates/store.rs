//! The SQL of JWT templates.

use latchkey_base::kinds::{InstanceId, JwtTemplateId};
use latchkey_base::page::Paging;
use latchkey_base::{Id, Result};
use latchkey_db::{DbError, List, Row, Tx};
use latchkey_jose::custom::Algorithm;

use super::model::{JwtTemplate, Signing};
use crate::document;
use crate::resources::users;
use crate::resources::users::model::User;

const SELECT: &str = "SELECT instance_id, id, name, claims, lifetime_seconds, allowed_clock_skew_seconds, signing_algorithm, \
     signing_key_sealed, created_at, updated_at FROM jwt_templates";

/// One template.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &JwtTemplateId) -> Result<Option<JwtTemplate>> {
    Ok(tx
        .maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &[instance.into(), id.into()], read)
        .await?)
}

/// One template, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &JwtTemplateId) -> Result<Option<JwtTemplate>> {
    Ok(tx.lock(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &[instance.into(), id.into()], read).await?)
}

/// The template of that name.
pub async fn find_by_name(tx: &mut Tx, instance: &InstanceId, name: &str) -> Result<Option<JwtTemplate>> {
    Ok(tx
        .maybe(&[SELECT, " WHERE instance_id = $1 AND name = $2"], &[instance.into(), name.into()], read)
        .await?)
}

/// One page of templates, newest first.
pub async fn list(tx: &mut Tx, instance: &InstanceId, page: Paging) -> Result<Vec<JwtTemplate>> {
    let list = List::new(SELECT).filter("instance_id = ?", vec![instance.into()]);
    Ok(list.order("created_at DESC, id DESC").page(page).fetch(tx, read).await?)
}

/// How many templates there are.
pub async fn count(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let list = List::new("SELECT count(*) FROM jwt_templates");
    Ok(list.filter("instance_id = ?", vec![instance.into()]).count(tx).await?)
}

/// Adds a template.
pub async fn insert(tx: &mut Tx, template: &JwtTemplate) -> Result<()> {
    tx.run(
        &["INSERT INTO jwt_templates \
           (instance_id, id, name, claims, lifetime_seconds, allowed_clock_skew_seconds, signing_algorithm, signing_key_sealed, \
           created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"],
        &[
            (&template.instance).into(),
            (&template.id).into(),
            template.name.as_str().into(),
            document::write(&template.claims)?.into(),
            template.lifetime_seconds.into(),
            template.allowed_clock_skew_seconds.into(),
            template.signing.algorithm().name().into(),
            key_sealed(template).into(),
            template.created_at.into(),
            template.updated_at.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Saves a changed template.
pub async fn save(tx: &mut Tx, template: &JwtTemplate) -> Result<()> {
    tx.run(
        &["UPDATE jwt_templates SET name = $3, claims = $4, lifetime_seconds = $5, allowed_clock_skew_seconds = $6, \
           signing_algorithm = $7, signing_key_sealed = $8, updated_at = $9 WHERE instance_id = $1 AND id = $2"],
        &[
            (&template.instance).into(),
            (&template.id).into(),
            template.name.as_str().into(),
            document::write(&template.claims)?.into(),
            template.lifetime_seconds.into(),
            template.allowed_clock_skew_seconds.into(),
            template.signing.algorithm().name().into(),
            key_sealed(template).into(),
            template.updated_at.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Deletes a template. Says whether there was one.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &JwtTemplateId) -> Result<bool> {
    let sql = "DELETE FROM jwt_templates WHERE instance_id = $1 AND id = $2";
    Ok(tx.run(&[sql], &[instance.into(), id.into()]).await? > 0)
}

/// The users with the largest documents. Every length is looked at, but only these documents are read.
pub async fn largest_users(tx: &mut Tx, instance: &InstanceId, limit: i64) -> Result<Vec<User>> {
    let sql = "SELECT instance_id, document FROM users WHERE instance_id = $1 AND id IN \
               (SELECT id FROM users WHERE instance_id = $1 ORDER BY octet_length(document) DESC, id LIMIT $2)";
    Ok(tx.all(&[sql], &[instance.into(), limit.into()], users::store::read).await?)
}

fn key_sealed(template: &JwtTemplate) -> Option<Vec<u8>> {
    match &template.signing {
        Signing::Instance => None,
        Signing::Custom { key_sealed, .. } => Some(key_sealed.clone()),
    }
}

fn read(row: &Row<'_>) -> Result<JwtTemplate, DbError> {
    let failed = |text: &str| DbError::Failed(format!("a JWT template has {text}").into());
    let signing = match row.maybe_bytes(7)? {
        None => Signing::Instance,
        Some(key_sealed) => Signing::Custom {
            algorithm: Algorithm::parse(row.str(6)?).ok_or_else(|| failed("an unknown algorithm"))?,
            key_sealed,
        },
    };
    Ok(JwtTemplate {
        instance: Id::parse(row.str(0)?).ok_or_else(|| failed("no instance"))?,
        id: Id::parse(row.str(1)?).ok_or_else(|| failed("no id"))?,
        name: row.text(2)?,
        claims: document::read("JWT template", row.str(3)?)?,
        lifetime_seconds: row.int(4)?,
        allowed_clock_skew_seconds: row.int(5)?,
        signing,
        created_at: row.time(8)?,
        updated_at: row.time(9)?,
    })
}
