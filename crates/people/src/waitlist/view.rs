//! How an entry of the waitlist looks on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::WaitlistEntryId;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{WaitlistEntry, WaitlistStatus};
use crate::invitations::model::ApplicationInvitation;
use crate::invitations::view::{
    self as invitations, ApplicationInvitationContext, ApplicationInvitationView,
};

object!(WaitlistEntryObject, "waitlist_entry");

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum WaitlistStatusView {
    Pending,
    Invited,
    Rejected,
    Completed,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WaitlistEntry")]
pub struct WaitlistEntryView<'a> {
    object: WaitlistEntryObject,
    id: &'a WaitlistEntryId,
    email_address: &'a str,
    status: WaitlistStatusView,
    /// Always false: whatever is done with an entry is done at once.
    is_locked: bool,
    created_at: Time,
    updated_at: Time,
    /// The invitation that was sent last, or the one that was followed.
    invitation: Option<ApplicationInvitationView<'a>>,
}

/// An entry as whoever joins sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Client.WaitlistEntry")]
pub struct JoinedWaitlistView<'a> {
    object: WaitlistEntryObject,
    id: &'a WaitlistEntryId,
}

pub fn entry<'a>(
    entry: &'a WaitlistEntry,
    invitation: Option<&'a ApplicationInvitation>,
    context: ApplicationInvitationContext<'_>,
) -> WaitlistEntryView<'a> {
    WaitlistEntryView {
        object: WaitlistEntryObject::It,
        id: &entry.id,
        email_address: &entry.details.email_address,
        status: match entry.status {
            WaitlistStatus::Pending => WaitlistStatusView::Pending,
            WaitlistStatus::Invited => WaitlistStatusView::Invited,
            WaitlistStatus::Completed => WaitlistStatusView::Completed,
            WaitlistStatus::Rejected => WaitlistStatusView::Rejected,
        },
        is_locked: false,
        created_at: entry.created_at,
        updated_at: entry.details.updated_at,
        invitation: invitation.map(|invitation| invitations::invitation(invitation, context)),
    }
}

pub fn joined(id: &WaitlistEntryId) -> JoinedWaitlistView<'_> {
    JoinedWaitlistView { object: WaitlistEntryObject::It, id }
}
