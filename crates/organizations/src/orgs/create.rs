//! How an organization comes to be.

use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_people::users::model::User;

use super::change::emit;
use super::input::CreateOrganization;
use super::model::Organization;
use super::{rules, store};
use crate::access::model::Access;
use crate::access::store as access;
use crate::memberships::change::{Joining, join};

/// Creates an organization. Its creator, who must be locked, joins it with the role of creators.
pub async fn create(
    tx: &mut Tx,
    act: &Act,
    input: &CreateOrganization,
    creator: Option<&User>,
) -> Result<(Organization, Access)> {
    let access = access::share(tx, &act.instance, act.now).await?;
    if let Some(creator) = creator {
        let created = store::count_created_by(tx, &act.instance, &creator.id).await?;
        rules::check_creator(creator, &act.settings, created)?;
    }
    let organization = rules::create(input, creator.map(|user| user.id.clone()), &access, act)?;
    let is_slug_given = input.slug.as_deref().is_some_and(|slug| !slug.is_empty());
    let organization = insert(tx, organization, is_slug_given).await?;
    emit(tx, act, Event::OrganizationCreated, &organization, &access)?;
    match creator {
        Some(creator) => {
            let joining = Joining::as_creator(&access, &organization)?;
            let (organization, _) = join(tx, act, &access, organization, creator, joining).await?;
            Ok((organization, access))
        }
        None => Ok((organization, access)),
    }
}

/// Writes a new organization. A slug that nobody gave is never why that fails: organizations of one name may be created
/// in the same second, and then the slug of the second one ends like its id.
async fn insert(tx: &mut Tx, organization: Organization, is_slug_given: bool) -> Result<Organization> {
    let made = organization.slug.clone().filter(|_| !is_slug_given);
    let Some(slug) = made else {
        store::insert(tx, &organization).await?;
        return Ok(organization);
    };
    if store::insert_unless_slug_is_taken(tx, &organization).await? {
        return Ok(organization);
    }
    let id = organization.id.as_str().to_ascii_lowercase();
    let end = &id[id.len().saturating_sub(8)..];
    let organization = Organization { slug: Some(format!("{slug}-{end}")), ..organization };
    store::insert(tx, &organization).await?;
    Ok(organization)
}
