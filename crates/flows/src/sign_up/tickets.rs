//! Tickets that let people sign up though not everybody may: those of invitations to the application and to
//! organizations. The invited address becomes that of the attempt, and is proven: the ticket came there. Who signs up has
//! what the invitation promised.

use latchkey_base::kinds::{OrganizationId, OrganizationInvitationId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::strategy::Strategy;
use latchkey_organizations::enrollments::lock_for_newcomer;
use latchkey_organizations::invitations::change::{accept, find_by_ticket};
use latchkey_organizations::invitations::rules::check_open;
use latchkey_organizations::invitations::store as invitations;
use latchkey_organizations::orgs::rules::check_enabled;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::invitations::change as application;
use latchkey_people::invitations::rules as application_rules;
use latchkey_people::invitations::store as application_store;
use latchkey_people::tickets;
use latchkey_people::users::model::{ContactKind, User};
use latchkey_people::users::store as users;
use latchkey_presence::sign_ups::model::{Claimed, SignUp, no_metadata};

/// Lets an attempt in by a ticket: what the ticket says about the person becomes part of it, and takes the place of what
/// another ticket said.
pub async fn admit(tx: &mut Tx, act: &Act, sign_up: SignUp, ticket: &str) -> Result<SignUp> {
    let fresh = SignUp {
        is_invited: true,
        invitation: None,
        application_invitation: None,
        public_metadata: no_metadata(),
        ..sign_up
    };
    if let Some(invitation) = application::find_by_ticket(tx, act, ticket).await? {
        application_rules::check_open(&invitation, act.now)?;
        let details = invitation.details;
        let email_address =
            Some(proven(tx, act, details.email_address, Code::InvitationAccountExists).await?);
        let public_metadata = details.public_metadata;
        let application_invitation = Some(invitation.id);
        return Ok(SignUp { email_address, public_metadata, application_invitation, ..fresh });
    }
    let found = find_by_ticket(tx, act, ticket).await?;
    let invitation = found.ok_or_else(tickets::rules::invalid)?.invitation;
    check_enabled(&act.settings)?;
    check_open(&invitation, act.now)?;
    let (address, taken) =
        (invitation.details.email_address, Code::OrganizationInvitationIdentificationAlreadyExists);
    let email_address = Some(proven(tx, act, address, taken).await?);
    Ok(SignUp { email_address, invitation: Some(invitation.id), ..fresh })
}

/// The invited address, which the ticket proves. Refused as `taken` if somebody has it.
async fn proven(tx: &mut Tx, act: &Act, address: String, taken: Code) -> Result<Claimed> {
    if users::is_held(tx, &act.instance, ContactKind::Email.name(), &address).await? {
        return Err(Error::new(taken));
    }
    let verification =
        Challenge { target: Some(address.clone()), ..Challenge::proven(Strategy::Ticket, act.now) };
    Ok(Claimed { verification: Some(verification), ..Claimed::new(address) })
}

/// Refuses an attempt whose invitation cannot be followed any more.
pub async fn check(tx: &mut Tx, act: &Act, sign_up: &SignUp) -> Result<()> {
    if let Some(id) = &sign_up.application_invitation {
        let found = application_store::find(tx, &act.instance, id).await?;
        application_rules::check_open(&found.ok_or_else(tickets::rules::invalid)?, act.now)?;
    }
    let Some(id) = &sign_up.invitation else { return Ok(()) };
    let found = invitations::find_parts(tx, &act.instance, id).await?;
    let gone = || Error::new(Code::OrganizationInvitationToDeletedOrganization);
    check_open(&found.ok_or_else(gone)?.invitation, act.now)
}

/// Uses up the invitation by which a new user signed up. Returns the organization they joined by it, if it was to one.
pub async fn follow(tx: &mut Tx, act: &Act, user: &User, sign_up: &SignUp) -> Result<Option<OrganizationId>> {
    if let Some(id) = &sign_up.application_invitation {
        application::accept(tx, act, user, id).await?;
    }
    match &sign_up.invitation {
        Some(id) => Ok(Some(join(tx, act, user, id).await?)),
        None => Ok(None),
    }
}

/// Makes a new user a member who signed up by an invitation. What else their address brings comes after it
/// (`arrivals::created`), so all organizations are locked here.
async fn join(tx: &mut Tx, act: &Act, user: &User, id: &OrganizationInvitationId) -> Result<OrganizationId> {
    if let Some(invitation) = invitations::find(tx, &act.instance, id).await? {
        lock_for_newcomer(tx, act, user, &invitation.organization).await?;
    }
    Ok(accept(tx, act, user, id).await?.parts.organization.id)
}

/// Refuses another address than the invited one, which would be let in by an invitation that is not for it.
pub fn check_address(before: &SignUp, after: &SignUp) -> Result<()> {
    let value = |sign_up: &SignUp| sign_up.email_address.as_ref().map(|claimed| claimed.value.clone());
    let is_invited = before.invitation.is_some() || before.application_invitation.is_some();
    match is_invited && value(before) != value(after) {
        true => Err(Error::param(Code::FormParamValueInvalid, "email_address")
            .saying("The invitation is for another address.")),
        false => Ok(()),
    }
}
