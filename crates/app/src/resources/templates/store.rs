//! The SQL of what instances changed of templates.

use std::iter;

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Id, Result};
use latchkey_db::{DbError, Row, Tx, Value};

use super::model::{Channel, Stored, System};
use crate::document;

const SELECT: &str = "SELECT instance_id, channel, slug, locale, document, created_at, updated_at \
     FROM message_templates";

/// What was changed of a template, for a locale; the empty one is for everybody else.
pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    system: &System,
    locale: &str,
) -> Result<Option<Stored>> {
    let params = [instance.into(), system.channel.name().into(), system.slug.into(), locale.into()];
    Ok(tx
        .maybe(
            &[SELECT, " WHERE instance_id = $1 AND channel = $2 AND slug = $3 AND locale = $4"],
            &params,
            read,
        )
        .await?)
}

/// The same, to change it.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    system: &System,
    locale: &str,
) -> Result<Option<Stored>> {
    let params = [instance.into(), system.channel.name().into(), system.slug.into(), locale.into()];
    Ok(tx
        .lock(
            &[SELECT, " WHERE instance_id = $1 AND channel = $2 AND slug = $3 AND locale = $4"],
            &params,
            read,
        )
        .await?)
}

/// All that was changed of the templates of a channel, for everybody.
pub async fn list(tx: &mut Tx, instance: &InstanceId, channel: Channel) -> Result<Vec<Stored>> {
    Ok(tx
        .all(
            &[SELECT, " WHERE instance_id = $1 AND channel = $2 AND locale = '' ORDER BY slug"],
            &[instance.into(), channel.name().into()],
            read,
        )
        .await?)
}

/// All that was changed of a template, the change for everybody first.
pub async fn all_of(tx: &mut Tx, instance: &InstanceId, system: &System) -> Result<Vec<Stored>> {
    let params = [instance.into(), system.channel.name().into(), system.slug.into()];
    Ok(tx
        .all(
            &[SELECT, " WHERE instance_id = $1 AND channel = $2 AND slug = $3 ORDER BY locale"],
            &params,
            read,
        )
        .await?)
}

/// Locales that are looked for in one go; nobody reads more languages.
const WANTED: usize = 12;

/// What was changed of a template for everybody and for some locales, the first of them that fit. One text
/// for any number of them, so that engines prepare it once.
pub async fn wanted(
    tx: &mut Tx,
    instance: &InstanceId,
    system: &System,
    locales: &[String],
) -> Result<Vec<Stored>> {
    let mut params: Vec<Value> = vec![instance.into(), system.channel.name().into(), system.slug.into()];
    let given = locales.iter().map(String::as_str);
    params.extend(given.chain(iter::repeat("")).take(WANTED).map(Value::from));
    Ok(tx
        .all(
            &[
                SELECT,
                " WHERE instance_id = $1 AND channel = $2 AND slug = $3 AND locale IN \
                 ('', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
            ],
            &params,
            read,
        )
        .await?)
}

/// How many locales a template has variants for.
pub async fn count_locales(tx: &mut Tx, instance: &InstanceId, system: &System) -> Result<i64> {
    let sql = "SELECT count(locale) FROM message_templates \
               WHERE instance_id = $1 AND channel = $2 AND slug = $3 AND locale <> ''";
    let params = [instance.into(), system.channel.name().into(), system.slug.into()];
    Ok(tx.maybe(&[sql], &params, |row| row.int(0)).await?.unwrap_or_default())
}

/// Saves a change, whether there was one or not.
pub async fn save(tx: &mut Tx, stored: &Stored) -> Result<()> {
    tx.run(
        &["INSERT INTO message_templates (instance_id, channel, slug, locale, document, created_at, updated_at) \
           VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (instance_id, channel, slug, locale) \
           DO UPDATE SET document = excluded.document, updated_at = excluded.updated_at"],
        &[
            (&stored.instance).into(),
            stored.channel.name().into(),
            stored.slug.as_str().into(),
            stored.locale.as_str().into(),
            document::write(&stored.changes)?.into(),
            stored.created_at.into(),
            stored.updated_at.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Deletes a change. Says whether there was one.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, system: &System, locale: &str) -> Result<bool> {
    let sql =
        "DELETE FROM message_templates WHERE instance_id = $1 AND channel = $2 AND slug = $3 AND locale = $4";
    let params = [instance.into(), system.channel.name().into(), system.slug.into(), locale.into()];
    Ok(tx.run(&[sql], &params).await? > 0)
}

fn read(row: &Row<'_>) -> Result<Stored, DbError> {
    let failed = |text: &str| DbError::Failed(format!("a template has {text}").into());
    Ok(Stored {
        instance: Id::parse(row.str(0)?).ok_or_else(|| failed("no instance"))?,
        channel: Channel::parse(row.str(1)?).ok_or_else(|| failed("an unknown channel"))?,
        slug: row.text(2)?,
        locale: row.text(3)?,
        changes: document::read("template", row.str(4)?)?,
        created_at: row.time(5)?,
        updated_at: row.time(6)?,
    })
}
