//! The SQL of JWT templates.

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, JwtTemplateId};
use latchkey_base::page::Paging;
use latchkey_db::{DbError, List, Row, Table, Tx, Value};
use latchkey_jose::custom::Algorithm;
use latchkey_kernel::document;
use latchkey_people::users;
use latchkey_people::users::model::User;

use super::model::{JwtTemplate, Signing};

static JWT_TEMPLATES: Table = Table::new("jwt_templates", &["instance_id", "id"])
    .saved(&[
        "name",
        "claims",
        "lifetime_seconds",
        "allowed_clock_skew_seconds",
        "signing_algorithm",
        "signing_key_sealed",
        "updated_at",
    ])
    .fixed(&["created_at"]);

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &JwtTemplateId) -> Result<Option<JwtTemplate>> {
    JWT_TEMPLATES.find(tx, &[instance.into(), id.into()], read).await
}

/// One template, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &JwtTemplateId) -> Result<Option<JwtTemplate>> {
    JWT_TEMPLATES.lock(tx, &[instance.into(), id.into()], read).await
}

pub async fn find_by_name(tx: &mut Tx, instance: &InstanceId, name: &str) -> Result<Option<JwtTemplate>> {
    let parts = [JWT_TEMPLATES.of_instance(), " AND name = $2"];
    Ok(tx.maybe(&parts, &[instance.into(), name.into()], read).await?)
}

/// One page of templates, newest first.
pub async fn list(tx: &mut Tx, instance: &InstanceId, page: Paging) -> Result<Vec<JwtTemplate>> {
    let list = List::new(JWT_TEMPLATES.select()).filter("instance_id = ?", vec![instance.into()]);
    Ok(list.order("created_at DESC, id DESC").page(page).fetch(tx, read).await?)
}

pub async fn count(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let list = List::new("SELECT count(*) FROM jwt_templates");
    Ok(list.filter("instance_id = ?", vec![instance.into()]).count(tx).await?)
}

pub async fn insert(tx: &mut Tx, template: &JwtTemplate) -> Result<()> {
    JWT_TEMPLATES.insert(tx, &row(template)?).await
}

/// Saves a changed template.
pub async fn save(tx: &mut Tx, template: &JwtTemplate) -> Result<()> {
    JWT_TEMPLATES.save(tx, &row(template)?).await
}

/// Deletes a template. Says whether there was one.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &JwtTemplateId) -> Result<bool> {
    JWT_TEMPLATES.delete(tx, &[instance.into(), id.into()]).await
}

/// The users with the largest documents. Every length is looked at, but only these documents are read.
pub async fn largest_users(tx: &mut Tx, instance: &InstanceId, limit: i64) -> Result<Vec<User>> {
    let sql = "SELECT instance_id, document FROM users WHERE instance_id = $1 AND id IN \
               (SELECT id FROM users WHERE instance_id = $1 ORDER BY octet_length(document) DESC, id LIMIT $2)";
    Ok(tx.all(&[sql], &[instance.into(), limit.into()], users::store::read).await?)
}

fn row(template: &JwtTemplate) -> Result<Vec<Value>> {
    let key_sealed = match &template.signing {
        Signing::Instance => None,
        Signing::Custom { key_sealed, .. } => Some(key_sealed.clone()),
    };
    Ok(vec![
        (&template.instance).into(),
        (&template.id).into(),
        template.name.as_str().into(),
        document::write(&template.claims)?.into(),
        template.lifetime_seconds.into(),
        template.allowed_clock_skew_seconds.into(),
        template.signing.algorithm().name().into(),
        key_sealed.into(),
        template.updated_at.into(),
        template.created_at.into(),
    ])
}

fn read(row: &Row<'_>) -> Result<JwtTemplate, DbError> {
    let unknown = || DbError::Failed("a JWT template has an unknown algorithm".into());
    let signing = match row.maybe_bytes(7)? {
        None => Signing::Instance,
        Some(key_sealed) => {
            Signing::Custom { algorithm: Algorithm::parse(row.str(6)?).ok_or_else(unknown)?, key_sealed }
        }
    };
    Ok(JwtTemplate {
        instance: row.id(0)?,
        id: row.id(1)?,
        name: row.text(2)?,
        claims: document::read("JWT template", row.str(3)?)?,
        lifetime_seconds: row.int(4)?,
        allowed_clock_skew_seconds: row.int(5)?,
        signing,
        updated_at: row.time(8)?,
        created_at: row.time(9)?,
    })
}
