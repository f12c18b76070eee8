//! How sign-in tokens look on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{SignInTokenId, UserId};
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::SignInToken;
use crate::tickets::model::TicketStatus;

object!(SignInTokenObject, "sign_in_token");

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum StatusView {
    Pending,
    Accepted,
    Revoked,
}

pub fn status(status: TicketStatus) -> StatusView {
    match status {
        TicketStatus::Pending => StatusView::Pending,
        TicketStatus::Accepted => StatusView::Accepted,
        TicketStatus::Revoked => StatusView::Revoked,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignInToken")]
pub struct SignInTokenView<'a> {
    object: SignInTokenObject,
    id: &'a SignInTokenId,
    status: StatusView,
    user_id: &'a UserId,
    /// Shown once, when it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    token: Option<&'a str>,
    url: Option<String>,
    created_at: Time,
    updated_at: Time,
}

/// A token; with its ticket and where to go with it, if it was made just now.
pub fn sign_in_token<'a>(
    token: &'a SignInToken,
    ticket: Option<&'a str>,
    url: Option<String>,
) -> SignInTokenView<'a> {
    SignInTokenView {
        object: SignInTokenObject::It,
        id: &token.id,
        status: status(token.grant.status),
        user_id: &token.grant.user,
        token: ticket,
        url,
        created_at: token.grant.created_at,
        updated_at: token.grant.updated_at,
    }
}
