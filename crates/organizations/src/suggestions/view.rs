//! How suggestions and requests look on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{OrganizationId, OrganizationSuggestionId};
use latchkey_kernel::object;
use latchkey_people::users::view::{self as users, PublicUserView, ViewContext};
use schemars::JsonSchema;
use serde::Serialize;

use super::model::SuggestionParts;
use crate::orgs::view::{self as organizations, PublicOrganizationView};

object!(SuggestionObject, "organization_suggestion");
object!(RequestObject, "organization_membership_request");

/// A suggestion as the user sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationSuggestion")]
pub struct SuggestionView<'a> {
    object: SuggestionObject,
    id: &'a OrganizationSuggestionId,
    public_organization_data: PublicOrganizationView<'a>,
    status: &'static str,
    created_at: Time,
    updated_at: Time,
}

pub fn suggestion<'a>(parts: &'a SuggestionParts, api_url: &str) -> SuggestionView<'a> {
    let suggestion = &parts.suggestion;
    SuggestionView {
        object: SuggestionObject::It,
        id: &suggestion.id,
        public_organization_data: organizations::public(&parts.organization, api_url),
        status: suggestion.status.of_suggestion().unwrap_or("accepted"),
        created_at: suggestion.created_at,
        updated_at: suggestion.updated_at,
    }
}

/// A request as the organization sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationMembershipRequest")]
pub struct RequestView<'a> {
    object: RequestObject,
    id: &'a OrganizationSuggestionId,
    organization_id: &'a OrganizationId,
    status: &'static str,
    public_user_data: PublicUserView<'a>,
    created_at: Time,
    updated_at: Time,
}

pub fn request<'a>(parts: &'a SuggestionParts, context: ViewContext<'_>) -> RequestView<'a> {
    let suggestion = &parts.suggestion;
    RequestView {
        object: RequestObject::It,
        id: &suggestion.id,
        organization_id: &suggestion.organization,
        status: suggestion.status.of_request().unwrap_or("pending"),
        public_user_data: users::public(&parts.user, context),
        created_at: suggestion.created_at,
        updated_at: suggestion.updated_at,
    }
}
