//! The SQL of link tokens of admin portals.

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, OrganizationId};
use latchkey_db::{DbError, Row, Table, Tx, Value};
use latchkey_kernel::aging::AgedRows;
use latchkey_kernel::document;
use latchkey_kernel::key_tickets::TicketQuery;
use latchkey_kernel::limits::SESSION_RETENTION_MS;

use super::model::{PortalLinkToken, PortalLinkTokenId};

static ADMIN_PORTAL_LINK_TOKENS: Table = Table::new("admin_portal_link_tokens", &["instance_id", "id"])
    .saved(&["document"])
    .fixed(&["link_id", "organization_id", "token_digest", "expire_at", "created_at", "key_id"])
    .aged_by("expire_at");

/// Those that expired, kept as long as sessions.
pub const AGED: AgedRows = AgedRows {
    name: "links to the portal",
    kept_ms: SESSION_RETENTION_MS,
    delete: |tx, before, limit| Box::pin(ADMIN_PORTAL_LINK_TOKENS.delete_old(tx, before, limit)),
};

const OF_KEY: &str = " AND key_id = $5";

/// One page of tokens that have not expired, in the order of their ids. Some may be revoked.
pub async fn list_unexpired(tx: &mut Tx, query: &TicketQuery) -> Result<Vec<PortalLinkToken>> {
    let TicketQuery { instance, key, now, after, limit } = query;
    let mut params: Vec<Value> = vec![instance.into(), (*now).into(), after.as_str().into(), (*limit).into()];
    params.extend(key.as_ref().map(Value::from));
    let of_key = if key.is_some() { OF_KEY } else { "" };
    let table = ADMIN_PORTAL_LINK_TOKENS.of_instance();
    let parts = [table, " AND expire_at > $2 AND id > $3", of_key, " ORDER BY id LIMIT $4"];
    Ok(tx.all(&parts, &params, read).await?)
}

/// One token, to change it.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &PortalLinkTokenId,
) -> Result<Option<PortalLinkToken>> {
    ADMIN_PORTAL_LINK_TOKENS.lock(tx, &[instance.into(), id.as_str().into()], read).await
}

pub async fn insert(tx: &mut Tx, token: &PortalLinkToken) -> Result<()> {
    ADMIN_PORTAL_LINK_TOKENS.insert(tx, &row(token)?).await
}

/// Saves what became of a token.
pub async fn save(tx: &mut Tx, token: &PortalLinkToken) -> Result<()> {
    ADMIN_PORTAL_LINK_TOKENS.save(tx, &row(token)?).await
}

/// Deletes up to `limit` tokens of an organization. Says how many.
pub async fn delete_some(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    limit: i64,
) -> Result<u64> {
    let sql = "DELETE FROM admin_portal_link_tokens WHERE instance_id = $1 AND id IN (SELECT id \
               FROM admin_portal_link_tokens WHERE instance_id = $1 AND organization_id = $2 LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), organization.into(), limit.into()]).await?)
}

fn row(token: &PortalLinkToken) -> Result<Vec<Value>> {
    Ok(vec![
        (&token.instance).into(),
        token.id.as_str().into(),
        document::write(&token.details)?.into(),
        (&token.link).into(),
        token.organization.as_ref().map(|id| id.as_str()).into(),
        token.digest.as_slice().into(),
        token.expire_at.into(),
        token.created_at.into(),
        token.key.as_ref().into(),
    ])
}

fn read(row: &Row<'_>) -> Result<PortalLinkToken, DbError> {
    let broken = || DbError::Failed("the id of a link token is broken".into());
    Ok(PortalLinkToken {
        instance: row.id(0)?,
        id: PortalLinkTokenId::parse(row.str(1)?).ok_or_else(broken)?,
        details: document::read("link token", row.str(2)?)?,
        link: row.id(3)?,
        organization: row.maybe_id(4)?,
        digest: row.bytes(5)?,
        expire_at: row.time(6)?,
        created_at: row.time(7)?,
        key: row.maybe_id(8)?,
    })
}
