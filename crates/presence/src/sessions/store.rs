//! The SQL of sessions. All that is read is as it counts by the settings of the instance.

use std::sync::{Arc, LazyLock};

use latchkey_base::kinds::{ClientId, InstanceId, SessionId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Result, Time};
use latchkey_db::{CopiedRow, DbError, List, Row, Statement, Table, Tx, Value};
use latchkey_kernel::aging::AgedRows;
use latchkey_kernel::document;
use latchkey_kernel::instances::store::{INSTANCE_WITH_SIGNING_KEY, InstanceBy, read_with_signing_key};
use latchkey_kernel::limits::SESSION_RETENTION_MS;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::access::model::Access;
use latchkey_organizations::access::store as access;
use latchkey_organizations::choices::ChosenOrganization;
use latchkey_organizations::memberships::model::{ActiveMembership, Membership};
use latchkey_organizations::memberships::store::{self as memberships, ACTIVE_COLUMNS, ACTIVE_ROLES};
use latchkey_organizations::orgs::model::Organization;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;

use super::model::{Session, SessionStatus};
use super::present::{ClientWithSessions, InstanceWithClient, PresentRows, PresentSession};
use crate::clients::model::Client;
use crate::clients::store as clients;
use crate::domain_changes::store::{DomainChange, SessionPosition};

static SESSIONS: Table = Table::new("sessions", &["instance_id", "id"])
    .saved(&[
        "status",
        "document",
        "expire_at",
        "abandon_at",
        "active_organization_id",
        "active_membership_id",
    ])
    .fixed(&["client_id", "user_id", "created_at", "is_acted"])
    .aged_by("expire_at");

/// Sessions whose time is over, for those who look into a case.
pub const AGED: AgedRows = AgedRows {
    name: "sessions",
    kept_ms: SESSION_RETENTION_MS,
    delete: |tx, before, limit| Box::pin(SESSIONS.delete_old(tx, before, limit)),
};
/// The membership with which the user of a session chose the organization it names, with what `ACTIVE_COLUMNS` are of.
/// Where it names none, nothing is found, and nothing else is looked for.
const ACTIVE_JOINS: &str = " LEFT JOIN organization_memberships m ON m.instance_id = s.instance_id \
     AND m.organization_id = s.active_organization_id AND m.user_id = s.user_id AND m.id = s.active_membership_id \
     LEFT JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
     LEFT JOIN organization_access a ON a.instance_id = o.instance_id";
/// Whether there is that membership.
const IS_ACTIVE: &str = "EXISTS (SELECT 1 FROM organization_memberships m \
     JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
     WHERE m.instance_id = s.instance_id AND m.organization_id = s.active_organization_id AND m.user_id = s.user_id \
     AND m.id = s.active_membership_id)";

/// A session, the organization it names, and whether its user is a member of that; `SEEN_FROM` follows.
const SEEN: &str = "SELECT s.instance_id, s.document, s.active_organization_id, s.active_membership_id, ";
const SEEN_FROM: &str = " FROM sessions s WHERE s.instance_id = $1";
/// What waits for no choice of an organization, and what waits for that or for something else.
static CHOSEN: LazyLock<String> = LazyLock::new(|| ["(is_acted OR ", IS_ACTIVE, ")"].concat());
static UNFINISHED: LazyLock<String> =
    LazyLock::new(|| ["(status = 'pending' OR NOT (is_acted OR ", IS_ACTIVE, "))"].concat());
/// The same as one text, for lists.
static LISTED: LazyLock<String> = LazyLock::new(|| [SEEN, IS_ACTIVE, " FROM sessions s"].concat());

/// A session with its user and with the organization they work for.
const WITH_USER: &str = "SELECT s.instance_id, s.document, u.document";
const WITH_USER_FROM: &str =
    " FROM sessions s JOIN users u ON u.instance_id = s.instance_id AND u.id = s.user_id";

/// The ones that still count, at the third parameter.
const LIVE: &str = " AND status IN ('active', 'pending') AND expire_at > $3 AND abandon_at > $3";

/// The roles of the instance, with the first session on a client that works for an organization; they may be long. The
/// second parameter is the time.
const ROLES_ONCE: &str = ", CASE WHEN o.id IS NULL OR EXISTS (SELECT 1 FROM sessions e WHERE e.instance_id = s.instance_id \
     AND e.client_id = s.client_id AND e.active_organization_id IS NOT NULL AND e.status IN ('active', 'pending') \
     AND e.expire_at > $2 AND e.abandon_at > $2 AND (e.created_at, e.id) < (s.created_at, s.id)) \
     THEN NULL ELSE a.document END";

/// Who is signed in on the client of the third parameter.
const PRESENT: &str = ", c.document, c.token_digest, s.document, u.document";
const PRESENT_FROM: &str = " FROM instances i \
     LEFT JOIN clients c ON c.instance_id = i.id AND c.id = $3 \
     LEFT JOIN sessions s ON s.instance_id = i.id AND s.client_id = c.id AND s.status IN ('active', 'pending') \
     AND s.expire_at > $2 AND s.abandon_at > $2 \
     LEFT JOIN users u ON u.instance_id = i.id AND u.id = s.user_id";
/// The order in which all lock sessions, so that two never wait for each other.
const OLDEST_LOCKED: &str = " ORDER BY created_at, id";

/// Which sessions a list shows.
#[derive(Clone, Default)]
pub struct SessionFilters {
    pub client: Option<String>,
    pub user: Option<String>,
    pub status: Option<SessionStatus>,
    /// Whether sessions with something left to do count as active ones.
    pub is_pending_active: bool,
}

pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &SessionId,
    settings: &Settings,
) -> Result<Option<Session>> {
    let parts = [SEEN, IS_ACTIVE, SEEN_FROM, " AND s.id = $2"];
    let found = tx.maybe(&parts, &[instance.into(), id.into()], read).await?;
    Ok(found.map(|found| found.seen(settings)))
}

/// One session and its user.
pub async fn find_with_user(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &SessionId,
    settings: &Settings,
) -> Result<Option<PresentSession>> {
    let parts = [
        WITH_USER,
        ACTIVE_COLUMNS,
        ACTIVE_ROLES,
        WITH_USER_FROM,
        ACTIVE_JOINS,
        " WHERE s.instance_id = $1 AND s.id = $2",
    ];
    let found = tx.maybe(&parts, &[instance.into(), id.into()], read_with_user).await?;
    let found = with_roles(tx, instance, found.into_iter().collect()).await?;
    Ok(found.into_iter().next().map(|found| found.seen(settings)))
}

/// The instance of a request, one of its clients, and the sessions of that which still count.
pub async fn find_present(
    tx: &mut Tx,
    by: &InstanceBy<'_>,
    client: &ClientId,
    now: Time,
) -> Result<Option<InstanceWithClient>> {
    let (condition, value) = by.condition();
    let parts = [
        INSTANCE_WITH_SIGNING_KEY,
        PRESENT,
        ACTIVE_COLUMNS,
        ROLES_ONCE,
        PRESENT_FROM,
        ACTIVE_JOINS,
        condition,
    ];
    let rows = tx.all_copied(&parts, &[value, now.into(), client.into()]).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let (found, signing_key) = read_with_signing_key(&first.row())?;
    Ok(Some(InstanceWithClient { found, signing_key, present: Some(PresentRows(rows)) }))
}

/// The client in the rows that were read of it, and who is signed in on it, oldest first; none if the instance does not have
/// it.
pub async fn read_present(
    tx: &mut Tx,
    instance: &InstanceId,
    PresentRows(rows): &PresentRows,
) -> Result<Option<ClientWithSessions>> {
    let Some((mut client, sessions)) = read_client_rows(instance, rows)? else { return Ok(None) };
    client.live = with_roles(tx, instance, sessions).await?;
    Ok(Some(client))
}

/// One session, to change it.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &SessionId,
    settings: &Settings,
) -> Result<Option<Session>> {
    let parts = [SEEN, IS_ACTIVE, SEEN_FROM, " AND s.id = $2"];
    let found = tx.lock(&parts, &[instance.into(), id.into()], read).await?;
    Ok(found.map(|found| found.seen(settings)))
}

/// The sessions of a client that still count, oldest first, each with its user.
pub async fn live_of_client(
    tx: &mut Tx,
    instance: &InstanceId,
    client: &ClientId,
    settings: &Settings,
    now: Time,
) -> Result<Vec<PresentSession>> {
    let live = " WHERE s.instance_id = $1 AND s.client_id = $3 AND s.status IN ('active', 'pending') \
                AND s.expire_at > $2 AND s.abandon_at > $2 ORDER BY s.created_at, s.id";
    let parts = [WITH_USER, ACTIVE_COLUMNS, ROLES_ONCE, WITH_USER_FROM, ACTIVE_JOINS, live];
    let found = tx.all(&parts, &[instance.into(), now.into(), client.into()], read_with_user).await?;
    let found = with_roles(tx, instance, found).await?;
    Ok(found.into_iter().map(|found| found.seen(settings)).collect())
}

/// Who is signed in on a client: by the session that is named, if it is there, or else by the oldest one.
pub async fn user_on_client(
    tx: &mut Tx,
    instance: &InstanceId,
    client: &ClientId,
    named: Option<&SessionId>,
    now: Time,
) -> Result<Option<UserId>> {
    let select = "SELECT user_id FROM sessions WHERE instance_id = $1 AND client_id = $2";
    let first = " ORDER BY CASE WHEN id = $4 THEN 0 ELSE 1 END, created_at, id LIMIT 1";
    let named = named.map_or("", |id| id.as_str());
    let params = [instance.into(), client.into(), now.into(), named.into()];
    Ok(tx.maybe(&[select, LIVE, first], &params, |row| row.id(0)).await?)
}

/// The sessions of a client that still count, to change them.
pub async fn lock_live_of_client(
    tx: &mut Tx,
    client: &Client,
    settings: &Settings,
    now: Time,
) -> Result<Vec<Session>> {
    let parts = [SEEN, IS_ACTIVE, SEEN_FROM, " AND client_id = $2", LIVE, OLDEST_LOCKED];
    let params = [(&client.instance).into(), (&client.id).into(), now.into()];
    Ok(seen(tx.lock_all(&parts, &params, read).await?, settings))
}

/// The sessions of a user that still count, to change them.
pub async fn lock_live_of_user(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    settings: &Settings,
    now: Time,
) -> Result<Vec<Session>> {
    let parts = [SEEN, IS_ACTIVE, SEEN_FROM, " AND user_id = $2", LIVE, OLDEST_LOCKED];
    Ok(seen(tx.lock_all(&parts, &[instance.into(), user.into(), now.into()], read).await?, settings))
}

/// The sessions of a user that still count, beyond the newest `kept`; some of them, if there are many. Those behind very many
/// others are not looked for.
pub async fn surplus_of_user(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    kept: i64,
    now: Time,
) -> Result<Vec<SessionId>> {
    let newest = "SELECT id FROM (SELECT id, status, expire_at, abandon_at, created_at FROM sessions \
                  WHERE instance_id = $1 AND user_id = $2 ORDER BY created_at DESC, id DESC LIMIT 5000) AS newest WHERE TRUE";
    let rest = " ORDER BY created_at DESC, id DESC LIMIT 50 OFFSET $4";
    let params = [instance.into(), user.into(), now.into(), kept.into()];
    Ok(tx.all(&[newest, LIVE, rest], &params, |row| row.id(0)).await?)
}

/// Whether a user has more than `most` sessions, over or not.
pub async fn has_more(tx: &mut Tx, instance: &InstanceId, user: &UserId, most: i64) -> Result<bool> {
    let sql = "SELECT 1 FROM sessions WHERE instance_id = $1 AND user_id = $2 \
               ORDER BY created_at, id LIMIT 1 OFFSET $3";
    Ok(tx.exists(&[sql], &[instance.into(), user.into(), most.into()]).await?)
}

/// Deletes up to `limit` sessions of a user that do not count any more. Says how many.
pub async fn delete_some_over(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    now: Time,
    limit: i64,
) -> Result<u64> {
    let over = "DELETE FROM sessions WHERE instance_id = $1 AND id IN (SELECT id FROM sessions WHERE instance_id = $1 \
                AND user_id = $2 AND NOT (TRUE";
    let params = [instance.into(), user.into(), now.into(), limit.into()];
    Ok(tx.run(&[over, LIVE, ") ORDER BY created_at LIMIT $4)"], &params).await?)
}

/// How many sessions of a user began after a time, counted up to `most`.
pub async fn count_begun(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    after: Time,
    most: i64,
) -> Result<i64> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM sessions WHERE instance_id = $1 AND user_id = $2 AND created_at > $3 \
               LIMIT $4) AS begun";
    let params = [instance.into(), user.into(), after.into(), most.into()];
    Ok(tx.maybe(&[sql], &params, |row| row.int(0)).await?.unwrap_or_default())
}

/// The next sessions of a domain that was left, oldest first, with the clients of those that still count.
pub async fn begun_until(
    tx: &mut Tx,
    change: &DomainChange,
    now: Time,
    limit: i64,
) -> Result<Vec<(SessionPosition, Option<ClientId>)>> {
    let select = "SELECT created_at, id, CASE WHEN TRUE";
    let from = " THEN client_id END FROM sessions WHERE instance_id = $1 AND created_at <= $2 \
                AND (created_at, id) > ($4, $5) ORDER BY created_at, id LIMIT $6";
    let (began_at, id) = change.after.as_ref().map_or((0, ""), |(at, id)| (at.ms(), id.as_str()));
    let params = [
        (&change.instance).into(),
        change.until.into(),
        now.into(),
        began_at.into(),
        id.into(),
        limit.into(),
    ];
    Ok(tx
        .all(&[select, LIVE, from], &params, |row| Ok(((row.time(0)?, row.id(1)?), row.maybe_id(2)?)))
        .await?)
}

/// Sessions, to change them, in the order in which all lock them.
pub async fn lock_some(
    tx: &mut Tx,
    instance: &InstanceId,
    ids: &[&SessionId],
    settings: &Settings,
) -> Result<Vec<Session>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let ids = ids.iter().map(|&id| id.into()).collect();
    let list = List::new(&LISTED).filter("instance_id = ?", vec![instance.into()]);
    let list = list.any_of("id IN", vec![], ids, "").order("created_at, id");
    Ok(seen(list.lock(tx, read).await?, settings))
}

/// A page of sessions, newest first.
pub async fn list(
    tx: &mut Tx,
    instance: &InstanceId,
    filters: SessionFilters,
    settings: &Settings,
    paging: Paging,
    now: Time,
) -> Result<Vec<Session>> {
    let list = filtered(&LISTED, instance, filters, settings, now).order("created_at DESC, id DESC");
    Ok(seen(list.page(paging).fetch(tx, read).await?, settings))
}

/// The sessions of clients that still count, oldest first; and those that were revoked, if wanted.
pub async fn of_clients(
    tx: &mut Tx,
    instance: &InstanceId,
    clients: &[&ClientId],
    with_revoked: bool,
    settings: &Settings,
    now: Time,
) -> Result<Vec<Session>> {
    if clients.is_empty() {
        return Ok(Vec::new());
    }
    let ids = clients.iter().map(|&id| id.into()).collect();
    let list = List::new(&LISTED)
        .filter("instance_id = ?", vec![instance.into()])
        .any_of("client_id IN", vec![], ids, "")
        .filter(
            "((status IN ('active', 'pending') AND expire_at > ? AND abandon_at > ?) OR (status = 'revoked' AND ?))",
            vec![now.into(), now.into(), with_revoked.into()],
        );
    Ok(seen(list.order("created_at, id").fetch(tx, read).await?, settings))
}

/// How many sessions of users still count; counted no further than this.
pub async fn count_live_of_users(
    tx: &mut Tx,
    instance: &InstanceId,
    users: &[UserId],
    now: Time,
    at_most: usize,
) -> Result<usize> {
    let ids = users.iter().map(Into::into).collect();
    let list = List::new("SELECT 1 FROM sessions")
        .filter("instance_id = ?", vec![instance.into()])
        .any_of("user_id IN", vec![], ids, "")
        .filter(
            "status IN ('active', 'pending') AND expire_at > ? AND abandon_at > ?",
            vec![now.into(), now.into()],
        );
    Ok(list.page(Paging { limit: at_most as i64, offset: 0 }).fetch(tx, |_| Ok(())).await?.len())
}

/// How many sessions a list has.
pub async fn count(
    tx: &mut Tx,
    instance: &InstanceId,
    filters: SessionFilters,
    settings: &Settings,
    now: Time,
) -> Result<i64> {
    let list = filtered("SELECT count(*) FROM sessions s", instance, filters, settings, now);
    Ok(list.count(tx).await?)
}

fn filtered(
    select: &'static str,
    instance: &InstanceId,
    filters: SessionFilters,
    settings: &Settings,
    now: Time,
) -> List {
    // Then sessions that are kept as active ones wait for the choice of an organization, if they have none.
    let is_choice_forced = settings.organizations.is_choice_forced();
    let mut list = List::new(select).filter("instance_id = ?", vec![instance.into()]);
    if let Some(client) = filters.client {
        list = list.filter("client_id = ?", vec![client.into()]);
    }
    if let Some(user) = filters.user {
        list = list.filter("user_id = ?", vec![user.into()]);
    }
    // Both names are written out where one is asked for: there is an index for these two.
    match filters.status {
        None => list,
        Some(SessionStatus::Active) if filters.is_pending_active => list.filter(
            "status IN ('active', 'pending') AND expire_at > ? AND abandon_at > ?",
            vec![now.into(), now.into()],
        ),
        Some(SessionStatus::Active) if is_choice_forced => list
            .filter(
                "status IN ('active', 'pending') AND status = 'active' AND expire_at > ? AND abandon_at > ?",
                vec![now.into(), now.into()],
            )
            .filter(&CHOSEN, vec![]),
        Some(SessionStatus::Pending) if is_choice_forced => list
            .filter(
                "status IN ('active', 'pending') AND expire_at > ? AND abandon_at > ?",
                vec![now.into(), now.into()],
            )
            .filter(&UNFINISHED, vec![]),
        Some(status @ (SessionStatus::Active | SessionStatus::Pending)) => list.filter(
            "status IN ('active', 'pending') AND status = ? AND expire_at > ? AND abandon_at > ?",
            vec![status.name().into(), now.into(), now.into()],
        ),
        Some(SessionStatus::Expired) => list.filter(
            "(status = 'expired' OR (status IN ('active', 'pending') AND expire_at <= ?))",
            vec![now.into()],
        ),
        Some(SessionStatus::Abandoned) => list.filter(
            "(status = 'abandoned' OR (status IN ('active', 'pending') AND expire_at > ? AND abandon_at <= ?))",
            vec![now.into(), now.into()],
        ),
        Some(status) => list.filter("status = ?", vec![status.name().into()]),
    }
}

pub async fn insert(tx: &mut Tx, session: &Session) -> Result<()> {
    SESSIONS.insert(tx, &row(session)?).await
}

/// Saves a changed session.
pub async fn save(tx: &mut Tx, session: &Session) -> Result<()> {
    SESSIONS.save(tx, &row(session)?).await
}

/// The same as a statement, for callers that save several at once.
pub fn saving(session: &Session) -> Result<Statement> {
    Ok(SESSIONS.saving(row(session)?))
}

fn row(session: &Session) -> Result<Vec<Value>> {
    let kept = session.clone().without_choice();
    let active = session.active_organization.as_ref();
    Ok(vec![
        (&session.instance).into(),
        (&session.id).into(),
        kept.status.name().into(),
        document::write(&kept)?.into(),
        session.expire_at.into(),
        session.abandon_at.into(),
        active.map(|active| active.id.as_str()).into(),
        active.map(|active| active.membership.as_str()).into(),
        (&session.client).into(),
        (&session.user).into(),
        session.created_at.into(),
        session.actor.is_some().into(),
    ])
}

fn seen(kept: Vec<KeptSession>, settings: &Settings) -> Vec<Session> {
    kept.into_iter().map(|kept| kept.seen(settings)).collect()
}

/// A session as it is kept, with its organization as long as the user is a member of that.
struct KeptSession(Session);

impl KeptSession {
    fn seen(self, settings: &Settings) -> Session {
        self.0.seen(&settings.organizations)
    }
}

fn read(row: &Row<'_>) -> Result<KeptSession, DbError> {
    let session = read_document(&row.id(0)?, row.str(1)?)?;
    let active_organization = match row.bool(4)? {
        true => Some(ChosenOrganization { id: row.id(2)?, membership: row.id(3)? }),
        false => None,
    };
    Ok(KeptSession(Session { active_organization, ..session }))
}

/// Reads a session without the organization it names. In documents of earlier versions an active session is one that
/// an event told of.
fn read_document(instance: &InstanceId, text: &str) -> Result<Session, DbError> {
    let session: Session = document::read("session", text)?;
    let announced = session.announced.or(Some(session.status == SessionStatus::Active));
    Ok(Session { instance: instance.clone(), announced, ..session })
}

/// A session with its user, their membership, and the roles of the instance if they came with it.
struct PresentRow {
    session: Session,
    user: User,
    member: Option<(Membership, Organization)>,
    access: Option<Access>,
}

/// Sessions of an instance with the roles, which came with the first that needs them.
async fn with_roles(
    tx: &mut Tx,
    instance: &InstanceId,
    mut rows: Vec<PresentRow>,
) -> Result<Vec<PresentSession>> {
    let came = rows.iter_mut().find_map(|row| row.access.take());
    let access = match came {
        None if rows.iter().any(|row| row.member.is_some()) => Some(access::find(tx, instance).await?),
        came => came,
    };
    let access = access.map(Arc::new);
    let present = rows.into_iter().map(|PresentRow { session, user, member, .. }| {
        let active = member.zip(access.clone()).map(|((membership, organization), access)| {
            ActiveMembership { membership, organization, access }
        });
        PresentSession { session, user, active }
    });
    Ok(present.collect())
}

/// Reads a session with its user and membership from the documents of both, and `ACTIVE_COLUMNS` from the column `at`
/// on.
fn read_present_row(
    row: &Row<'_>,
    instance: &InstanceId,
    (session, user): (&str, &str),
    at: usize,
) -> Result<PresentRow, DbError> {
    let member = memberships::read_member(row, instance, at)?;
    let roles = row.maybe_str(at + 9)?;
    Ok(PresentRow {
        session: Session {
            active_organization: member.as_ref().map(|(membership, _)| ChosenOrganization::of(membership)),
            ..read_document(instance, session)?
        },
        user: users::read_document(instance, user)?,
        member,
        access: roles.map(|roles| access::read_document(instance, Some(roles))).transpose()?,
    })
}

fn read_with_user(row: &Row<'_>) -> Result<PresentRow, DbError> {
    read_present_row(row, &row.id(0)?, (row.str(1)?, row.str(2)?), 3)
}

/// A client without its sessions, and those, oldest first.
fn read_client_rows(
    instance: &InstanceId,
    rows: &[CopiedRow],
) -> Result<Option<(ClientWithSessions, Vec<PresentRow>)>, DbError> {
    let Some(first) = rows.first().map(CopiedRow::row) else { return Ok(None) };
    let Some(document) = first.maybe_str(5)? else { return Ok(None) };
    let (client, token_digest) = (clients::read_document(instance, document)?, first.bytes(6)?);
    let mut sessions = Vec::with_capacity(rows.len());
    for row in rows.iter().map(CopiedRow::row) {
        if let (Some(session), Some(user)) = (row.maybe_str(7)?, row.maybe_str(8)?) {
            sessions.push(read_present_row(&row, instance, (session, user), 9)?);
        }
    }
    sessions.sort_by(|PresentRow { session: one, .. }, PresentRow { session: other, .. }| {
        (one.created_at, one.id.as_str()).cmp(&(other.created_at, other.id.as_str()))
    });
    Ok(Some((ClientWithSessions { client, token_digest, live: Vec::new() }, sessions)))
}
