//! Decisions about invitations to the application. Pure: values in, values or problems out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::kinds::InvitationId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::digest::{constant_time_eq, sha256};
use latchkey_jose::seal::MasterKey;

use super::input::CreateApplicationInvitation;
use super::model::{ApplicationInvitation, folded};
use crate::tickets::model::{Ticket, TicketStatus};
use crate::tickets::rules as tickets;
use crate::users::model::User;

/// An invitation of an address with nothing else said about it.
pub fn plain(email_address: String) -> CreateApplicationInvitation {
    CreateApplicationInvitation {
        email_address,
        public_metadata: None,
        redirect_url: None,
        notify: None,
        ignore_existing: None,
        expires_in_days: None,
        template_slug: None,
    }
}

/// A ticket as it is kept.
pub fn seal(master: &MasterKey, id: &InvitationId, ticket: &str) -> Result<String> {
    let sealed = master.seal(&context(id), ticket.as_bytes()).map_err(Error::internal)?;
    Ok(STANDARD.encode(sealed))
}

/// The ticket of an invitation.
pub fn ticket(master: &MasterKey, invitation: &ApplicationInvitation) -> Option<String> {
    let sealed = STANDARD.decode(&invitation.details.ticket).ok()?;
    String::from_utf8(master.open(&context(&invitation.id), &sealed).ok()?).ok()
}

fn context(id: &InvitationId) -> String {
    format!("invitation:{id}")
}

/// Refuses a ticket that is not the one of an invitation.
pub fn check_ticket(master: &MasterKey, invitation: &ApplicationInvitation, shown: &Ticket) -> Result<()> {
    let own = ticket(master, invitation).ok_or_else(tickets::invalid)?;
    match constant_time_eq(&sha256(own.as_bytes()), &shown.digest) {
        true => Ok(()),
        false => Err(tickets::invalid()),
    }
}

/// Refuses to follow an invitation that cannot be followed, or not any more.
pub fn check_open(invitation: &ApplicationInvitation, now: Time) -> Result<()> {
    match invitation.status {
        TicketStatus::Accepted => Err(Error::new(Code::InvitationAlreadyAccepted)),
        TicketStatus::Revoked => Err(Error::new(Code::RevokedInvitation)),
        TicketStatus::Pending if invitation.expire_at <= now => {
            Err(Error::new(Code::TicketExpired).saying("The invitation has expired. Ask for a new one."))
        }
        TicketStatus::Pending => Ok(()),
    }
}

/// Revokes an invitation that nobody has followed or revoked. One whose time is over can be revoked too.
pub fn revoke(mut invitation: ApplicationInvitation, now: Time) -> Result<ApplicationInvitation> {
    match invitation.status {
        TicketStatus::Accepted => Err(Error::new(Code::InvitationAlreadyAccepted)),
        TicketStatus::Revoked => Err(Error::new(Code::InvitationAlreadyRevoked)),
        TicketStatus::Pending => {
            invitation.status = TicketStatus::Revoked;
            invitation.details.updated_at = now;
            Ok(invitation)
        }
    }
}

/// Marks an invitation as followed.
pub fn accept(
    mut invitation: ApplicationInvitation,
    user: &User,
    now: Time,
) -> Result<ApplicationInvitation> {
    check_open(&invitation, now)?;
    invitation.status = TicketStatus::Accepted;
    invitation.details.accepted_by = Some(user.id.clone());
    invitation.details.updated_at = now;
    Ok(invitation)
}

/// Whether somebody has proven that the invited address is theirs.
pub fn is_for(invitation: &ApplicationInvitation, user: &User) -> bool {
    let invited = folded(&invitation.details.email_address);
    let mut proven = user.email_addresses.all.iter().filter(|contact| contact.is_verified());
    proven.any(|contact| folded(&contact.value) == invited)
}
