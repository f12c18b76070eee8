//! Telling members what happens in their organization.

use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::document::value;
use latchkey_people::notices::tell;
use latchkey_people::users::model::User;
use serde_json::{Map, Value, json};

use super::access::model::MANAGE_MEMBERSHIPS;
use super::access::store as access;
use super::memberships::store as members;
use super::orgs::model::Organization;
use super::orgs::view::image_url;

/// Members who are told of one request.
const TOLD_OF_REQUEST: i64 = 10;

/// Somebody with this address accepted an invitation; whoever sent it is told.
pub async fn invitation_accepted(
    tx: &mut Tx,
    act: &Act,
    organization: &Organization,
    inviter: &User,
    address: &str,
) -> Result<()> {
    let data = data(act, organization, address);
    tell(tx, &without_languages(act), inviter, "organization_invitation_accepted", data).await
}

/// Somebody with this address asks to join. Those who have been there longest of the members who can decide are told.
pub async fn membership_requested(
    tx: &mut Tx,
    act: &Act,
    organization: &Organization,
    address: &str,
) -> Result<()> {
    let access = access::find(tx, &act.instance).await?;
    let deciding = access.roles.iter().filter(|role| access.allows(role, MANAGE_MEMBERSHIPS));
    let roles: Vec<_> = deciding.map(|role| role.id.clone()).collect();
    for user in
        members::oldest_with_roles(tx, &act.instance, &organization.id, &roles, TOLD_OF_REQUEST).await?
    {
        let data = data(act, organization, address);
        tell(tx, &without_languages(act), &user, "organization_membership_requested", data).await?;
    }
    Ok(())
}

/// The act without the languages of whoever acts: somebody else is told.
fn without_languages(act: &Act) -> Act {
    Act { languages: String::new(), ..act.clone() }
}

fn data(act: &Act, organization: &Organization, address: &str) -> Map<String, Value> {
    Map::from_iter([
        ("email_address".to_owned(), json!(address)),
        ("org".to_owned(), shown_organization(act, organization)),
        ("action_url".to_owned(), json!(act.settings.display.home_url.clone().unwrap_or_default())),
    ])
}

/// An organization as templates show it.
pub fn shown_organization(act: &Act, organization: &Organization) -> Value {
    json!({
        "name": organization.name,
        "logo_image_url": image_url(organization, &act.api_url),
        "public_metadata": value(&organization.public_metadata),
    })
}
