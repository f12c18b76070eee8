//! Which organization somebody works for in a session.

use latchkey_base::kinds::{OrganizationId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::choices::{self, ChosenOrganization};
use latchkey_organizations::memberships::store as memberships;
use latchkey_organizations::orgs::rules::check_enabled;
use latchkey_organizations::orgs::store as organizations;
use latchkey_people::users::store as users;

use super::model::{Session, SessionStatus};
use super::{ending, rules};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrganizationChoice {
    /// Nothing: it stays as it is.
    Same,
    /// To work for nobody but oneself.
    Oneself,
    /// The organization with this id or slug.
    Organization(String),
}

impl OrganizationChoice {
    /// Reads a parameter: absent, empty, or an id or slug. Where everybody works for an organization, nobody can choose
    /// to work for themselves, and it stays as it is.
    pub fn read(parameter: Option<&str>, settings: &Settings) -> OrganizationChoice {
        match parameter {
            None => OrganizationChoice::Same,
            Some("") if settings.organizations.is_choice_forced() => OrganizationChoice::Same,
            Some("") => OrganizationChoice::Oneself,
            Some(text) => OrganizationChoice::Organization(text.to_owned()),
        }
    }
}

/// How somebody came to an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    Themselves,
    /// A link they followed, which anybody may have given them.
    Link,
}

/// The organization of a user that was asked for; one they are not a member of is refused as if it was not there.
async fn found(tx: &mut Tx, act: &Act, user: &UserId, asked: &str) -> Result<ChosenOrganization> {
    let found = match act.settings.organizations.enabled {
        true => memberships::find_active(tx, &act.instance, asked, user).await?,
        false => None,
    };
    Ok(ChosenOrganization::of(&found.ok_or_else(not_a_member)?.membership))
}

/// The refusal of an organization that somebody is not a member of, whether there is one or not.
pub fn not_a_member() -> Error {
    Error::new(Code::OrganizationNotFoundOrUnauthorized)
}

/// The same for backends, who may know which organizations there are.
pub async fn required(tx: &mut Tx, act: &Act, user: &UserId, asked: &str) -> Result<OrganizationId> {
    Ok(required_choice(tx, act, user, asked).await?.id)
}

/// The same with the membership of the user.
pub async fn required_choice(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    asked: &str,
) -> Result<ChosenOrganization> {
    check_enabled(&act.settings)?;
    let organization = organizations::find_by_id_or_slug(tx, &act.instance, asked).await?;
    let id = organization.ok_or_else(|| Error::not_found("organization", &asked))?.id;
    match memberships::find(tx, &act.instance, &id, user).await? {
        Some(membership) => Ok(ChosenOrganization::of(&membership)),
        None => Err(Error::new(Code::NotAMemberInOrganization)),
    }
}

/// What a user works for from now on: `None` if it stays as it is. The choice is noted for their next session, before
/// the session is locked; what somebody chooses who acts as the user is not, nor an organization that others added them to
/// while they only followed a link.
pub async fn choose(
    tx: &mut Tx,
    act: &Act,
    session: &Session,
    (asked, by): (&OrganizationChoice, ChosenBy),
) -> Result<Option<Option<ChosenOrganization>>> {
    let chosen = match asked {
        OrganizationChoice::Same => return Ok(None),
        OrganizationChoice::Oneself => None,
        OrganizationChoice::Organization(asked) => Some(found(tx, act, &session.user, asked).await?),
    };
    if chosen != session.active_organization && session.actor.is_none() {
        let id = chosen.as_ref().map(|chosen| &chosen.id);
        let is_others_choice = match (by, id) {
            (ChosenBy::Link, Some(id)) => {
                memberships::is_unchosen(tx, &act.instance, id, &session.user).await?
            }
            _ => false,
        };
        if !is_others_choice {
            choices::note(tx, &act.instance, &session.user, id).await?;
        }
    }
    Ok(Some(chosen))
}

/// Saves a session with what was chosen. One that waited for the choice, or for something nobody asks for any more, counts
/// from now on, and that is said.
pub async fn save_chosen(
    tx: &mut Tx,
    act: &Act,
    session: Session,
    choice: Option<Option<ChosenOrganization>>,
) -> Result<Session> {
    let mut session = match choice {
        Some(organization) => rules::work_for(session, organization, &act.settings, act.now),
        None => session,
    };
    if session.status == SessionStatus::Pending
        && let Some(user) = users::find(tx, &act.instance, &session.user).await?
    {
        session = rules::settle(session, &user, &act.settings, act.now);
    }
    ending::save(tx, act, session).await
}
