//! The one way to change an organization: lock the row, decide by a pure rule, save it and record the event, in one
//! transaction.

use latchkey_base::kinds::{ImageId, InstanceId, OrganizationId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::{Tx, unique_violation};
use latchkey_images::Image;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::events::Event;
use latchkey_kernel::{document, outbox};

use super::model::Organization;
use super::store;
use super::view::{self, OrganizationExtras};
use crate::access::model::Access;
use crate::access::store as access;
use crate::logos;

/// Changes an organization by a pure rule, in a transaction of its own.
pub async fn change<R>(cx: &Cx, act: Act, id: OrganizationId, rule: R) -> Result<(Organization, Access)>
where
    R: FnOnce(Organization, &Act) -> Result<Organization> + Send + 'static,
{
    let changed = cx.write(move |tx| Box::pin(async move { changed(tx, &act, &id, rule).await }));
    changed.await.map_err(explained)
}

/// The same inside a transaction that is open already.
pub async fn changed<R>(
    tx: &mut Tx,
    act: &Act,
    id: &OrganizationId,
    rule: R,
) -> Result<(Organization, Access)>
where
    R: FnOnce(Organization, &Act) -> Result<Organization>,
{
    let access = access::find(tx, &act.instance).await?;
    let before = locked(tx, &act.instance, id).await?;
    let after = rule(before.clone(), act)?;
    let after = save(tx, act, &before, after, &access).await?;
    Ok((after, access))
}

/// Locks an organization. Refuses as not found if there is none.
pub async fn locked(tx: &mut Tx, instance: &InstanceId, id: &OrganizationId) -> Result<Organization> {
    store::lock(tx, instance, id).await?.ok_or_else(|| not_found(id))
}

/// Saves an organization and records `organization.updated`. One that is as before is not saved.
pub async fn save(
    tx: &mut Tx,
    act: &Act,
    before: &Organization,
    after: Organization,
    access: &Access,
) -> Result<Organization> {
    if document::write(before)? == document::write(&after)? {
        return Ok(after);
    }
    let after = Organization { updated_at: act.now, ..after };
    store::save(tx, &after).await?;
    emit(tx, act, Event::OrganizationUpdated, &after, access)?;
    Ok(after)
}

/// Gives an organization, which is locked, another logo or none, and records `organization.updated`.
pub async fn set_logo(
    tx: &mut Tx,
    act: &Act,
    before: Organization,
    picture: Option<&Image>,
    access: &Access,
) -> Result<Organization> {
    logos::delete_all(tx, &act.instance, &before.id).await?;
    let image = match picture {
        Some(picture) => {
            let image = ImageId::new(act.now, &*act.rng);
            logos::insert(tx, &act.instance, &before.id, &image, picture, act.now).await?;
            Some(image)
        }
        None => None,
    };
    let after = Organization { image, ..before.clone() };
    save(tx, act, &before, after, access).await
}

/// Records an event about an organization.
pub fn emit(
    tx: &mut Tx,
    act: &Act,
    event: Event,
    organization: &Organization,
    access: &Access,
) -> Result<()> {
    let view = view::organization(organization, access, OrganizationExtras::default(), &act.api_url);
    outbox::emit(tx, act, event, organization.id.as_str(), &view)
}

pub fn not_found(id: &dyn std::fmt::Display) -> Error {
    Error::not_found("organization", id)
}

/// Whether an organization could not be written because its slug is taken.
pub fn is_slug_taken(error: &Error) -> bool {
    unique_violation(error) == Some("organizations.slug")
}

/// Says that the slug is taken, when that is why an organization could not be written.
pub fn explained(error: Error) -> Error {
    match is_slug_taken(&error) {
        true => Error::param(Code::FormAlreadyExists, "slug")
            .saying("Another organization of this instance has that slug."),
        false => error,
    }
}
