//! The SQL of suggestions.

use latchkey_base::kinds::{
    InstanceId, OrganizationDomainId, OrganizationId, OrganizationSuggestionId, UserId,
};
use latchkey_base::page::Paging;
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, List, Row, Table, Tx, Value};
use latchkey_people::users::store as users;

use super::model::{Suggestion, SuggestionParts, SuggestionStatus};
use crate::orgs::store as organizations;

static ORGANIZATION_SUGGESTIONS: Table = Table::new("organization_suggestions", &["instance_id", "id"])
    .saved(&["status", "updated_at"])
    .fixed(&["organization_id", "user_id", "domain_id", "created_at"]);

/// Suggestions with their organizations and users. What is left of deleted ones joins nothing, and is not there.
const WITH_PARTS: &str = "SELECT s.instance_id, s.id, s.status, s.updated_at, s.organization_id, s.user_id, \
     s.domain_id, s.created_at, o.document, o.members_count, u.document FROM organization_suggestions s \
     JOIN organizations o ON o.instance_id = s.instance_id AND o.id = s.organization_id \
     JOIN users u ON u.instance_id = s.instance_id AND u.id = s.user_id";

/// One suggestion with its parts.
pub async fn find_parts(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &OrganizationSuggestionId,
) -> Result<Option<SuggestionParts>> {
    let parts = [WITH_PARTS, " WHERE s.instance_id = $1 AND s.id = $2"];
    Ok(tx.maybe(&parts, &[instance.into(), id.into()], read_parts).await?)
}

/// One suggestion, to change it. Its organization is locked before.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &OrganizationSuggestionId,
) -> Result<Option<Suggestion>> {
    ORGANIZATION_SUGGESTIONS.lock(tx, &[instance.into(), id.into()], read).await
}

/// Adds a suggestion, unless the user has one for the organization, whatever became of it.
pub async fn insert_new(tx: &mut Tx, suggestion: &Suggestion) -> Result<bool> {
    let sql = "INSERT INTO organization_suggestions (instance_id, id, status, updated_at, organization_id, user_id, \
               domain_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
               ON CONFLICT (instance_id, organization_id, user_id) DO NOTHING";
    Ok(tx.run(&[sql], &row(suggestion)).await? > 0)
}

/// Saves a changed suggestion.
pub async fn save(tx: &mut Tx, suggestion: &Suggestion) -> Result<()> {
    ORGANIZATION_SUGGESTIONS.save(tx, &row(suggestion)).await
}

/// Closes the request of somebody who became a member, however they did. A suggestion that they did not answer goes:
/// nobody asked for anything.
pub async fn close(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    user: &UserId,
    now: Time,
) -> Result<()> {
    delete_with(tx, (instance, organization, user), SuggestionStatus::Pending).await?;
    let sql = "UPDATE organization_suggestions SET status = 'joined', updated_at = $4 \
               WHERE instance_id = $1 AND organization_id = $2 AND user_id = $3 AND status = 'requested'";
    tx.run(&[sql], &[instance.into(), organization.into(), user.into(), now.into()]).await?;
    Ok(())
}

/// Forgets the request of somebody who is no member any more, so that the organization can be suggested to them again.
pub async fn forget(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    user: &UserId,
) -> Result<()> {
    delete_with(tx, (instance, organization, user), SuggestionStatus::Joined).await
}

async fn delete_with(
    tx: &mut Tx,
    (instance, organization, user): (&InstanceId, &OrganizationId, &UserId),
    status: SuggestionStatus,
) -> Result<()> {
    let sql = "DELETE FROM organization_suggestions \
               WHERE instance_id = $1 AND organization_id = $2 AND user_id = $3 AND status = $4";
    tx.run(&[sql], &[instance.into(), organization.into(), user.into(), status.name().into()]).await?;
    Ok(())
}

/// Deletes up to `limit` suggestions that were made because of a domain, until then if a time is given, and are not
/// answered. Says how many.
pub async fn withdraw(
    tx: &mut Tx,
    instance: &InstanceId,
    domain: &OrganizationDomainId,
    until: Option<Time>,
    limit: i64,
) -> Result<i64> {
    let sql = "DELETE FROM organization_suggestions WHERE instance_id = $1 AND id IN (SELECT id FROM \
               organization_suggestions WHERE instance_id = $1 AND domain_id = $2 AND status = 'pending' \
               AND created_at <= $3 LIMIT $4)";
    let until = until.map_or(i64::MAX, |until| until.ms());
    let deleted = tx.run(&[sql], &[instance.into(), domain.into(), until.into(), limit.into()]).await?;
    Ok(i64::try_from(deleted).unwrap_or(limit))
}

/// Deletes up to `limit` suggestions of an organization that was deleted. Says how many.
pub async fn delete_some_of_organization(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &str,
    limit: i64,
) -> Result<u64> {
    let sql = "DELETE FROM organization_suggestions WHERE instance_id = $1 AND id IN \
               (SELECT id FROM organization_suggestions WHERE instance_id = $1 AND organization_id = $2 LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), organization.into(), limit.into()]).await?)
}

/// The same of a user who was deleted.
pub async fn delete_some_of_user(tx: &mut Tx, instance: &InstanceId, user: &str, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM organization_suggestions WHERE instance_id = $1 AND id IN \
               (SELECT id FROM organization_suggestions WHERE instance_id = $1 AND user_id = $2 LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), user.into(), limit.into()]).await?)
}

/// Whose suggestions are listed.
#[derive(Clone, Copy)]
pub enum Whose<'a> {
    /// A user's, who can accept suggestions because of domains with these names.
    User(&'a UserId, &'a [String]),
    Organization(&'a OrganizationId),
}

/// Keeps what the user answered, and the suggestions whose reason there still is.
const STILL_SUGGESTED: &str = "(s.status <> 'pending' OR s.domain_id IN (SELECT d.id FROM organization_domains d \
     WHERE d.instance_id = s.instance_id AND d.verified AND d.name IN";

/// A page of suggestions with one of these states, newest first, and how many there are.
pub async fn list(
    tx: &mut Tx,
    instance: &InstanceId,
    whose: Whose<'_>,
    statuses: &[SuggestionStatus],
    page: Paging,
) -> Result<(Vec<SuggestionParts>, i64)> {
    let count = "SELECT count(*) FROM organization_suggestions s \
         JOIN organizations o ON o.instance_id = s.instance_id AND o.id = s.organization_id \
         JOIN users u ON u.instance_id = s.instance_id AND u.id = s.user_id";
    let filtered = |select| {
        let list = List::new(select).filter("s.instance_id = ?", vec![instance.into()]);
        let list = match whose {
            Whose::User(user, names) => {
                let list = list.filter("s.user_id = ?", vec![user.into()]);
                match names.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>() {
                    none if none.is_empty() => list.filter("s.status <> 'pending'", vec![]),
                    some => list.any_of(STILL_SUGGESTED, vec![], some, "))"),
                }
            }
            Whose::Organization(id) => list.filter("s.organization_id = ?", vec![id.into()]),
        };
        match statuses.iter().map(|status| status.name().into()).collect::<Vec<Value>>() {
            none if none.is_empty() => list.filter("FALSE", vec![]),
            some => list.any_of("s.status IN", vec![], some, ""),
        }
    };
    let newest_first = filtered(WITH_PARTS).order("s.created_at DESC, s.id DESC");
    let found = newest_first.page(page).fetch(tx, read_parts).await?;
    Ok((found, filtered(count).count(tx).await?))
}

fn row(suggestion: &Suggestion) -> Vec<Value> {
    vec![
        (&suggestion.instance).into(),
        (&suggestion.id).into(),
        suggestion.status.name().into(),
        suggestion.updated_at.into(),
        (&suggestion.organization).into(),
        (&suggestion.user).into(),
        (&suggestion.domain).into(),
        suggestion.created_at.into(),
    ]
}

fn read(row: &Row<'_>) -> Result<Suggestion, DbError> {
    let status = row.str(2)?;
    let known = SuggestionStatus::ALL.into_iter().find(|known| known.name() == status);
    Ok(Suggestion {
        instance: row.id(0)?,
        id: row.id(1)?,
        status: known.ok_or_else(|| DbError::Failed("a suggestion has an unknown status".into()))?,
        updated_at: row.time(3)?,
        organization: row.id(4)?,
        user: row.id(5)?,
        domain: row.id(6)?,
        created_at: row.time(7)?,
    })
}

fn read_parts(row: &Row<'_>) -> Result<SuggestionParts, DbError> {
    let suggestion = read(row)?;
    let organization = organizations::read_document(&suggestion.instance, row.str(8)?, row.int(9)?)?;
    let user = users::read_document(&suggestion.instance, row.str(10)?)?;
    Ok(SuggestionParts { suggestion, organization, user })
}
