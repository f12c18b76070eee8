//! How invitations are made, accepted and revoked. Whoever calls has read the roles with `access::share` and has locked
//! the organization; whoever accepts is locked before.

use latchkey_base::kinds::{OrganizationDomainId, OrganizationId, OrganizationInvitationId, UserId};
use latchkey_base::{Code, Error, Id, Problem, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::document;
use latchkey_kernel::events::Event;
use latchkey_kernel::limits::DOMAIN_INVITATION_DAYS;
use latchkey_kernel::outbox;
use latchkey_letters::model::Channel;
use latchkey_messaging::messages::model::{Asker, Message, Recipient};
use latchkey_messaging::messages::{rules as messages, sending};
use latchkey_people::recipients::account;
use latchkey_people::tickets::model::{Ticket, TicketSource};
use latchkey_people::tickets::rules as tickets;
use latchkey_people::users::model::{ContactKind, User};
use latchkey_people::users::store as users;
use latchkey_people::users::view::ViewContext;
use serde_json::{Map, json};

use super::ending::check_key;
use super::model::{Invitation, InvitationDetails, InvitationParts, InvitationStatus};
use super::rules::{self, DraftInvitation};
use super::store;
use super::view::{self, InvitationContext};
use crate::access::model::{Access, MANAGE_MEMBERSHIPS};
use crate::access::store as access;
use crate::domains::store as domains;
use crate::memberships::change::{Joining, join, quota_exceeded};
use crate::memberships::model::MembershipMetadata;
use crate::memberships::rules as memberships;
use crate::memberships::store as members;
use crate::notices::{self, shown_organization};
use crate::orgs::model::Organization;
use crate::orgs::store as organizations;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Who invites.
pub enum Inviter {
    /// A backend, in the name of a member or of nobody.
    Backend(Option<User>),
    /// A member, in a browser.
    Member(User),
}

impl Inviter {
    fn user(&self) -> Option<&User> {
        match self {
            Inviter::Backend(user) => user.as_ref(),
            Inviter::Member(user) => Some(user),
        }
    }
}

/// Where an invitation belongs: roles and organization, both kept from changing, and where its link leads.
#[derive(Clone, Copy)]
pub struct InvitationPlace<'a> {
    pub access: &'a Access,
    pub organization: &'a Organization,
    /// The base URL of the Frontend API.
    pub frontend_url: &'a str,
}

/// Makes an invitation, and sends the e-mail unless told otherwise.
pub async fn invite(
    tx: &mut Tx,
    act: &Act,
    place: InvitationPlace<'_>,
    inviter: &Inviter,
    draft: DraftInvitation,
) -> Result<InvitationParts> {
    let InvitationPlace { access, organization, .. } = place;
    let role = memberships::role(&draft.role, access, organization)?.id.clone();
    let holder = check_invitable(tx, act, organization, &draft.email_address).await?;
    let invitation = Invitation {
        instance: act.instance.clone(),
        organization: organization.id.clone(),
        role,
        status: InvitationStatus::Pending,
        domain: None,
        inviter: inviter.user().map(|user| user.id.clone()),
        is_from_member: matches!(inviter, Inviter::Member(_)),
        key: act.key.clone(),
        details: InvitationDetails {
            ticket: Some(rules::seal(&act.master, &draft.id, &draft.ticket)?),
            email_address: draft.email_address,
            redirect_url: draft.redirect_url,
            metadata: draft.metadata,
            accepted_by: None,
            updated_at: act.now,
        },
        id: draft.id,
        created_at: act.now,
        expire_at: draft.expire_at,
    };
    store::insert(tx, &invitation).await?;
    let parts =
        InvitationParts { invitation, organization: organization.clone(), inviter: inviter.user().cloned() };
    emit_created(tx, act, &parts, place)?;
    if draft.is_told {
        let url = tickets::url(place.frontend_url, &draft.ticket);
        tell(tx, act, &parts, holder.as_ref(), inviter, (&url, draft.days)).await?;
    }
    Ok(parts)
}

/// Refuses an address that is invited already or whose owner is a member, and one person too many. Returns whoever
/// has the address.
async fn check_invitable(
    tx: &mut Tx,
    act: &Act,
    organization: &Organization,
    email_address: &str,
) -> Result<Option<User>> {
    let (instance, id) = (&act.instance, &organization.id);
    let holder = users::find_by_identifier(tx, instance, ContactKind::Email.name(), email_address).await?;
    let refused = |code: Code| {
        Err(Problem::of(code, "email_address").with("email_addresses", vec![email_address.to_owned()]).into())
    };
    if let Some(user) = &holder
        && members::find(tx, instance, id, &user.id).await?.is_some()
    {
        return refused(Code::AlreadyAMemberInOrganization);
    }
    if store::has_pending(tx, instance, id, email_address, act.now).await? {
        return refused(Code::OrganizationInvitationNotUnique);
    }
    let pending = organizations::count_pending_invitations(tx, instance, id, act.now).await?;
    match organization.is_full(pending, 1) {
        true => Err(quota_exceeded(organization, false)),
        false => Ok(holder),
    }
}

/// Makes an invitation that a domain causes, for somebody who has proven an address of it. There is no e-mail and no
/// ticket; the person finds it when signed in. Nothing is made for members, nor where an invitation is pending.
pub async fn invite_by_domain(
    tx: &mut Tx,
    act: &Act,
    (access, organization): (&Access, &Organization),
    domain: &OrganizationDomainId,
    (user, email_address): (&User, &str),
) -> Result<Option<Invitation>> {
    let (instance, id) = (&act.instance, &organization.id);
    if members::find(tx, instance, id, &user.id).await?.is_some()
        || store::has_any_pending(tx, instance, id, email_address, act.now).await?
    {
        return Ok(None);
    }
    store::forget_withdrawn(tx, instance, id, email_address).await?;
    let set = access.role_set(&organization.role_set);
    let set = set.ok_or_else(|| Error::internal("the organization has no role set"))?;
    let invitation = Invitation {
        instance: act.instance.clone(),
        id: OrganizationInvitationId::new(act.now, &*act.rng),
        organization: organization.id.clone(),
        role: set.default_role.clone(),
        status: InvitationStatus::Pending,
        domain: Some(domain.clone()),
        inviter: None,
        is_from_member: false,
        key: None,
        details: InvitationDetails {
            email_address: email_address.to_owned(),
            redirect_url: None,
            ticket: None,
            metadata: MembershipMetadata::default(),
            accepted_by: None,
            updated_at: act.now,
        },
        created_at: act.now,
        expire_at: act.now.plus_ms(DOMAIN_INVITATION_DAYS * DAY_MS),
    };
    store::insert(tx, &invitation).await?;
    let parts = InvitationParts { invitation, organization: organization.clone(), inviter: None };
    emit_created(tx, act, &parts, InvitationPlace { access, organization, frontend_url: &act.url })?;
    Ok(Some(parts.invitation))
}

/// An invitation that was accepted, and the roles its organization chooses from.
pub struct AcceptedInvitation {
    pub parts: InvitationParts,
    pub access: Access,
}

/// Makes a user a member who follows an invitation, in the caller's transaction: of many at once one succeeds. The user
/// is locked, and the caller knows that the invited address is theirs. Whoever has become a member in another way only
/// uses the invitation up.
pub async fn accept(
    tx: &mut Tx,
    act: &Act,
    user: &User,
    id: &OrganizationInvitationId,
) -> Result<AcceptedInvitation> {
    let found = store::find(tx, &act.instance, id).await?.ok_or_else(not_found)?;
    let access = access::share(tx, &act.instance, act.now).await?;
    let organization = organizations::lock(tx, &act.instance, &found.organization).await?;
    let organization = organization.ok_or_else(deleted)?;
    let mut invitation = store::lock(tx, &act.instance, id).await?.ok_or_else(not_found)?;
    rules::check_open(&invitation, act.now)?;
    check_domain(tx, &invitation).await?;
    check_sender(tx, &access, &invitation).await?;
    check_key(tx, &invitation).await?;
    let is_member = members::find(tx, &act.instance, &organization.id, &user.id).await?.is_some();
    let organization = match is_member {
        true => organization,
        false => {
            let (role, metadata) = (invitation.role.clone(), invitation.details.metadata.clone());
            // What a domain causes keeps no place.
            let is_invited = invitation.domain.is_none();
            let joining = Joining { role, metadata, is_invited, is_unasked: false };
            join(tx, act, &access, organization, user, joining).await?.0
        }
    };
    invitation.status = InvitationStatus::Accepted;
    invitation.details.accepted_by = Some(user.id.clone());
    invitation.details.updated_at = act.now;
    store::save(tx, &invitation).await?;
    let inviter = match &invitation.inviter {
        Some(id) => users::find(tx, &act.instance, id).await?,
        None => None,
    };
    let parts = InvitationParts { invitation, organization, inviter };
    let view = view::accepted(&parts, &user.id, context(act, &access, &act.url));
    outbox::emit(tx, act, Event::OrganizationInvitationAccepted, parts.organization.id.as_str(), &view)?;
    if let Some(inviter) = &parts.inviter {
        let address = &parts.invitation.details.email_address;
        notices::invitation_accepted(tx, act, &parts.organization, inviter, address).await?;
    }
    Ok(AcceptedInvitation { parts, access })
}

/// Refuses an invitation whose domain is not the organization's any more. Those of many people are taken back step by
/// step, so this one may still be there.
async fn check_domain(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    let Some(id) = &invitation.domain else { return Ok(()) };
    let domain = domains::find(tx, &invitation.instance, &invitation.organization, id).await?;
    match domain.is_some_and(|domain| domain.is_verified()) {
        true => Ok(()),
        false => Err(not_found()),
    }
}

/// Rejects an invitation of a member who may not invite any more. Those of a member who has sent many are revoked step by step,
/// and a role that changes revokes none, so the invitation may still be pending.
async fn check_sender(tx: &mut Tx, access: &Access, invitation: &Invitation) -> Result<()> {
    let Some(sender) = invitation.sender() else { return Ok(()) };
    let Invitation { instance, organization, .. } = invitation;
    let membership = members::find(tx, instance, organization, sender).await?;
    let can_invite = membership.is_some_and(|membership| access.can_invite(&membership.role));
    if can_invite && users::find(tx, instance, sender).await?.is_some() {
        Ok(())
    } else {
        Err(Error::new(Code::OrganizationInvitationRevoked))
    }
}

/// Revokes up to `limit` invitations that a domain caused, until then if a time is given, and that are not answered. Says
/// how many.
pub async fn withdraw(
    tx: &mut Tx,
    act: &Act,
    place: InvitationPlace<'_>,
    domain: &OrganizationDomainId,
    until: Option<Time>,
    limit: i64,
) -> Result<i64> {
    let found = store::lock_pending_of_domain(tx, &act.instance, domain, until, limit).await?;
    let count = found.len() as i64;
    for mut invitation in found {
        invitation.status = InvitationStatus::Revoked;
        invitation.details.updated_at = act.now;
        store::save(tx, &invitation).await?;
        let parts = InvitationParts { invitation, organization: place.organization.clone(), inviter: None };
        emit_revoked(tx, act, &parts, place)?;
    }
    Ok(count)
}

/// Revokes an invitation of a locked organization.
pub async fn revoke(
    tx: &mut Tx,
    act: &Act,
    place: InvitationPlace<'_>,
    id: &OrganizationInvitationId,
) -> Result<InvitationParts> {
    let found = store::lock(tx, &act.instance, id).await?;
    let own = found.filter(|invitation| invitation.organization == place.organization.id);
    let invitation = rules::revoke(own.ok_or_else(|| unknown(id))?, act.now)?;
    store::save(tx, &invitation).await?;
    let inviter = match &invitation.inviter {
        Some(id) => users::find(tx, &act.instance, id).await?,
        None => None,
    };
    let parts = InvitationParts { invitation, organization: place.organization.clone(), inviter };
    emit_revoked(tx, act, &parts, place)?;
    Ok(parts)
}

/// The member in whose name a backend invites or revokes, who must be allowed to.
pub async fn acting_member(
    tx: &mut Tx,
    act: &Act,
    (access, organization): (&Access, &OrganizationId),
    (param, id): (&'static str, &str),
) -> Result<User> {
    let no_member = || Error::param(Code::NotAMemberInOrganization, param);
    let id: UserId = Id::parse(id).ok_or_else(no_member)?;
    let membership = members::find(tx, &act.instance, organization, &id).await?.ok_or_else(no_member)?;
    if !access.can_invite(&membership.role) {
        return Err(Problem::new(Code::MissingOrganizationPermission)
            .saying(format!("The user needs the permission `{MANAGE_MEMBERSHIPS}`."))
            .with("permissions", vec![MANAGE_MEMBERSHIPS.to_owned()])
            .into());
    }
    users::find(tx, &act.instance, &id).await?.ok_or_else(no_member)
}

/// The invitation a ticket is of, whatever became of it. `None` if the ticket is one of something else.
pub async fn find_by_ticket(tx: &mut Tx, act: &Act, text: &str) -> Result<Option<InvitationParts>> {
    let shown: Ticket = tickets::read(text)?;
    let TicketSource::OrganizationInvitation(id) = &shown.source else { return Ok(None) };
    let invitation = store::find(tx, &act.instance, id).await?.ok_or_else(tickets::invalid)?;
    rules::check_ticket(&act.master, &invitation, &shown)?;
    check_key(tx, &invitation).await?;
    match store::find_parts(tx, &act.instance, id).await? {
        Some(parts) => Ok(Some(parts)),
        None => Err(deleted()),
    }
}

/// How a request sees invitations.
pub fn context<'a>(act: &'a Act, access: &'a Access, frontend_url: &'a str) -> InvitationContext<'a> {
    InvitationContext { access, users: ViewContext::of(act), master: &act.master, frontend_url }
}

/// The event of a new invitation tells the ticket, so it is sealed.
fn emit_created(tx: &mut Tx, act: &Act, parts: &InvitationParts, place: InvitationPlace<'_>) -> Result<()> {
    let view = view::invitation(parts, context(act, place.access, place.frontend_url));
    let subject = parts.organization.id.as_str();
    outbox::emit_sealed(tx, act, Event::OrganizationInvitationCreated, subject, &view)
}

fn emit_revoked(tx: &mut Tx, act: &Act, parts: &InvitationParts, place: InvitationPlace<'_>) -> Result<()> {
    let view = view::invitation(parts, context(act, place.access, place.frontend_url));
    outbox::emit(tx, act, Event::OrganizationInvitationRevoked, parts.organization.id.as_str(), &view)
}

/// Sends the e-mail of a new invitation.
async fn tell(
    tx: &mut Tx,
    act: &Act,
    parts: &InvitationParts,
    holder: Option<&User>,
    inviter: &Inviter,
    (url, days): (&str, i64),
) -> Result<()> {
    let InvitationParts { invitation, organization, .. } = parts;
    let name = inviter.user().map(inviter_name).unwrap_or_default();
    let data = Map::from_iter([
        ("action_url".to_owned(), json!(url)),
        ("inviter_name".to_owned(), json!(name)),
        ("inviter".to_owned(), json!({ "name": name })),
        ("org".to_owned(), shown_organization(act, organization)),
        (
            "invitation".to_owned(),
            json!({
                "expires_in_days": days,
                "public_metadata": document::value(&invitation.details.metadata.public_metadata),
            }),
        ),
    ]);
    let to = Recipient {
        account: holder.map(account),
        channel: Channel::Email,
        to: &invitation.details.email_address,
        identification: None,
        locale: None,
    };
    let notice = messages::notice(to, "organization_invitation", data);
    let message = Message { expire_at: Some(invitation.expire_at), ..notice };
    match inviter {
        Inviter::Backend(_) => sending::send(tx, act, message).await,
        // A member may invite anybody, so what strangers may send to a mailbox is all there is.
        Inviter::Member(_) => sending::send_asked(tx, act, Asker::Stranger, message).await,
    }
}

fn inviter_name(user: &User) -> String {
    let names = [user.first_name.as_deref(), user.last_name.as_deref()];
    let names: Vec<&str> = names.into_iter().flatten().filter(|name| !name.is_empty()).collect();
    match names.is_empty() {
        true => user.identifier().unwrap_or_default().to_owned(),
        false => names.join(" "),
    }
}

/// The refusal of an invitation that is not there, as backends see it.
pub fn unknown(id: &OrganizationInvitationId) -> Error {
    Error::not_found("organization invitation", id)
}

/// The same, as people see it.
pub fn not_found() -> Error {
    Error::new(Code::OrganizationInvitationNotFound)
}

fn deleted() -> Error {
    Error::new(Code::OrganizationInvitationToDeletedOrganization)
}
