//! What a suggestion is.

use latchkey_base::Time;
use latchkey_base::kinds::{
    InstanceId, OrganizationDomainId, OrganizationId, OrganizationSuggestionId, UserId,
};
use latchkey_people::users::model::User;

use crate::orgs::model::Organization;

/// A suggestion to a user, and the request they made of it.
#[derive(Clone, Debug)]
pub struct Suggestion {
    pub instance: InstanceId,
    pub id: OrganizationSuggestionId,
    pub organization: OrganizationId,
    pub user: UserId,
    /// The domain because of which it was made.
    pub domain: OrganizationDomainId,
    pub status: SuggestionStatus,
    pub created_at: Time,
    pub updated_at: Time,
}

/// Where a suggestion stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuggestionStatus {
    /// The user has not answered.
    Pending,
    /// The user asks to join, and the organization has not answered.
    Requested,
    /// The user is a member.
    Joined,
    /// The organization does not want them.
    Rejected,
}

impl SuggestionStatus {
    pub const ALL: [SuggestionStatus; 4] = [
        SuggestionStatus::Pending,
        SuggestionStatus::Requested,
        SuggestionStatus::Joined,
        SuggestionStatus::Rejected,
    ];

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            SuggestionStatus::Pending => "pending",
            SuggestionStatus::Requested => "requested",
            SuggestionStatus::Joined => "joined",
            SuggestionStatus::Rejected => "rejected",
        }
    }

    /// What the user sees; nothing once it is of no use to them.
    pub fn of_suggestion(self) -> Option<&'static str> {
        match self {
            SuggestionStatus::Pending => Some("pending"),
            SuggestionStatus::Requested => Some("accepted"),
            SuggestionStatus::Joined | SuggestionStatus::Rejected => None,
        }
    }

    /// What the organization sees; nothing before the user asks.
    pub fn of_request(self) -> Option<&'static str> {
        match self {
            SuggestionStatus::Pending => None,
            SuggestionStatus::Requested => Some("pending"),
            SuggestionStatus::Joined => Some("accepted"),
            SuggestionStatus::Rejected => Some("rejected"),
        }
    }
}

/// A suggestion with the organization and the user.
#[derive(Clone, Debug)]
pub struct SuggestionParts {
    pub suggestion: Suggestion,
    pub organization: Organization,
    pub user: User,
}
