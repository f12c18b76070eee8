//! The SQL of what instances changed of templates.

use std::iter;

use latchkey_base::Result;
use latchkey_base::kinds::InstanceId;
use latchkey_db::{DbError, Row, Table, Tx, Value};
use latchkey_kernel::document;
use latchkey_letters::model::{Channel, System};

use super::model::StoredTemplate;

static MESSAGE_TEMPLATES: Table =
    Table::new("message_templates", &["instance_id", "channel", "slug", "locale"])
        .saved(&["document", "updated_at"])
        .fixed(&["created_at"]);

/// What was changed of a template, for a locale; the empty one is for everybody else.
pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    system: &System,
    locale: &str,
) -> Result<Option<StoredTemplate>> {
    MESSAGE_TEMPLATES.find(tx, &key(instance, system, locale), read).await
}

/// The same, to change it.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    system: &System,
    locale: &str,
) -> Result<Option<StoredTemplate>> {
    MESSAGE_TEMPLATES.lock(tx, &key(instance, system, locale), read).await
}

/// All that was changed of the templates of a channel, for everybody.
pub async fn list(tx: &mut Tx, instance: &InstanceId, channel: Channel) -> Result<Vec<StoredTemplate>> {
    let parts = [MESSAGE_TEMPLATES.of_instance(), " AND channel = $2 AND locale = '' ORDER BY slug"];
    Ok(tx.all(&parts, &[instance.into(), channel.name().into()], read).await?)
}

/// All that was changed of a template, the change for everybody first.
pub async fn all_of(tx: &mut Tx, instance: &InstanceId, system: &System) -> Result<Vec<StoredTemplate>> {
    let params = [instance.into(), system.channel.name().into(), system.slug.into()];
    let parts = [MESSAGE_TEMPLATES.of_instance(), " AND channel = $2 AND slug = $3 ORDER BY locale"];
    Ok(tx.all(&parts, &params, read).await?)
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
) -> Result<Vec<StoredTemplate>> {
    let mut params: Vec<Value> = vec![instance.into(), system.channel.name().into(), system.slug.into()];
    let given = locales.iter().map(String::as_str);
    params.extend(given.chain(iter::repeat("")).take(WANTED).map(Value::from));
    let wanted = " AND channel = $2 AND slug = $3 AND locale IN \
                  ('', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    Ok(tx.all(&[MESSAGE_TEMPLATES.of_instance(), wanted], &params, read).await?)
}

/// How many locales a template has variants for.
pub async fn count_locales(tx: &mut Tx, instance: &InstanceId, system: &System) -> Result<i64> {
    let sql = "SELECT count(locale) FROM message_templates \
               WHERE instance_id = $1 AND channel = $2 AND slug = $3 AND locale <> ''";
    let params = [instance.into(), system.channel.name().into(), system.slug.into()];
    Ok(tx.maybe(&[sql], &params, |row| row.int(0)).await?.unwrap_or_default())
}

/// Saves a change, whether there was one or not.
pub async fn save(tx: &mut Tx, stored: &StoredTemplate) -> Result<()> {
    let row = [
        (&stored.instance).into(),
        stored.channel.name().into(),
        stored.slug.as_str().into(),
        stored.locale.as_str().into(),
        document::write(&stored.changes)?.into(),
        stored.updated_at.into(),
        stored.created_at.into(),
    ];
    MESSAGE_TEMPLATES.put(tx, &row).await
}

/// Deletes a change. Says whether there was one.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, system: &System, locale: &str) -> Result<bool> {
    MESSAGE_TEMPLATES.delete(tx, &key(instance, system, locale)).await
}

fn key(instance: &InstanceId, system: &System, locale: &str) -> [Value; 4] {
    [instance.into(), system.channel.name().into(), system.slug.into(), locale.into()]
}

fn read(row: &Row<'_>) -> Result<StoredTemplate, DbError> {
    let unknown = || DbError::Failed("a template has an unknown channel".into());
    Ok(StoredTemplate {
        instance: row.id(0)?,
        channel: Channel::parse(row.str(1)?).ok_or_else(unknown)?,
        slug: row.text(2)?,
        locale: row.text(3)?,
        changes: document::read("template", row.str(4)?)?,
        updated_at: row.time(5)?,
        created_at: row.time(6)?,
    })
}
