//! Somebody signed in who is a member of the organization that a path names, and what their role allows.

use latchkey_base::kinds::{OrganizationId, UserId};
use latchkey_base::{Code, Error, Problem, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_organizations::access::model::Access;
use latchkey_organizations::access::store as access;
use latchkey_organizations::memberships::model::Membership;
use latchkey_organizations::memberships::store as memberships;
use latchkey_organizations::orgs::model::Organization;
use latchkey_organizations::orgs::rules::check_enabled;
use latchkey_organizations::orgs::store as organizations;

/// A member, with the organization and the roles of the instance.
pub struct Member {
    pub organization: Organization,
    pub membership: Membership,
    pub access: Access,
}

impl Member {
    /// Finds somebody's membership, for what only reads.
    pub async fn find(cx: &Cx, person: &Person, id: &OrganizationId) -> Result<Member> {
        check_enabled(&person.visitor.site.settings)?;
        let instance = &person.visitor.site.instance;
        let mut tx = cx.app.db.read().await?;
        let membership =
            memberships::find(&mut tx, instance, id, &person.user.id).await?.ok_or_else(unknown)?;
        let organization = organizations::find(&mut tx, instance, id).await?.ok_or_else(unknown)?;
        Ok(Member { organization, membership, access: access::find(&mut tx, instance).await? })
    }

    /// The same inside a transaction that writes: the organization is locked, and roles stay as they are. Whoever is
    /// made a member besides must be locked before.
    pub async fn lock(tx: &mut Tx, act: &Act, user: &UserId, id: &OrganizationId) -> Result<Member> {
        check_enabled(&act.settings)?;
        let access = access::share(tx, &act.instance, act.now).await?;
        let organization = organizations::lock(tx, &act.instance, id).await?.ok_or_else(unknown)?;
        let membership = memberships::find(tx, &act.instance, id, user).await?.ok_or_else(unknown)?;
        Ok(Member { organization, membership, access })
    }

    /// As `find`, for those only whose role allows something.
    pub async fn find_with(
        cx: &Cx,
        person: &Person,
        id: &OrganizationId,
        permission: &str,
    ) -> Result<Member> {
        let member = Member::find(cx, person, id).await?;
        member.check(permission)?;
        Ok(member)
    }

    /// As `lock`, for those only whose role allows something.
    pub async fn lock_with(
        tx: &mut Tx,
        act: &Act,
        user: &UserId,
        id: &OrganizationId,
        permission: &str,
    ) -> Result<Member> {
        let member = Member::lock(tx, act, user, id).await?;
        member.check(permission)?;
        Ok(member)
    }

    /// Refuses what the member's role does not allow.
    pub fn check(&self, permission: &str) -> Result<()> {
        let role = self.access.role(&self.membership.role);
        match role.is_some_and(|role| self.access.allows(role, permission)) {
            true => Ok(()),
            false => Err(Problem::new(Code::MissingOrganizationPermission)
                .saying(format!("This needs the permission `{permission}`, which your role does not have."))
                .with("permissions", vec![permission.to_owned()])
                .into()),
        }
    }
}

/// Rejects an actor session, unless the settings allow it changes that bind the user: support staff act as
/// users, and must not join or delete organizations in their name.
pub fn check_actor(person: &Person) -> Result<()> {
    let is_allowed = person.visitor.site.settings.organizations.actor_changes;
    if person.session.actor.is_none() || is_allowed {
        return Ok(());
    }
    Err(Error::new(Code::FeatureNotEnabled).saying(
        "An actor session may not accept invitations or suggestions of organizations or delete organizations. The setting \
         organizations.actor_changes allows it.",
    ))
}

/// Whoever is not a member does not learn whether there is such an organization.
fn unknown() -> Error {
    Error::new(Code::OrganizationNotFoundOrUnauthorized)
}
