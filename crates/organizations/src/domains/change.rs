//! How domains are added, changed and deleted: with the organization locked, an event, and what follows for the people
//! of the domain.

use latchkey_base::kinds::{OrganizationDomainId, OrganizationId};
use latchkey_base::{Error, Result};
use latchkey_db::{Tx, unique_violation};
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox;
use latchkey_kernel::wire::deleted;

use super::model::{DomainMode, DomainParts, OrganizationDomain};
use super::{rules, store, view};
use crate::access::model::Access;
use crate::enrollments::{self, EnrollmentChange};
use crate::orgs::model::Organization;

/// The organization of a domain, locked, with the roles of the instance.
pub type LockedOrganization<'a> = (&'a Access, &'a Organization);

/// A domain that is to be added.
pub struct NewDomain {
    pub name: String,
    pub mode: DomainMode,
    pub is_verified: bool,
}

/// Adds a domain to an organization.
pub async fn add(tx: &mut Tx, act: &Act, to: LockedOrganization<'_>, new: NewDomain) -> Result<DomainParts> {
    let (_, organization) = to;
    let held = store::of_organization(tx, &act.instance, &organization.id).await?;
    rules::check_new(&held, &new.name)?;
    let domain = rules::create(organization, new.name, new.mode, new.is_verified, act);
    if domain.is_verified() {
        check_free(tx, &domain).await?;
    }
    store::insert(tx, &domain).await?;
    let organization = organization.clone();
    let new = DomainParts { domain, organization, pending_invitations: 0, pending_suggestions: 0 };
    emit(tx, act, Event::OrganizationDomainCreated, &new)?;
    let enrol = rules::enrols(&new.domain, &act.settings).is_some();
    followed(tx, act, to, new, EnrollmentChange { enrol, withdraw: false }).await
}

/// Saves a changed domain. One that is as before is not saved.
pub async fn save(
    tx: &mut Tx,
    act: &Act,
    to: LockedOrganization<'_>,
    (before, after): (&OrganizationDomain, OrganizationDomain),
) -> Result<DomainParts> {
    // Nobody is the organization's because of a domain that is not.
    let withdraw = before.is_verified() && !after.is_verified();
    saved(tx, act, to, (before, after), EnrollmentChange { withdraw, enrol: false }).await
}

/// The same, and takes back what was made because of it and is not answered.
pub async fn save_and_withdraw(
    tx: &mut Tx,
    act: &Act,
    to: LockedOrganization<'_>,
    (before, after): (&OrganizationDomain, OrganizationDomain),
) -> Result<DomainParts> {
    saved(tx, act, to, (before, after), EnrollmentChange { withdraw: true, enrol: false }).await
}

async fn saved(
    tx: &mut Tx,
    act: &Act,
    to: LockedOrganization<'_>,
    (before, mut after): (&OrganizationDomain, OrganizationDomain),
    change: EnrollmentChange,
) -> Result<DomainParts> {
    let is_changed = after != *before;
    if is_changed {
        after.updated_at = act.now;
        if after.is_verified() && !before.is_verified() {
            check_free(tx, &after).await?;
        }
        store::save(tx, &after).await?;
    }
    let (_, organization) = to;
    let shown = parts(tx, act, &organization.id, &after.id).await?;
    if is_changed {
        emit(tx, act, Event::OrganizationDomainUpdated, &shown)?;
    }
    let (was, is) = (rules::enrols(before, &act.settings), rules::enrols(&after, &act.settings));
    followed(tx, act, to, shown, EnrollmentChange { enrol: is.is_some() && is != was, ..change }).await
}

/// Does what follows from a change for the people of a domain. Returns the domain as it is then.
async fn followed(
    tx: &mut Tx,
    act: &Act,
    to: LockedOrganization<'_>,
    shown: DomainParts,
    change: EnrollmentChange,
) -> Result<DomainParts> {
    if change == EnrollmentChange::default() {
        return Ok(shown);
    }
    enrollments::begin(tx, act, to, &shown.domain.id, change).await?;
    parts(tx, act, &shown.organization.id, &shown.domain.id).await
}

/// Deletes a domain, and takes back what was made because of it.
pub async fn delete(
    tx: &mut Tx,
    act: &Act,
    to: LockedOrganization<'_>,
    id: &OrganizationDomainId,
) -> Result<()> {
    let (_, organization) = to;
    let domain = found(tx, act, &organization.id, id).await?;
    store::delete(tx, &domain).await?;
    let gone = deleted("organization_domain", id);
    outbox::emit(tx, act, Event::OrganizationDomainDeleted, organization.id.as_str(), &gone)?;
    let change = EnrollmentChange { withdraw: true, enrol: false };
    enrollments::begin(tx, act, to, id, change).await
}

/// A domain of an organization. Refuses as not found if there is none.
pub async fn found(
    tx: &mut Tx,
    act: &Act,
    organization: &OrganizationId,
    id: &OrganizationDomainId,
) -> Result<OrganizationDomain> {
    store::find(tx, &act.instance, organization, id).await?.ok_or_else(|| not_found(id))
}

pub fn not_found(id: &dyn std::fmt::Display) -> Error {
    Error::not_found("organization domain", id)
}

/// Says that a name is taken, when that is why a domain could not be written.
pub fn explained(error: Error) -> Error {
    match unique_violation(&error) {
        Some("organization_domains.claim") => rules::taken(),
        _ => error,
    }
}

/// Refuses a name that another organization has verified.
pub async fn check_free(tx: &mut Tx, domain: &OrganizationDomain) -> Result<()> {
    let holders = store::find_verified(tx, &domain.instance, vec![&domain.name]).await?;
    match holders.iter().any(|other| other.id != domain.id) {
        true => Err(rules::taken()),
        false => Ok(()),
    }
}

/// A domain with its organization. Refuses as not found if there is none.
pub async fn parts(
    tx: &mut Tx,
    act: &Act,
    organization: &OrganizationId,
    id: &OrganizationDomainId,
) -> Result<DomainParts> {
    store::find_parts(tx, &act.instance, organization, id).await?.ok_or_else(|| not_found(id))
}

/// Records an event about a domain. Its subject is the organization, of which receivers have heard before.
fn emit(tx: &mut Tx, act: &Act, event: Event, parts: &DomainParts) -> Result<()> {
    let shown = view::domain(parts, act.now, &act.api_url);
    outbox::emit(tx, act, event, parts.organization.id.as_str(), &shown)
}
