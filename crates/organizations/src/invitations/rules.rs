//! Decisions about invitations. Pure: values in, values or problems out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::kinds::OrganizationInvitationId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::digest::{constant_time_eq, sha256};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::cx::Act;
use latchkey_kernel::keyring::Signer;
use latchkey_kernel::limits::INVITATION_DAYS;
use latchkey_people::identifications::rules::checked;
use latchkey_people::tickets::destinations::redirect_problem;
use latchkey_people::tickets::model::{Ticket, TicketSource};
use latchkey_people::tickets::rules as tickets;
use latchkey_people::users::model::{ContactKind, User};

use super::input::CreateInvitation;
use super::model::{Invitation, InvitationStatus, folded};
use crate::memberships::model::MembershipMetadata;
use crate::memberships::rules as memberships;

const DAY_SECONDS: i64 = 24 * 60 * 60;
/// An invitation that is to be made, checked as far as that is possible without looking at the database.
#[derive(Clone)]
pub struct DraftInvitation {
    pub id: OrganizationInvitationId,
    pub email_address: String,
    /// The key of the role.
    pub role: String,
    pub redirect_url: Option<String>,
    pub metadata: MembershipMetadata,
    pub days: i64,
    pub expire_at: Time,
    pub ticket: String,
    /// Whether an e-mail is sent.
    pub is_told: bool,
}

/// Checks what is asked for, and signs the ticket.
pub fn draft(input: CreateInvitation, act: &Act, signer: &Signer) -> Result<DraftInvitation> {
    if !act.settings.attributes.email_address.enabled {
        return Err(Error::new(Code::InvitationsNotSupported));
    }
    let mut problems = Vec::new();
    let email_address = match checked(ContactKind::Email, &input.email_address) {
        Ok(address) => address,
        Err(problem) => {
            problems.push(problem);
            String::new()
        }
    };
    let redirect_url = input.redirect_url.filter(|url| !url.is_empty());
    problems.extend(redirect_url.as_deref().and_then(redirect_problem));
    Error::collect(problems)?;
    let metadata = memberships::new_metadata(input.public_metadata, input.private_metadata)?;
    let id = OrganizationInvitationId::new(act.now, &*act.rng);
    let days = input.expires_in_days.unwrap_or(INVITATION_DAYS);
    let source = TicketSource::OrganizationInvitation(id.clone());
    let (ticket, expire_at) =
        tickets::sign(signer, &act.instance, &source, days.saturating_mul(DAY_SECONDS), act.now)?;
    let is_told = input.notify.unwrap_or(true);
    let role = input.role;
    Ok(DraftInvitation { id, email_address, role, redirect_url, metadata, days, expire_at, ticket, is_told })
}

/// A ticket as it is stored.
pub fn seal(master: &MasterKey, id: &OrganizationInvitationId, ticket: &str) -> Result<String> {
    let sealed = master.seal(&context(id), ticket.as_bytes()).map_err(Error::internal)?;
    Ok(STANDARD.encode(sealed))
}

/// The ticket of an invitation, if it has one.
pub fn ticket(master: &MasterKey, invitation: &Invitation) -> Option<String> {
    let sealed = STANDARD.decode(invitation.details.ticket.as_deref()?).ok()?;
    String::from_utf8(master.open(&context(&invitation.id), &sealed).ok()?).ok()
}

fn context(id: &OrganizationInvitationId) -> String {
    format!("organization_invitation:{id}")
}

/// Refuses a ticket that is not the one of an invitation.
pub fn check_ticket(master: &MasterKey, invitation: &Invitation, shown: &Ticket) -> Result<()> {
    let own = ticket(master, invitation).ok_or_else(tickets::invalid)?;
    match constant_time_eq(&sha256(own.as_bytes()), &shown.digest) {
        true => Ok(()),
        false => Err(tickets::invalid()),
    }
}

/// Refuses to accept an invitation that cannot be accepted, or not any more.
pub fn check_open(invitation: &Invitation, now: Time) -> Result<()> {
    match invitation.status {
        InvitationStatus::Accepted => Err(Error::new(Code::OrganizationInvitationAlreadyAccepted)),
        InvitationStatus::Revoked => Err(Error::new(Code::OrganizationInvitationRevoked)),
        InvitationStatus::Pending if invitation.expire_at <= now => {
            Err(Error::new(Code::TicketExpired).saying("The invitation has expired. Ask for a new one."))
        }
        InvitationStatus::Pending => Ok(()),
    }
}

/// Revokes an invitation. Only one that can still be accepted can be revoked.
pub fn revoke(mut invitation: Invitation, now: Time) -> Result<Invitation> {
    if !invitation.is_open(now) {
        let state = invitation.state(now);
        return Err(Error::new(Code::OrganizationInvitationNotPending)
            .saying(format!("The invitation is {state}; only a pending one can be revoked.")));
    }
    invitation.status = InvitationStatus::Revoked;
    invitation.details.updated_at = now;
    Ok(invitation)
}

/// Whether somebody has proven that the invited address is theirs.
pub fn is_for(invitation: &Invitation, user: &User) -> bool {
    let invited = folded(&invitation.details.email_address);
    addresses(user).contains(&invited)
}

/// The addresses somebody has proven, in the form in which tables have them.
pub fn addresses(user: &User) -> Vec<String> {
    let proven = user.email_addresses.all.iter().filter(|contact| contact.is_verified());
    proven.map(|contact| folded(&contact.value)).collect()
}
