//! The steps of giving members other roles, and the job that makes them.

use latchkey_base::kinds::{InstanceId, OrganizationId, RoleId, RoleSetId, RoleSetMigrationId, UserId};
use latchkey_base::rng::Rng;
use latchkey_base::{Code, Error, Id, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::background::{Background, WorkProgress, WorkRows};
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::jobs::JobParts;
use latchkey_kernel::outbox::{self, Origin};
use latchkey_kernel::settings::Settings;
use latchkey_people::users::view::ViewContext;
use serde::Serialize;

use super::model::{Position, RoleMigrationWork};
use super::store;
use crate::access::model::{Access, RoleSetMigration};
use crate::access::sets;
use crate::access::store as access;
use crate::invitations::revocation::{RevocationContext, revoke_sent_by};
use crate::memberships::model::{Membership, MembershipParts};
use crate::memberships::{store as memberships, view};
use crate::orgs::model::Organization;
use crate::orgs::store as organizations;
use crate::orgs::view::{self as organization_view, OrganizationExtras};

/// Members and organizations of one transaction.
const BATCH: i64 = 100;

/// Begins to give members other roles, and ends it if they are few. `access` is locked by the caller, and saved here.
pub async fn begin(
    tx: &mut Tx,
    act: &Act,
    mut access: Access,
    migration: RoleSetMigration,
) -> Result<Access> {
    let mut work = RoleMigrationWork {
        instance: act.instance.clone(),
        migration: migration.clone(),
        api_url: act.api_url.to_string(),
        position: None,
        migrated_members: 0,
        updated_at: act.now,
    };
    access.migrations.push(migration);
    check_managers(tx, &access, &work.migration).await?;
    let step = Step { access: &access, now: act.now, rng: &*act.rng };
    let access = match step.run(tx, &mut work).await? {
        WorkProgress::Done => sets::finish(access, &work.migration),
        WorkProgress::More => {
            store::insert(tx, &work).await?;
            access
        }
    };
    access::save(tx, &access, act.now).await?;
    Ok(access)
}

/// Rejects a migration that takes the last member who may manage it from an organization.
async fn check_managers(tx: &mut Tx, access: &Access, migration: &RoleSetMigration) -> Result<()> {
    let (eligible, managing) =
        (access.creator_eligible_roles(), access.lasting_manager_roles(&migration.source));
    let losing: Vec<&RoleId> = eligible.into_iter().filter(|role| !managing.contains(role)).collect();
    let place = (&access.instance, &migration.source);
    if !memberships::has_organization_without(tx, place, &losing, &managing).await? {
        return Ok(());
    }
    Err(Error::new(Code::OrganizationMinimumPermissionsNeeded).saying(
        "An organization would have no member who may manage it. Choose a role that may, or give another member such a \
         role first.",
    ))
}

/// What a step needs to know.
struct Step<'a> {
    access: &'a Access,
    now: Time,
    rng: &'a dyn Rng,
}

impl Step<'_> {
    /// Gives up to a batch of members other roles.
    async fn run(&self, tx: &mut Tx, work: &mut RoleMigrationWork) -> Result<WorkProgress> {
        let mut left = BATCH;
        while left > 0 {
            let Some(organization) = next(tx, work).await? else { return Ok(WorkProgress::Done) };
            left -= self.advance(tx, work, &organization, left).await?;
        }
        work.updated_at = self.now;
        Ok(WorkProgress::More)
    }

    /// Goes on with an organization, by up to `limit` members. Says how much was done; never nothing.
    async fn advance(
        &self,
        tx: &mut Tx,
        work: &mut RoleMigrationWork,
        id: &OrganizationId,
        limit: i64,
    ) -> Result<i64> {
        let found = organizations::lock(tx, &work.instance, id).await?;
        let Some(organization) = found.filter(|it| it.role_set == work.migration.source) else {
            return Ok(1);
        };
        let from: Vec<RoleId> = work.migration.reassignments.iter().map(|it| it.from.clone()).collect();
        let after = work.after(id);
        let moved = self.reassign(tx, work, &organization, (&from, after), limit).await?;
        if moved == limit {
            return Ok(moved);
        }
        work.position = Some(Position { organization: id.clone(), last: None });
        if let Some(dest) = work.migration.dest.clone() {
            self.reassign_late(tx, work, &organization, &dest).await?;
            self.give_set(tx, work, organization, dest).await?;
            work.position = None;
        }
        Ok(moved + 1)
    }

    /// Gives up to `limit` members of an organization other roles than `from`. Says how many.
    async fn reassign(
        &self,
        tx: &mut Tx,
        work: &mut RoleMigrationWork,
        organization: &Organization,
        (from, after): (&[RoleId], Option<(Time, UserId)>),
        limit: i64,
    ) -> Result<i64> {
        let Organization { instance, id, .. } = organization;
        let after = after.as_ref().map(|(at, user)| (*at, user));
        let some = memberships::some_with_roles(tx, (instance, id), from, after, limit).await?;
        let count = some.len() as i64;
        for parts in some {
            let Membership { created_at, user, .. } = parts.membership.clone();
            work.position = Some(Position { organization: id.clone(), last: Some((created_at, user)) });
            self.give_role(tx, work, parts).await?;
        }
        Ok(count)
    }

    /// The same for those who joined after the work began, at a node whose clock is behind: they stand before others
    /// who had their turn. They are few, if any.
    async fn reassign_late(
        &self,
        tx: &mut Tx,
        work: &mut RoleMigrationWork,
        organization: &Organization,
        dest: &RoleSetId,
    ) -> Result<()> {
        let kept = self.access.role_set(dest).map(|set| set.roles.as_slice()).unwrap_or_default();
        let from = work.migration.reassignments.iter().map(|it| it.from.clone());
        let from: Vec<RoleId> = from.filter(|role| !kept.contains(role)).collect();
        while self.reassign(tx, work, organization, (&from, None), BATCH).await? > 0 {}
        Ok(())
    }

    async fn give_role(
        &self,
        tx: &mut Tx,
        work: &mut RoleMigrationWork,
        parts: MembershipParts,
    ) -> Result<()> {
        let Some(role) = work.migration.successor(&parts.membership.role).cloned() else { return Ok(()) };
        if self.access.can_invite(&parts.membership.role) && !self.access.can_invite(&role) {
            let context = RevocationContext {
                instance: &work.instance,
                origin: Origin::server(&work.instance, self.now, self.rng),
                access: self.access,
                organization: &parts.organization,
                api_url: &work.api_url,
            };
            revoke_sent_by(tx, context, &parts.user.id).await?;
        }
        let membership = Membership { role, updated_at: self.now, ..parts.membership };
        memberships::save(tx, &membership).await?;
        work.migrated_members += 1;
        let parts = MembershipParts { membership, ..parts };
        let settings = Settings::default();
        let context =
            ViewContext { now: self.now, settings: &settings, api_url: &work.api_url, relying_party: None };
        let view = view::of_parts(&parts, self.access, context);
        self.emit(tx, &work.instance, Event::OrganizationMembershipUpdated, &parts.organization, &view)
    }

    /// Gives an organization its other role set, once all of its members have roles of it.
    async fn give_set(
        &self,
        tx: &mut Tx,
        work: &RoleMigrationWork,
        organization: Organization,
        dest: RoleSetId,
    ) -> Result<()> {
        let organization = Organization { role_set: dest, updated_at: self.now, ..organization };
        organizations::save(tx, &organization).await?;
        let view = organization_view::organization(
            &organization,
            self.access,
            OrganizationExtras::default(),
            &work.api_url,
        );
        self.emit(tx, &work.instance, Event::OrganizationUpdated, &organization, &view)
    }

    fn emit(
        &self,
        tx: &mut Tx,
        instance: &InstanceId,
        event: Event,
        organization: &Organization,
        view: &impl Serialize,
    ) -> Result<()> {
        let origin = Origin::server(instance, self.now, self.rng);
        tx.append(outbox::event(origin, event, organization.id.as_str(), view)?);
        Ok(())
    }
}

/// The organization to go on with.
async fn next(tx: &mut Tx, work: &RoleMigrationWork) -> Result<Option<OrganizationId>> {
    let RoleSetMigration { source, dest, reassignments, .. } = &work.migration;
    match (dest, reassignments.first()) {
        (Some(_), _) => organizations::first_with_role_set(tx, &work.instance, source).await,
        (None, Some(role)) => {
            // Organizations have their turn in the order of their ids, and nobody in them gets the role again.
            let from = work.position.as_ref().map(|position| &position.organization);
            memberships::first_organization_with(tx, &work.instance, source, &role.from, from).await
        }
        (None, None) => Ok(None),
    }
}

/// Giving members other roles.
pub struct RoleMigrations;

impl Background for RoleMigrations {
    const WORK: WorkRows = store::WORK;
    const FAILURE: &'static str = "members could not be given other roles";

    async fn step(parts: &JobParts, instance: &InstanceId, subject: &str) -> Result<()> {
        let id: RoleSetMigrationId =
            Id::parse(subject).ok_or_else(|| Error::internal("the id of a migration is broken"))?;
        let (now, key) = (parts.clock.now(), (instance.clone(), id));
        let (rng, shared) = (parts.rng.clone(), key.clone());
        let progress =
            parts.db.write(move |tx| Box::pin(async move { go_on(tx, &shared, now, &*rng).await })).await?;
        if progress == WorkProgress::More {
            return Ok(());
        }
        let rng = parts.rng.clone();
        parts.db.write(move |tx| Box::pin(async move { end(tx, &key, now, &*rng).await })).await
    }
}

type WorkKey = (InstanceId, RoleSetMigrationId);

/// A step during which roles can be given. So it cannot tell that nothing is left for good.
async fn go_on(tx: &mut Tx, (instance, id): &WorkKey, now: Time, rng: &dyn Rng) -> Result<WorkProgress> {
    let Some(mut work) = store::claim(tx, instance, id).await? else { return Ok(WorkProgress::More) };
    let access = access::share(tx, instance, now).await?;
    let progress = Step { access: &access, now, rng }.run(tx, &mut work).await?;
    store::save(tx, &work).await?;
    Ok(progress)
}

/// A step during which nobody is given a role, which ends the work if nothing is left.
async fn end(tx: &mut Tx, (instance, id): &WorkKey, now: Time, rng: &dyn Rng) -> Result<()> {
    let Some(mut work) = store::claim(tx, instance, id).await? else { return Ok(()) };
    let access = access::lock(tx, instance, now).await?;
    match (Step { access: &access, now, rng }).run(tx, &mut work).await? {
        WorkProgress::More => store::save(tx, &work).await,
        WorkProgress::Done => {
            access::save(tx, &sets::finish(access, &work.migration), now).await?;
            store::delete(tx, &work).await?;
            Ok(())
        }
    }
}
