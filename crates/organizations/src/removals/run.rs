//! Removing the members of what was deleted: at once, and step by step.

use latchkey_base::kinds::{InstanceId, OrganizationId};
use latchkey_base::rng::Rng;
use latchkey_base::{Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::background::{Background, WorkProgress, WorkRows};
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::jobs::JobParts;
use latchkey_kernel::outbox::{self, Origin};
use latchkey_kernel::settings::Settings;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_people::users::view::ViewContext;

use super::store::{self, Removal, Sender, Subject};
use crate::access::model::Access;
use crate::access::store as access;
use crate::invitations::revocation::{RevocationContext, revoke_batch, revoke_sent_by};
use crate::memberships::model::MembershipParts;
use crate::memberships::{store as memberships, view};
use crate::orgs::change::locked;
use crate::orgs::model::Organization;
use crate::orgs::store as organizations;
use crate::orgs::view as organization_view;
use crate::portal_links::store as portal_links;

/// Members of one organization in a transaction.
const MEMBERS: i64 = 100;
/// Organizations of one user in a transaction, each of which is locked until its end.
const MEMBERSHIPS: i64 = 10;

/// Deletes an organization. What fits into one transaction is gone with it: its members, invitations and domains.
pub async fn delete_organization(tx: &mut Tx, act: &Act, id: &OrganizationId) -> Result<Organization> {
    let organization = locked(tx, &act.instance, id).await?;
    organizations::delete(tx, &act.instance, id).await?;
    let gone = organization_view::deleted(&organization);
    outbox::emit(tx, act, Event::OrganizationDeleted, id.as_str(), &gone)?;
    begin(tx, act, Subject::Organization(Box::new(organization.clone()))).await?;
    Ok(organization)
}

/// Ends the memberships of a user who is deleted. The user is locked.
pub async fn delete_user(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    begin(tx, act, Subject::User(Box::new(user.clone()))).await
}

/// Does the first step, and notes what is left for the job.
async fn begin(tx: &mut Tx, act: &Act, subject: Subject) -> Result<()> {
    let removal = Removal { instance: act.instance.clone(), subject, api_url: act.api_url.to_string() };
    if step(tx, &removal, Origin::from(act)).await? == WorkProgress::Done {
        return Ok(());
    }
    store::put(tx, &removal, act.now).await
}

/// Removes up to a batch of what is left.
async fn step(tx: &mut Tx, removal: &Removal, origin: Origin<'_>) -> Result<WorkProgress> {
    let (removed, batch) = match &removal.subject {
        Subject::Organization(organization) => {
            let removed = remove_members(tx, removal, organization, origin).await?;
            let links = portal_links::delete_some(tx, &removal.instance, &organization.id, MEMBERS).await?;
            (removed.max(i64::try_from(links).unwrap_or(MEMBERS)), MEMBERS)
        }
        Subject::User(user) => (remove_memberships(tx, removal, user, origin).await?, MEMBERSHIPS),
        Subject::Sender(sender) => return revoke_sent(tx, removal, sender, origin).await,
    };
    let most = removed.max(store::delete_rest(tx, removal, batch).await?);
    Ok(if most < batch { WorkProgress::Done } else { WorkProgress::More })
}

/// Removes members of an organization that was deleted. Says how many.
async fn remove_members(
    tx: &mut Tx,
    removal: &Removal,
    organization: &Organization,
    origin: Origin<'_>,
) -> Result<i64> {
    let organization = Organization { instance: removal.instance.clone(), ..organization.clone() };
    let access = access::find(tx, &removal.instance).await?;
    let some = memberships::some_of_organization(tx, &removal.instance, &organization.id, MEMBERS).await?;
    let count = some.len() as i64;
    for membership in some {
        // Whose user is deleted at the same time may be gone already.
        if !memberships::delete(tx, &membership).await? {
            continue;
        }
        if let Some(user) = users::find(tx, &removal.instance, &membership.user).await? {
            let parts = MembershipParts { membership, organization: organization.clone(), user };
            emit_deleted(tx, removal, &parts, &access, origin)?;
        }
    }
    Ok(count)
}

/// Ends memberships of a user who was deleted. Says how many.
async fn remove_memberships(tx: &mut Tx, removal: &Removal, user: &User, origin: Origin<'_>) -> Result<i64> {
    let user = User { instance: removal.instance.clone(), ..user.clone() };
    let access = access::find(tx, &removal.instance).await?;
    let some = memberships::some_of_user(tx, &removal.instance, &user.id, MEMBERSHIPS).await?;
    let count = some.len() as i64;
    for membership in some {
        let found = organizations::lock(tx, &removal.instance, &membership.organization).await?;
        // Somebody may have removed the member before the organization was locked.
        if !memberships::delete(tx, &membership).await? {
            continue;
        }
        if let Some(organization) = found {
            let organization = Organization { members_count: organization.members_count - 1, ..organization };
            organizations::save(tx, &organization).await?;
            let parts = MembershipParts { membership, organization, user: user.clone() };
            emit_deleted(tx, removal, &parts, &access, origin)?;
            let context = revocation(removal, &access, &parts.organization, origin);
            revoke_sent_by(tx, context, &user.id).await?;
        }
    }
    Ok(count)
}

/// Revokes a batch of the invitations of a member who may not invite any more.
async fn revoke_sent(
    tx: &mut Tx,
    removal: &Removal,
    sender: &Sender,
    origin: Origin<'_>,
) -> Result<WorkProgress> {
    let access = access::find(tx, &removal.instance).await?;
    let organization = organizations::lock(tx, &removal.instance, &sender.organization).await?;
    // The invitations to a deleted organization are deleted with it.
    let Some(organization) = organization else { return Ok(WorkProgress::Done) };
    let context = revocation(removal, &access, &organization, origin);
    revoke_batch(tx, context, &sender.user, sender.until).await
}

fn revocation<'a>(
    removal: &'a Removal,
    access: &'a Access,
    organization: &'a Organization,
    origin: Origin<'a>,
) -> RevocationContext<'a> {
    let Removal { instance, api_url, .. } = removal;
    RevocationContext { instance, origin, access, organization, api_url }
}

fn emit_deleted(
    tx: &mut Tx,
    removal: &Removal,
    parts: &MembershipParts,
    access: &Access,
    origin: Origin<'_>,
) -> Result<()> {
    let settings = Settings::default();
    let context = ViewContext {
        now: origin.now(),
        settings: &settings,
        api_url: &removal.api_url,
        relying_party: None,
    };
    let view = view::of_parts(parts, access, context);
    let subject = parts.organization.id.as_str();
    tx.append(outbox::event(origin, Event::OrganizationMembershipDeleted, subject, &view)?);
    Ok(())
}

/// Removing what is left of deleted organizations and users.
pub struct Removals;

impl Background for Removals {
    const WORK: WorkRows = store::WORK;
    const FAILURE: &'static str = "members of what was deleted could not be removed";

    async fn step(parts: &JobParts, instance: &InstanceId, subject: &str) -> Result<()> {
        let (instance, subject) = (instance.clone(), subject.to_owned());
        let (now, rng) = (parts.clock.now(), parts.rng.clone());
        let work = parts
            .db
            .write(move |tx| Box::pin(async move { go_on(tx, (&instance, &subject), now, &*rng).await }));
        work.await
    }
}

async fn go_on(
    tx: &mut Tx,
    (instance, subject): (&InstanceId, &str),
    now: Time,
    rng: &dyn Rng,
) -> Result<()> {
    if let Some(organization) = store::organization_of_sender(subject) {
        organizations::lock(tx, instance, &organization).await?;
    }
    let Some(removal) = store::claim(tx, instance, subject).await? else { return Ok(()) };
    match step(tx, &removal, Origin::server(instance, now, rng)).await? {
        WorkProgress::Done => store::delete(tx, &removal).await.map(|_| ()),
        WorkProgress::More => store::put(tx, &removal, now).await,
    }
}
