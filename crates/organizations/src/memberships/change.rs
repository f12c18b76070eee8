//! How people become members, change their role and leave. Whoever calls has read the roles with `access::share`, and
//! has locked the user, if they are added, and then the organization.

use latchkey_base::kinds::{OrganizationMembershipId, RoleId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::limits::{MEMBERSHIPS_SHOWN, MEMBERSHIPS_UNCHOSEN};
use latchkey_kernel::outbox::{self, Origin};
use latchkey_people::users::model::User;
use latchkey_people::users::view::ViewContext;

use super::model::{Membership, MembershipMetadata, MembershipParts};
use super::{store, view};
use crate::access::model::Access;
use crate::choices;
use crate::invitations::revocation::{RevocationContext, revoke_sent_by};
use crate::orgs::model::Organization;
use crate::orgs::rules::check_staying;
use crate::orgs::store as organizations;
use crate::suggestions::store as suggestions;

/// How somebody becomes a member.
pub struct Joining {
    pub role: RoleId,
    pub metadata: MembershipMetadata,
    /// Whether a pending invitation keeps a place for them.
    pub is_invited: bool,
    /// Whether another member adds them, whom they have not asked.
    pub is_unasked: bool,
}

impl Joining {
    /// With a role, without anything else.
    pub fn with_role(role: &RoleId) -> Joining {
        Joining {
            role: role.clone(),
            metadata: MembershipMetadata::default(),
            is_invited: false,
            is_unasked: false,
        }
    }

    /// As the one who creates an organization.
    pub fn as_creator(access: &Access, organization: &Organization) -> Result<Joining> {
        let set = access.role_set(&organization.role_set);
        let set = set.ok_or_else(|| Error::internal("the organization has no role set"))?;
        Ok(Joining::with_role(&set.creator_role))
    }
}

/// Makes a user a member, who works for the organization in their next session unless others add them unasked. Returns
/// the organization too, which has a member more.
pub async fn join(
    tx: &mut Tx,
    act: &Act,
    access: &Access,
    organization: Organization,
    user: &User,
    joining: Joining,
) -> Result<(Organization, Membership)> {
    if store::find(tx, &act.instance, &organization.id, &user.id).await?.is_some() {
        return Err(Error::new(Code::AlreadyAMemberInOrganization));
    }
    if organization.max_allowed_memberships > 0 {
        let pending =
            organizations::count_pending_invitations(tx, &act.instance, &organization.id, act.now).await?;
        if organization.is_full(pending, if joining.is_invited { 0 } else { 1 }) {
            return Err(quota_exceeded(&organization, joining.is_invited));
        }
    }
    if joining.is_unasked {
        check_may_be_added(tx, act, user).await?;
    }
    // An invitation may have promised a role that another has taken the place of since.
    let set = access.role_set(&organization.role_set);
    let role = set.map_or(&joining.role, |set| set.settled(&joining.role)).clone();
    let membership = Membership {
        instance: act.instance.clone(),
        organization: organization.id.clone(),
        user: user.id.clone(),
        id: OrganizationMembershipId::new(act.now, &*act.rng),
        role,
        metadata: joining.metadata,
        created_at: act.now,
        updated_at: act.now,
    };
    store::insert(tx, &membership, joining.is_unasked).await?;
    if !joining.is_unasked {
        choices::note(tx, &act.instance, &user.id, Some(&organization.id)).await?;
    }
    suggestions::close(tx, &act.instance, &organization.id, &user.id, act.now).await?;
    let organization = Organization { members_count: organization.members_count + 1, ..organization };
    organizations::save(tx, &organization).await?;
    emit(tx, act, Event::OrganizationMembershipCreated, &membership, (&organization, user), access)?;
    Ok((organization, membership))
}

/// Refuses to add somebody unasked who is in too many organizations for that. The user is locked, so nobody else adds
/// them meanwhile. Where they are in others is nobody's business, so only the bounds are told.
async fn check_may_be_added(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    let counted = store::count_unchosen(tx, &act.instance, &user.id, MEMBERSHIPS_SHOWN).await?;
    match counted.unchosen < MEMBERSHIPS_UNCHOSEN && counted.all < MEMBERSHIPS_SHOWN {
        true => Ok(()),
        false => Err(Error::new(Code::OrganizationMembershipQuotaExceeded).saying(format!(
            "Members can add nobody who is in {MEMBERSHIPS_UNCHOSEN} organizations that they were added to and never \
             chose, or in {MEMBERSHIPS_SHOWN} in all. Send an invitation instead."
        ))),
    }
}

/// The refusal of more members than an organization may have, with advice unless somebody is told who was invited and
/// can do nothing about it.
pub fn quota_exceeded(organization: &Organization, is_invited: bool) -> Error {
    let advice = match is_invited {
        true => "",
        false => " Raise its `max_allowed_memberships`, revoke an invitation or remove a member.",
    };
    Error::new(Code::OrganizationMembershipQuotaExceeded).saying(format!(
        "The organization may have at most {} members, with pending invitations.{advice}",
        organization.max_allowed_memberships
    ))
}

/// Gives a member another role.
pub async fn set_role(
    tx: &mut Tx,
    act: &Act,
    access: &Access,
    parts: MembershipParts,
    role: &RoleId,
) -> Result<MembershipParts> {
    let MembershipParts { membership, organization, user } = parts;
    if membership.role == *role {
        return Ok(MembershipParts { membership, organization, user });
    }
    check_staying(&organization.role_set, access)?;
    if !access.creator_eligible_roles().contains(&role) {
        check_not_last(tx, access, (&membership, &organization)).await?;
    }
    if access.can_invite(&membership.role) && !access.can_invite(role) {
        revoke_sent_by(tx, revocation(act, access, &organization), &user.id).await?;
    }
    let membership = Membership { role: role.clone(), updated_at: act.now, ..membership };
    save(tx, act, access, MembershipParts { membership, organization, user }).await
}

/// Saves a changed membership and records its event.
pub async fn save(
    tx: &mut Tx,
    act: &Act,
    access: &Access,
    parts: MembershipParts,
) -> Result<MembershipParts> {
    let MembershipParts { membership, organization, user } = &parts;
    store::save(tx, membership).await?;
    emit(tx, act, Event::OrganizationMembershipUpdated, membership, (organization, user), access)?;
    Ok(parts)
}

/// Ends a membership. Returns it with the organization, which has a member less.
pub async fn leave(
    tx: &mut Tx,
    act: &Act,
    access: &Access,
    parts: MembershipParts,
) -> Result<MembershipParts> {
    check_not_last(tx, access, (&parts.membership, &parts.organization)).await?;
    remove(tx, act, access, parts).await
}

/// The same for somebody who cannot stay, whoever is left.
pub async fn remove(
    tx: &mut Tx,
    act: &Act,
    access: &Access,
    parts: MembershipParts,
) -> Result<MembershipParts> {
    let MembershipParts { membership, organization, user } = parts;
    store::delete(tx, &membership).await?;
    suggestions::forget(tx, &act.instance, &organization.id, &user.id).await?;
    let organization = Organization { members_count: organization.members_count - 1, ..organization };
    organizations::save(tx, &organization).await?;
    emit(tx, act, Event::OrganizationMembershipDeleted, &membership, (&organization, &user), access)?;
    revoke_sent_by(tx, revocation(act, access, &organization), &user.id).await?;
    Ok(MembershipParts { membership, organization, user })
}

fn revocation<'a>(act: &'a Act, access: &'a Access, organization: &'a Organization) -> RevocationContext<'a> {
    let (instance, origin, api_url) = (&act.instance, Origin::from(act), &*act.api_url);
    RevocationContext { instance, origin, access, organization, api_url }
}

/// Refuses to take away the last member who may manage an organization. Members who are about to lose their role by a
/// migration do not count.
async fn check_not_last(
    tx: &mut Tx,
    access: &Access,
    (membership, organization): (&Membership, &Organization),
) -> Result<()> {
    let (now, lasting) =
        (access.creator_eligible_roles(), access.lasting_manager_roles(&organization.role_set));
    let is_manager = now.contains(&&membership.role) || lasting.contains(&&membership.role);
    let others: Vec<&RoleId> = now.into_iter().filter(|role| lasting.contains(role)).collect();
    if !is_manager || store::has_other_with(tx, membership, &others).await? {
        return Ok(());
    }
    Err(Error::new(Code::OrganizationMinimumPermissionsNeeded).saying(
        "This is the last member who may manage the organization. Give another member such a role first, or delete \
         the organization.",
    ))
}

/// Records an event about a membership. Its subject is the organization, of which receivers have heard before.
pub fn emit(
    tx: &mut Tx,
    act: &Act,
    event: Event,
    membership: &Membership,
    (organization, user): (&Organization, &User),
    access: &Access,
) -> Result<()> {
    let view = view::membership(membership, (organization, user), access, ViewContext::of(act));
    outbox::emit(tx, act, event, organization.id.as_str(), &view)
}
