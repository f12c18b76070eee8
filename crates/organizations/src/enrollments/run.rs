//! Enrolling people by a domain: at once, and step by step.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use latchkey_base::kinds::{InstanceId, OrganizationDomainId, OrganizationId, OrganizationSuggestionId};
use latchkey_base::text::domain_of;
use latchkey_base::{Error, Id, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::background::{Background, WorkProgress, WorkRows};
use latchkey_kernel::cx::Act;
use latchkey_kernel::instances::model::Instance;
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::jobs::JobParts;
use latchkey_kernel::registry::Registry;
use latchkey_kernel::settings::{EnrollmentMode, Settings};
use latchkey_people::users::arrivals::ProvenAddresses;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;

use super::model::Enrollment;
use super::store;
use crate::access::model::Access;
use crate::access::store as access;
use crate::domains::model::OrganizationDomain;
use crate::domains::rules::enrols;
use crate::domains::store as domains;
use crate::invitations::change::{self as invitations, InvitationPlace, invite_by_domain};
use crate::memberships::store as memberships;
use crate::orgs::model::Organization;
use crate::orgs::store as organizations;
use crate::suggestions::model::{Suggestion, SuggestionStatus};
use crate::suggestions::store as suggestions;

/// Addresses that a step looks at. They are read in the order of an index, whatever their domain.
const LOOKED_AT: i64 = 1000;
/// Invitations and suggestions that a step makes, or takes back.
const BATCH: i64 = 100;

/// What is to be done for a domain that was added or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnrollmentChange {
    /// Take back what was made because of it and is not answered.
    pub withdraw: bool,
    /// Look for people who have an address of it.
    pub enrol: bool,
}

/// Does what follows from a change of a domain, as far as one step goes. The organization is locked.
pub async fn begin(
    tx: &mut Tx,
    act: &Act,
    (access, organization): (&Access, &Organization),
    domain: &OrganizationDomainId,
    change: EnrollmentChange,
) -> Result<()> {
    if change == EnrollmentChange::default() {
        return Ok(());
    }
    let earlier = store::lock(tx, &act.instance, domain).await?;
    let mut enrollment = earlier.unwrap_or_else(|| Enrollment {
        instance: act.instance.clone(),
        domain: domain.clone(),
        organization: organization.id.clone(),
        withdraw_until: None,
        is_enrolling: false,
        after: String::new(),
        url: act.url.to_string(),
        api_url: act.api_url.to_string(),
    });
    if change.withdraw {
        enrollment.withdraw_until = Some(act.now);
    }
    if change.enrol {
        (enrollment.is_enrolling, enrollment.after) = (true, String::new());
    }
    let progress = step(tx, act, (access, organization), &mut enrollment).await?;
    if progress == WorkProgress::Done && !change.enrol {
        return store::delete(tx, &enrollment).await;
    }
    // Whoever proves an address while this is not committed yet sees no such domain, and this sees no such address. So
    // the job looks at all of them once more.
    if change.enrol {
        enrollment.after.clear();
    }
    store::put(tx, &enrollment, act.now).await
}

async fn step(
    tx: &mut Tx,
    act: &Act,
    (access, organization): (&Access, &Organization),
    enrollment: &mut Enrollment,
) -> Result<WorkProgress> {
    let found = domains::find(tx, &act.instance, &organization.id, &enrollment.domain).await?;
    if let Some(until) = enrollment.withdraw_until {
        // Nothing is made any more for a domain that is not the organization's, so all goes, whatever time it was on the
        // node that made it.
        let until = Some(until).filter(|_| found.as_ref().is_some_and(OrganizationDomain::is_verified));
        if withdraw(tx, act, (access, organization), enrollment, until).await? == WorkProgress::More {
            return Ok(WorkProgress::More);
        }
        enrollment.withdraw_until = None;
    }
    if !enrollment.is_enrolling {
        return Ok(WorkProgress::Done);
    }
    match found.and_then(|domain| Some((enrols(&domain, &act.settings)?, domain))) {
        Some((mode, domain)) => {
            let to = Destination { access, organization, domain: &domain, mode };
            enrol_some(tx, act, to, enrollment).await
        }
        None => Ok(WorkProgress::Done),
    }
}

/// Takes back up to a batch of what was made because of a domain.
async fn withdraw(
    tx: &mut Tx,
    act: &Act,
    (access, organization): (&Access, &Organization),
    Enrollment { instance, domain, .. }: &Enrollment,
    until: Option<Time>,
) -> Result<WorkProgress> {
    let place = InvitationPlace { access, organization, frontend_url: &act.url };
    let invitations = invitations::withdraw(tx, act, place, domain, until, BATCH).await?;
    let suggestions = suggestions::withdraw(tx, instance, domain, until, BATCH).await?;
    Ok(if invitations.max(suggestions) < BATCH { WorkProgress::Done } else { WorkProgress::More })
}

/// Where somebody comes to, and how.
#[derive(Clone, Copy)]
struct Destination<'a> {
    access: &'a Access,
    organization: &'a Organization,
    domain: &'a OrganizationDomain,
    mode: EnrollmentMode,
}

/// Looks at the next addresses, and makes what those of the domain get.
async fn enrol_some(
    tx: &mut Tx,
    act: &Act,
    to: Destination<'_>,
    enrollment: &mut Enrollment,
) -> Result<WorkProgress> {
    let next = users::addresses_after(tx, &act.instance, &enrollment.after, LOOKED_AT).await?;
    let is_last = (next.len() as i64) < LOOKED_AT;
    let mut made = 0;
    for (address, user) in next {
        if made >= BATCH {
            return Ok(WorkProgress::More);
        }
        if domain_of(&address) == to.domain.name {
            made += 1;
            match users::claim(tx, &act.instance, &user).await? {
                // Somebody who has not proven the address may hold it all the same.
                Some(user) => {
                    if let Some(address) = proven(&user, &address) {
                        enrol(tx, act, to, &user, address).await?;
                    }
                }
                // Somebody changes the user, or deletes them. They may wait for the organization, which is locked after
                // users, so the next step looks again.
                None if users::find(tx, &act.instance, &user).await?.is_some() => {
                    return Ok(WorkProgress::More);
                }
                None => (),
            }
        }
        enrollment.after = address;
    }
    Ok(if is_last { WorkProgress::Done } else { WorkProgress::More })
}

/// The address of a user in the form they have it, if they have proven it.
fn proven<'a>(user: &'a User, folded: &str) -> Option<&'a str> {
    let mut proven = user.email_addresses.all.iter().filter(|address| address.is_verified());
    proven
        .find(|address| users::comparable("email_address", &address.value) == folded)
        .map(|it| it.value.as_str())
}

/// Makes what somebody gets who has proven an address of a domain. Members get nothing, and nobody gets it twice.
async fn enrol(tx: &mut Tx, act: &Act, to: Destination<'_>, user: &User, address: &str) -> Result<()> {
    let Destination { access, organization, domain, mode } = to;
    if memberships::find(tx, &act.instance, &organization.id, &user.id).await?.is_some() {
        return Ok(());
    }
    match mode {
        EnrollmentMode::AutomaticInvitation => {
            let person = (user, address);
            invite_by_domain(tx, act, (access, organization), &domain.id, person).await.map(|_| ())
        }
        EnrollmentMode::AutomaticSuggestion => {
            let suggestion = Suggestion {
                instance: act.instance.clone(),
                id: OrganizationSuggestionId::new(act.now, &*act.rng),
                organization: organization.id.clone(),
                user: user.id.clone(),
                domain: domain.id.clone(),
                status: SuggestionStatus::Pending,
                created_at: act.now,
                updated_at: act.now,
            };
            suggestions::insert_new(tx, &suggestion).await.map(|_| ())
        }
    }
}

/// Registers what is done when somebody proves an address.
pub fn register(registry: &mut Registry) {
    registry.add(ProvenAddresses { is_wanted, run: addresses_proven });
}

fn is_wanted(settings: &Settings) -> bool {
    let settings = &settings.organizations;
    settings.enabled && settings.domains && !settings.domain_enrollment_modes.is_empty()
}

fn addresses_proven<'a>(
    tx: &'a mut Tx,
    act: &'a Act,
    user: &'a User,
    addresses: Vec<String>,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let names = addresses.iter().map(|address| domain_of(address)).collect();
        let found = domains::find_verified(tx, &act.instance, names).await?;
        let is_open = |domain: &OrganizationDomain| enrols(domain, &act.settings).is_some();
        let found: Vec<OrganizationDomain> = found.into_iter().filter(is_open).collect();
        if found.is_empty() {
            return Ok(());
        }
        let access = access::share(tx, &act.instance, act.now).await?;
        for OrganizationDomain { id, organization, .. } in found {
            // Read again, because it may have changed until the organization was shared.
            let Some(organization) = organizations::share(tx, &act.instance, &organization).await? else {
                continue;
            };
            let domain = domains::find(tx, &act.instance, &organization.id, &id).await?;
            let open = domain.and_then(|domain| Some((enrols(&domain, &act.settings)?, domain)));
            let Some((mode, domain)) = open else {
                continue;
            };
            let address = addresses.iter().find(|address| domain_of(address) == domain.name);
            if let Some(address) = address {
                let to = Destination { access: &access, organization: &organization, domain: &domain, mode };
                enrol(tx, act, to, user, address).await?;
            }
        }
        Ok(())
    })
}

/// Locks the organization that a new user was invited to, and shares those that their addresses bring them to: one after
/// the other, in the order of all who lock several. Accepting the invitation and telling of the addresses come next.
pub async fn lock_for_newcomer(tx: &mut Tx, act: &Act, user: &User, invited: &OrganizationId) -> Result<()> {
    if !is_wanted(&act.settings) {
        return Ok(());
    }
    let proven = user.email_addresses.all.iter().filter(|address| address.is_verified());
    let names = proven.map(|address| domain_of(&address.value)).collect();
    let found = domains::find_verified(tx, &act.instance, names).await?;
    let mut ids: Vec<OrganizationId> = found.into_iter().map(|domain| domain.organization).collect();
    ids.push(invited.clone());
    ids.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
    ids.dedup();
    access::share(tx, &act.instance, act.now).await?;
    for id in &ids {
        match id == invited {
            true => organizations::lock(tx, &act.instance, id).await?,
            false => organizations::share(tx, &act.instance, id).await?,
        };
    }
    Ok(())
}

/// Looking for people of a domain, and taking back what was made because of it.
pub struct Enrollments;

impl Background for Enrollments {
    const WORK: WorkRows = store::WORK;
    const FAILURE: &'static str = "people of a domain could not be enrolled";

    async fn step(parts: &JobParts, instance: &InstanceId, subject: &str) -> Result<()> {
        let domain = Id::parse(subject).ok_or_else(|| Error::internal("the id of a domain is broken"))?;
        let mut tx = parts.db.read().await?;
        let Some(found) = store::find(&mut tx, instance, &domain).await? else { return Ok(()) };
        // What is left goes with its instance.
        let Some(Instance { settings, .. }) = instances::find(&mut tx, instance).await? else {
            return Ok(());
        };
        drop(tx);
        let (url, api_url) = (found.url.as_str().into(), found.api_url.as_str().into());
        let act = Act { url, api_url, settings: Arc::new(settings), ..Act::of_server(parts, instance) };
        parts.db.write(move |tx| Box::pin(async move { continued(tx, &act, found).await })).await
    }
}

/// The organization is locked before the row, in the order of those who change domains. Another node that took the same
/// row waits here, and goes on where this one stopped.
async fn continued(tx: &mut Tx, act: &Act, found: Enrollment) -> Result<()> {
    let access = access::share(tx, &act.instance, act.now).await?;
    let organization = organizations::lock(tx, &act.instance, &found.organization).await?;
    let Some(mut enrollment) = store::lock(tx, &act.instance, &found.domain).await? else { return Ok(()) };
    let progress = match &organization {
        Some(organization) => step(tx, act, (&access, organization), &mut enrollment).await?,
        // What belonged to it is deleted with it.
        None => WorkProgress::Done,
    };
    match progress {
        WorkProgress::Done => store::delete(tx, &enrollment).await,
        WorkProgress::More => store::put(tx, &enrollment, act.now).await,
    }
}
