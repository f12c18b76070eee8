//! How an invitation to the application looks on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::InvitationId;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::model::ApplicationInvitation;
use super::rules::ticket;
use crate::tickets::model::TicketStatus;
use crate::tickets::rules as tickets;

object!(ApplicationInvitationObject, "invitation");

/// What the views of invitations are made with.
#[derive(Clone, Copy)]
pub struct ApplicationInvitationContext<'a> {
    pub now: Time,
    /// Opens the tickets.
    pub master: &'a MasterKey,
    /// Where people go with them.
    pub frontend_url: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ApplicationInvitationStatusView {
    Pending,
    Accepted,
    Revoked,
    Expired,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Invitation")]
pub struct ApplicationInvitationView<'a> {
    object: ApplicationInvitationObject,
    id: &'a InvitationId,
    email_address: &'a str,
    #[schemars(with = "Map<String, Value>")]
    public_metadata: &'a RawValue,
    /// True for those that were revoked, and left out of the others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    revoked: bool,
    status: ApplicationInvitationStatusView,
    /// Where the person goes to follow it, while it is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    url: Option<String>,
    expires_at: Option<Time>,
    created_at: Time,
    updated_at: Time,
}

pub fn invitation<'a>(
    invitation: &'a ApplicationInvitation,
    context: ApplicationInvitationContext<'_>,
) -> ApplicationInvitationView<'a> {
    let open = Some(invitation).filter(|invitation| invitation.is_open(context.now));
    ApplicationInvitationView {
        object: ApplicationInvitationObject::It,
        id: &invitation.id,
        email_address: &invitation.details.email_address,
        public_metadata: &invitation.details.public_metadata,
        revoked: invitation.status == TicketStatus::Revoked,
        status: match invitation.state(context.now) {
            "accepted" => ApplicationInvitationStatusView::Accepted,
            "revoked" => ApplicationInvitationStatusView::Revoked,
            "expired" => ApplicationInvitationStatusView::Expired,
            _ => ApplicationInvitationStatusView::Pending,
        },
        url: open
            .and_then(|invitation| ticket(context.master, invitation))
            .map(|ticket| tickets::url(context.frontend_url, &ticket)),
        expires_at: Some(invitation.expire_at),
        created_at: invitation.created_at,
        updated_at: invitation.details.updated_at,
    }
}
